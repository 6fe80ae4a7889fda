/* Robots errands between agents: one desk asks, the other answers; the test is the network. */
#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "cluster/desk/errand_desk.h"
#include "parse/host/domain.h"
#include "unit.h"

#define SECOND INT64_C(1000000000)

typedef struct Message {
    char *bytes;
    size_t length;
    uint64_t token;
} Message;

/* An agent with its desk. */
typedef struct Side {
    Transport transport;
    NodeLink link;
    ErrandDesk desk;
    Message sent; /* the last question or answer */
    unsigned n_sent;
    unsigned fetches;
    uint64_t ticket;
    unsigned told;
    uint32_t host;
    ErrandOutcome outcome;
    ErrandAnswer *answer;
} Side;

typedef struct World {
    ClusterTable table;
    Side asks;  /* agent 0 */
    Side owner; /* agent 1 */
    char url[64];
    MonoTime now;
} World;

static void keep(Side *side, const void *bytes, size_t length, uint64_t token)
{
    free(side->sent.bytes);
    side->sent = (Message){.bytes = malloc(length + 1), .length = length, .token = token};
    memcpy(side->sent.bytes, bytes, length);
    side->n_sent++;
}

static Result take_request(void *state, const char *subject, const void *bytes, size_t length,
                           uint64_t token)
{
    CU_ASSERT_STRING_EQUAL(subject, "ragno.test.ask.1");
    keep(state, bytes, length, token);
    return RESULT_OK;
}

static Result take_reply(void *state, const char *reply_to, const void *bytes, size_t length)
{
    CU_ASSERT_STRING_EQUAL(reply_to, "back");
    keep(state, bytes, length, 0);
    return RESULT_OK;
}

static void on_told(void *context, uint32_t host, ErrandOutcome outcome, ErrandAnswer *answer)
{
    Side *side = context;
    side->told++;
    side->host = host;
    side->outcome = outcome;
    errand_answer_delete(side->answer);
    side->answer = answer;
}

static bool on_fetch(void *context, uint64_t ticket, const char *url)
{
    Side *side = context;
    CU_ASSERT_TRUE(strncmp(url, "http://", 7) == 0);
    side->fetches++;
    side->ticket = ticket;
    return true;
}

static void open_side(Side *side, World *w, uint16_t agent)
{
    ErrandDeskSinks sinks = {.context = side, .told = on_told, .fetch = on_fetch};
    side->transport = (Transport){.state = side, .request = take_request, .publish = take_reply};
    node_link_init(&side->link, &side->transport, "test");
    memcpy(side->link.head.uuid, w->table.uuid, sizeof w->table.uuid);
    side->link.head.from = agent;
    side->link.up = true;
    side->link.table = &w->table;
    errand_desk_init(&side->desk, &side->link, &sinks);
}

static World *set_up(void)
{
    const uint8_t uuid[CLUSTER_UUID_BYTES] = {3};
    World *w = calloc(1, sizeof *w);
    w->now = (MonoTime){1000 * SECOND};
    CU_ASSERT_EQUAL_FATAL(cluster_table_create(&w->table, uuid, domain_list_sha1(), 2), RESULT_OK);
    open_side(&w->asks, w, 0);
    open_side(&w->owner, w, 1);
    unsigned n = 0;
    do {
        (void)snprintf(w->url, sizeof w->url, "http://h%u.example/robots.txt", n++);
    } while (cluster_table_owner_of_url(&w->table, w->url, strlen(w->url)) != 1);
    return w;
}

static void close_side(Side *side)
{
    errand_desk_destroy(&side->desk);
    node_link_destroy(&side->link);
    errand_answer_delete(side->answer);
    free(side->sent.bytes);
}

static void tear_down(World *w)
{
    close_side(&w->asks);
    close_side(&w->owner);
    cluster_table_destroy(&w->table);
    free(w);
}

static void pass(World *w, int64_t ms)
{
    w->now = mono_add_ms(w->now, ms);
    errand_desk_work(&w->asks.desk, w->now);
    errand_desk_work(&w->owner.desk, w->now);
}

