/* One value that all agents share, beside a server that answers late, twice, or not at all. */
#include <string.h>

#include "bucket_fixture.h"
#include "cluster/desk/key.h"
#include "dice.h"
#include "unit.h"

#define SEED     20261128u
#define STEPS    60000u
#define PAUSE_MS 20000
#define CALLS    8u

static BucketSeen seen;
static Transport transport = {.state = &seen, .get = bucket_get, .put = bucket_put};
static NodeLink node;
static Key key;
static MonoTime now;

static void begin(void)
{
    memset(&seen, 0, sizeof seen);
    node_link_init(&node, &transport, "test");
    node.up = true;
    node.pace_ms = 10;
    now = (MonoTime){.ns = 1000000000};
    key_init(&key, &node, NODE_PART_EDICTS, "edicts", PAUSE_MS);
}

static void pass(int64_t ms)
{
    now = mono_add_ms(now, ms);
    key_work(&key, now);
}

static KeyNews take(TransportEventKind kind, uint64_t token, uint64_t revision)
{
    TransportEvent event = {.kind = kind, .token = token, .revision = revision};
    return key_take(&key, &event, now);
}

static void it_looks_once_wanted_and_then_every_pause(void)
{
    begin();
    pass(1000000);
    CU_ASSERT_EQUAL(seen.last_get, 0); /* nobody has called key_up */
    key_changed(&key, now);
    pass(1000);
    CU_ASSERT_EQUAL(seen.last_get, 0);
    key_up(&key, now);
    pass(0);
    uint64_t first = seen.last_get;
    CU_ASSERT_TRUE(first != 0 && key_is_busy(&key) && !key.seen);
    CU_ASSERT_EQUAL(take(TRANSPORT_VALUE, first, 5), KEY_VALUE);
    CU_ASSERT_TRUE(key.revision == 5 && key.seen && !key_is_busy(&key));
    CU_ASSERT_EQUAL(take(TRANSPORT_VALUE, first, 6), KEY_NOTHING); /* twice */
    CU_ASSERT_EQUAL(key.revision, 5);
    pass(PAUSE_MS - 1);
    CU_ASSERT_EQUAL(seen.last_get, first);
    pass(1);
    CU_ASSERT_NOT_EQUAL(seen.last_get, first);
    node_link_destroy(&node);
}

static void a_look_that_is_not_answered_is_lost(void)
{
    begin();
    key_up(&key, now);
    pass(0);
    uint64_t first = seen.last_get;
    pass(KEY_ANSWER_MS - 1);
    CU_ASSERT_EQUAL(seen.last_get, first);
    pass(1);
    uint64_t second = seen.last_get;
    CU_ASSERT_NOT_EQUAL(second, first);
    CU_ASSERT_EQUAL(take(TRANSPORT_VALUE, first, 5), KEY_NOTHING); /* after all */
    CU_ASSERT_EQUAL(take(TRANSPORT_FAILED, second, 0), KEY_NOTHING);
    CU_ASSERT_FALSE(key.seen);
    node.up = false;
    CU_ASSERT_EQUAL(key_next(&key).ns, MONO_NEVER.ns);
    pass(10 * PAUSE_MS);
    CU_ASSERT_EQUAL(seen.last_get, second);
    node_link_destroy(&node);
}

static void a_change_is_looked_at_soon_and_after_the_look_in_flight(void)
{
    begin();
    key_up(&key, now);
    pass(0);
    uint64_t first = seen.last_get;
    key_changed(&key, now);
    pass(100);
    CU_ASSERT_EQUAL(seen.last_get, first);
    CU_ASSERT_EQUAL(take(TRANSPORT_VALUE, first, 5), KEY_VALUE);
    pass(9);
    CU_ASSERT_EQUAL(seen.last_get, first);
    pass(1);
    uint64_t second = seen.last_get;
    CU_ASSERT_NOT_EQUAL(second, first);
    key_doubt(&key, now);
    pass(0);
    CU_ASSERT_NOT_EQUAL(seen.last_get, second);
    CU_ASSERT_EQUAL(take(TRANSPORT_VALUE, second, 6), KEY_NOTHING); /* it is too old */
    uint64_t third = seen.last_get;
    CU_ASSERT_EQUAL(take(TRANSPORT_VALUE, third, 6), KEY_VALUE);
    key_changed(&key, now); /* while nothing is in flight */
    CU_ASSERT_EQUAL(key_next(&key).ns, mono_add_ms(now, 10).ns);
    pass(6);
    key_changed(&key, now); /* one look for both */
    pass(4);
    CU_ASSERT_NOT_EQUAL(seen.last_get, third);
    node_link_destroy(&node);
}

