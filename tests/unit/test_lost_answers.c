/* Desks of the node whose messages are lost: what the simulation of clusters has found. */
#include <string.h>

#include "bucket_fixture.h"
#include "cluster/desk/greet_desk.h"
#include "cluster/desk/limit_desk.h"
#include "cluster/desk/table_keeper.h"
#include "parse/host/domain.h"
#include "unit.h"

static BucketSeen seen;
static const Transport transport = {.state = &seen, .get = bucket_get, .put = bucket_put};

static MonoTime at(int64_t ms)
{
    return (MonoTime){.ns = (1000 + ms) * 1000000};
}

static TransportEvent *value_of(const Buffer *bytes)
{
    TransportEvent *event =
        transport_event_new(TRANSPORT_VALUE, seen.last_get, NULL, NULL, bytes->data, bytes->length);
    event->revision = 1;
    return event;
}

/* The keeper looks, and sees the table that it has. */
static void look(TableKeeper *keeper, int64_t ms)
{
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    (void)cluster_table_write(&keeper->table, &bytes);
    key_changed(&keeper->key, at(ms));
    key_work(&keeper->key, at(ms));
    TransportEvent *event = value_of(&bytes);
    (void)table_keeper_take(keeper, event, at(ms + 1));
    transport_event_delete(event);
    buffer_destroy(&bytes);
}

static void a_settled_move_is_said_again(void)
{
    const uint8_t uuid[CLUSTER_UUID_BYTES] = {1};
    NodeLink link;
    TableKeeper keeper;
    ClusterTable table = {.epoch = 0};
    node_link_init(&link, &transport, "test");
    link.up = true;
    link.head.from = 0;
    table_keeper_init(&keeper, &link, 10000);
    CU_ASSERT_EQUAL_FATAL(cluster_table_create(&table, uuid, domain_list_sha1(), 2), RESULT_OK);
    CU_ASSERT_EQUAL(cluster_table_move(&table, 0, 1, 5), RESULT_OK);
    CU_ASSERT_EQUAL(cluster_table_copy(&keeper.table, &table), RESULT_OK);
    table_keeper_up(&keeper, at(0));
    look(&keeper, NODE_SETTLE_MS + 1);
    seen.n_puts = 0;
    table_keeper_settle(&keeper, 1, at(NODE_SETTLE_MS + 2));
    table_keeper_settle(&keeper, 1, at(NODE_SETTLE_MS + 2)); /* it is on its way */
    CU_ASSERT_EQUAL(seen.n_puts, 1);
    look(&keeper,
         NODE_SETTLE_MS + KEY_ANSWER_MS + 2); /* nothing came of it, and no answer either */
    table_keeper_settle(&keeper, 1, at(NODE_SETTLE_MS + 2));
    CU_ASSERT_EQUAL(seen.n_puts, 2);
    cluster_table_destroy(&table);
    table_keeper_destroy(&keeper);
    node_link_destroy(&link);
}

/* Answers the desk's look with a ledger of two rows; the second one may be missing. */
static void settle(LimitDesk *desk, const LedgerRow *other, const LedgerAccount *account,
                   int64_t ms)
{
    const LedgerAccount accounts[LEDGER_UNITS] = {*account};
    Ledger ledger = {.n = 0};
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(ledger_resize(&ledger, 2), RESULT_OK);
    ledger.rows[0].known = true;
    ledger.rows[0].granted[LEDGER_PAGES] = 10;
    ledger.rows[1] = *other;
    (void)ledger_write(&ledger, &bytes);
    key_changed(&desk->key, at(ms));
    limit_desk_work(desk, accounts, at(ms));
    key_work(&desk->key, at(ms));
    TransportEvent *event = value_of(&bytes);
    (void)limit_desk_take(desk, event, accounts, at(ms + 1));
    transport_event_delete(event);
    ledger_destroy(&ledger);
    buffer_destroy(&bytes);
}

/* Agent 0's, of two; agent 1 has been started at some time, or never. */
static LimitDesk desk_of(NodeLink *link, unsigned limit, bool started)
{
    static ClusterAgent agents[2];
    static ClusterTable table = {.epoch = 1, .n_agents = 2, .agents = agents};
    const uint64_t limits[LEDGER_UNITS] = {limit};
    const uint64_t used[LEDGER_UNITS] = {10};
    LimitDesk desk;
    node_link_init(link, &transport, "test");
    link->up = true;
    link->head.from = 0;
    agents[0] = (ClusterAgent){.life = 1, .claimed = 1};
    agents[1] = (ClusterAgent){.life = 1, .claimed = started};
    link->table = &table;
    limit_desk_init(&desk, link, limits, used);
    limit_desk_up(&desk, at(0), at(1));
    return desk;
}

