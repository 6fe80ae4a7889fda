#include <string.h>

#include "cluster/desk/courier.h"
#include "unit.h"

#define ROWS    200u
#define SESSION 77u

/* Rows of agent 5, of a hundred bytes each, and what agent 0 sends of them. */
typedef struct Bench {
    Transport transport;
    NodeLink link;
    Members members;
    GreetDesk greet;
    Courier courier;
    EnvelopePacker *packer;
    bool row[ROWS];
    uint64_t tokens[50]; /* in order of sending */
    OutboxRange ranges[50];
    unsigned sent;
    unsigned answered;
    Result send;
} Bench;

static Result read_rows(void *context, uint16_t to, uint64_t from, size_t most, Buffer *blocks,
                        OutboxRange *range)
{
    Bench *bench = context;
    static const char bytes[100];
    *range = (OutboxRange){.blocks = 0};
    buffer_reset(blocks);
    for (uint64_t i = from; to == 5 && i < ROWS; i++) {
        if (bench->row[i] && (range->blocks == 0 || blocks->length + 100 <= most)) {
            range->first = range->blocks++ == 0 ? i : range->first;
            range->last = i;
            (void)buffer_append(blocks, bytes, sizeof bytes);
        } else if (bench->row[i]) {
            break;
        }
    }
    return range->blocks == 0 ? RESULT_NOT_FOUND : RESULT_OK;
}

static Result send_rows(void *state, const char *subject, const void *bytes, size_t length,
                        uint64_t token)
{
    Bench *bench = state;
    Envelope envelope;
    Buffer blocks = {.limit = BUFFER_NO_LIMIT};
    CU_ASSERT_STRING_EQUAL(subject, "ragno.test.in.5");
    CU_ASSERT_EQUAL(
        envelope_open(bench->packer, bytes, length, bench->link.head.uuid, 5, &envelope, &blocks),
        BLOCK_GOOD);
    CU_ASSERT_EQUAL(blocks.length, envelope.blocks * 100u);
    if (bench->send == RESULT_OK) {
        bench->tokens[bench->sent] = token;
        bench->ranges[bench->sent++] =
            (OutboxRange){.first = envelope.sequence,
                          .last = envelope.sequence + envelope.blocks - 1,
                          .blocks = envelope.blocks};
    }
    buffer_destroy(&blocks);
    return bench->send;
}

static void rows_answered(void *context, uint16_t to, const OutboxRange *range)
{
    Bench *bench = context;
    CU_ASSERT_EQUAL(to, 5);
    for (uint64_t i = range->first; i <= range->last; i++) {
        bench->answered += bench->row[i];
        bench->row[i] = false;
    }
}

static Result no_mark(void *context, uint16_t agent, PeerMark *mark)
{
    (void)context;
    (void)agent;
    *mark = (PeerMark){.taken = 0};
    return RESULT_OK;
}

static MonoTime at(int64_t ms)
{
    return (MonoTime){(INT64_C(1000000) + ms) * 1000000};
}

