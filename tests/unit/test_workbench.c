#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontier/visit/visit_turn.h"
#include "frontier/visit/workbench.h"
#include "dice.h"
#include "unit.h"

#define HOSTS     300u
#define ADDRESSES 60u
#define STEPS     60000u
#define SECOND    INT64_C(1000000000)

static IpAddress address_of(size_t number)
{
    struct in_addr in = {htonl((uint32_t)(0x0a000000u + number))};
    return ip_address_v4(&in);
}

static VisitState *visit_state_of(uint32_t host, size_t address)
{
    char origin[64];
    int n = snprintf(origin, sizeof origin, "http://h%u.example", host);
    VisitState *visit_state = NULL;
    CU_ASSERT_EQUAL_FATAL(visit_state_new(&visit_state, host, origin, (size_t)n), RESULT_OK);
    visit_state->address.ip = address_of(address);
    visit_state->address.expiry = MONO_NEVER;
    return visit_state;
}

static void forget(Workbench *workbench, VisitState *visit_state)
{
    (void)workbench_recall(workbench, visit_state, (MonoTime){0});
    visit_state_delete(visit_state);
}

/* A window of so many URLs of one level. */
static void fill(VisitState *visit_state, uint32_t count, uint8_t level)
{
    WindowUrl *window = calloc(count + 1, sizeof *window);
    for (uint32_t i = 0; i < count; i++) {
        window[i].level = level;
    }
    visit_state_set_window(visit_state, window, (char *)(window + count), count, 0);
}

static MonoTime at(int64_t ns)
{
    return (MonoTime){ns};
}

static void nothing_is_acquired_before_either_time(void)
{
    Workbench workbench;
    workbench_init(&workbench, at(0));
    VisitState *a = visit_state_of(1, 1);
    fill(a, 3, 0);
    a->politeness.next_fetch = at(5 * SECOND);
    CU_ASSERT_EQUAL(workbench_next_time(&workbench).ns, MONO_NEVER.ns);
    CU_ASSERT_EQUAL(workbench_add(&workbench, a, at(SECOND)), RESULT_OK);
    CU_ASSERT_EQUAL(a->place, VISIT_STATE_QUEUED);
    CU_ASSERT_EQUAL(workbench_next_time(&workbench).ns, 5 * SECOND);
    CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(5 * SECOND - 1)));
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&workbench, at(5 * SECOND)), a);
    CU_ASSERT_EQUAL(a->place, VISIT_STATE_ACQUIRED);
    CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(100 * SECOND)));
    visit_state_take(a);
    a->politeness.next_fetch = at(7 * SECOND);
    a->politeness.ip_next_fetch = at(9 * SECOND); /* the address rests longer than the host */
    CU_ASSERT_TRUE(workbench_release(&workbench, a, at(6 * SECOND)));
    CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(9 * SECOND - 1)));
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&workbench, at(9 * SECOND)), a);
    a->politeness.next_fetch = at(0);
    a->politeness.ip_next_fetch = at(0); /* given back untouched: its rest is not forgotten */
    CU_ASSERT_TRUE(workbench_release(&workbench, a, at(9 * SECOND)));
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&workbench, at(9 * SECOND)), a);
    (void)workbench_release(&workbench, a, at(9 * SECOND));
    CU_ASSERT_TRUE(workbench_recall(&workbench, a, at(9 * SECOND)));
    CU_ASSERT_FALSE(workbench_recall(&workbench, a, at(9 * SECOND)));
    visit_state_delete(a);
    workbench_destroy(&workbench);
}

static void a_round_waits_for_what_gets_due_soon_and_for_releases(void)
{
    const int64_t ms = SECOND / 1000;
    Workbench workbench;
    workbench_init(&workbench, at(0));
    VisitState *a = visit_state_of(1, 1);
    fill(a, 3, 0);
    a->politeness.next_fetch = at(5 * SECOND);
    CU_ASSERT_EQUAL(workbench_add(&workbench, a, at(SECOND)), RESULT_OK);
    MonoTime last = at(5 * SECOND - ms / 2); /* others were handed out just now */
    CU_ASSERT_EQUAL(workbench_next_round(&workbench, false, last, false).ns,
                    last.ns + WORKBENCH_ROUND_MS * ms);
    last = at(SECOND);
    CU_ASSERT_EQUAL(workbench_next_round(&workbench, false, last, false).ns, 5 * SECOND);
    CU_ASSERT_EQUAL(workbench_next_round(&workbench, true, last, false).ns, MONO_NEVER.ns);
    CU_ASSERT_EQUAL(workbench_next_round(&workbench, false, last, true).ns,
                    last.ns + WORKBENCH_RELEASE_MS * ms);
    /* What is due waits for nothing; without a connection for it each release is looked at. */
    CU_ASSERT_TRUE(workbench_recall(&workbench, a, at(SECOND)));
    CU_ASSERT_EQUAL(workbench_add(&workbench, a, at(5 * SECOND)), RESULT_OK);
    last = at(5 * SECOND);
    CU_ASSERT_EQUAL(workbench_next_round(&workbench, false, last, true).ns, 0);
    CU_ASSERT_EQUAL(workbench_next_round(&workbench, true, last, true).ns, MONO_NEVER.ns);
    CU_ASSERT_TRUE(workbench_recall(&workbench, a, last));
    visit_state_delete(a);
    workbench_destroy(&workbench);
}

