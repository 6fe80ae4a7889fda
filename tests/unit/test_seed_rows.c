#include "store/tables/page_rows.h"

#include "store_fixture.h"

static void seeds_keep_their_tags(void)
{
    StoreFixture fixture;
    SeedEntry read[4];
    SeedEntry one;
    size_t n = 0;
    char longer[200];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    store_fixture_open(&fixture);
    SeedRows seeds = fixture.store.seeds;
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_EQUAL(seed_rows_put(seeds, txn, 7, "news"), RESULT_OK);
    CU_ASSERT_EQUAL(seed_rows_put(seeds, txn, 3, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(seed_rows_put(seeds, txn, 9, longer), RESULT_OK);
    CU_ASSERT_EQUAL(seed_rows_put(seeds, txn, 7, ""), RESULT_OK); /* read again without a tag */
    CU_ASSERT_EQUAL(seed_rows_get(seeds, txn, 7, &one), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(one.tag, "news");
    CU_ASSERT_EQUAL(seed_rows_put(seeds, txn, 7, "other"), RESULT_OK);
    CU_ASSERT_EQUAL(seed_rows_read(seeds, txn, 0, read, 4, &n), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(n, 3);
    CU_ASSERT_EQUAL(read[0].index, 3);
    CU_ASSERT_STRING_EQUAL(read[0].tag, "");
    CU_ASSERT_STRING_EQUAL(read[1].tag, "other");
    CU_ASSERT_EQUAL(strlen(read[2].tag), SEED_TAG_BYTES);
    CU_ASSERT_EQUAL(seed_rows_get(seeds, txn, 4, &one), RESULT_NOT_FOUND);
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

UNIT_MAIN("seed_rows", {"seeds keep their tags", seeds_keep_their_tags})