/* The owner hears the last question. */
static void hear(World *w)
{
    NodeMessage in;
    TransportEvent *event = transport_event_new(TRANSPORT_MESSAGE, 0, "ragno.test.ask.1", "back",
                                                w->asks.sent.bytes, w->asks.sent.length);
    CU_ASSERT_TRUE_FATAL(node_link_open(&w->owner.link, event, &in));
    CU_ASSERT_EQUAL((uint8_t)wire_get_number(&in.body, 1), NODE_ASK_ROBOTS);
    errand_desk_asked(&w->owner.desk, &in, w->now);
    transport_event_delete(event);
}

static void come_back(World *w, TransportEventKind kind)
{
    NodeMessage in;
    const Message *answer = &w->owner.sent;
    bool answered = kind == TRANSPORT_ANSWER;
    TransportEvent *event =
        transport_event_new(kind, w->asks.sent.token, NULL, NULL, answered ? answer->bytes : NULL,
                            answered ? answer->length : 0);
    if (node_link_open(&w->asks.link, event, &in)) { /* else the node drops it */
        errand_desk_take(&w->asks.desk, &in, w->now);
    }
    transport_event_delete(event);
}

/* The last question, its answer. */
static void exchange(World *w)
{
    hear(w);
    come_back(w, TRANSPORT_ANSWER);
}

static ErrandAnswer *some_answer(size_t length)
{
    ErrandAnswer *answer = errand_answer_new(FETCH_OK);
    answer->status = 200;
    (void)buffer_append_string(&answer->header, "HTTP/1.1 200 OK\r\n\r\n");
    for (size_t i = 0; i < length; i++) {
        (void)buffer_append_char(&answer->body, 'x');
    }
    return answer;
}

static void begin(World *w)
{
    errand_desk_ask(&w->asks.desk, 5, w->url, w->now);
    pass(w, 0);
    CU_ASSERT_EQUAL(w->asks.n_sent, 1);
}

static void the_owner_fetches_and_tells(void)
{
    World *w = set_up();
    begin(w);
    exchange(w);
    CU_ASSERT_EQUAL(w->owner.fetches, 1);
    CU_ASSERT_EQUAL(w->asks.told, 0); /* it waits */
    errand_desk_told(&w->owner.desk, w->owner.ticket, some_answer(9), w->now);
    CU_ASSERT_EQUAL(w->asks.n_sent, 1);
    pass(w, ERRAND_FIRST_MS);
    CU_ASSERT_EQUAL(w->asks.n_sent, 2);
    exchange(w);
    CU_ASSERT_EQUAL(w->asks.told, 1);
    CU_ASSERT_EQUAL(w->asks.host, 5);
    CU_ASSERT_EQUAL(w->asks.outcome, ERRAND_ANSWERED);
    CU_ASSERT_EQUAL(w->asks.answer->status, 200);
    CU_ASSERT_EQUAL(w->asks.answer->agent, 1);
    CU_ASSERT_EQUAL(w->asks.answer->body.length, 9);
    CU_ASSERT_TRUE(strncmp(w->asks.answer->header.data, "HTTP/1.1 200", 12) == 0);
    CU_ASSERT_EQUAL(errand_desk_next(&w->asks.desk).ns, MONO_NEVER.ns);
    /* Another host that redirects there gets it at once; later it is fetched anew. */
    w->asks.n_sent = 0;
    begin(w);
    exchange(w);
    CU_ASSERT_EQUAL(w->asks.told, 2);
    CU_ASSERT_EQUAL(w->owner.fetches, 1);
    pass(w, ERRAND_KEPT_MS);
    CU_ASSERT_EQUAL(w->owner.desk.n_theirs, 0);
    CU_ASSERT_EQUAL(w->owner.desk.kept_bytes, 0);
    tear_down(w);
}

