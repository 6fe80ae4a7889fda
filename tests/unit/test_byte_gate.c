#include <stdatomic.h>

#include "base/thread/byte_gate.h"
#include "base/thread/thread.h"
#include "unit.h"

#define LIMIT 1000u

static void count_call(void *context)
{
    (void)atomic_fetch_add((atomic_uint *)context, 1u);
}

static void it_closes_at_its_limit_and_opens_at_three_quarters(void)
{
    ByteGate gate;
    ByteShare a = {.gate = NULL};
    ByteShare b = {.gate = NULL};
    atomic_uint calls = 0;
    byte_gate_init(&gate, LIMIT, count_call, &calls);
    CU_ASSERT_TRUE(byte_gate_is_open(&gate));
    byte_gate_move(&a, &gate, 600);
    CU_ASSERT_TRUE(byte_gate_is_open(&gate));
    byte_gate_move(&b, &gate, 400);
    CU_ASSERT_EQUAL(byte_gate_held(&gate), 1000);
    CU_ASSERT_FALSE(byte_gate_is_open(&gate));
    byte_gate_move(&b, &gate, 200); /* 800: below the limit, but not low */
    CU_ASSERT_FALSE(byte_gate_is_open(&gate));
    CU_ASSERT_EQUAL(calls, 0);
    byte_gate_move(&b, &gate, 150);
    CU_ASSERT_EQUAL(calls, 1);
    CU_ASSERT_TRUE(byte_gate_is_open(&gate));
    byte_gate_move(&a, NULL, 0);
    byte_gate_move(&b, NULL, 0);
    CU_ASSERT_EQUAL(byte_gate_held(&gate), 0);
    CU_ASSERT_EQUAL(byte_gate_closings(&gate), 1);
    CU_ASSERT_EQUAL(calls, 1);
    byte_gate_destroy(&gate);
}

static void what_is_large_has_half_of_it(void)
{
    ByteGate gate;
    ByteShare large = {.gate = NULL};
    ByteShare small = {.gate = NULL};
    atomic_uint calls = 0;
    byte_gate_init(&gate, LIMIT, count_call, &calls);
    byte_gate_move(&large, &gate, 499);
    CU_ASSERT_TRUE(byte_gate_is_open_for(&gate, BYTE_GATE_LARGE));
    byte_gate_move(&large, &gate, 500);
    CU_ASSERT_FALSE(byte_gate_is_open_for(&gate, BYTE_GATE_LARGE));
    CU_ASSERT_TRUE(byte_gate_is_open(&gate));
    byte_gate_move(&small, &gate, 499);
    CU_ASSERT_TRUE(byte_gate_is_open(&gate));
    byte_gate_move(&small, &gate, 500);
    CU_ASSERT_FALSE(byte_gate_is_open(&gate));
    byte_gate_move(&small, &gate, 250); /* low for any, not for what is large */
    CU_ASSERT_EQUAL(calls, 1);
    CU_ASSERT_TRUE(byte_gate_is_open(&gate));
    CU_ASSERT_FALSE(byte_gate_is_open_for(&gate, BYTE_GATE_LARGE));
    byte_gate_move(&large, &gate, 125);
    CU_ASSERT_EQUAL(calls, 2); /* whoever waits is told */
    CU_ASSERT_TRUE(byte_gate_is_open_for(&gate, BYTE_GATE_LARGE));
    CU_ASSERT_EQUAL(byte_gate_closings(&gate), 2);
    byte_gate_move(&large, NULL, 0);
    byte_gate_move(&small, NULL, 0);
    byte_gate_destroy(&gate);
}

static void its_limit_may_change(void)
{
    ByteGate gate;
    ByteShare share = {.gate = NULL};
    atomic_uint calls = 0;
    byte_gate_init(&gate, LIMIT, count_call, &calls);
    byte_gate_move(&share, &gate, 900);
    byte_gate_set(&gate, 900);
    CU_ASSERT_FALSE(byte_gate_is_open(&gate));
    byte_gate_set(&gate, LIMIT); /* 900 is above three quarters of it */
    CU_ASSERT_FALSE(byte_gate_is_open(&gate));
    CU_ASSERT_EQUAL(calls, 0);
    byte_gate_set(&gate, 2 * LIMIT);
    CU_ASSERT_EQUAL(calls, 1); /* whoever waits is told */
    CU_ASSERT_TRUE(byte_gate_is_open(&gate));
    byte_gate_move(&share, NULL, 0);
    byte_gate_destroy(&gate);
}

