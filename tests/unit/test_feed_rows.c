#include "store/tables/host_rows.h"
#include "store_fixture.h"
#include "unit.h"

static bool admit(StoreFixture *fixture, MDB_txn *txn, uint32_t host, uint64_t feed, size_t most)
{
    bool admitted = false;
    CU_ASSERT_EQUAL_FATAL(feed_rows_admit(fixture->store.feeds, txn, host, feed, most, &admitted),
                          RESULT_OK);
    return admitted;
}

static void a_host_has_its_first_feeds_and_no_more(void)
{
    StoreFixture fixture;
    store_fixture_open(&fixture);
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_TRUE(admit(&fixture, txn, 7, 100, 2));
    CU_ASSERT_TRUE(admit(&fixture, txn, 7, 101, 2));
    CU_ASSERT_FALSE(admit(&fixture, txn, 7, 102, 2));
    CU_ASSERT_TRUE(admit(&fixture, txn, 7, 100, 2));
    CU_ASSERT_TRUE(admit(&fixture, txn, 8, 102, 2));
    store_fixture_commit(&fixture, txn);
    txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_TRUE(admit(&fixture, txn, 7, 101, 0));
    CU_ASSERT_FALSE(admit(&fixture, txn, 9, 101, 0));
    CU_ASSERT_FALSE(admit(&fixture, txn, 7, 102, 2));
    CU_ASSERT_TRUE(admit(&fixture, txn, 7, 102, 3));
    page_db_txn_abort(fixture.store.db, txn);
    txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_FALSE(admit(&fixture, txn, 7, 102, 2));
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

static void a_host_never_has_more_than_a_list_holds(void)
{
    StoreFixture fixture;
    store_fixture_open(&fixture);
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    size_t n = 0;
    for (uint64_t feed = 0; feed < FEED_ROWS_MOST + 10; feed++) {
        n += admit(&fixture, txn, 1, feed, SIZE_MAX);
    }
    CU_ASSERT_EQUAL(n, FEED_ROWS_MOST);
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

UNIT_MAIN("feed table",
          {"a host has its first feeds and no more", a_host_has_its_first_feeds_and_no_more},
          {"a host never has more than a list holds", a_host_never_has_more_than_a_list_holds})