/* Agents 0 to 5; what earlier processes have left was looked for. */
static void open_bench(Bench *bench)
{
    CourierOptions options = {.message_bytes = 500,
                              .age_ms = 1000,
                              .window_bytes = 6 * 1500,
                              .answer_ms = 60000,
                              .again_ms = 5000};
    CourierSinks sinks = {.context = bench, .read = read_rows, .answered = rows_answered};
    GreetSinks greet = {.mark = no_mark};
    memset(bench, 0, sizeof *bench);
    bench->transport = (Transport){.state = bench, .request = send_rows};
    bench->packer = envelope_packer_new();
    node_link_init(&bench->link, &bench->transport, "test");
    bench->link.head.from = 0;
    members_init(&bench->members, &bench->link);
    CU_ASSERT_EQUAL_FATAL(members_resize(&bench->members, 6, at(0)), RESULT_OK);
    bench->link.members = &bench->members;
    greet_desk_init(&bench->greet, &bench->link, &greet);
    CU_ASSERT_EQUAL_FATAL(greet_desk_set(&bench->greet, at(0)), RESULT_OK);
    bench->members.members[5].greet.compared = SESSION;
    CU_ASSERT_EQUAL_FATAL(
        courier_init(&bench->courier, &bench->link, &bench->greet, &options, &sinks), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(courier_set_agents(&bench->courier, 6, at(-1000)), RESULT_OK);
    bench->courier.options.age_ms = 1000;
    courier_work(&bench->courier, at(0));
    CU_ASSERT_EQUAL(bench->sent, 0);
    CU_ASSERT_EQUAL(courier_next(&bench->courier).ns, MONO_NEVER.ns);
}

static void close_bench(Bench *bench)
{
    courier_destroy(&bench->courier);
    node_link_destroy(&bench->link);
    members_destroy(&bench->members);
    envelope_packer_delete(bench->packer);
}

/* Agent 5 answers a message. */
static void answer(Bench *bench, unsigned message, BlockFault fault, MonoTime now)
{
    NodeLink other;
    node_link_init(&other, &bench->transport, "test");
    other.head = bench->link.head;
    other.head.from = 5;
    other.head.session = SESSION;
    WireWriter writer = node_link_begin(&other);
    wire_put_number(&writer, fault, 1);
    wire_put_varint(&writer, message + 1);
    TransportEvent *event = transport_event_new(TRANSPORT_ANSWER, bench->tokens[message], NULL,
                                                NULL, other.out.data, other.out.length);
    NodeMessage in;
    CU_ASSERT_TRUE(node_link_open(&bench->link, event, &in));
    courier_take(&bench->courier, &in, now);
    transport_event_delete(event);
    node_link_destroy(&other);
}

static void add_rows(Bench *bench, unsigned from, unsigned n, int64_t ms)
{
    for (unsigned i = from; i < from + n; i++) {
        bench->row[i] = true;
        courier_grown(&bench->courier, 5, 100, at(ms));
    }
}

static void messages_go_when_they_are_full_or_old(void)
{
    Bench bench;
    open_bench(&bench);
    add_rows(&bench, 0, 3, 0);
    CU_ASSERT_EQUAL(courier_next(&bench.courier).ns, at(1000).ns);
    courier_work(&bench.courier, at(999));
    CU_ASSERT_EQUAL(bench.sent, 0);
    courier_work(&bench.courier, at(1000));
    CU_ASSERT_TRUE(bench.sent == 1 && bench.ranges[0].blocks == 3);
    answer(&bench, 0, BLOCK_GOOD, at(1050));
    CU_ASSERT_EQUAL(bench.answered, 3);
    bench.row[0] = true; /* a second answer says nothing */
    answer(&bench, 0, BLOCK_GOOD, at(1060));
    CU_ASSERT_EQUAL(bench.answered, 3);
    bench.row[0] = false;
    add_rows(&bench, 10, 6, 1100); /* enough not to wait; all that is there goes along */
    courier_work(&bench.courier, at(1100));
    CU_ASSERT_TRUE(bench.sent == 2 && bench.ranges[1].first == 10 && bench.ranges[1].last == 15);
    close_bench(&bench);
}

static void messages_that_are_not_full_rest_between_them(void)
{
    Bench bench;
    open_bench(&bench);
    bench.courier.options.rest_ms = 5000;
    add_rows(&bench, 0, 1, 0);
    courier_work(&bench.courier, at(1000));
    CU_ASSERT_EQUAL(bench.sent, 1); /* nothing was sent before: it has its age alone */
    answer(&bench, 0, BLOCK_GOOD, at(1001));
    add_rows(&bench, 1, 1, 1500);
    CU_ASSERT_EQUAL(courier_next(&bench.courier).ns, at(6000).ns);
    courier_work(&bench.courier, at(5999));
    CU_ASSERT_EQUAL(bench.sent, 1);
    add_rows(&bench, 2, 1, 5999);
    courier_work(&bench.courier, at(6000));
    CU_ASSERT_TRUE(bench.sent == 2 && bench.ranges[1].blocks == 2);
    answer(&bench, 1, BLOCK_GOOD, at(6001));
    add_rows(&bench, 10, 5, 6001); /* a full one does not wait */
    courier_work(&bench.courier, at(6001));
    CU_ASSERT_TRUE(bench.sent == 3 && bench.ranges[2].blocks == 5);
    close_bench(&bench);
}

static void what_is_in_flight_is_bounded(void)
{
    Bench bench;
    open_bench(&bench);
    add_rows(&bench, 0, 100, 0);
    courier_work(&bench.courier, at(0));
    CU_ASSERT_TRUE(bench.sent == 1 && bench.ranges[0].blocks == 15); /* 1500 bytes */
    courier_work(&bench.courier, at(1));
    CU_ASSERT_EQUAL(bench.sent, 1);
    for (unsigned i = 0; i < bench.sent; i++) {
        CU_ASSERT_EQUAL(bench.ranges[i].first, i * 15);
        answer(&bench, i, BLOCK_GOOD, at(2));
        courier_work(&bench.courier, at(2));
    }
    CU_ASSERT_TRUE(bench.sent == 7 && bench.answered == 100);
    CU_ASSERT_EQUAL(courier_next(&bench.courier).ns, MONO_NEVER.ns);
    close_bench(&bench);
}

static void who_is_not_there_is_waited_for(void)
{
    Bench bench;
    open_bench(&bench);
    add_rows(&bench, 0, 20, 0);
    courier_work(&bench.courier, at(0));
    NodeMessage nobody = {.event = NULL, .number = node_token_number(bench.tokens[0])};
    courier_take(&bench.courier, &nobody, at(10));
    CU_ASSERT_EQUAL(bench.courier.stats.agents_away, 1);
    courier_work(&bench.courier, at(5009));
    CU_ASSERT_EQUAL(bench.sent, 1);
    courier_present(&bench.courier, 5, at(3000));
    CU_ASSERT_EQUAL(bench.courier.stats.agents_away, 0);
    courier_work(&bench.courier, at(3000));
    CU_ASSERT_TRUE(bench.sent == 2 && bench.courier.stats.repeated == 1);
    CU_ASSERT_TRUE(bench.ranges[1].first == 0 && bench.ranges[1].blocks == 15);
    answer(&bench, 0, BLOCK_GOOD, at(3050)); /* under a new token */
    CU_ASSERT_EQUAL(bench.answered, 0);
    answer(&bench, 1, BLOCK_GOOD, at(3100));
    CU_ASSERT_EQUAL(bench.answered, 15);
    courier_work(&bench.courier, at(3100)); /* and the rest, which is as much as does not wait */
    CU_ASSERT_TRUE(bench.sent == 3 && bench.ranges[2].first == 15 && bench.ranges[2].blocks == 5);
    close_bench(&bench);
}

static void what_is_not_answered_is_sent_again(void)
{
    Bench bench;
    open_bench(&bench);
    add_rows(&bench, 0, 5, 0);
    courier_work(&bench.courier, at(0));
    courier_work(&bench.courier, at(59999));
    CU_ASSERT_EQUAL(bench.sent, 1);
    courier_work(&bench.courier, at(60000));
    CU_ASSERT_EQUAL(bench.sent, 2);
    answer(&bench, 0, BLOCK_GOOD, at(60001)); /* the first one's: too late */
    CU_ASSERT_EQUAL(bench.answered, 0);
    courier_lost(&bench.courier, at(61000)); /* the connection */
    bench.send = RESULT_CLOSED;
    courier_work(&bench.courier, at(61000));
    CU_ASSERT_EQUAL(bench.sent, 2);
    bench.send = RESULT_OK;
    courier_work(&bench.courier, at(66000));
    CU_ASSERT_EQUAL(bench.sent, 3);
    answer(&bench, 2, BLOCK_DRAINED, at(66100));
    courier_work(&bench.courier, at(71099));
    CU_ASSERT_EQUAL(bench.sent, 3);
    courier_work(&bench.courier, at(71100));
    CU_ASSERT_EQUAL(bench.sent, 4);
    answer(&bench, 3, BLOCK_GOOD, at(71200));
    CU_ASSERT_EQUAL(bench.answered, 5);
    close_bench(&bench);
}

/* Rows that an earlier process has left are found without a word about them. */
static void what_is_left_is_looked_for(void)
{
    Bench bench;
    open_bench(&bench);
    for (unsigned i = 20; i < 32; i++) {
        bench.row[i] = true;
    }
    courier_work(&bench.courier, at(5000));
    CU_ASSERT_EQUAL(bench.sent, 0); /* they came behind the look at its beginning */
    courier_destroy(&bench.courier);
    CourierOptions options = bench.courier.given;
    CourierSinks sinks = bench.courier.sinks;
    CU_ASSERT_EQUAL_FATAL(courier_init(&bench.courier, &bench.link, &bench.greet, &options, &sinks),
                          RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(courier_set_agents(&bench.courier, 6, at(5000)), RESULT_OK);
    for (int64_t ms = 6000; ms < 60000; ms += 1000) {
        courier_work(&bench.courier, at(ms));
        if (bench.sent > 0) {
            answer(&bench, bench.sent - 1, BLOCK_GOOD, at(ms));
        }
    }
    CU_ASSERT_TRUE(bench.sent == 1 && bench.answered == 12);
    CU_ASSERT_EQUAL(courier_next(&bench.courier).ns, MONO_NEVER.ns);
    close_bench(&bench);
}

UNIT_MAIN("courier", {"what is left is looked for", what_is_left_is_looked_for},
          {"messages go when they are full or old", messages_go_when_they_are_full_or_old},
          {"messages that are not full rest between them",
           messages_that_are_not_full_rest_between_them},
          {"what is in flight is bounded", what_is_in_flight_is_bounded},
          {"who is not there is waited for", who_is_not_there_is_waited_for},
          {"what is not answered is sent again", what_is_not_answered_is_sent_again})