static void a_share_is_counted_at_one_gate_only(void)
{
    ByteGate first;
    ByteGate second;
    ByteShare share = {.gate = NULL};
    byte_gate_init(&first, LIMIT, NULL, NULL);
    byte_gate_init(&second, LIMIT, NULL, NULL);
    byte_gate_move(&share, &first, 5000);
    CU_ASSERT_FALSE(byte_gate_is_open(&first));
    byte_gate_move(&share, &second, 300);
    CU_ASSERT_EQUAL(byte_gate_held(&first), 0);
    CU_ASSERT_EQUAL(byte_gate_held(&second), 300);
    CU_ASSERT_TRUE(byte_gate_is_open(&first));
    byte_gate_move(&share, NULL, 7);
    CU_ASSERT_EQUAL(byte_gate_held(&second), 0);
    CU_ASSERT_EQUAL(share.bytes, 0);
    byte_gate_destroy(&first);
    byte_gate_destroy(&second);
}

static void it_tells_when_nothing_would_open_it(void)
{
    ByteGate gate;
    ByteShare half = {.gate = NULL}; /* of a maker: leaves when it is complete */
    ByteShare done = {.gate = NULL};
    atomic_uint calls = 0;
    byte_gate_init(&gate, LIMIT, count_call, &calls);
    byte_gate_move(&half, &gate, 900);
    byte_gate_move(&done, &gate, 300);
    CU_ASSERT_TRUE(byte_gate_runs_dry(&gate));
    byte_gate_hand_on(&done);
    byte_gate_hand_on(&done); /* once is enough */
    CU_ASSERT_FALSE(byte_gate_runs_dry(&gate));
    CU_ASSERT_FALSE(byte_gate_is_open(&gate));
    byte_gate_move(&done, NULL, 0);
    CU_ASSERT_FALSE(byte_gate_is_open(&gate)); /* 900 are too many to open */
    CU_ASSERT_TRUE(byte_gate_runs_dry(&gate));
    CU_ASSERT_EQUAL(calls, 1); /* but the maker was told */
    byte_gate_move(&half, &gate, 2500);
    byte_gate_hand_on(&half);
    byte_gate_move(&half, NULL, 0);
    CU_ASSERT_EQUAL(calls, 2);
    CU_ASSERT_TRUE(byte_gate_is_open(&gate));
    byte_gate_destroy(&gate);
}

#define MAKERS 3u
#define EACH   20000u

typedef struct Traffic {
    ByteGate gate;
    atomic_size_t most;
} Traffic;

typedef struct Maker {
    Traffic *traffic;
    Thread thread;
    unsigned state;
} Maker;

/* Uses up what it has made, waits, and makes the next. */
static void *make_and_use(void *argument)
{
    Maker *maker = argument;
    ByteGate *gate = &maker->traffic->gate;
    ByteShare share = {.gate = NULL};
    for (unsigned i = 0; i < EACH; i++) {
        maker->state = maker->state * 1664525u + 1013904223u;
        byte_gate_move(&share, NULL, 0);
        byte_gate_wait(gate, BYTE_GATE_ANY);
        byte_gate_move(&share, gate, maker->state >> 22);
        size_t held = byte_gate_held(gate);
        if (held > atomic_load(&maker->traffic->most)) {
            atomic_store(&maker->traffic->most, held);
        }
    }
    byte_gate_move(&share, NULL, 0);
    return NULL;
}

static void many_threads_wait_and_none_for_ever(void)
{
    Traffic traffic = {.most = 0};
    Maker makers[MAKERS];
    byte_gate_init(&traffic.gate, LIMIT, NULL, NULL);
    for (unsigned i = 0; i < MAKERS; i++) {
        makers[i] = (Maker){.traffic = &traffic, .state = i};
        CU_ASSERT_EQUAL_FATAL(thread_start(&makers[i].thread, "maker", make_and_use, &makers[i]),
                              RESULT_OK);
    }
    for (unsigned i = 0; i < MAKERS; i++) {
        thread_join(&makers[i].thread);
    }
    CU_ASSERT_EQUAL(byte_gate_held(&traffic.gate), 0);
    CU_ASSERT_TRUE(byte_gate_is_open(&traffic.gate));
    CU_ASSERT_TRUE(traffic.most <= LIMIT + MAKERS * 1024u);
    byte_gate_destroy(&traffic.gate);
}

UNIT_MAIN("byte gate",
          {"it closes at its limit and opens at three quarters",
           it_closes_at_its_limit_and_opens_at_three_quarters},
          {"what is large has half of it", what_is_large_has_half_of_it},
          {"its limit may change", its_limit_may_change},
          {"a share is counted at one gate only", a_share_is_counted_at_one_gate_only},
          {"it tells when nothing would open it", it_tells_when_nothing_would_open_it},
          {"many threads wait and none for ever", many_threads_wait_and_none_for_ever})