static void an_empty_or_expired_visit_state_leaves(void)
{
    Workbench workbench;
    workbench_init(&workbench, at(0));
    VisitState *a = visit_state_of(1, 1);
    static const int reasons[] = {0, 1, 2, 3};
    for (size_t i = 0; i < 4; i++) {
        fill(a, 2, 0);
        a->politeness.next_fetch = at(0);
        a->politeness.dropped = false;
        a->address.expiry = MONO_NEVER;
        int64_t now = (int64_t)(i + 1) * 100 * SECOND;
        CU_ASSERT_EQUAL(workbench_add(&workbench, a, at(now)), RESULT_OK);
        CU_ASSERT_PTR_EQUAL(workbench_acquire(&workbench, at(now)), a);
        visit_state_take(a);
        a->politeness.ip_next_fetch = at(now + 50 * SECOND);
        if (reasons[i] == 0) {
            visit_state_take(a);
        } else if (reasons[i] == 1) {
            a->politeness.dropped = true;
        } else if (reasons[i] == 2) {
            a->address.expiry = at(now);
        } else {
            a->politeness.next_fetch = at(now + WORKBENCH_FAR_MS * (SECOND / 1000) + SECOND);
        }
        CU_ASSERT_FALSE(workbench_release(&workbench, a, at(now)));
        CU_ASSERT_PTR_NULL(a->todo.entry);
        CU_ASSERT_EQUAL(a->place, VISIT_STATE_REFILLING);
        CU_ASSERT_EQUAL(workbench_n_entries(&workbench), 1); /* the entry rests */
        CU_ASSERT_EQUAL(workbench_front(&workbench), 0);
        CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(now + 50 * SECOND - 1)));
        CU_ASSERT_EQUAL(workbench_n_entries(&workbench), 1);
        CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(now + 50 * SECOND)));
        CU_ASSERT_EQUAL(workbench_n_entries(&workbench), 0);
    }
    visit_state_delete(a);
    workbench_destroy(&workbench);
}

static void a_resting_address_is_remembered_for_the_next_host(void)
{
    Workbench workbench;
    workbench_init(&workbench, at(0));
    VisitState *a = visit_state_of(1, 1);
    VisitState *b = visit_state_of(2, 1);
    fill(a, 1, 0);
    fill(b, 1, 0);
    CU_ASSERT_EQUAL(workbench_add(&workbench, a, at(SECOND)), RESULT_OK);
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&workbench, at(SECOND)), a);
    visit_state_take(a);
    a->politeness.ip_next_fetch = at(10 * SECOND);
    CU_ASSERT_FALSE(workbench_release(&workbench, a, at(SECOND)));
    CU_ASSERT_EQUAL(workbench_add(&workbench, b, at(2 * SECOND)), RESULT_OK);
    CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(10 * SECOND - 1)));
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&workbench, at(10 * SECOND)), b);
    /* Added while the entry is acquired: waits for the release. */
    fill(a, 1, 0);
    CU_ASSERT_EQUAL(workbench_add(&workbench, a, at(10 * SECOND)), RESULT_OK);
    CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(99 * SECOND)));
    visit_state_take(b);
    b->politeness.ip_next_fetch = at(100 * SECOND);
    CU_ASSERT_FALSE(workbench_release(&workbench, b, at(99 * SECOND)));
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&workbench, at(100 * SECOND)), a);
    visit_state_delete(a);
    visit_state_delete(b);
    workbench_destroy(&workbench);
}

static void the_best_level_goes_first_then_who_waits_longest(void)
{
    static const struct {
        int64_t time;
        uint8_t level;
        uint32_t order;
    } cases[] = {{9, 3, 3}, {8, 1, 1}, {2, 1, 0}, {1, 7, 4}, {5, 2, 2}, {99, 0, 5}};
    Workbench workbench;
    VisitState *all[6] = {NULL};
    workbench_init(&workbench, at(0));
    for (uint32_t i = 0; i < 6; i++) {
        all[i] = visit_state_of(i, i);
        fill(all[i], 1, cases[i].level);
        all[i]->politeness.next_fetch = at(cases[i].time * SECOND);
        CU_ASSERT_EQUAL(workbench_add(&workbench, all[i], at(0)), RESULT_OK);
    }
    for (uint32_t order = 0; order < 6; order++) {
        VisitState *got = workbench_acquire(&workbench, at(order < 5 ? 10 * SECOND : 99 * SECOND));
        CU_ASSERT_PTR_NOT_NULL_FATAL(got);
        CU_ASSERT_EQUAL(cases[got->identity.host].order, order);
    }
    for (uint32_t i = 0; i < 6; i++) {
        visit_state_delete(all[i]);
    }
    workbench_destroy(&workbench);
}

/* Four hosts at one address, all due: which is next does not depend on who waits longest. */
static void the_best_host_of_an_address_goes_first(void)
{
    static const uint8_t levels[] = {5, 9, 2, 7};
    static const uint32_t order[] = {2, 0, 3, 1};
    Workbench workbench;
    VisitState *all[4] = {NULL};
    workbench_init(&workbench, at(0));
    for (uint32_t i = 0; i < 4; i++) {
        all[i] = visit_state_of(i, 1);
        fill(all[i], 1, levels[i]);
        all[i]->politeness.next_fetch = at(i * SECOND);
        CU_ASSERT_EQUAL(workbench_add(&workbench, all[i], at(0)), RESULT_OK);
    }
    /* Host 0 alone is due at first; a better one that gets ready later is not overlooked. */
    CU_ASSERT_EQUAL(workbench_next_time(&workbench).ns, 0);
    for (uint32_t i = 0; i < 4; i++) {
        VisitState *got = workbench_acquire(&workbench, at(9 * SECOND));
        CU_ASSERT_PTR_NOT_NULL_FATAL(got);
        CU_ASSERT_EQUAL(got->identity.host, order[i]);
        CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(9 * SECOND)));
        visit_state_take(got);
        CU_ASSERT_FALSE(workbench_release(&workbench, got, at(9 * SECOND)));
        visit_state_delete(got);
    }
    workbench_destroy(&workbench);
}

#define TURNS 1000u

/* How often the host with the worse URLs gets a turn while the other always has better ones. */
static size_t turns_of_the_worse(const LevelBias *bias)
{
    Workbench workbench;
    VisitState *hosts[2];
    size_t turns = 0;
    workbench_init(&workbench, at(0));
    workbench_set_bias(&workbench, bias);
    for (uint32_t i = 0; i < 2; i++) {
        hosts[i] = visit_state_of(i, i);
        fill(hosts[i], TURNS + 1, i == 0 ? 3 : 9);
        CU_ASSERT_EQUAL(workbench_add(&workbench, hosts[i], at(0)), RESULT_OK);
    }
    for (size_t i = 0; i < TURNS; i++) {
        VisitState *got = workbench_acquire(&workbench, at(SECOND));
        CU_ASSERT_PTR_NOT_NULL_FATAL(got);
        turns += got->identity.host == 1;
        visit_state_take(got);
        CU_ASSERT_TRUE(workbench_release(&workbench, got, at(SECOND)));
    }
    visit_state_delete(hosts[0]);
    visit_state_delete(hosts[1]);
    workbench_destroy(&workbench);
    return turns;
}

