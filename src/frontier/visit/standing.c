#include "frontier/visit/standing.h"

/* Whether it had `least_ms`, and was slower than the rate, or half of what it may send. */
static bool standing_is_below(int64_t took_ms, uint64_t bytes, int64_t most_bytes_s,
                              int64_t least_ms, int64_t rate)
{
    int64_t least = most_bytes_s > 0 && most_bytes_s / 2 < rate ? most_bytes_s / 2 : rate;
    return took_ms >= least_ms && (double)bytes * 1e3 < (double)least * (double)took_ms;
}

bool standing_is_slow(int64_t took_ms, uint64_t bytes, int64_t most_bytes_s)
{
    return standing_is_below(took_ms, bytes, most_bytes_s, STANDING_SLOW_MS, STANDING_SLOW_BYTES);
}

bool standing_drips(int64_t took_ms, uint64_t bytes, int64_t most_bytes_s)
{
    return standing_is_below(took_ms, bytes, most_bytes_s, STANDING_DRIP_MS, STANDING_DRIP_BYTES);
}

/* Answers that say no come at once. */
static bool is_prompt(FetchClass class)
{
    return class == FETCH_OK || class == FETCH_BUSY || class == FETCH_SERVER ||
           class == FETCH_COOKIE || class == FETCH_WALL;
}

Standing standing_of(const StandingRecord *record, const HostHealth *health)
{
    bool fails = health->failures > 0 && !is_prompt(health->last) &&
                 !politeness_blames_urls(health->last, health->failures);
    if (record->is_slow || fails) {
        return STANDING_ILL;
    }
    return record->is_proven ? STANDING_PROVEN : STANDING_NEW;
}

StandingShares standing_shares(const LiveShares *live)
{
    StandingShares shares = {.new_percent = 0};
    if (live != NULL) {
        shares.new_percent = atomic_load(&live->new_percent);
        shares.slow_percent = atomic_load(&live->slow_percent);
        for (size_t s = 0; s < STANDINGS; s++) {
            shares.slowed[s] = atomic_load(&live->slowed[s]);
        }
    }
    return shares;
}

size_t standing_most(const StandingShares *shares, Standing standing, size_t all)
{
    unsigned percent = standing == STANDING_NEW   ? shares->new_percent
                       : standing == STANDING_ILL ? shares->slow_percent
                                                  : 0;
    if (percent == 0) {
        return all;
    }
    size_t most = all / 100 * percent + all % 100 * percent / 100;
    return most > 0 || all == 0 ? most : 1;
}

static size_t standing_less(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t standing_counted(const size_t acquired[STANDINGS], const size_t slowed[STANDINGS],
                        size_t most_ill, Standing standing)
{
    size_t ill = acquired[STANDING_ILL];
    size_t room = most_ill > ill ? most_ill - ill : 0;
    size_t new = standing_less(standing_less(slowed[STANDING_NEW], acquired[STANDING_NEW]), room);
    size_t proven = standing_less(standing_less(slowed[STANDING_PROVEN], acquired[STANDING_PROVEN]),
                                  room - new);
    switch (standing) {
    case STANDING_NEW:
        return acquired[STANDING_NEW] - new;
    case STANDING_PROVEN:
        return acquired[STANDING_PROVEN] - proven;
    case STANDING_ILL:
    case STANDINGS:
        break;
    }
    return ill + new + proven;
}