static void a_limit_is_not_used_up_while_a_row_is_missing(void)
{
    const LedgerAccount account = {.used = 10, .needed = 4};
    NodeLink link;
    for (unsigned limit = 10; limit <= 20; limit += 10) {
        LimitDesk desk = desk_of(&link, limit, true);
        CU_ASSERT_TRUE(desk.holds); /* it has not seen the ledger */
        settle(&desk, &(LedgerRow){.known = false}, &account, 1);
        CU_ASSERT_TRUE(desk.holds); /* so nobody finds that the limit has ended the crawl */
        CU_ASSERT_EQUAL(desk.awaited, 1);
        CU_ASSERT_EQUAL(desk.proposed[LEDGER_PAGES], 10);
        limit_desk_up(&desk, at(2), at(2));
        settle(&desk, &(LedgerRow){.known = true}, &account, 3);
        CU_ASSERT_EQUAL(desk.holds, limit > 10);
        CU_ASSERT_EQUAL(desk.spent, limit == 10);
        CU_ASSERT_EQUAL(desk.awaited, 0);
        limit_desk_destroy(&desk);
        node_link_destroy(&link);
    }
}

/* An idle agent has given back what another one wants, who has not heard of it. */
static void a_limit_is_not_used_up_before_others_have_heard_of_what_there_is(void)
{
    const LedgerAccount account = {.used = 10, .needed = 4, .idle = true};
    LedgerRow other = {.known = true, .wants = {true}, .granted = {5}};
    NodeLink link;
    LimitDesk desk = desk_of(&link, 20, true);
    settle(&desk, &other, &account, 1);
    CU_ASSERT_TRUE(desk.holds && !desk.spent);
    settle(&desk, &other, &account, 10000);
    CU_ASSERT_TRUE(desk.holds);
    settle(&desk, &other, &account, 60000); /* whoever could use it would have drawn it */
    CU_ASSERT_FALSE(desk.holds);
    other.granted[LEDGER_PAGES] = 7;
    settle(&desk, &other, &account, 60100);
    CU_ASSERT_TRUE(desk.holds);
    other.granted[LEDGER_PAGES] = 10;
    settle(&desk, &other, &account, 60200); /* all of it is drawn */
    CU_ASSERT_FALSE(desk.holds);
    limit_desk_destroy(&desk);
    node_link_destroy(&link);
}

/* What it would have used is drawn by others; when it is started, it finds that out. */
static void an_agent_that_was_never_started_is_not_waited_for(void)
{
    const LedgerAccount account = {.used = 10, .needed = 10};
    NodeLink link;
    LimitDesk desk = desk_of(&link, 20, false);
    settle(&desk, &(LedgerRow){.known = false}, &account, 1);
    CU_ASSERT_EQUAL(desk.awaited, 0);
    CU_ASSERT_TRUE(desk.proposed[LEDGER_PAGES] > 10);
    limit_desk_destroy(&desk);
    node_link_destroy(&link);
}

static Result no_mark(void *context, uint16_t agent, PeerMark *mark)
{
    (void)context;
    (void)agent;
    *mark = (PeerMark){.taken = 0};
    return RESULT_OK;
}

/* What a process says that has not told us what it has may be of another copy of its directory. */
static void an_answer_of_a_process_that_was_not_compared_does_not_count(void)
{
    const GreetSinks sinks = {.mark = no_mark};
    ClusterTable table = {.epoch = 0};
    NodeLink link;
    Members members;
    GreetDesk desk;
    node_link_init(&link, &transport, "test");
    link.head.from = 0;
    members_init(&members, &link);
    CU_ASSERT_EQUAL_FATAL(members_resize(&members, 2, at(0)), RESULT_OK);
    link.table = &table;
    link.members = &members;
    greet_desk_init(&desk, &link, &sinks);
    CU_ASSERT_EQUAL(greet_desk_set(&desk, at(0)), RESULT_OK);
    members.members[1].greet.compared = 4;
    CU_ASSERT_FALSE(greet_desk_heard(&desk, 1, 5, 3));
    CU_ASSERT_EQUAL(members.members[1].greet.mark.heard, 0);
    members.members[1].greet.compared = 5;
    CU_ASSERT_TRUE(greet_desk_heard(&desk, 1, 5, 3));
    CU_ASSERT_EQUAL(members.members[1].greet.mark.heard, 3);
    node_link_destroy(&link);
    members_destroy(&members);
}

UNIT_MAIN("lost_answers",
          {"an answer of a process that was not compared does not count",
           an_answer_of_a_process_that_was_not_compared_does_not_count},
          {"a settled move is said again when the answer was lost", a_settled_move_is_said_again},
          {"a limit is not used up while a row is missing",
           a_limit_is_not_used_up_while_a_row_is_missing},
          {"an agent that was never started is not waited for",
           an_agent_that_was_never_started_is_not_waited_for},
          {"a limit is not used up before others have heard of what there is",
           a_limit_is_not_used_up_before_others_have_heard_of_what_there_is})