static void strict_lets_the_worse_wait_and_weighted_gives_it_its_share(void)
{
    CU_ASSERT_EQUAL(turns_of_the_worse(&(LevelBias){.kind = LEVEL_BIAS_STRICT}), 0);
    size_t turns =
        turns_of_the_worse(&(LevelBias){.kind = LEVEL_BIAS_WEIGHTED, .lower_share = 0.2});
    CU_ASSERT_TRUE(turns >= 190 && turns <= 210);
}

static void no_address_is_fetched_from_before_the_floor(void)
{
    Workbench workbench;
    workbench_init(&workbench, at(30 * SECOND));
    VisitState *a = visit_state_of(1, 1);
    fill(a, 1, 0);
    CU_ASSERT_EQUAL(workbench_add(&workbench, a, at(SECOND)), RESULT_OK);
    CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(30 * SECOND - 1)));
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&workbench, at(30 * SECOND)), a);
    visit_state_delete(a);
    workbench_destroy(&workbench);
}

/* ---- a model ------------------------------------------------------------------------------------
 */

typedef struct Model {
    Workbench workbench;
    VisitState *hosts[HOSTS];
    size_t address[HOSTS]; /* where the host lives now */
    enum { HOME, QUEUED, ACQUIRED } place[HOSTS];
    bool busy[ADDRESSES];
    int64_t rest[ADDRESSES]; /* no fetch before it */
    size_t n_acquired;
    Dice dice;
    int64_t now;
} Model;

/* What invariant 3 says about an address: when it may go, and the best level of those that may. */
static bool head_of(const Model *m, size_t address, int64_t *time, uint8_t *level)
{
    uint32_t first = HOSTS;
    *level = UINT8_MAX;
    for (uint32_t i = 0; i < HOSTS; i++) {
        if (m->place[i] == QUEUED && m->address[i] == address &&
            (first == HOSTS ||
             m->hosts[i]->politeness.next_fetch.ns < m->hosts[first]->politeness.next_fetch.ns)) {
            first = i;
        }
        if (m->place[i] == QUEUED && m->address[i] == address &&
            m->hosts[i]->politeness.next_fetch.ns <= m->now &&
            visit_state_peek(m->hosts[i])->level < *level) {
            *level = visit_state_peek(m->hosts[i])->level;
        }
    }
    if (first == HOSTS || m->busy[address]) {
        return false;
    }
    int64_t host_time = m->hosts[first]->politeness.next_fetch.ns;
    *time = host_time > m->rest[address] ? host_time : m->rest[address];
    return true;
}

static void model_add(Model *m)
{
    uint32_t i = (uint32_t)dice_below(&m->dice, HOSTS);
    if (m->place[i] != HOME) {
        return;
    }
    if (dice_below(&m->dice, 5) == 0) { /* its address changed */
        m->address[i] = dice_below(&m->dice, ADDRESSES);
        m->hosts[i]->address.ip = address_of(m->address[i]);
    }
    fill(m->hosts[i], (uint32_t)dice_below(&m->dice, 4) + 1, (uint8_t)dice_below(&m->dice, 16));
    m->hosts[i]->politeness.dropped = false;
    m->hosts[i]->address.expiry =
        dice_below(&m->dice, 8) == 0 ? at(m->now + 3 * SECOND) : MONO_NEVER;
    CU_ASSERT_EQUAL(workbench_add(&m->workbench, m->hosts[i], at(m->now)), RESULT_OK);
    m->place[i] = QUEUED;
}

static void model_acquire(Model *m)
{
    bool due = false;
    uint8_t best = UINT8_MAX;
    int64_t next = INT64_MAX;
    size_t front = 0;
    for (size_t a = 0; a < ADDRESSES; a++) {
        int64_t time = 0;
        uint8_t level = 0;
        if (head_of(m, a, &time, &level)) {
            front++;
            next = time < next ? time : next;
            if (time <= m->now) {
                due = true;
                best = level < best ? level : best;
            }
        }
    }
    CU_ASSERT_EQUAL(workbench_front(&m->workbench), front);
    int64_t said = workbench_next_time(&m->workbench).ns;
    CU_ASSERT_TRUE(said == next || (said <= m->now && next <= m->now));
    VisitState *got = workbench_acquire(&m->workbench, at(m->now));
    CU_ASSERT_EQUAL(got != NULL, due);
    if (got == NULL) {
        return;
    }
    size_t address = m->address[got->identity.host];
    CU_ASSERT_FALSE(m->busy[address]);                       /* invariant 4 */
    CU_ASSERT_TRUE(got->politeness.next_fetch.ns <= m->now); /* invariant 3 */
    CU_ASSERT_TRUE(m->rest[address] <= m->now);
    CU_ASSERT_EQUAL(m->place[got->identity.host], QUEUED); /* invariant 1 */
    CU_ASSERT_EQUAL(visit_state_peek(got)->level, best);
    m->place[got->identity.host] = ACQUIRED;
    m->busy[address] = true;
    m->n_acquired++;
}

static void model_recall(Model *m)
{
    uint32_t i = (uint32_t)dice_below(&m->dice, HOSTS);
    if (m->place[i] == HOME) {
        return;
    }
    CU_ASSERT_EQUAL(workbench_recall(&m->workbench, m->hosts[i], at(m->now)),
                    m->place[i] == QUEUED);
    m->place[i] = m->place[i] == QUEUED ? HOME : m->place[i];
}

