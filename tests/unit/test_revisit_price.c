/* What a visit costs, from a sample of the pages; also when memory is short. */
#include "alloc_fixture.h"
#include "ingest/revisit/revisit_price.h"
#include "ingest_fixture.h"

#define PAGES       60u
#define DAY_S       86400.0
#define LARGE_BYTES 16384u /* what only a sample is as large as */

typedef struct World {
    IngestFixture ingest;
    RevisitRows *table;
    RevisitPricing pricing;
    RevisitPolicy policy;
    Batch batch;
    MDB_txn *txn;
} World;

static World world;

static void start(void)
{
    world = (World){.policy = {.optimal = true, .default_s = DAY_S, .min_s = 60, .max_s = 1e8}};
    ingest_fixture_open(&world.ingest);
    for (unsigned i = 0; i < PAGES; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://h%u.test/", i);
        ingest_fixture_seed(&world.ingest, url);
    }
    StoreFixture *tables = &world.ingest.tables;
    world.txn = store_fixture_begin(tables, false);
    CU_ASSERT_EQUAL_FATAL(revisit_rows_open(&world.table, world.txn, true), RESULT_OK);
    for (uint64_t i = 0; i < PAGES; i++) {
        RevisitDue due = {.time_s = 1.7e9, .index = i, .freq = 1e-5f};
        CU_ASSERT_EQUAL(revisit_rows_put(world.table, world.txn, &due), RESULT_OK);
    }
    CU_ASSERT_EQUAL_FATAL(batch_init(&world.batch, &world.ingest.options, &tables->store,
                                     world.ingest.log, &world.ingest.totals, world.txn, NULL, 0),
                          RESULT_OK);
    revisit_pricing_init(&world.pricing, world.table, tables->store.db);
}

static void end(void)
{
    revisit_pricing_destroy(&world.pricing);
    batch_destroy(&world.batch);
    page_db_txn_abort(world.ingest.tables.store.db, world.txn);
    revisit_rows_close(world.table);
    ingest_fixture_close(&world.ingest);
}

static Result run_at(int64_t s)
{
    return revisit_pricing_run(&world.pricing, &world.batch, &world.policy,
                               (MonoTime){.ns = s * INT64_C(1000000000)});
}

/* NULL: there is none. */
static const RevisitPrice *price_of(uint64_t index)
{
    PageRef page = {.index = index, .host = (uint32_t)index};
    return revisit_pricing_of(&world.pricing, &world.batch, &world.policy, &page);
}

static void there_is_a_price_once_a_pass_has_ended(void)
{
    start();
    world.policy.optimal = false;
    CU_ASSERT_EQUAL(run_at(1), RESULT_OK);
    world.policy.optimal = true;
    CU_ASSERT_PTR_NULL(price_of(0));
    CU_ASSERT_EQUAL(run_at(2), RESULT_OK);
    const RevisitPrice *price = price_of(0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(price);
    CU_ASSERT_TRUE(price->price > 0 && !price->is_floor);
    CU_ASSERT_EQUAL(price->weight, 1.0);
    CU_ASSERT_EQUAL(price->mean_s, DAY_S);
    world.policy.optimal = false;
    CU_ASSERT_PTR_NULL(price_of(0));
    end();
}

static void a_larger_budget_makes_visits_cheaper(void)
{
    double last = 1e300;
    start();
    for (int64_t i = 0; i < 4; i++) {
        world.policy.visits_per_s = PAGES / (8 * DAY_S) * (double)(1 << i);
        CU_ASSERT_EQUAL(run_at(1 + 3600 * i), RESULT_OK);
        const RevisitPrice *price = price_of(1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(price);
        CU_ASSERT_TRUE(price->price < last);
        last = price->price;
    }
    end();
}

static void without_memory_the_next_pass_tries_again(void)
{
#ifdef ALLOC_CAN_FAIL
    for (long n = 1; n <= 6; n++) {
        start();
        alloc_counts = LARGE_BYTES;
        alloc_fail_at = n;
        Result first = run_at(1);
        bool has_failed = first != RESULT_OK;
        alloc_fail_at = 0;
        CU_ASSERT_TRUE(first == RESULT_OK || first == RESULT_MEMORY);
        CU_ASSERT_EQUAL(price_of(0) == NULL, has_failed);
        CU_ASSERT_EQUAL(run_at(2), RESULT_OK);
        CU_ASSERT_PTR_NOT_NULL(price_of(0));
        end();
    }
#endif
}

UNIT_MAIN("revisit_price",
          {"there is a price once a pass has ended", there_is_a_price_once_a_pass_has_ended},
          {"a larger budget makes visits cheaper", a_larger_budget_makes_visits_cheaper},
          {"without memory the next pass tries again", without_memory_the_next_pass_tries_again})
