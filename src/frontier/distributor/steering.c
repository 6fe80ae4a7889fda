#include "frontier/distributor/steering.h"

#include <string.h>

#include "base/core/bounds.h"
#include "store/schedule/schedule_read.h"
#include "frontier/distributor/host_walk.h"
#include "frontier/host/visit_birth.h"
#include "frontier/host/visit_dispatch.h"
#include "frontier/host/visit_home.h"

#define WALK_BATCHES    64u   /* of hosts at once, when nobody is hungry */
#define HUNGRY_BATCHES  256u  /* and when somebody is: no snapshot is held for longer */
#define STEER_PAUSE_MS  250   /* between two exchanges, and a millisecond more */
#define STEER_READS_MS  16u   /* for each STEER_READS hosts on disk that were looked at */
#define DUE_LOOKS       16u   /* at memory: that long a record of a host on disk is remembered */
#define HAND_ROUND_MS   10000 /* in which every visit state is looked at once */
#define HAND_LEAST      64u
#define HAND_AHEAD      32u
#define HAND_SHARE      4u  /* of the visit states at once, while some are to be evicted */
#define HAND_RESULT     64u /* and at most these for one result */
#define EVICTIONS_SHARE 8u  /* a second: of the hosts in memory */
#define EVICTIONS_LEAST 32u
#define EVICTIONS_MOST  1024u
#define EXCHANGE        INT64_C(1000) /* what one costs, in exchange_credit */

/* ---- which hosts are worth their memory ---- */

/* The level that hosts on disk must be better than to be of use while the front is large enough:
 * that of the worst of those hosts in memory that make up a front of the required size, and half of
 * the memory. (Some of these wait for their delay to pass, and the worse half makes room while it
 * waits for its own.) */
static unsigned wanted_level(const Distributor *distributor, size_t front, size_t required)
{
    uint64_t loaded = 0;
    for (unsigned level = 0; level < SCHEDULE_MAX_LEVELS; level++) {
        loaded += distributor->steering.loaded_at[level];
    }
    uint64_t rank = front > required ? loaded * required / front : loaded;
    rank = rank > loaded / 2 ? rank : loaded / 2;
    unsigned level = 0;
    uint64_t better = distributor->steering.loaded_at[0];
    while (better < rank && level < SCHEDULE_MAX_LEVELS - 1) {
        better += distributor->steering.loaded_at[++level];
    }
    return level;
}

/* The same answer for a few seconds, since the best hosts that wait are looked at again and again
 * while memory is full: it only says how many are to make room. Who loads one reads its record. */
static VisitDue due_lately(Distributor *distributor, MDB_txn *txn, uint32_t host)
{
    SteeringDue *due = &distributor->steering.dues[host % STEERING_DUES];
    if (due->host == host && due->until > distributor->steering.n_looks) {
        distributor->steering.remembered++;
        return (VisitDue)due->due;
    }
    VisitDue found = visit_birth_due(distributor, txn, host);
    *due = (SteeringDue){.host = host,
                         .until = (distributor->steering.n_looks + DUE_LOOKS) & (INT32_MAX / 2),
                         .due = (unsigned)found & 3u};
    return found;
}

/* Hosts that came in as names, and were given addresses when there was no room: as many of the
 * worst may go for names that wait. Names that lead nowhere send nobody away. */
static size_t names_come_true(const Distributor *distributor)
{
    size_t has = distributor_memory(distributor);
    size_t most = distributor_memory_most(distributor);
    size_t hosts = distributor->visit_states.count - distributor->names.count;
    return has <= most ? 0 : (has - most) / (has / (hosts + 1) + 1) + 1;
}

/* The hosts that wait, best first, against those in memory, worst first: how many of the former are
 * better than their opponents, at most `most`; *from is the best level among these opponents. */
