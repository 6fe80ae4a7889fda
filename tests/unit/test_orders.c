/* Orders of an operator: done one by one, in the order they were given, each once it is committed.
 * The test is the ingest thread and the main thread. */
#include "ingest/chore/orders.h"

#include <stdlib.h>
#include <string.h>

#include "ingest_fixture.h"
#include "store/pages/page_db_read.h"
#include "store/tables/host_rows.h"
#include "unit.h"

typedef struct World {
    IngestFixture ingest;
    Orders *orders;
    IngestChore chore;
    unsigned rings;
} World;

static void on_ring(void *context)
{
    World *w = context;
    w->rings++;
}

static World *set_up(void)
{
    World *w = calloc(1, sizeof *w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    w->ingest.options = (IngestOptions){.config.schedule_levels = SCHEDULE_DEFAULT_LEVELS,
                                        .config.score_depth_factor = 0.5,
                                        .config.scope_depth = 3,
                                        .config.fetch_max_redirects = 2};
    ingest_fixture_open(&w->ingest);
    CU_ASSERT_EQUAL_FATAL(orders_new(&w->orders, on_ring, w), RESULT_OK);
    w->chore = orders_chore(w->orders);
    return w;
}

static void tear_down(World *w)
{
    orders_delete(w->orders);
    ingest_fixture_close(&w->ingest);
    free(w);
}

static void give(World *w, OrderKind kind, const char *text, uint64_t sign)
{
    char copy[64];
    (void)snprintf(copy, sizeof copy, "%s", text); /* it is copied: this one goes */
    const char *texts[] = {copy};
    CU_ASSERT_EQUAL(orders_give(w->orders, kind, texts, 1, sign), RESULT_OK);
}

static bool is_due(const World *w)
{
    return w->chore.due(w->chore.context).ns != MONO_NEVER.ns;
}

/* One transaction of the chore. */
static void carry_out(World *w, bool really)
{
    Batch batch;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    CU_ASSERT_EQUAL_FATAL(batch_init(&batch, &w->ingest.options, &w->ingest.tables.store,
                                     w->ingest.log, &w->ingest.totals, txn, NULL, 0),
                          RESULT_OK);
    CU_ASSERT_EQUAL(w->chore.run(w->chore.context, &batch, MONO_NEVER), RESULT_OK);
    CU_ASSERT_EQUAL(batch_finish(&batch), RESULT_OK);
    if (really) {
        store_fixture_commit(&w->ingest.tables, txn);
        w->ingest.totals = batch.totals;
    } else {
        page_db_txn_abort(w->ingest.tables.store.db, txn);
    }
    batch_destroy(&batch);
    w->chore.ended(w->chore.context, really ? RESULT_OK : RESULT_FULL);
}

/* The next one that is done came to this. */
static void expect_done(World *w, uint64_t sign, uint64_t hosts, uint64_t urls)
{
    Order *order = orders_take(w->orders);
    CU_ASSERT_PTR_NOT_NULL_FATAL(order);
    CU_ASSERT_TRUE(order->sign == sign && order->hosts == hosts && order->urls == urls);
    order_delete(order);
}

static HostRecord record_of(World *w, const char *url)
{
    HostRecord record;
    uint32_t host = ingest_fixture_page(&w->ingest, url).host;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    CU_ASSERT_EQUAL(host_rows_get(w->ingest.tables.store.hosts, txn, host, &record), RESULT_OK);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    return record;
}

static void an_order_is_done_when_it_is_committed(void)
{
    World *w = set_up();
    CU_ASSERT_FALSE(is_due(w));
    CU_ASSERT_PTR_NULL(orders_take(w->orders));
    give(w, ORDER_SEED, "http://a.example/", 1);
    give(w, ORDER_SEED, "http://a.example/", 2);
    CU_ASSERT_TRUE(is_due(w));
    carry_out(w, false);
    CU_ASSERT_TRUE(is_due(w) && w->rings == 0);
    CU_ASSERT_PTR_NULL(orders_take(w->orders));
    carry_out(w, true);
    CU_ASSERT_EQUAL(w->rings, 1);
    carry_out(w, true);
    CU_ASSERT_TRUE(!is_due(w) && w->rings == 2);
    expect_done(w, 1, 1, 0);
    expect_done(w, 2, 0, 0); /* it was known */
    CU_ASSERT_PTR_NULL(orders_take(w->orders));
    carry_out(w, true); /* with nothing to do nothing is done */
    CU_ASSERT_EQUAL(w->rings, 2);
    tear_down(w);
}

static void a_host_is_meant_by_its_name_or_its_origin(void)
{
    World *w = set_up();
    static const char *const urls[] = {"http://a.example/", "http://a.example/2",
                                       "https://a.example/", "http://a.example:81/"};
    for (size_t i = 0; i < 4; i++) {
        ingest_fixture_seed(&w->ingest, urls[i]);
    }
    give(w, ORDER_DROP, "a.example", 1); /* both schemes, the usual ports */
    give(w, ORDER_DROP, "a.example", 2); /* again has no effect */
    give(w, ORDER_REVIVE, "https://a.example", 3);
    give(w, ORDER_DROP, "http://a.example:81", 4);
    give(w, ORDER_DROP, "nobody.example", 5);
    give(w, ORDER_REVIVE, "a.example", 6);
    for (unsigned i = 0; i < 6; i++) {
        carry_out(w, true);
    }
    expect_done(w, 1, 2, 3);
    expect_done(w, 2, 2, 0);
    expect_done(w, 3, 1, 1);
    expect_done(w, 4, 1, 1);
    expect_done(w, 5, 0, 0);
    expect_done(w, 6, 2, 2);
    CU_ASSERT_EQUAL(record_of(w, urls[0]).state, HOST_ACTIVE);
    CU_ASSERT_EQUAL(record_of(w, urls[2]).state, HOST_ACTIVE);
    CU_ASSERT_EQUAL(record_of(w, urls[3]).state, HOST_DROPPED);
    CU_ASSERT_EQUAL(w->ingest.totals.hosts_dropped, 1);
    tear_down(w);
}

/* Notes that a host has failed, and has to wait. */
static void make_ill(World *w, const char *url)
{
    HostRecord record = record_of(w, url);
    uint32_t host = ingest_fixture_page(&w->ingest, url).host;
    record.failures = 3;
    record.not_before_ms = INT64_C(1) << 45;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    CU_ASSERT_EQUAL(host_rows_put(w->ingest.tables.store.hosts, txn, host, &record), RESULT_OK);
    store_fixture_commit(&w->ingest.tables, txn);
}

static void a_visit_forgets_what_failed(void)
{
    World *w = set_up();
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    make_ill(w, "http://a.example/");
    give(w, ORDER_REVIVE, "a.example", 1); /* it is not aside */
    carry_out(w, true);
    expect_done(w, 1, 1, 0);
    CU_ASSERT_EQUAL(record_of(w, "http://a.example/").failures, 3);
    give(w, ORDER_VISIT, "a.example", 2);
    carry_out(w, true);
    expect_done(w, 2, 1, 1);
    HostRecord record = record_of(w, "http://a.example/");
    CU_ASSERT_TRUE(record.failures == 0 && record.not_before_ms == 0);
    /* One that is aside comes back, which says how many URLs it has once. */
    give(w, ORDER_DROP, "a.example", 3);
    give(w, ORDER_VISIT, "a.example", 4);
    carry_out(w, true);
    carry_out(w, true);
    expect_done(w, 3, 1, 1);
    expect_done(w, 4, 1, 1);
    CU_ASSERT_EQUAL(record_of(w, "http://a.example/").state, HOST_ACTIVE);
    tear_down(w);
}

static void what_is_not_done_goes_with_the_list(void)
{
    World *w = set_up();
    for (uint64_t i = 0; i < 4; i++) {
        give(w, ORDER_SEED, "http://a.example/", i);
    }
    carry_out(w, true);
    carry_out(w, true);
    expect_done(w, 0, 1, 0);
    orders_delete(NULL);
    order_delete(NULL);
    tear_down(w); /* two wait, one is done: a sanitizer sees what is lost */
}

UNIT_MAIN("orders",
          {"an order is done when it is committed", an_order_is_done_when_it_is_committed},
          {"a host is meant by its name or its origin", a_host_is_meant_by_its_name_or_its_origin},
          {"a visit forgets what failed", a_visit_forgets_what_failed},
          {"what is not done goes with the list", what_is_not_done_goes_with_the_list})
