/* Codes of LMDB and of the system as PageDB's, and the words for the operator. */
#include <errno.h>
#include <string.h>

#include "page_db_fixture.h"
#include "store/pages/page_error.h"

static void codes_become_those_of_page_db(void)
{
    static const struct {
        int rc;
        int code;
        Result result;
    } rows[] = {{0, page_db_error_ok, RESULT_OK},
                {ENOMEM, page_db_error_memory, RESULT_MEMORY},
                {MDB_MAP_FULL, page_db_error_full, RESULT_FULL},
                {MDB_TXN_FULL, page_db_error_full, RESULT_FULL},
                {ENOSPC, page_db_error_full, RESULT_FULL},
                {EIO, page_db_error_io, RESULT_IO},
                {MDB_PANIC, page_db_error_io, RESULT_IO},
                {MDB_VERSION_MISMATCH, page_db_error_version, RESULT_VERSION},
                {MDB_CORRUPTED, page_db_error_damaged, RESULT_DAMAGED},
                {MDB_PAGE_NOTFOUND, page_db_error_damaged, RESULT_DAMAGED},
                {MDB_READERS_FULL, page_db_error_locked, RESULT_LOCKED},
                {EAGAIN, page_db_error_locked, RESULT_LOCKED},
                {ENOENT, page_db_error_invalid_path, RESULT_IO},
                {EROFS, page_db_error_invalid_path, RESULT_IO},
                {MDB_NOTFOUND, page_db_error_internal, RESULT_IO},
                {EDOM, page_db_error_internal, RESULT_IO}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CU_ASSERT_EQUAL(page_db_code(rows[i].rc), rows[i].code);
        CU_ASSERT_EQUAL(page_db_result(rows[i].code), rows[i].result);
    }
}

static const char *words_of(PageDB *db)
{
    return error_message(db->error);
}

static void the_operator_gets_the_words_of_the_first_failure(void)
{
    PageDB *db = page_db_fixture_open("page-error");
    CU_ASSERT_EQUAL(page_db_fail_mdb(db, MDB_CORRUPTED, "page_db_add"), page_db_error_damaged);
    CU_ASSERT_PTR_EQUAL(strstr(words_of(db), "page_db_add: MDB_CORRUPTED"), words_of(db));
    CU_ASSERT_EQUAL(page_db_fail_mdb(db, 0, "x"), page_db_error_ok); /* leaves it alone */
    CU_ASSERT_EQUAL(page_db_fail(db, page_db_error_ok, "x"), page_db_error_ok);
    CU_ASSERT_PTR_NOT_NULL(strstr(words_of(db), "MDB_CORRUPTED"));
    CU_ASSERT_EQUAL(page_db_fail_find(db, EIO, "x"), page_db_error_io);
    CU_ASSERT_PTR_NOT_NULL(strstr(words_of(db), "MDB_CORRUPTED")); /* the first one is told */
    error_clean(db->error);
    CU_ASSERT_EQUAL(page_db_fail_find(db, MDB_NOTFOUND, "x"), page_db_error_no_page);
    CU_ASSERT_STRING_EQUAL(words_of(db), "there is no such page");
    CU_ASSERT_EQUAL(page_db_fail_find(db, 0, "x"), page_db_error_ok);
    char longest[2000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CU_ASSERT_EQUAL(page_db_fail_mdb(db, EIO, longest), page_db_error_io);
    CU_ASSERT_TRUE(strlen(words_of(db)) < sizeof longest);
    page_db_delete(db);
}

static void what_a_caller_can_get_wrong_is_said_before_anything_is_done(void)
{
    PageDB *db = page_db_fixture_open("page-error");
    CU_ASSERT_EQUAL(page_db_check(NULL, true, "f"), page_db_error_invalid);
    CU_ASSERT_EQUAL(page_db_check(db, false, "page_db_add"), page_db_error_invalid);
    CU_ASSERT_STRING_EQUAL(words_of(db), "page_db_add: an argument is NULL");
    CU_ASSERT_EQUAL(page_db_check(db, true, "page_db_add"), page_db_error_ok);
    CU_ASSERT_EQUAL(error_code(db->error), 0); /* starts clean */
    TxnManager *manager = db->txn_manager;
    db->txn_manager = NULL;
    CU_ASSERT_EQUAL(page_db_check(db, true, "page_db_add"), page_db_error_invalid);
    CU_ASSERT_STRING_EQUAL(words_of(db), "page_db_add: the database was not opened");
    db->txn_manager = manager;
    page_db_delete(db);
}

UNIT_MAIN("page_error", {"codes become those of PageDB", codes_become_those_of_page_db},
          {"the operator gets the words of the first failure",
           the_operator_gets_the_words_of_the_first_failure},
          {"what a caller can get wrong is said before anything is done",
           what_a_caller_can_get_wrong_is_said_before_anything_is_done})
