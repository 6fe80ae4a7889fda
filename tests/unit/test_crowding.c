/* Which transfers are broken off for others, by fetch/transfer/crowding.h. */
#include "fetch/transfer/crowding.h"

#include <stdlib.h>

#include "frontier/visit/visit_turn.h"
#include "unit.h"

#define N 80u

/* Transfers of hosts that were heard of, all slow: the i-th has received i bytes in ten seconds. */
typedef struct World {
    LiveShares shares;
    FetcherOptions options;
    VisitState visit_states[N];
    Transfer transfers[N];
    Transfer *pointers[N];
    FetchResult results[N];
    TransferPool pool;
    Crowding crowding;
    FetchCrowd crowd;
} World;

static const MonoTime NOW = {INT64_C(100000) * 1000000};

static World *world_of(size_t n, Standing standing, size_t connections)
{
    World *w = calloc(1, sizeof *w);
    if (w == NULL) {
        abort();
    }
    w->shares = (LiveShares){.new_percent = 50, .slow_percent = 25, .new_patience_ms = 3000};
    w->options = (FetcherOptions){.shares = &w->shares, .threads = 2};
    for (size_t i = 0; i < n; i++) {
        MonoTime start = mono_add_ms(NOW, -10000);
        w->visit_states[i].turn.standing = standing;
        w->visit_states[i].politeness.standing.has_answered = true;
        w->transfers[i] = (Transfer){
            .visit_state = &w->visit_states[i],
            .result = &w->results[i],
            .begun = start,
            .timer = {.start = start, .phase_start = start, .phase = PHASE_RECEIVING, .bytes = i}};
        w->pointers[i] = &w->transfers[i];
    }
    StandingShares shares = standing_shares(&w->shares);
    w->pool = (TransferPool){.transfers = w->pointers, .n_transfers = n, .n_active = n};
    w->crowd.most_ill = standing_most(&shares, STANDING_ILL, connections);
    crowding_init(&w->crowding, &w->options, &w->pool);
    return w;
}

/* How many are broken off; *next: the first that is left. */
static size_t cut(World *w, size_t *next)
{
    size_t n = 0;
    Transfer *transfer = NULL;
    CU_ASSERT_TRUE(crowding_look(&w->crowding, &w->crowd, NOW));
    while ((transfer = crowding_next(&w->crowding, NOW)) != NULL) {
        CU_ASSERT_PTR_EQUAL(transfer, &w->transfers[*next]);
        CU_ASSERT_EQUAL(transfer->late, LATE_SLOW);
        visit_turn_leave(transfer->visit_state, &w->shares);
        transfer->visit_state = NULL;
        ++*next;
        n++;
    }
    return n;
}

static void slow_ones_have_their_share_whatever_the_number_of_connections(void)
{
    static const size_t connections[] = {4, 64, 99, 256};
    for (size_t i = 0; i < sizeof connections / sizeof *connections; i++) {
        size_t share = connections[i] / 4;
        size_t next = 0;
        World *w = world_of(share + 1, STANDING_PROVEN, connections[i]);
        w->crowd.n_proven = 8;
        CU_ASSERT_EQUAL(cut(w, &next), 1);
        CU_ASSERT_EQUAL(atomic_load(&w->shares.slowed[STANDING_PROVEN]), share);
        CU_ASSERT_EQUAL(cut(w, &next), 0);
        free(w);
    }
}

static void the_slowest_goes_for_each_that_waits(void)
{
    size_t next = 0;
    World *w = world_of(60, STANDING_PROVEN, 64);
    w->crowd.n_proven = 6; /* half of them is this thread's matter */
    CU_ASSERT_EQUAL(cut(w, &next), 3);
    w->crowd.n_ill = 16; /* those that fail have their share already */
    w->crowd.n_proven = 1000;
    CU_ASSERT_EQUAL(cut(w, &next), 57);
    free(w);
}

static void one_of_a_proven_host_does_not_go_for_a_new_one(void)
{
    size_t next = 0;
    World *w = world_of(60, STANDING_PROVEN, 64);
    w->crowd.n_new = 10;
    CU_ASSERT_EQUAL(cut(w, &next), 0);
    free(w);
    w = world_of(60, STANDING_NEW, 64);
    w->crowd.n_new = 10;
    CU_ASSERT_EQUAL(cut(w, &next), 5);
    free(w);
}