static size_t match(Distributor *distributor, MDB_txn *txn, unsigned limit, size_t most,
                    unsigned *from)
{
    ScheduleHostCursor cursor = distributor->walk.cursor;
    uint32_t hosts[HOST_WALK_BATCH];
    uint8_t levels[HOST_WALK_BATCH];
    unsigned worst = SCHEDULE_MAX_LEVELS;
    size_t n = HOST_WALK_BATCH;
    size_t opponents = 0; /* left at that level */
    size_t matched = 0;
    size_t names = names_come_true(distributor);
    for (size_t batch = 0; batch < WALK_BATCHES && n == HOST_WALK_BATCH; batch++) {
        Result rc =
            schedule_hosts(distributor->schedule, txn, &cursor, hosts, levels, HOST_WALK_BATCH, &n);
        for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
            while (opponents == 0 && worst > 0) {
                opponents = distributor->steering.loaded_at[--worst];
            }
            if (matched == most || levels[i] >= limit || worst <= levels[i]) {
                return matched;
            }
            VisitDue due = map_get(&distributor->visit_states, map_key(hosts[i])) == NULL
                               ? due_lately(distributor, txn, hosts[i])
                               : VISIT_NOT_DUE;
            if (due == VISIT_DUE || (due == VISIT_NAMELESS && names > 0)) {
                names -= due == VISIT_NAMELESS;
                opponents--;
                matched++;
                *from = worst;
            }
        }
        n = rc == RESULT_OK ? n : 0;
    }
    return matched;
}

/* The time of one eviction, so that a second has no more than it may. */
static int64_t eviction_ns(const Distributor *distributor)
{
    size_t rate = bounds_size(distributor->visit_states.count / EVICTIONS_SHARE, EVICTIONS_LEAST,
                              EVICTIONS_MOST);
    return INT64_C(1000000000) / (int64_t)rate;
}

/* Counts a visit state, or calls it home if it is to make room. */
static void steering_look_at(Distributor *distributor, VisitState *visit_state)
{
    unsigned level = visit_state_level(visit_state);
    if (visit_state->distributor.idle || visit_state->distributor.leaving ||
        visit_state->distributor.nameless || level >= SCHEDULE_MAX_LEVELS) {
        return;
    }
    if (level >= distributor->steering.evict_from && distributor->steering.n_to_evict > 0 &&
        !visit_state->distributor.recalled && !visit_state->distributor.retired &&
        visit_state->distributor.waiting == NULL) {
        visit_state->distributor.leaving = true;
        visit_state->distributor.leaving_level = (uint8_t)level;
        distributor->steering.n_leaving++;
        distributor->steering.evictions++;
        distributor->steering.evicted_until.ns += eviction_ns(distributor);
        distributor->steering.exchange_credit -= EXCHANGE;
        distributor->steering.n_to_evict--;
        if (distributor->steering.loaded_at[level] > 0) {
            distributor->steering.loaded_at[level]--;
        }
        visit_home_recall(distributor, visit_state);
    } else {
        distributor->steering.counted_at[level]++;
    }
}

/* Looks at the next visit states, round and round: counts them by level, and calls home those that
 * are to make room. It may read nothing of them that belongs to another thread. */
static void turn_hand(Distributor *distributor, size_t steps)
{
    VisitState *next[HAND_AHEAD];
    while (steps > 0) {
        /* The next visit states of the round, at most `most`; what is looked at is on its way from
         * memory. */
        size_t n = 0;
        while (n < steps && n < HAND_AHEAD &&
               (next[n] = map_next(&distributor->visit_states, &distributor->steering.hand)) !=
                   NULL) {
            __builtin_prefetch(&next[n]->signals.best);
            n++;
        }
        if (n == 0) { /* a round is complete */
            memcpy(distributor->steering.loaded_at, distributor->steering.counted_at,
                   sizeof distributor->steering.loaded_at);
            memset(distributor->steering.counted_at, 0, sizeof distributor->steering.counted_at);
            distributor->steering.hand = 0;
            return;
        }
        for (size_t i = 0; i < n; i++) {
            steering_look_at(distributor, next[i]);
        }
        steps -= n;
    }
}

/* Goes on with the round as far as time has. */
static void look_around(Distributor *distributor, int64_t elapsed_ms)
{
    size_t count = distributor->visit_states.count;
    size_t steps = count * (size_t)elapsed_ms / HAND_ROUND_MS + HAND_LEAST;
    turn_hand(distributor, steps < count ? steps : count + 1);
}

/* What time and results since the last look allow. */
static void earn(Distributor *distributor, int64_t elapsed_ms)
{
    int64_t most = EXCHANGE * INT64_C(1000000000) / eviction_ns(distributor);
    int64_t credit = distributor->steering.exchange_credit;
    credit += elapsed_ms * EVICTIONS_LEAST * EXCHANGE / 1000;
    credit +=
        (int64_t)distributor->steering.results * EXCHANGE; /* one for each beyond EVICTIONS_LEAST */
    distributor->steering.exchange_credit = credit < most ? credit : most;
    size_t looks = distributor->steering.looks + distributor->steering.results * HAND_RESULT;
    size_t count = distributor->visit_states.count;
    distributor->steering.looks = looks < count ? looks : count;
    distributor->steering.results = 0;
}

