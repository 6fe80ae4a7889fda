#include "frontier/visit/standing.h"

bool standing_is_slow(int64_t took_ms, uint64_t bytes, int64_t most_bytes_s)
{
    int64_t least = STANDING_SLOW_BYTES;
    if (most_bytes_s > 0 && most_bytes_s / 2 < least) {
        least = most_bytes_s / 2;
    }
    return took_ms >= STANDING_SLOW_MS && (double)bytes * 1e3 < (double)least * (double)took_ms;
}

/* Answers that say no come at once. */
static bool is_prompt(FetchClass class)
{
    return class == FETCH_OK || class == FETCH_BUSY || class == FETCH_SERVER ||
           class == FETCH_COOKIE || class == FETCH_WALL;
}

Standing standing_of(const StandingRecord *record, const HostHealth *health)
{
    if (record->is_slow || (health->failures > 0 && !is_prompt(health->last))) {
        return STANDING_ILL;
    }
    return record->has_answered ? STANDING_PROVEN : STANDING_NEW;
}

StandingShares standing_shares(const LiveShares *live)
{
    StandingShares shares = {.new_percent = 0};
    if (live != NULL) {
        shares.new_percent = atomic_load(&live->new_percent);
        shares.slow_percent = atomic_load(&live->slow_percent);
    }
    return shares;
}

size_t standing_most(const StandingShares *shares, Standing standing, size_t connections)
{
    unsigned percent = standing == STANDING_NEW   ? shares->new_percent
                       : standing == STANDING_ILL ? shares->slow_percent
                                                  : 0;
    if (percent == 0) {
        return connections;
    }
    size_t most = connections / 100 * percent + connections % 100 * percent / 100;
    return most > 0 || connections == 0 ? most : 1;
}
