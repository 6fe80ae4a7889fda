#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/desk/lease_desk.h"
#include "unit.h"

/* Two agents with a desk each. What one says the other hears at once, when the test lets it. */

#define MESSAGES_MOST 64u

typedef struct Message {
    uint16_t from;
    uint16_t to;
    bool is_answer;
    uint64_t token;
    char subject[TRANSPORT_SUBJECT_BYTES];
    char *bytes;
    size_t length;
} Message;

typedef struct Side {
    Transport transport;
    NodeLink link;
    LeaseDesk desk;
    bool holds;
} Side;

static Side sides[2];
static Message messages[MESSAGES_MOST];
static size_t n_messages;
static ClusterTable table;
static MonoTime now;

static const LeaseRules rules = {
    .term_ms = 10000, .fetch_ms = 5000, .delay_ms = 1000, .confirm_ms = 3000, .pace_ms = 20};

static void post(const Side *from, const char *subject, bool is_answer, uint64_t token,
                 const void *bytes, size_t length)
{
    Message *message = &messages[n_messages++];
    CU_ASSERT_TRUE_FATAL(n_messages < MESSAGES_MOST);
    *message = (Message){.from = (uint16_t)(from - sides),
                         .to = (uint16_t)(1 - (from - sides)),
                         .is_answer = is_answer,
                         .token = token,
                         .bytes = malloc(length + 1),
                         .length = length};
    memcpy(message->bytes, bytes, length);
    (void)snprintf(message->subject, sizeof message->subject, "%s", subject);
}

static Result on_request(void *state, const char *subject, const void *bytes, size_t length,
                         uint64_t token)
{
    post(state, subject, false, token, bytes, length);
    return RESULT_OK;
}

/* Hints, and answers, to the token by which was asked. */
static Result on_publish(void *state, const char *subject, const void *bytes, size_t length)
{
    char *end = NULL;
    uint64_t token = strtoull(subject, &end, 10);
    post(state, subject, end != subject, token, bytes, length);
    return RESULT_OK;
}

static void on_notice(void *context, const LeaseNotice *notice)
{
    Side *side = context;
    side->holds = notice->kind == LEASE_NOTICE_GRANTED ||
                  (side->holds && notice->kind == LEASE_NOTICE_CONTENDED);
}

static void deliver(const Message *message)
{
    Side *to = &sides[message->to];
    char reply_to[32];
    (void)snprintf(reply_to, sizeof reply_to, "%llu", (unsigned long long)message->token);
    TransportEvent *event = transport_event_new(
        message->is_answer ? TRANSPORT_ANSWER : TRANSPORT_MESSAGE, message->token, message->subject,
        message->is_answer ? NULL : reply_to, message->bytes, message->length);
    NodeMessage in;
    CU_ASSERT_TRUE(node_link_open(&to->link, event, &in));
    if (message->is_answer && node_token_part(message->token) == NODE_PART_HELD) {
        lease_desk_count(&to->desk, &in, 0, now);
    } else if (message->is_answer) {
        lease_desk_take(&to->desk, &in, now);
    } else if (strstr(message->subject, ".lease.") != NULL) {
        lease_desk_asked(&to->desk, &in, now);
    } else if (strstr(message->subject, ".hint.") != NULL) {
        lease_desk_hinted(&to->desk, &in, now);
    } else {
        CU_ASSERT_EQUAL((uint8_t)wire_get_number(&in.body, 1), NODE_ASK_HELD);
        lease_desk_tell_held(&to->desk, &in, 0, now);
    }
    transport_event_delete(event);
}

/* Both work, and hear each other, for so long. */
static void run(int64_t ms)
{
    for (MonoTime end = mono_add_ms(now, ms); mono_before(now, end); now = mono_add_ms(now, 20)) {
        for (size_t i = 0; i < 2; i++) {
            lease_arbiter_confirm(sides[i].desk.arbiter, now);
            lease_desk_work(&sides[i].desk, now);
        }
        while (n_messages > 0) {
            Message first = messages[0];
            memmove(messages, messages + 1, --n_messages * sizeof *messages);
            deliver(&first);
            free(first.bytes);
        }
    }
}

