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

static void only_links_never_seen_are_left_in_their_order(void)
{
    StoreFixture fixture;
    store_fixture_open(&fixture);
    SieveBloom *bloom = open_bloom(&fixture);
    char a[] = "http://a.example/1", b[] = "http://b.example/2", c[] = "http://a.example/3";
    LinkInfo links[] = {{.url = a, .score = 1}, {.url = b, .score = 2}, {.url = a, .score = 3}};
    uint8_t hops[] = {'L', 'E', 'L'}, kinds[] = {7, 8, 9};
    CU_ASSERT_EQUAL(sieve_bloom_filter(bloom, "http://a.example/", links, hops, kinds, 3), 2);
    CU_ASSERT_TRUE(links[0].url == a && links[1].url == b && hops[1] == 'E' && kinds[1] == 8);
    LinkInfo more[] = {{.url = b}, {.url = c, .score = 5}};
    uint8_t one[] = {'L', 'R'};
    CU_ASSERT_EQUAL(sieve_bloom_filter(bloom, "http://b.example/", more, one, NULL, 2), 1);
    CU_ASSERT_TRUE(more[0].url == c && more[0].score == 5 && one[0] == 'R');
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
        LinkInfo link = {.url = url};
        left += (unsigned)sieve_bloom_filter(bloom, "http://x.example/", &link, NULL, NULL, 1);
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

UNIT_MAIN("sieve bloom",
          {"only links never seen are left, in their order",
           only_links_never_seen_are_left_in_their_order},
          {"a start fills it from the database", a_start_fills_it_from_the_database},
          {"a filter that does not fit is refused", a_filter_that_does_not_fit_is_refused})
