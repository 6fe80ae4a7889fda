/* Desks of the node whose messages are lost: what the simulation of clusters has found. */
#include <string.h>

#include "cluster/desk/limit_desk.h"
#include "cluster/desk/table_keeper.h"
#include "parse/host/domain.h"
#include "unit.h"

static uint64_t last_get;
static unsigned n_puts;

static Result take_get(void *state, const char *key, uint64_t token)
{
    (void)state;
    (void)key;
    last_get = token;
    return RESULT_OK;
}

static Result take_put(void *state, const char *key, const void *bytes, size_t length,
                       uint64_t expected, uint64_t token)
{
    (void)state;
    (void)key;
    (void)bytes;
    (void)length;
    (void)expected;
    (void)token;
    n_puts++;
    return RESULT_OK;
}

static const Transport transport = {.get = take_get, .put = take_put};

static MonoTime at(int64_t ms)
{
    return (MonoTime){.ns = (1000 + ms) * 1000000};
}

static TransportEvent *value_of(const Buffer *bytes)
{
    TransportEvent *event =
        transport_event_new(TRANSPORT_VALUE, last_get, NULL, NULL, bytes->data, bytes->length);
    event->revision = 1;
    return event;
}

/* The keeper looks, and sees the table that it has. */
static void look(TableKeeper *keeper, int64_t ms)
{
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    (void)cluster_table_write(&keeper->table, &bytes);
    table_keeper_changed(keeper, at(ms));
    table_keeper_work(keeper, at(ms));
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
    ClusterTable table;
    node_link_init(&link, &transport, "test");
    link.up = true;
    link.head.from = 0;
    table_keeper_init(&keeper, &link, 10000);
    cluster_table_init(&table);
    CU_ASSERT_EQUAL_FATAL(cluster_table_create(&table, uuid, domain_list_sha1(), 2), RESULT_OK);
    CU_ASSERT_EQUAL(cluster_table_move(&table, 0, 1, 5), RESULT_OK);
    CU_ASSERT_EQUAL(table_keeper_set(&keeper, &table), RESULT_OK);
    table_keeper_up(&keeper, at(0));
    look(&keeper, NODE_SETTLE_MS + 1);
    n_puts = 0;
    table_keeper_settle(&keeper, 1);
    table_keeper_settle(&keeper, 1); /* it is on its way */
    CU_ASSERT_EQUAL(n_puts, 1);
    look(&keeper, NODE_SETTLE_MS + 1000); /* nothing came of it, and no answer either */
    table_keeper_settle(&keeper, 1);
    CU_ASSERT_EQUAL(n_puts, 2);
    cluster_table_destroy(&table);
    table_keeper_destroy(&keeper);
}

/* Answers the desk's look with a ledger whose second row is known, or missing. */
static void settle(LimitDesk *desk, bool known)
{
    const LedgerAccount accounts[LEDGER_UNITS] = {{.used = 10, .needed = 4}};
    Ledger ledger;
    Buffer bytes;
    ledger_init(&ledger);
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(ledger_resize(&ledger, 2), RESULT_OK);
    ledger.rows[0].known = true;
    ledger.rows[0].granted[LEDGER_PAGES] = 10;
    ledger.rows[1].known = known;
    (void)ledger_write(&ledger, &bytes);
    limit_desk_up(desk, at(0), at(1));
    limit_desk_work(desk, accounts, at(1));
    TransportEvent *event = value_of(&bytes);
    (void)limit_desk_take(desk, event, accounts, at(2));
    transport_event_delete(event);
    ledger_destroy(&ledger);
    buffer_destroy(&bytes);
}

static void a_limit_is_not_used_up_while_a_row_is_missing(void)
{
    const uint64_t used[LEDGER_UNITS] = {10};
    NodeLink link;
    for (unsigned limit = 10; limit <= 20; limit += 10) {
        const uint64_t limits[LEDGER_UNITS] = {limit};
        LimitDesk desk;
        node_link_init(&link, &transport, "test");
        link.up = true;
        link.head.from = 0;
        limit_desk_init(&desk, &link, limits, used);
        desk.agents = 2;
        settle(&desk, false);
        CU_ASSERT_TRUE(desk.holds); /* so nobody finds that the limit has ended the crawl */
        settle(&desk, true);
        CU_ASSERT_EQUAL(desk.holds, limit > 10);
        CU_ASSERT_EQUAL(desk.spent, limit == 10);
        limit_desk_destroy(&desk);
    }
}

UNIT_MAIN("lost_answers",
          {"a settled move is said again when the answer was lost", a_settled_move_is_said_again},
          {"a limit is not used up while a row is missing",
           a_limit_is_not_used_up_while_a_row_is_missing})