/* A call that reaches the server, or does not; its answer comes at some time, or never. */
typedef struct Call {
    uint64_t token; /* 0: none */
    TransportEvent answer;
} Call;

/* Whatever is lost, late or repeated: what is stored has replaced what was seen last, each refusal
 * is followed by a look, and a value is what the server had after the look began. */
static void nothing_is_replaced_that_was_not_seen(void)
{
    Dice dice = {SEED};
    Call calls[CALLS];
    uint64_t revision = 0;      /* of the server */
    uint64_t at_look[1u << 16]; /* its revision when each look began, by number */
    unsigned stored = 0;
    unsigned refused = 0;
    memset(calls, 0, sizeof calls);
    begin();
    key_up(&key, now);
    for (unsigned step = 0; step < STEPS; step++) {
        uint64_t last = seen.last;
        uint64_t look = seen.last_get;
        unsigned puts = seen.n_puts;
        bool was_putting = key.put != 0;
        now = mono_add_ms(now, (int64_t)dice_below(&dice, 400));
        if (key.seen && !key_is_busy(&key) && dice_below(&dice, 3) == 0) {
            (void)node_link_blank(&node);
            CU_ASSERT_EQUAL(key_put(&key, now), RESULT_OK);
            CU_ASSERT_EQUAL(seen.expected, key.revision);
        } else if (dice_below(&dice, 50) == 0) { /* connected again: what was in flight is lost */
            key_up(&key, now);
            CU_ASSERT_FALSE(key_is_busy(&key) || key.seen);
        } else {
            key_work(&key, now);
        }
        revision += dice_below(&dice, 9) == 0; /* another agent */
        if (seen.last != last) {
            Call *call = &calls[dice_below(&dice, CALLS)]; /* what was there is lost */
            bool is_put = seen.n_puts != puts;
            bool arrives = dice_below(&dice, 5) > 0;
            *call = (Call){.token = seen.last, .answer = {.token = seen.last}};
            if (is_put && arrives) {
                bool fits = seen.expected == revision;
                revision += fits;
                call->answer.kind = fits ? TRANSPORT_STORED : TRANSPORT_CONFLICT;
            } else {
                call->answer.kind = arrives ? TRANSPORT_VALUE : TRANSPORT_FAILED;
            }
            call->answer.revision = revision;
            if (seen.last_get != look) {
                CU_ASSERT_FALSE(was_putting && key.put != 0); /* not while a put is in flight */
                at_look[node_token_number(seen.last) & 0xffff] = revision;
            }
        }
        const Call *call = &calls[dice_below(&dice, CALLS)]; /* some come twice */
        if (call->token != 0) {
            uint64_t number = node_token_number(call->token) & 0xffff;
            bool is_of_look = call->token == node_token(NODE_PART_EDICTS, KEY_BIT | key.look);
            KeyNews news = key_take(&key, &call->answer, now);
            CU_ASSERT_TRUE(news != KEY_VALUE || (is_of_look && key.revision >= at_look[number]));
            stored += news == KEY_STORED;
            refused += news == KEY_REFUSED;
            CU_ASSERT_TRUE(news != KEY_REFUSED || key_next(&key).ns <= now.ns);
            CU_ASSERT_TRUE(news != KEY_STORED || !key_is_busy(&key));
        }
        CU_ASSERT_TRUE(key.revision <= revision);
    }
    CU_ASSERT_TRUE(stored > 100 && refused > 100);
    node_link_destroy(&node);
}

UNIT_MAIN("key",
          {"it looks once it is wanted, and then every pause",
           it_looks_once_wanted_and_then_every_pause},
          {"a look that is not answered is lost", a_look_that_is_not_answered_is_lost},
          {"a change is looked at soon, and after the look in flight",
           a_change_is_looked_at_soon_and_after_the_look_in_flight},
          {"nothing is replaced that was not seen", nothing_is_replaced_that_was_not_seen})