static void model_release(Model *m)
{
    uint32_t i = (uint32_t)dice_below(&m->dice, HOSTS);
    for (size_t n = 0; n < HOSTS && m->place[i] != ACQUIRED; n++) {
        i = (i + 1) % HOSTS;
    }
    if (m->place[i] != ACQUIRED) {
        return;
    }
    VisitState *visit_state = m->hosts[i];
    size_t address = m->address[i];
    if (dice_below(&m->dice, 5) > 0) {
        visit_state_take(visit_state);
        visit_state->politeness.next_fetch =
            at(m->now + (int64_t)dice_below(&m->dice, 10) * SECOND);
        visit_state->politeness.ip_next_fetch =
            at(m->now + (int64_t)dice_below(&m->dice, 4) * SECOND);
        if (visit_state->politeness.ip_next_fetch.ns > m->rest[address]) {
            m->rest[address] = visit_state->politeness.ip_next_fetch.ns;
        }
    } else {
        visit_state->politeness.ip_next_fetch = at(0); /* given back untouched */
    }
    visit_state->politeness.dropped = dice_below(&m->dice, 20) == 0;
    bool keep = visit_state_count(visit_state) > 0 && !visit_state->politeness.dropped &&
                m->now < visit_state->address.expiry.ns;
    CU_ASSERT_EQUAL(workbench_release(&m->workbench, visit_state, at(m->now)), keep);
    CU_ASSERT_EQUAL(visit_state->todo.entry != NULL, keep);
    m->place[i] = keep ? QUEUED : HOME;
    m->busy[address] = false;
    m->n_acquired--;
}

static void check_counts(const Model *m)
{
    size_t queued = 0;
    for (size_t i = 0; i < HOSTS; i++) {
        queued += m->place[i] == QUEUED;
        CU_ASSERT_EQUAL(heap_holds(&m->hosts[i]->todo.by_time), m->place[i] == QUEUED);
    }
    CU_ASSERT_EQUAL(m->workbench.n_queued, queued);
    CU_ASSERT_EQUAL(m->workbench.n_acquired, m->n_acquired);
    size_t place = 0;
    const WorkbenchEntry *entry = NULL;
    while ((entry = map_next(&m->workbench.entries, &place)) != NULL) {
        bool waits = entry->queue == ENTRY_WAITING || entry->queue == ENTRY_DUE;
        size_t here = entry->waiting.count;
        for (size_t s = 0; s < STANDINGS; s++) {
            here += entry->ready[s].count;
        }
        CU_ASSERT_EQUAL(waits, !entry->acquired && here > 0);
        CU_ASSERT_EQUAL(entry->n_visit_states, here + entry->acquired);
        CU_ASSERT_EQUAL(entry->queue == ENTRY_RESTING, !entry->acquired && here == 0);
    }
}

static void random_work_in_virtual_time_keeps_the_invariants(void)
{
    Model *m = calloc(1, sizeof *m);
    m->dice = (Dice){5};
    m->now = SECOND;
    workbench_init(&m->workbench, at(0));
    for (uint32_t i = 0; i < HOSTS; i++) {
        m->address[i] = dice_below(&m->dice, ADDRESSES);
        m->hosts[i] = visit_state_of(i, m->address[i]);
    }
    for (size_t step = 0; step < STEPS; step++) {
        switch (dice_below(&m->dice, 9)) {
        case 0:
        case 1:
            model_add(m);
            break;
        case 2:
        case 3:
            model_release(m);
            break;
        case 4:
            model_recall(m);
            break;
        case 5:
        case 6:
            m->now += (int64_t)dice_below(&m->dice, (uint64_t)SECOND);
            break;
        default:
            model_acquire(m);
            break;
        }
        if (step % 100 == 0) {
            check_counts(m);
        }
    }
    while (m->n_acquired > 0) {
        model_release(m);
    }
    size_t drained = 0;
    size_t queued = m->workbench.n_queued;
    for (uint32_t i = 0; i < HOSTS; i++) {
        drained += workbench_recall(&m->workbench, m->hosts[i], at(0));
    }
    CU_ASSERT_EQUAL(drained, queued);
    (void)workbench_acquire(&m->workbench, at(INT64_MAX - 1));
    CU_ASSERT_EQUAL(workbench_n_entries(&m->workbench), 0); /* invariant 5 */
    for (uint32_t i = 0; i < HOSTS; i++) {
        visit_state_delete(m->hosts[i]);
    }
    workbench_destroy(&m->workbench);
    free(m);
}

/* ---- shares ---- */

static VisitState *host_with(uint32_t host, size_t address, Standing standing)
{
    VisitState *visit_state = visit_state_of(host, address);
    fill(visit_state, 3, standing == STANDING_PROVEN ? 2 : 1);
    visit_state->politeness.standing.is_proven = standing != STANDING_NEW;
    if (standing == STANDING_ILL) {
        visit_state->politeness.health = (HostHealth){.failures = 1, .last = FETCH_TIMEOUT};
    }
    return visit_state;
}

/* New and failing hosts take their shares, and no more, whatever their level; the rest is for those
 * that have answered. */
/* An address has a new host that waits for a connection, and one that is proven later. */
static void a_host_is_not_late_because_a_neighbour_waits_for_room(void)
{
    Workbench workbench;
    StandingShares shares = {.new_percent = 50};
    workbench_init(&workbench, at(0));
    workbench_share(&workbench, shares, 2);
    VisitState *hosts[] = {host_with(0, 0, STANDING_NEW), host_with(1, 1, STANDING_NEW),
                           host_with(2, 1, STANDING_PROVEN)};
    hosts[2]->politeness.next_fetch = at(5 * SECOND);
    CU_ASSERT_EQUAL(workbench_add(&workbench, hosts[0], at(SECOND)), RESULT_OK);
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&workbench, at(SECOND)), hosts[0]);
    for (size_t i = 1; i < 3; i++) {
        CU_ASSERT_EQUAL(workbench_add(&workbench, hosts[i], at(SECOND)), RESULT_OK);
    }
    CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(SECOND)));
    CU_ASSERT_EQUAL(workbench_next_time(&workbench).ns, 5 * SECOND);
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&workbench, at(5 * SECOND)), hosts[2]);
    for (size_t i = 0; i < 3; i++) {
        forget(&workbench, hosts[i]);
    }
    workbench_destroy(&workbench);
}

