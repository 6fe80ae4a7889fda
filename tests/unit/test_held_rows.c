#include "store/tables/page_rows.h"

#include "store_fixture.h"

static void what_is_put_is_read_in_order(void)
{
    StoreFixture fixture;
    HeldUrl read[4];
    HeldUrl one;
    size_t n = 0;
    store_fixture_open(&fixture);
    HeldRows held = fixture.store.held;
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    for (uint64_t i = 5; i > 0; i--) {
        HeldUrl url = {.index = i * 1000, .status = -5000 - (int32_t)i, .level = (uint8_t)i};
        CU_ASSERT_EQUAL(held_rows_put(held, txn, &url), RESULT_OK);
    }
    CU_ASSERT_EQUAL(held_rows_read(held, txn, 1001, read, 4, &n), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(n, 4);
    CU_ASSERT_EQUAL(read[0].index, 2000);
    CU_ASSERT_EQUAL(read[3].index, 5000);
    CU_ASSERT_EQUAL(read[3].status, -5005);
    CU_ASSERT_EQUAL(read[3].level, 5);
    CU_ASSERT_EQUAL(held_rows_remove(held, txn, 2000), RESULT_OK);
    CU_ASSERT_EQUAL(held_rows_remove(held, txn, 2000), RESULT_OK);
    CU_ASSERT_EQUAL(held_rows_get(held, txn, 2000, &one), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(held_rows_get(held, txn, 3000, &one), RESULT_OK);
    CU_ASSERT_EQUAL(one.level, 3);
    CU_ASSERT_EQUAL(held_rows_read(held, txn, 0, read, 4, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, 4);
    CU_ASSERT_EQUAL(read[1].index, 3000);
    CU_ASSERT_EQUAL(held_rows_read(held, txn, 5001, read, 4, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, 0);
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

UNIT_MAIN("held_rows", {"what is put is read in order", what_is_put_is_read_in_order})