/* How many may be evicted now: those that the last second had room for, and that are earned. */
static size_t evictions_left(Distributor *distributor, MonoTime now)
{
    MonoTime second_ago = mono_add_ms(now, -1000);
    distributor->steering.evicted_until =
        mono_later(distributor->steering.evicted_until, second_ago);
    int64_t left = (now.ns - distributor->steering.evicted_until.ns) / eviction_ns(distributor);
    int64_t earned = distributor->steering.exchange_credit / EXCHANGE;
    left = left < earned ? left : earned;
    return left > 0 ? (size_t)left : 0;
}

/* Looks for those who are to make room. */
static void look_for_room(Distributor *distributor)
{
    size_t steps = distributor->visit_states.count / HAND_SHARE;
    steps = steps < distributor->steering.looks ? steps : distributor->steering.looks;
    distributor->steering.looks -= steps;
    turn_hand(distributor, steps + HAND_LEAST);
}

/* ---- a weighted bias: lower levels need hosts in memory to have their turns ---- */

/* How many more hosts of lower levels than the best there should be in memory; negative: fewer. */
static int64_t lower_missing(const Distributor *distributor)
{
    uint64_t loaded = 0;
    uint64_t best = 0;
    for (size_t level = 0; level < SCHEDULE_MAX_LEVELS; level++) {
        best = best == 0 ? distributor->steering.loaded_at[level] : best;
        loaded += distributor->steering.loaded_at[level];
    }
    return (int64_t)(level_bias_lower_share(&distributor->options.bias) * (double)loaded) -
           (int64_t)(loaded - best);
}

/* The levels of hosts on disk. O(levels). */
static uint64_t levels_on_disk(Distributor *distributor, MDB_txn *txn)
{
    ScheduleHostCursor cursor = {.started = false};
    uint64_t levels = 0;
    uint32_t host = 0;
    size_t n = 1;
    while (schedule_hosts(distributor->schedule, txn, &cursor, &host, NULL, 1, &n) == RESULT_OK &&
           n == 1) {
        levels |= UINT64_C(1) << cursor.level % SCHEDULE_MAX_LEVELS;
        cursor.host = UINT32_MAX;
    }
    return levels;
}

/* Loads some hosts of a lower level, the better levels more often. */
static void load_lower(Distributor *distributor, MDB_txn *txn, MonoTime now)
{
    const LevelBias others = {.kind = LEVEL_BIAS_WEIGHTED, .lower_share = 1.0};
    int64_t missing = lower_missing(distributor);
    uint64_t levels = missing > 0 ? levels_on_disk(distributor, txn) : 0;
    distributor->steering.wants_lower = false;
    if ((levels & (levels - 1)) == 0) {
        return; /* there is no lower level than the best */
    }
    unsigned level = level_bias_choose(&others, levels, distributor->tickets++);
    uint32_t *place = &distributor->steering.lower_places[level];
    ScheduleHostCursor cursor = {true, level, *place};
    uint32_t hosts[HOST_WALK_BATCH];
    uint8_t of[HOST_WALK_BATCH];
    size_t n = 0;
    Result rc = schedule_hosts(distributor->schedule, txn, &cursor, hosts, of, HOST_WALK_BATCH, &n);
    *place = rc == RESULT_OK && n == HOST_WALK_BATCH && cursor.level == level ? *place : 0;
    for (size_t i = 0; rc == RESULT_OK && i < n && of[i] == level && missing > 0; i++) {
        if (map_get(&distributor->visit_states, map_key(hosts[i])) == NULL &&
            visit_birth_due(distributor, txn, hosts[i]) == VISIT_DUE) {
            distributor->steering.wants_lower = true;
            if (!visit_home_has_room(distributor)) {
                return;
            }
            (void)visit_dispatch_load(distributor, txn, hosts[i], level, now);
            missing--;
        }
        *place = hosts[i];
    }
}

/* ---- who makes room ---- */

/* Decides how many of the hosts in memory must make room for better ones, and which. */
static void plan_evictions(Distributor *distributor, MDB_txn *txn, unsigned limit, MonoTime now)
{
    unsigned from = SCHEDULE_NO_LEVEL;
    size_t most = evictions_left(distributor, now) + distributor->steering.n_leaving;
    if (level_bias_lower_share(&distributor->options.bias) > 0) {
        int64_t missing = lower_missing(distributor);
        size_t surplus = missing < 0 ? (size_t)-missing : 0;
        most = most < surplus ? most : surplus;
    }
    size_t matched = match(distributor, txn, limit, most, &from);
    distributor->steering.evict_from = from;
    distributor->steering.n_to_evict =
        matched > distributor->steering.n_leaving ? matched - distributor->steering.n_leaving : 0;
}