static void nobody_waits_for_hosts_that_are_new_or_fail(void)
{
    enum { N = 30, CONNECTIONS = 8 };
    Workbench workbench;
    VisitState *hosts[N];
    StandingShares shares = {.new_percent = 50, .slow_percent = 25};
    size_t got[STANDINGS] = {0};
    workbench_init(&workbench, at(0));
    workbench_share(&workbench, shares, CONNECTIONS);
    for (uint32_t i = 0; i < N; i++) {
        hosts[i] = host_with(i, i, i < 10 ? STANDING_ILL : i < 20 ? STANDING_NEW : STANDING_PROVEN);
        CU_ASSERT_EQUAL(workbench_add(&workbench, hosts[i], at(SECOND + i)), RESULT_OK);
    }
    while (workbench.n_acquired < CONNECTIONS) {
        VisitState *visit_state = workbench_acquire(&workbench, at(2 * SECOND));
        CU_ASSERT_PTR_NOT_NULL_FATAL(visit_state);
        got[visit_state->todo.standing]++;
    }
    CU_ASSERT_EQUAL(got[STANDING_ILL], 2);
    CU_ASSERT_EQUAL(got[STANDING_NEW], 4);
    CU_ASSERT_EQUAL(got[STANDING_PROVEN], 2);
    CU_ASSERT_EQUAL(workbench_n_crowded(&workbench, STANDING_ILL, 2 * CONNECTIONS), 8);
    CU_ASSERT_EQUAL(workbench_n_crowded(&workbench, STANDING_NEW, 2 * CONNECTIONS), 6);
    CU_ASSERT_EQUAL(workbench_n_crowded(&workbench, STANDING_PROVEN, 2 * CONNECTIONS), 0);
    /* Those that have answered are acquired, one after the other; then there is nothing to do
     * before one of the others comes back. */
    for (uint32_t i = 0; i < 6; i++) {
        VisitState *visit_state = workbench_acquire(&workbench, at(2 * SECOND));
        CU_ASSERT_PTR_NOT_NULL_FATAL(visit_state);
        CU_ASSERT_EQUAL(visit_state->todo.standing, STANDING_PROVEN);
    }
    CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(2 * SECOND)));
    CU_ASSERT_EQUAL(workbench_next_time(&workbench).ns, MONO_NEVER.ns);
    /* One that has failed comes back as one that has answered. */
    hosts[0]->politeness.health.failures = 0;
    hosts[0]->politeness.next_fetch = at(100 * SECOND);
    CU_ASSERT_TRUE(workbench_release(&workbench, hosts[0], at(3 * SECOND)));
    VisitState *next = workbench_acquire(&workbench, at(3 * SECOND));
    CU_ASSERT_PTR_NOT_NULL_FATAL(next);
    CU_ASSERT_EQUAL(next->todo.standing, STANDING_ILL);
    for (uint32_t i = 0; i < N; i++) {
        forget(&workbench, hosts[i]);
    }
    workbench_destroy(&workbench);
}

/* Of new hosts those that have sent their robots.txt go before those that were never asked, so that
 * the ones that came first are proven first; but nobody waits for ever. */
static void a_new_host_that_was_heard_of_goes_before_one_that_was_not(void)
{
    enum { N = 20 };
    Workbench workbench;
    VisitState *hosts[N];
    workbench_init(&workbench, at(0));
    for (uint32_t i = 0; i < N; i++) {
        hosts[i] = host_with(i, i, STANDING_NEW);
        hosts[i]->politeness.standing.has_answered = i >= N / 2;
        hosts[i]->politeness.next_fetch = at(i < N / 2 ? SECOND : 2 * SECOND);
        CU_ASSERT_EQUAL(workbench_add(&workbench, hosts[i], at(SECOND)), RESULT_OK);
    }
    for (uint32_t i = 0; i < N / 4; i++) {
        CU_ASSERT_TRUE(
            workbench_acquire(&workbench, at(3 * SECOND))->politeness.standing.has_answered);
    }
    VisitState *late = host_with(N, N, STANDING_NEW);
    late->politeness.standing.has_answered = true;
    late->politeness.next_fetch = at(20 * SECOND);
    CU_ASSERT_EQUAL(workbench_add(&workbench, late, at(20 * SECOND)), RESULT_OK);
    size_t before = 0; /* it, who came long after those that were never asked */
    for (VisitState *next = workbench_acquire(&workbench, at(20 * SECOND));
         next != NULL && next != late; next = workbench_acquire(&workbench, at(20 * SECOND))) {
        before++;
    }
    CU_ASSERT_EQUAL(before, N - N / 4);
    for (uint32_t i = 0; i < N; i++) {
        forget(&workbench, hosts[i]);
    }
    forget(&workbench, late);
    workbench_destroy(&workbench);
}

/* Whoever turns slow in flight gives its place to another one of its kind, while those that fail
 * have room. */
static void the_place_of_one_that_turned_slow_is_free(void)
{
    enum { N = 12, CONNECTIONS = 8 };
    Workbench workbench;
    VisitState *hosts[N];
    LiveShares live = {.new_percent = 50, .slow_percent = 25};
    workbench_init(&workbench, at(0));
    workbench_share(&workbench, standing_shares(&live), CONNECTIONS);
    for (uint32_t i = 0; i < N; i++) {
        hosts[i] = host_with(i, i, STANDING_NEW);
        CU_ASSERT_EQUAL(workbench_add(&workbench, hosts[i], at(SECOND + i)), RESULT_OK);
    }
    VisitState *slow[3] = {NULL};
    for (size_t i = 0; i < 4; i++) {
        VisitState *visit_state = workbench_acquire(&workbench, at(2 * SECOND));
        CU_ASSERT_PTR_NOT_NULL_FATAL(visit_state);
        visit_turn_begin(visit_state);
        slow[i % 3] = visit_state;
    }
    CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(2 * SECOND)));
    for (size_t i = 0; i < 3; i++) { /* and for two of them there is room */
        CU_ASSERT_TRUE(visit_turn_slow_down(slow[i], &live));
        CU_ASSERT_FALSE(visit_turn_slow_down(slow[i], &live));
    }
    workbench_share(&workbench, standing_shares(&live), CONNECTIONS);
    CU_ASSERT_EQUAL(workbench_n_active(&workbench, STANDING_NEW), 2);
    CU_ASSERT_EQUAL(workbench_n_active(&workbench, STANDING_ILL), 2);
    CU_ASSERT_PTR_NOT_NULL(workbench_acquire(&workbench, at(2 * SECOND)));
    CU_ASSERT_PTR_NOT_NULL(workbench_acquire(&workbench, at(2 * SECOND)));
    CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(2 * SECOND)));
    for (size_t i = 0; i < 3; i++) {
        visit_turn_leave(slow[i], &live);
        visit_turn_leave(slow[i], &live);
    }
    CU_ASSERT_EQUAL(atomic_load(&live.slowed[STANDING_NEW]), 0);
    for (uint32_t i = 0; i < N; i++) {
        forget(&workbench, hosts[i]);
    }
    workbench_destroy(&workbench);
}