static void who_obeys_a_rate_or_was_never_heard_of_is_not_slow(void)
{
    size_t next = 0;
    World *w = world_of(60, STANDING_PROVEN, 64);
    w->crowd.n_proven = 100;
    for (size_t i = 0; i < 60; i++) {
        w->transfers[i].timer.bytes = 20000;
        w->transfers[i].most_bytes_s = 2000;
        if (i % 2 == 0) {
            w->transfers[i].most_bytes_s = 0;
            w->transfers[i].timer.phase = PHASE_ASKING;
            w->visit_states[i].politeness.standing.has_answered = false;
        }
    }
    CU_ASSERT_EQUAL(cut(w, &next), 0);
    free(w);
}

/* A body that has dripped for so long, of which so much has come, of a host that is new; n_new
 * others wait, and new ones may have 32 connections. */
static bool loses_its_place(int64_t age_ms, uint64_t bytes, size_t n_new)
{
    World *w = world_of(1, STANDING_NEW, 64);
    w->transfers[0].timer.start = mono_add_ms(NOW, -age_ms);
    w->transfers[0].timer.phase_start = w->transfers[0].timer.start;
    w->transfers[0].timer.bytes = bytes;
    w->crowd.n_new = n_new;
    w->crowd.most_new = 32;
    CU_ASSERT_TRUE(crowding_look(&w->crowding, &w->crowd, NOW));
    bool loses = w->visit_states[0].turn.slowed;
    free(w);
    return loses;
}

static void the_more_wait_the_sooner_a_new_host_that_drips_is_known(void)
{
    CU_ASSERT_TRUE(loses_its_place(1000, 100, 1));
    CU_ASSERT_FALSE(loses_its_place(900, 100, 32));
    CU_ASSERT_TRUE(loses_its_place(510, 100, 64));
    CU_ASSERT_FALSE(loses_its_place(490, 100, 64));
    CU_ASSERT_TRUE(loses_its_place(260, 100, 10000));
    CU_ASSERT_FALSE(loses_its_place(240, 100, 10000));
    CU_ASSERT_FALSE(loses_its_place(260, 2200, 10000)); /* it has sent something worth while */
}

/* Bodies that were paused as soon as they came: nothing is known of their rates. Of those of 1, 2,
 * ... 40 times 4 kB none that holds little goes, and one by each look; every second host fails. */
static void bodies_that_hold_a_gate_closed_make_room_largest_first(void)
{
    enum { BODIES = 40, GATE = 2400 * 1024 };
    World *w = world_of(BODIES, STANDING_NEW, 64);
    ByteGate gate;
    byte_gate_init(&gate, GATE, NULL, NULL);
    w->options.gate = &gate;
    for (size_t i = 0; i < BODIES; i++) {
        w->transfers[i].timer.paused = w->transfers[i].timer.start;
        w->transfers[i].timer.bytes = (i + 1) * 4096;
        w->visit_states[i].turn.standing = i % 2 == 0 ? STANDING_ILL : STANDING_NEW;
        byte_gate_move(&w->results[i].cost.share, &gate, (i + 1) * 4096);
    }
    size_t left = BODIES;
    int64_t ms = 0;
    for (; !byte_gate_is_open(&gate) && ms < 2 * CROWDING_STALL_MS; ms += CROWDING_LOOK_MS) {
        MonoTime now = mono_add_ms(NOW, ms);
        CU_ASSERT_TRUE(crowding_look(&w->crowding, &w->crowd, now));
        Transfer *transfer = crowding_next(&w->crowding, now);
        CU_ASSERT_EQUAL(transfer != NULL, ms >= CROWDING_STALL_MS);
        CU_ASSERT_PTR_NULL(crowding_next(&w->crowding, now));
        if (transfer != NULL) {
            CU_ASSERT_PTR_EQUAL(transfer, &w->transfers[--left]);
            CU_ASSERT_EQUAL(transfer->late, left % 2 == 0 ? LATE_SLOW : LATE_ROOM);
            byte_gate_move(&w->results[left].cost.share, NULL, 0);
            transfer->visit_state = NULL;
        }
    }
    CU_ASSERT_TRUE(byte_gate_is_open(&gate) && left > BODIES / 2 && left < BODIES);
    byte_gate_set(&gate, 1);
    for (; ms < 10 * CROWDING_STALL_MS; ms += CROWDING_LOOK_MS) { /* no limit has room for these */
        MonoTime now = mono_add_ms(NOW, ms);
        (void)crowding_look(&w->crowding, &w->crowd, now);
        CU_ASSERT_PTR_NULL(crowding_next(&w->crowding, now));
    }
    for (size_t i = 0; i < left; i++) {
        byte_gate_move(&w->results[i].cost.share, NULL, 0);
    }
    byte_gate_destroy(&gate);
    free(w);
}

