#include <string.h>

#include "frontier/sieve/sieve_bloom.h"
#include "store_fixture.h"
#include "unit.h"

static SieveBloom *open_bloom(StoreFixture *fixture)
{
    SieveBloom *bloom = NULL;
    MDB_txn *txn = store_fixture_begin(fixture, true);
    CU_ASSERT_EQUAL_FATAL(
        sieve_bloom_new(&bloom, fixture->store.db, txn, 10000, 1e-6, (size_t)1 << 20), RESULT_OK);
    page_db_txn_abort(fixture->store.db, txn);
    return bloom;
}

static bool takes(SieveBloom *bloom, const char *from, const char *url)
{
    PageOrigin origin;
    page_origin_of(from, strlen(from), &origin);
    return sieve_bloom_takes(bloom, &origin, url);
}

static void each_link_is_taken_once(void)
{
    StoreFixture fixture;
    store_fixture_open(&fixture);
    SieveBloom *bloom = open_bloom(&fixture);
    CU_ASSERT_TRUE(takes(bloom, "http://a.example/", "http://a.example/1"));
    CU_ASSERT_TRUE(takes(bloom, "http://a.example/", "http://b.example/2"));
    CU_ASSERT_FALSE(takes(bloom, "http://a.example/", "http://a.example/1"));
    CU_ASSERT_FALSE(takes(bloom, "http://b.example/", "http://b.example/2"));
    CU_ASSERT_FALSE(takes(bloom, "http://b.example/", "http://a.example/1"));
    CU_ASSERT_TRUE(takes(bloom, "http://b.example/", "http://a.example/3"));
    CU_ASSERT_TRUE(sieve_bloom_rate(bloom) < 1e-6);
    sieve_bloom_delete(bloom);
    store_fixture_close(&fixture, true);
}

static void a_start_fills_it_from_the_database(void)
{
    StoreFixture fixture;
    store_fixture_open(&fixture);
    char url[128];
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    for (unsigned i = 0; i < 500; i++) {
        (void)snprintf(url, sizeof url, "http://h%u.example/%u", i % 7, i);
        store_fixture_add(&fixture, txn, url, 0);
    }
    store_fixture_commit(&fixture, txn);
    SieveBloom *bloom = open_bloom(&fixture);
    unsigned left = 0;
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(url, sizeof url, "http://h%u.example/%u", i % 7, i);
        left += takes(bloom, "http://x.example/", url);
    }
    CU_ASSERT_EQUAL(left, 500);
    sieve_bloom_delete(bloom);
    store_fixture_close(&fixture, true);
}

static void a_filter_that_does_not_fit_is_refused(void)
{
    StoreFixture fixture;
    store_fixture_open(&fixture);
    SieveBloom *bloom = NULL;
    MDB_txn *txn = store_fixture_begin(&fixture, true);
    CU_ASSERT_EQUAL(sieve_bloom_new(&bloom, fixture.store.db, txn, 1000000, 1e-6, 1000),
                    RESULT_LIMIT);
    CU_ASSERT_PTR_NULL(bloom);
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

UNIT_MAIN("sieve bloom", {"each link is taken once", each_link_is_taken_once},
          {"a start fills it from the database", a_start_fills_it_from_the_database},
          {"a filter that does not fit is refused", a_filter_that_does_not_fit_is_refused})