/* A host that has answered does not wait for one of its address that fails. */
static void neighbours_of_a_failing_host_go_on(void)
{
    Workbench workbench;
    StandingShares shares = {.new_percent = 50, .slow_percent = 25};
    VisitState *elsewhere = host_with(1, 1, STANDING_ILL);
    VisitState *ill = host_with(2, 2, STANDING_ILL);
    VisitState *well = host_with(3, 2, STANDING_PROVEN);
    workbench_init(&workbench, at(0));
    workbench_share(&workbench, shares, 4);
    CU_ASSERT_EQUAL(workbench_add(&workbench, elsewhere, at(0)), RESULT_OK);
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&workbench, at(SECOND)), elsewhere);
    CU_ASSERT_EQUAL(workbench_add(&workbench, ill, at(SECOND)), RESULT_OK);
    CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(SECOND)));
    CU_ASSERT_EQUAL(workbench_add(&workbench, well, at(SECOND)), RESULT_OK);
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&workbench, at(SECOND)), well);
    CU_ASSERT_PTR_NULL(workbench_acquire(&workbench, at(SECOND))); /* invariant 4 */
    visit_state_take(well);
    CU_ASSERT_TRUE(workbench_release(&workbench, well, at(2 * SECOND)));
    elsewhere->politeness.next_fetch = at(100 * SECOND);
    (void)workbench_release(&workbench, elsewhere, at(2 * SECOND));
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&workbench, at(2 * SECOND)), ill); /* of a better level */
    forget(&workbench, elsewhere);
    forget(&workbench, ill);
    forget(&workbench, well);
    workbench_destroy(&workbench);
}

static void a_standing_follows_from_what_came(void)
{
    StandingShares shares = {.new_percent = 50, .slow_percent = 25};
    StandingRecord record = {.has_answered = false};
    HostHealth health = {.failures = 0};
    CU_ASSERT_EQUAL(standing_of(&record, &health), STANDING_NEW);
    record.has_answered = true; /* a robots.txt has come */
    CU_ASSERT_EQUAL(standing_of(&record, &health), STANDING_NEW);
    record.is_proven = true;
    CU_ASSERT_EQUAL(standing_of(&record, &health), STANDING_PROVEN);
    health = (HostHealth){.failures = 2, .last = FETCH_BUSY}; /* it says so at once */
    CU_ASSERT_EQUAL(standing_of(&record, &health), STANDING_PROVEN);
    health.last = FETCH_TIMEOUT;
    CU_ASSERT_EQUAL(standing_of(&record, &health), STANDING_ILL);
    health.failures = 0;
    record.is_slow = standing_is_slow(10000, 170000, 0);
    CU_ASSERT_EQUAL(standing_of(&record, &health), STANDING_ILL);
    CU_ASSERT_FALSE(standing_is_slow(10000, 17000000, 0));
    CU_ASSERT_FALSE(standing_is_slow(1000, 1, 0));           /* that is nothing */
    CU_ASSERT_FALSE(standing_is_slow(10000, 170000, 17000)); /* the operator wants it so */
    CU_ASSERT_TRUE(standing_drips(1000, STANDING_DRIP_MS, 2000, 0));
    CU_ASSERT_FALSE(standing_drips(1000, STANDING_DRIP_MS, 14600, 0)); /* what comes at once */
    CU_ASSERT_FALSE(standing_drips(900, STANDING_DRIP_MS, 1, 0));
    CU_ASSERT_EQUAL(standing_most(&shares, STANDING_PROVEN, 256), 256);
    CU_ASSERT_EQUAL(standing_most(&shares, STANDING_NEW, 256), 128);
    CU_ASSERT_EQUAL(standing_most(&shares, STANDING_ILL, 250), 62);
    CU_ASSERT_EQUAL(standing_most(&shares, STANDING_ILL, 1), 1);
    CU_ASSERT_EQUAL(standing_most(&shares, STANDING_ILL, 0), 0);
}

/* ---- leases ---- */

typedef struct Asked {
    unsigned wants;
    unsigned releases;
    uint64_t ticket;
    MonoTime rest_end;
} Asked;

static void note_want(void *context, const IpAddress *address, uint64_t ticket)
{
    Asked *asked = context;
    (void)address;
    asked->wants++;
    asked->ticket = ticket;
}

static void note_release(void *context, const IpAddress *address, MonoTime rest_end)
{
    Asked *asked = context;
    (void)address;
    asked->releases++;
    asked->rest_end = rest_end;
}

typedef struct LeaseBench {
    Workbench workbench;
    WorkbenchLeases leases;
    Asked asked;
    IpAddress address;
    VisitState *host;
} LeaseBench;

/* One host with so many URLs at one address. */
static void open_lease_bench(LeaseBench *bench, uint32_t urls)
{
    memset(bench, 0, sizeof *bench);
    workbench_init(&bench->workbench, at(0));
    bench->leases = (WorkbenchLeases){&bench->asked, note_want, note_release};
    workbench_set_leases(&bench->workbench, &bench->leases);
    bench->address = address_of(1);
    bench->host = visit_state_of(1, 1);
    fill(bench->host, urls, 0);
    CU_ASSERT_EQUAL(workbench_add(&bench->workbench, bench->host, at(SECOND)), RESULT_OK);
}

