#include "render/desk/turns.h"

#define TURNS_BEST  8 /* what a host may have to its credit */
#define TURNS_PRICE 2 /* cheap pages make up for a dear one */

/* Credits of hosts, from -TURNS_BEST to TURNS_BEST: their addresses are what the map holds. */
static char turns_credits[2 * TURNS_BEST + 1];

void turns_init(Turns *turns, int64_t most_ms)
{
    *turns = (Turns){.most_ms = most_ms};
    map_init(&turns->hosts);
    map_init(&turns->pages);
}

void turns_destroy(Turns *turns)
{
    map_destroy(&turns->hosts);
    map_destroy(&turns->pages);
}

static int turns_credit(const Turns *turns, uint32_t host)
{
    const char *credit = map_get(&turns->hosts, map_key(host));
    return credit == NULL ? 0 : (int)(credit - turns_credits) - TURNS_BEST;
}

/* Whether its trial was not enough. */
static bool turns_is_slow(const Turns *turns, uint64_t page)
{
    return map_get(&turns->pages, map_key(page)) != NULL;
}

bool turns_is_dear(const Turns *turns, uint32_t host, uint64_t page)
{
    int credit = turns_credit(turns, host);
    return credit < 0 || (credit == 0 && turns_is_slow(turns, page));
}

bool turns_may_begin_dear(const Turns *turns, MonoTime now)
{
    int64_t saved_ms = mono_ms_between(turns->begun, now) / TURNS_SHARE - turns->dear_ms;
    return turns->n_dear == 0 && (!turns->has_begun || saved_ms >= turns->most_ms);
}

Turn turns_begin(Turns *turns, uint32_t host, uint64_t page, MonoTime now)
{
    Turn turn = {
        .host = host, .page = page, .is_dear = turns_is_dear(turns, host, page), .begun = now};
    turn.is_trial = !turn.is_dear && !turns_is_slow(turns, page);
    turns->n_dear += turn.is_dear;
    turns->begun = turns->has_begun ? turns->begun : now;
    turns->has_begun = true;
    return turn;
}

/* Without memory it is not noted. */
static void turns_put(Map *map, uint64_t key, char *value)
{
    if (map->count >= TURNS_MOST) {
        map_destroy(map);
        map_init(map);
    }
    (void)map_put(map, map_key(key), value);
}

void turns_end(Turns *turns, const Turn *turn, TurnEnd end, MonoTime now)
{
    int credit = turns_credit(turns, turn->host);
    turns->n_dear -= turn->is_dear;
    if (turn->is_dear || end == TURN_DEAR) {
        turns->dear_ms += mono_ms_between(turn->begun, now);
    }
    switch (end) {
    case TURN_UNSEEN:
        return;
    case TURN_CHEAP:
        credit += credit < TURNS_BEST;
        (void)map_remove(&turns->pages, map_key(turn->page));
        break;
    case TURN_DEAR:
        credit -= credit - TURNS_PRICE < -TURNS_BEST ? 0 : TURNS_PRICE;
        credit = turn->is_trial || credit < 0 ? credit : -1;
        turns_put(&turns->pages, turn->page, turns_credits);
        break;
    }
    turns_put(&turns->hosts, turn->host, &turns_credits[credit + TURNS_BEST]);
}