/* It holds the gate closed for as long as it takes. */
static void a_body_larger_than_the_gate_may_come(void)
{
    enum { GATE = 100 * 1024 };
    World *w = world_of(3, STANDING_NEW, 64);
    ByteGate gate;
    byte_gate_init(&gate, GATE, NULL, NULL);
    w->options.gate = &gate;
    for (size_t i = 0; i < 3; i++) {
        w->transfers[i].timer.paused = i == 0 ? (MonoTime){0} : w->transfers[i].timer.start;
        w->transfers[i].timer.bytes = 1 << 20;
        byte_gate_move(&w->results[i].cost.share, &gate, i == 0 ? 60 * 1024 : 30 * 1024);
    }
    for (int64_t ms = 0; ms < 10 * CROWDING_STALL_MS; ms += CROWDING_LOOK_MS) {
        MonoTime now = mono_add_ms(NOW, ms);
        w->transfers[0].timer.bytes += 2 * STANDING_SLOW_BYTES * CROWDING_LOOK_MS / 1000;
        CU_ASSERT_TRUE(crowding_look(&w->crowding, &w->crowd, now));
        CU_ASSERT_PTR_NULL(crowding_next(&w->crowding, now));
    }
    for (size_t i = 0; i < 3; i++) {
        byte_gate_move(&w->results[i].cost.share, NULL, 0);
    }
    byte_gate_destroy(&gate);
    free(w);
}

/* Paused large bodies fill their half of the gate, which is open for others. */
static void large_bodies_make_room_for_who_waits_for_a_connection(void)
{
    enum { BODIES = 8, BODY = 100 * 1024, GATE = 2 * BODIES * BODY };
    for (size_t n_waiting = 0; n_waiting < 2; n_waiting++) {
        World *w = world_of(BODIES, STANDING_PROVEN, 64);
        ByteGate gate;
        size_t n_gone = 0;
        byte_gate_init(&gate, GATE, NULL, NULL);
        w->options.gate = &gate;
        w->crowd.n_proven = n_waiting;
        for (size_t i = 0; i < BODIES; i++) {
            w->transfers[i].timer.paused = w->transfers[i].timer.start;
            w->transfers[i].timer.bytes = BODY;
            byte_gate_move(&w->results[i].cost.share, &gate, BODY);
        }
        CU_ASSERT_FALSE(byte_gate_is_open_for(&gate, BYTE_GATE_LARGE));
        for (int64_t ms = 0; ms < 2 * CROWDING_STALL_MS; ms += CROWDING_LOOK_MS) {
            MonoTime now = mono_add_ms(NOW, ms);
            CU_ASSERT_EQUAL(crowding_look(&w->crowding, &w->crowd, now), n_waiting > 0);
            Transfer *transfer = n_waiting > 0 ? crowding_next(&w->crowding, now) : NULL;
            if (transfer != NULL) {
                CU_ASSERT_TRUE(ms >= CROWDING_STALL_MS);
                byte_gate_move(&transfer->result->cost.share, NULL, 0);
                transfer->visit_state = NULL;
                n_gone++;
            }
        }
        CU_ASSERT_EQUAL(n_gone, n_waiting * 2); /* then three eighths are left */
        CU_ASSERT_TRUE(byte_gate_is_open(&gate));
        for (size_t i = 0; i < BODIES; i++) {
            byte_gate_move(&w->results[i].cost.share, NULL, 0);
        }
        byte_gate_destroy(&gate);
        free(w);
    }
}

UNIT_MAIN("crowding",
          {"the more wait, the sooner a new host that drips is known",
           the_more_wait_the_sooner_a_new_host_that_drips_is_known},
          {"slow ones have their share, whatever the number of connections",
           slow_ones_have_their_share_whatever_the_number_of_connections},
          {"the slowest goes, one for each that waits", the_slowest_goes_for_each_that_waits},
          {"one of a proven host does not go for a new one",
           one_of_a_proven_host_does_not_go_for_a_new_one},
          {"who obeys a rate, or was never heard of, is not slow",
           who_obeys_a_rate_or_was_never_heard_of_is_not_slow},
          {"bodies that hold a gate closed make room, largest first",
           bodies_that_hold_a_gate_closed_make_room_largest_first},
          {"large bodies make room for who waits for a connection",
           large_bodies_make_room_for_who_waits_for_a_connection},
          {"a body larger than the gate may come", a_body_larger_than_the_gate_may_come})