static void close_lease_bench(LeaseBench *bench)
{
    forget(&bench->workbench, bench->host);
    workbench_destroy(&bench->workbench);
}

/* Tells the news of the want with this ticket. */
static void hear(LeaseBench *bench, LeaseNotice notice, uint64_t ticket, int64_t now)
{
    notice.address = bench->address;
    notice.ticket = ticket;
    workbench_hear(&bench->workbench, &notice, at(now));
}

static void grant(LeaseBench *bench, int64_t end, bool contended, int64_t now)
{
    LeaseNotice notice = {.kind = LEASE_NOTICE_GRANTED, .end = at(end), .contended = contended};
    hear(bench, notice, bench->asked.ticket, now);
}

static void contend(LeaseBench *bench, int64_t now)
{
    hear(bench, (LeaseNotice){.kind = LEASE_NOTICE_CONTENDED}, bench->asked.ticket, now);
}

static void end_lease(LeaseBench *bench, int64_t now)
{
    hear(bench, (LeaseNotice){.kind = LEASE_NOTICE_ENDED}, bench->asked.ticket, now);
}

/* Fetches once; host and address rest until `next`. */
static void fetch_once(LeaseBench *bench, int64_t now, int64_t next)
{
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&bench->workbench, at(now)), bench->host);
    visit_state_take(bench->host);
    bench->host->politeness.next_fetch = at(next);
    bench->host->politeness.ip_next_fetch = at(next);
    (void)workbench_release(&bench->workbench, bench->host, at(now));
}

static void without_a_lease_nothing_is_fetched(void)
{
    LeaseBench bench;
    open_lease_bench(&bench, 3);
    CU_ASSERT_EQUAL(bench.asked.wants, 1);
    CU_ASSERT_PTR_NULL(workbench_acquire(&bench.workbench, at(2 * SECOND)));
    CU_ASSERT_EQUAL(bench.asked.wants, 1);
    CU_ASSERT_EQUAL(workbench_front(&bench.workbench), 1);
    CU_ASSERT_EQUAL(workbench_next_time(&bench.workbench).ns, MONO_NEVER.ns);
    grant(&bench, 30 * SECOND, false, 2 * SECOND);
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&bench.workbench, at(2 * SECOND)), bench.host);
    CU_ASSERT_EQUAL(bench.host->politeness.fetch_before.ns, 30 * SECOND);
    (void)workbench_release(&bench.workbench, bench.host, at(3 * SECOND));
    /* Its end passes while it is due: it is given back, and wanted again. */
    CU_ASSERT_PTR_NULL(workbench_acquire(&bench.workbench, at(30 * SECOND)));
    CU_ASSERT_TRUE(bench.asked.releases == 1 && bench.asked.wants == 2);
    close_lease_bench(&bench);
}

static void news_of_an_earlier_want_come_too_late(void)
{
    LeaseBench bench;
    open_lease_bench(&bench, 3);
    uint64_t first = bench.asked.ticket;
    grant(&bench, 30 * SECOND, false, SECOND);
    end_lease(&bench, 2 * SECOND);
    CU_ASSERT_TRUE(bench.asked.releases == 1 && bench.asked.wants == 2);
    LeaseNotice longer = {.kind = LEASE_NOTICE_GRANTED, .end = at(60 * SECOND)};
    hear(&bench, longer, first, 2 * SECOND); /* an extension that crossed the release */
    CU_ASSERT_PTR_NULL(workbench_acquire(&bench.workbench, at(2 * SECOND)));
    grant(&bench, 40 * SECOND, false, 3 * SECOND);
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&bench.workbench, at(3 * SECOND)), bench.host);
    (void)workbench_release(&bench.workbench, bench.host, at(3 * SECOND));
    close_lease_bench(&bench);
}

static void what_is_not_needed_others_get(void)
{
    LeaseBench bench;
    open_lease_bench(&bench, 9);
    grant(&bench, 30 * SECOND, false, SECOND);
    fetch_once(&bench, SECOND, 6 * SECOND);
    CU_ASSERT_EQUAL(bench.asked.releases, 0); /* nobody waits: it is kept */
    contend(&bench, 2 * SECOND);
    CU_ASSERT_EQUAL(bench.asked.releases, 1); /* the next fetch is four seconds away */
    CU_ASSERT_EQUAL(bench.asked.rest_end.ns, 6 * SECOND);
    CU_ASSERT_PTR_NULL(workbench_acquire(&bench.workbench, at(6 * SECOND)));
    CU_ASSERT_EQUAL(bench.asked.wants, 2);
    grant(&bench, 36 * SECOND, true, 6 * SECOND);
    fetch_once(&bench, 6 * SECOND, 6 * SECOND + SECOND / 10);
    CU_ASSERT_EQUAL(bench.asked.releases, 1); /* a matter of moments */
    fetch_once(&bench, 7 * SECOND, 300 * SECOND);
    CU_ASSERT_EQUAL(bench.asked.releases, 2);
    close_lease_bench(&bench);
}

