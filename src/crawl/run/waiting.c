#include "crawl/run/waiting.h"

#include "store/schedule/schedule_read.h"
#include "store/pages/page_db_read.h"
#include "frontier/visit/politeness.h"

static Result read_table(const IngestStore *tables, MDB_txn *txn, WaitEntry *entries, uint64_t *all,
                         size_t *n)
{
    Result rc = wait_table_count(tables->waits, txn, all);
    return rc != RESULT_OK ? rc
                           : wait_table_read(tables->waits, txn, NULL, entries, WAITING_TOLD, n);
}

Result waiting_walk(const IngestStore *tables, uint64_t *all,
                    void (*visit)(void *context, const WaitingHost *host), void *context)
{
    WaitEntry entries[WAITING_TOLD];
    size_t n = 0;
    MDB_txn *txn = NULL;
    Buffer origin;
    *all = 0;
    if (page_db_txn_begin(tables->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    buffer_init(&origin, BUFFER_NO_LIMIT);
    Result rc = read_table(tables, txn, entries, all, &n);
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        WaitingHost host = {.why = fetch_class_name((FetchClass)entries[i].class),
                            .failures = entries[i].failures,
                            .until = {.us = entries[i].until_ms * 1000}};
        buffer_reset(&origin);
        (void)page_db_host_origin(tables->db, txn, entries[i].host, &origin);
        (void)schedule_host_count(tables->schedule, txn, entries[i].host, &host.urls);
        host.origin = buffer_string(&origin);
        visit(context, &host);
    }
    page_db_txn_abort(tables->db, txn);
    buffer_destroy(&origin);
    return rc;
}