static void messages_that_are_lost_cost_time_only(void)
{
    World *w = set_up();
    begin(w);
    for (unsigned lost = 2; lost < 5; lost++) { /* questions */
        pass(w, ERRAND_ANSWER_MS);
        CU_ASSERT_EQUAL(w->asks.n_sent, lost);
    }
    exchange(w);
    errand_desk_told(&w->owner.desk, w->owner.ticket, some_answer(9), w->now);
    pass(w, ERRAND_LATER_MS);
    hear(w); /* the answer is lost */
    pass(w, ERRAND_ANSWER_MS);
    come_back(w, TRANSPORT_NOBODY); /* it is away for a moment */
    CU_ASSERT_EQUAL(w->asks.told, 0);
    pass(w, ERRAND_FIRST_MS);
    exchange(w);
    CU_ASSERT_EQUAL(w->asks.outcome, ERRAND_ANSWERED);
    CU_ASSERT_EQUAL(w->asks.told, 1);
    exchange(w); /* once more: too late */
    CU_ASSERT_EQUAL(w->asks.told, 1);
    CU_ASSERT_EQUAL(w->owner.fetches, 1);
    tear_down(w);
}

static void an_owner_that_is_away_is_not_waited_for_long(void)
{
    World *w = set_up();
    begin(w);
    int64_t waited = 0;
    while (w->asks.told == 0 && waited < 2 * ERRAND_SILENT_MS) {
        come_back(w, TRANSPORT_NOBODY);
        pass(w, 1000);
        waited += 1000;
    }
    CU_ASSERT_EQUAL(w->asks.outcome, ERRAND_AWAY);
    CU_ASSERT_TRUE(waited >= ERRAND_SILENT_MS && waited <= ERRAND_SILENT_MS + 2000);
    tear_down(w);
}

static void an_owner_that_says_wait_is_waited_for_but_not_for_ever(void)
{
    World *w = set_up();
    begin(w);
    int64_t waited = 0;
    unsigned before = w->asks.n_sent;
    while (w->asks.told == 0 && waited < 2 * ERRAND_MOST_MS) {
        if (w->asks.n_sent != before || waited == 0) {
            before = w->asks.n_sent;
            exchange(w);
        }
        pass(w, 1000);
        waited += 1000;
    }
    CU_ASSERT_EQUAL(w->asks.outcome, ERRAND_AWAY);
    CU_ASSERT_TRUE(waited >= ERRAND_MOST_MS && waited <= ERRAND_MOST_MS + ERRAND_LATER_MS);
    CU_ASSERT_EQUAL(w->owner.fetches, 1);
    CU_ASSERT_TRUE(w->asks.n_sent < 100);
    tear_down(w);
}

static void an_owner_that_begins_anew_fetches_again(void)
{
    World *w = set_up();
    begin(w);
    exchange(w);
    errand_desk_destroy(&w->owner.desk);
    node_link_destroy(&w->owner.link);
    open_side(&w->owner, w, 1);
    pass(w, ERRAND_FIRST_MS);
    exchange(w);
    CU_ASSERT_EQUAL(w->owner.fetches, 2);
    /* As when its machine could not. */
    errand_desk_told(&w->owner.desk, w->owner.ticket, errand_answer_new(FETCH_LOCAL), w->now);
    pass(w, ERRAND_LATER_MS);
    exchange(w);
    CU_ASSERT_EQUAL(w->owner.fetches, 3);
    CU_ASSERT_EQUAL(w->asks.told, 0);
    tear_down(w);
}

static void ours_is_ours_and_a_slot_that_moves_is_nobodys(void)
{
    World *w = set_up();
    unsigned slot = slot_of_url(w->url, strlen(w->url));
    CU_ASSERT_EQUAL(cluster_table_move_slot(&w->table, slot, 0), RESULT_OK);
    errand_desk_ask(&w->asks.desk, 5, w->url, w->now);
    pass(w, 5000);
    CU_ASSERT_EQUAL(w->asks.n_sent + w->asks.told, 0);
    CU_ASSERT_EQUAL(cluster_table_settle(&w->table, 1, 0), RESULT_OK);
    pass(w, 5000);
    CU_ASSERT_EQUAL(w->asks.told, 1);
    CU_ASSERT_EQUAL(w->asks.outcome, ERRAND_OURS);
    tear_down(w);
}