static void a_lease_that_begins_later_is_kept_and_its_rest_told(void)
{
    LeaseBench bench;
    open_lease_bench(&bench, 9);
    LeaseNotice notice = {.kind = LEASE_NOTICE_GRANTED,
                          .begin = at(4 * SECOND),
                          .end = at(30 * SECOND),
                          .contended = true};
    hear(&bench, notice, bench.asked.ticket, SECOND);
    CU_ASSERT_PTR_NULL(workbench_acquire(&bench.workbench, at(4 * SECOND - 1)));
    CU_ASSERT_EQUAL(bench.asked.releases, 0); /* others wait, but it was not used yet */
    CU_ASSERT_EQUAL(workbench_next_time(&bench.workbench).ns, 4 * SECOND);
    end_lease(&bench, SECOND + SECOND / 2);
    CU_ASSERT_EQUAL(bench.asked.releases, 1);
    CU_ASSERT_EQUAL(bench.asked.rest_end.ns, 4 * SECOND);
    /* It is asked for anew two seconds before it is needed, and with others that are needed soon.
     */
    int64_t soon = workbench_next_time(&bench.workbench).ns;
    CU_ASSERT(soon <= 2 * SECOND && soon > 2 * SECOND - SECOND / 8 && soon % (SECOND / 125) == 0);
    CU_ASSERT_PTR_NULL(workbench_acquire(&bench.workbench, at(soon - 1)));
    CU_ASSERT_EQUAL(bench.asked.wants, 1);
    CU_ASSERT_PTR_NULL(workbench_acquire(&bench.workbench, at(soon)));
    CU_ASSERT_EQUAL(bench.asked.wants, 2);
    CU_ASSERT_PTR_NULL(workbench_acquire(&bench.workbench, at(4 * SECOND - SECOND / 10)));
    CU_ASSERT_EQUAL(bench.asked.wants, 2);
    hear(&bench, notice, bench.asked.ticket, 4 * SECOND - SECOND / 20);
    fetch_once(&bench, 4 * SECOND, 6 * SECOND);
    CU_ASSERT_EQUAL(bench.asked.releases, 2);
    close_lease_bench(&bench);
}

static void a_fetch_in_flight_keeps_its_lease(void)
{
    LeaseBench bench;
    open_lease_bench(&bench, 9);
    grant(&bench, 30 * SECOND, false, SECOND);
    CU_ASSERT_PTR_EQUAL(workbench_acquire(&bench.workbench, at(29 * SECOND)), bench.host);
    contend(&bench, 29 * SECOND);
    end_lease(&bench, 30 * SECOND);
    CU_ASSERT_EQUAL(bench.asked.releases, 0);
    bench.host->politeness.ip_next_fetch = at(51 * SECOND);
    (void)workbench_release(&bench.workbench, bench.host, at(50 * SECOND));
    CU_ASSERT_TRUE(bench.asked.releases == 1 && bench.asked.rest_end.ns == 51 * SECOND);
    close_lease_bench(&bench);
}

static void after_a_sleep_leases_are_asked_for_anew(void)
{
    LeaseBench bench;
    open_lease_bench(&bench, 9);
    grant(&bench, 30 * SECOND, false, SECOND);
    workbench_count_sleep(&bench.workbench, 0);
    CU_ASSERT_EQUAL(bench.asked.wants, 1);
    workbench_count_sleep(&bench.workbench, SECOND);
    CU_ASSERT_PTR_NULL(workbench_acquire(&bench.workbench, at(2 * SECOND)));
    CU_ASSERT_TRUE(bench.asked.releases == 1 && bench.asked.wants == 2);
    /* It cannot be asked for: a moment later again. */
    end_lease(&bench, 2 * SECOND);
    CU_ASSERT_EQUAL(bench.asked.wants, 2);
    CU_ASSERT_PTR_NULL(workbench_acquire(&bench.workbench, at(3 * SECOND)));
    CU_ASSERT_EQUAL(bench.asked.wants, 3);
    close_lease_bench(&bench);
}

static void an_entry_that_is_forgotten_gives_its_lease_back(void)
{
    LeaseBench bench;
    open_lease_bench(&bench, 1);
    grant(&bench, 30 * SECOND, false, SECOND);
    fetch_once(&bench, SECOND, 2 * SECOND); /* that was its last URL */
    CU_ASSERT_EQUAL(bench.asked.releases, 0);
    CU_ASSERT_PTR_NULL(workbench_acquire(&bench.workbench, at(2 * SECOND)));
    CU_ASSERT_EQUAL(bench.asked.releases, 1);
    CU_ASSERT_EQUAL(workbench_n_entries(&bench.workbench), 0);
    close_lease_bench(&bench);
}

UNIT_MAIN(
    "workbench", {"nothing is acquired before either time", nothing_is_acquired_before_either_time},
    {"a round waits for what gets due soon, and for releases",
     a_round_waits_for_what_gets_due_soon_and_for_releases},
    {"an empty, dropped, expired or far visit state leaves",
     an_empty_or_expired_visit_state_leaves},
    {"a resting address is remembered for the next host",
     a_resting_address_is_remembered_for_the_next_host},
    {"the best level goes first, then who waits longest",
     the_best_level_goes_first_then_who_waits_longest},
    {"a host is not late because a neighbour waits for room",
     a_host_is_not_late_because_a_neighbour_waits_for_room},
    {"nobody waits for hosts that are new or fail", nobody_waits_for_hosts_that_are_new_or_fail},
    {"a new host that was heard of goes before one that was not",
     a_new_host_that_was_heard_of_goes_before_one_that_was_not},
    {"neighbours of a failing host go on", neighbours_of_a_failing_host_go_on},
    {"the place of one that turned slow in flight is free",
     the_place_of_one_that_turned_slow_is_free},
    {"a standing follows from what came", a_standing_follows_from_what_came},
    {"the best host of an address goes first", the_best_host_of_an_address_goes_first},
    {"strict lets the worse wait, and weighted gives it its share",
     strict_lets_the_worse_wait_and_weighted_gives_it_its_share},
    {"no address is fetched from before the floor", no_address_is_fetched_from_before_the_floor},
    {"random work in virtual time keeps the invariants",
     random_work_in_virtual_time_keeps_the_invariants},
    {"without a lease nothing is fetched", without_a_lease_nothing_is_fetched},
    {"news of an earlier want come too late", news_of_an_earlier_want_come_too_late},
    {"what is not needed others get", what_is_not_needed_others_get},
    {"a lease that begins later is kept, and its rest told",
     a_lease_that_begins_later_is_kept_and_its_rest_told},
    {"a fetch in flight keeps its lease", a_fetch_in_flight_keeps_its_lease},
    {"after a sleep leases are asked for anew", after_a_sleep_leases_are_asked_for_anew},
    {"an entry that is forgotten gives its lease back",
     an_entry_that_is_forgotten_gives_its_lease_back})
