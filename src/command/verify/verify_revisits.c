/* ragno verify: the revisit schedule (store/tables/revisit_table.h) against itself and PageDB. */
#include <inttypes.h>

#include "store/tables/revisit_table.h"
#include "command/verify/verify_parts.h"

#define TABLES "crawl.mdb"

/* Every entry is of a page and is found by it. */
static Result verify_revisits_check_entries(Verify *verify, MDB_txn *txn, const RevisitTable *table,
                                            uint64_t *problems)
{
    RevisitDue due = {.freq = 0};
    RevisitDue found;
    uint64_t n = 0;
    Result rc = revisit_table_next(table, txn, &due);
    for (; rc == RESULT_OK; rc = revisit_table_next(table, txn, &due)) {
        n++;
        if (due.index >= verify->n_pages ||
            revisit_table_get(table, txn, due.index, &found) != RESULT_OK ||
            found.time_s != due.time_s) {
            verify_problem(verify, TABLES,
                           "next visit of page %" PRIu64 " belongs to no page, or is there twice",
                           due.index);
            ++*problems;
        }
    }
    uint64_t pages = 0;
    if (rc == RESULT_NOT_FOUND) {
        rc = revisit_table_page_count(table, txn, &pages);
    }
    if (rc == RESULT_OK && pages != n) {
        verify_problem(verify, TABLES, "%" PRIu64 " pages have a next visit, %" PRIu64 " are due",
                       pages, n);
        ++*problems;
    }
    return rc;
}

Result verify_revisits(Verify *verify, MDB_txn *txn)
{
    RevisitTable *table = NULL;
    uint64_t problems = 0;
    Result rc = revisit_table_open(&table, txn, false);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    rc = verify_revisits_check_entries(verify, txn, table, &problems);
    if (rc == RESULT_DAMAGED) {
        verify_problem(verify, TABLES, "a next visit cannot be read");
        problems++;
        rc = RESULT_OK;
    }
    if (rc == RESULT_OK && problems > 0 && verify->options->repair) {
        rc = revisit_table_clear(table, txn);
        verify_repaired(verify, TABLES,
                        "next visits emptied: a continuous crawl computes them anew");
    }
    revisit_table_close(table);
    return rc;
}

Result verify_forget_validators(MDB_txn *txn, uint64_t index)
{
    RevisitTable *table = NULL;
    RevisitNote note;
    Result rc = revisit_table_open(&table, txn, false);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    rc = revisit_table_note_get(table, txn, index, &note);
    if (rc == RESULT_OK) {
        note.etag[0] = '\0';
        note.last_modified[0] = '\0';
        rc = revisit_table_note_put(table, txn, index, &note);
    }
    revisit_table_close(table);
    return rc;
}