static void who_does_not_own_it_does_not_fetch_it(void)
{
    World *w = set_up();
    unsigned slot = slot_of_url(w->url, strlen(w->url));
    begin(w);
    CU_ASSERT_EQUAL(cluster_table_move_slot(&w->table, slot, 0), RESULT_OK);
    exchange(w); /* a question by the old table */
    CU_ASSERT_EQUAL(w->owner.fetches, 0);
    CU_ASSERT_EQUAL(cluster_table_settle(&w->table, 1, 0), RESULT_OK);
    exchange(w);
    CU_ASSERT_EQUAL(w->owner.fetches, 0);
    pass(w, ERRAND_LATER_MS);
    CU_ASSERT_EQUAL(w->asks.outcome, ERRAND_OURS);
    tear_down(w);
}

/* A URL of the owner's. */
static void ask_other(World *w, unsigned n)
{
    char url[80];
    (void)snprintf(url, sizeof url, "%s?%u", w->url, n);
    errand_desk_ask(&w->asks.desk, n, url, w->now);
    pass(w, 0);
}

static void questions_and_answers_are_bounded(void)
{
    World *w = set_up();
    for (unsigned n = 0; n < ERRAND_OURS_MOST; n++) {
        ask_other(w, n);
        exchange(w);
    }
    CU_ASSERT_EQUAL(w->owner.fetches, ERRAND_THEIRS_MOST);
    CU_ASSERT_EQUAL(w->asks.told, 0);
    ask_other(w, 999);
    CU_ASSERT_EQUAL(w->asks.told, 1);
    CU_ASSERT_EQUAL(w->asks.host, 999);
    CU_ASSERT_EQUAL(w->asks.outcome, ERRAND_AWAY);
    for (uint64_t ticket = w->owner.ticket; ticket > w->owner.ticket - 200; ticket--) {
        errand_desk_told(&w->owner.desk, ticket, some_answer(ERRAND_BODY_MOST), w->now);
        CU_ASSERT_TRUE(w->owner.desk.kept_bytes <= ERRAND_KEPT_BYTES);
    }
    CU_ASSERT_TRUE(w->owner.desk.n_theirs > ERRAND_THEIRS_MOST - 200);
    CU_ASSERT_TRUE(w->owner.desk.n_theirs < ERRAND_THEIRS_MOST);
    tear_down(w);
}

static void what_is_no_answer_is_not_believed(void)
{
    World *w = set_up();
    log_set_level(LOG_LEVEL_ERROR);
    begin(w);
    exchange(w);
    errand_desk_told(&w->owner.desk, w->owner.ticket, some_answer(100), w->now);
    pass(w, ERRAND_LATER_MS);
    hear(w);
    size_t whole = w->owner.sent.length;
    for (size_t length = 0; length < whole; length++) { /* cut anywhere */
        uint64_t token = w->asks.sent.token;
        w->owner.sent.length = length;
        come_back(w, TRANSPORT_ANSWER);
        CU_ASSERT_EQUAL(w->asks.told, 0);
        while (w->asks.sent.token == token && w->asks.told == 0) {
            pass(w, 100);
        }
        if (w->asks.told > 0) { /* it has been as good as silent for long */
            CU_ASSERT_EQUAL(w->asks.outcome, ERRAND_AWAY);
            w->asks.told = 0;
            errand_desk_ask(&w->asks.desk, 5, w->url, w->now);
            pass(w, 0);
        }
    }
    log_set_level(LOG_LEVEL_INFO);
    tear_down(w);
}

UNIT_MAIN("errand_desk", {"the owner fetches, and tells", the_owner_fetches_and_tells},
          {"messages that are lost cost time only", messages_that_are_lost_cost_time_only},
          {"an owner that is away is not waited for long",
           an_owner_that_is_away_is_not_waited_for_long},
          {"one that says wait is waited for, but not for ever",
           an_owner_that_says_wait_is_waited_for_but_not_for_ever},
          {"an owner that begins anew, or could not, fetches again",
           an_owner_that_begins_anew_fetches_again},
          {"ours is ours, and of a slot that moves nobody is asked",
           ours_is_ours_and_a_slot_that_moves_is_nobodys},
          {"who does not own it does not fetch it", who_does_not_own_it_does_not_fetch_it},
          {"questions and answers are bounded", questions_and_answers_are_bounded},
          {"what is no answer is not believed", what_is_no_answer_is_not_believed})