static void set_table(void)
{
    for (size_t i = 0; i < 2; i++) {
        sides[i].link.head.epoch = table.epoch;
        CU_ASSERT_EQUAL(lease_desk_set(&sides[i].desk, &table, now), RESULT_OK);
    }
}

static void begin(void)
{
    static const uint8_t uuid[CLUSTER_UUID_BYTES] = {7};
    now = (MonoTime){INT64_C(1000000000000)};
    table = (ClusterTable){.epoch = 0};
    CU_ASSERT_EQUAL(cluster_table_create(&table, uuid, "", 2), RESULT_OK);
    for (uint16_t i = 0; i < 2; i++) {
        Side *side = &sides[i];
        LeaseNoticeSink sink = {.context = side, .take = on_notice};
        *side = (Side){.transport = {.state = side, .request = on_request, .publish = on_publish}};
        node_link_init(&side->link, &side->transport, "test");
        memcpy(side->link.head.uuid, uuid, sizeof uuid);
        side->link.head.from = i;
        side->link.head.session = 1;
        side->link.up = true;
        CU_ASSERT_EQUAL(lease_desk_init(&side->desk, &side->link, &rules, 100, 0, true, &sink, now),
                        RESULT_OK);
        table.agents[i].claimed = 1;
    }
    set_table();
    for (size_t i = 0; i < 2; i++) {
        lease_desk_up(&sides[i].desk, now, now);
    }
    run(lease_rest_ms(&rules) + 1000);
}

static void end(void)
{
    for (size_t i = 0; i < 2; i++) {
        lease_desk_destroy(&sides[i].desk);
        node_link_destroy(&sides[i].link);
    }
    cluster_table_destroy(&table);
}

/* An address that agent 1 decides about. */
static IpAddress address_of_other(void)
{
    IpAddress address = {.bytes = {10}};
    Arbiters arbiters;
    CU_ASSERT_EQUAL(arbiters_of_table(&arbiters, &table), RESULT_OK);
    while (arbiters_find(&arbiters, &address) != 1) {
        address.bytes[3]++;
    }
    arbiters_destroy(&arbiters);
    return address;
}

static void an_arbiter_knows_what_its_own_agent_holds(void)
{
    begin();
    IpAddress address = address_of_other();
    lease_holder_want(sides[0].desk.holder, &address, 1, now);
    run(100);
    CU_ASSERT_TRUE_FATAL(sides[0].holds);

    /* Agent 0 decides now, and holds what the other has granted; the census shortens the rest. */
    CU_ASSERT_EQUAL(cluster_table_seat(&table, 1, false), RESULT_OK);
    set_table();
    run(1000);
    CU_ASSERT_TRUE(sides[0].desk.known && !sides[0].desk.counting);
    lease_holder_want(sides[1].desk.holder, &address, 1, now);
    run(5000);
    CU_ASSERT_TRUE(sides[0].holds && !sides[1].holds);

    /* It is the other's once it has been given back, and has rested for as long as that says. */
    lease_holder_release(sides[0].desk.holder, &address, mono_add_ms(now, rules.delay_ms), now);
    run(500);
    CU_ASSERT_FALSE(sides[1].holds);
    run(rules.delay_ms);
    CU_ASSERT_TRUE(sides[1].holds);
    end();
}

static void an_arbiter_knows_what_another_agent_holds(void)
{
    begin();
    IpAddress address = address_of_other();
    lease_holder_want(sides[1].desk.holder, &address, 1, now);
    run(100);
    CU_ASSERT_TRUE_FATAL(sides[1].holds);
    CU_ASSERT_EQUAL(cluster_table_seat(&table, 1, false), RESULT_OK);
    set_table();
    run(1000);
    lease_holder_want(sides[0].desk.holder, &address, 1, now);
    run(5000);
    CU_ASSERT_TRUE(sides[1].holds && !sides[0].holds);
    lease_holder_release(sides[1].desk.holder, &address, mono_add_ms(now, rules.delay_ms), now);
    run(500);
    CU_ASSERT_FALSE(sides[0].holds);
    run(rules.delay_ms);
    CU_ASSERT_TRUE(sides[0].holds);
    end();
}

UNIT_MAIN("lease desk",
          {"an arbiter knows what its own agent holds", an_arbiter_knows_what_its_own_agent_holds},
          {"an arbiter knows what another agent holds", an_arbiter_knows_what_another_agent_holds})