/* How long steering may have been asleep, in milliseconds. */
static int64_t wake_steering(Distributor *distributor, MonoTime now)
{
    int64_t elapsed_ms = mono_ms_between(distributor->steering.last, now);
    distributor->steering.last = now;
    return elapsed_ms < HAND_ROUND_MS ? elapsed_ms : HAND_ROUND_MS;
}

/* Whether it is worth while to look for hosts on disk. */
static bool somebody_waits(Distributor *distributor, MDB_txn *txn, bool is_hungry, MonoTime now)
{
    uint64_t entries = 0;
    uint64_t hosts = 0;
    size_t away = distributor->n_away + distributor->n_resolving + distributor->n_asking -
                  distributor->questions.count;
    if (mono_before(now, distributor->walk.next) ||
        schedule_counts(distributor->schedule, txn, &entries, &hosts) != RESULT_OK) {
        return false;
    }
    /* Hosts whose last URLs are in flight are in the table, too. */
    return hosts > (is_hungry ? away : distributor->visit_states.count) ||
           distributor->walk.waiting_level != SCHEDULE_NO_LEVEL;
}

unsigned steering_names_limit(const Distributor *distributor, size_t front, size_t required)
{
    if (visit_home_has_room(distributor)) {
        bool is_hungry = front + distributor_arriving(distributor) < required;
        return is_hungry ? SCHEDULE_MAX_LEVELS : wanted_level(distributor, front, required);
    }
    unsigned worst = SCHEDULE_MAX_LEVELS;
    while (worst > 0 && distributor->steering.loaded_at[worst - 1] == 0) {
        worst--;
    }
    return worst > 0 ? worst - 1 : 0;
}

void steering_load_hosts(Distributor *distributor, MDB_txn *txn, size_t front, size_t required,
                         MonoTime now)
{
    distributor->walk.cut = false;
    bool is_hungry = front + distributor_arriving(distributor) < required;
    bool is_time = !mono_before(now, distributor->steering.next);
    if ((!is_time && !(is_hungry && host_walk_has_room(distributor))) ||
        !somebody_waits(distributor, txn, is_hungry, now)) {
        return;
    }
    if (is_time) {
        int64_t elapsed_ms = wake_steering(distributor, now);
        distributor->steering.reads = 0;
        distributor->steering.remembered = 0;
        distributor->steering.n_looks++;
        earn(distributor, elapsed_ms);
        look_around(distributor, elapsed_ms);
        distributor->steering.n_to_evict = 0; /* who was not met is planned for anew */
        if (!mono_before(now, distributor->walk.again)) {
            host_walk_restart(distributor, now);
        }
    }
    unsigned limit = SCHEDULE_MAX_LEVELS;
    WalkStop stop = WALK_ON;
    for (size_t batch = 0; stop == WALK_ON; batch++) {
        is_hungry = front + distributor_arriving(distributor) < required;
        limit = is_hungry ? SCHEDULE_MAX_LEVELS : wanted_level(distributor, front, required);
        bool must_go_on = is_hungry && host_walk_has_room(distributor);
        distributor->walk.cut = must_go_on && batch >= HUNGRY_BATCHES;
        if (distributor->walk.cut || (batch >= WALK_BATCHES && !must_go_on)) {
            break;
        }
        stop = host_walk_on(distributor, txn, limit, now);
    }
    if (!is_time) {
        return;
    }
    if (level_bias_lower_share(&distributor->options.bias) > 0) {
        load_lower(distributor, txn, now);
    }
    if (stop == WALK_FULL || names_come_true(distributor) > 0) {
        plan_evictions(distributor, txn, limit, now);
    }
    bool goes_on = distributor->steering.n_to_evict > 0 || stop == WALK_ON;
    if (distributor->steering.n_to_evict > 0) {
        look_for_room(distributor);
    }
    size_t looked_at = distributor->steering.reads + distributor->steering.remembered;
    int64_t pause_ms = STEER_PAUSE_MS + (int64_t)(looked_at / STEER_READS_MS);
    distributor->steering.next = mono_add_ms(now, goes_on ? pause_ms : HOST_WALK_PAUSE_MS);
}
