#include "report/gather/report.h"

#include "ingest/batch/ingest_totals.h"

static Result read_totals(Report *report)
{
    MDB_txn *txn = NULL;
    MDB_dbi crawl = 0;
    if (page_db_txn_begin(report->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    report->has_totals = mdb_dbi_open(txn, "crawl", 0, &crawl) == MDB_SUCCESS &&
                         ingest_read_totals(txn, crawl, &report->totals) == RESULT_OK;
    page_db_txn_abort(report->db, txn);
    return RESULT_OK;
}

static Result report_complain(Result rc, const char *what, Buffer *error)
{
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s cannot be read: %s", what, result_name(rc));
    }
    return rc;
}

Result report_gather(Report *report, const char *directory, PageDB *db, WallTime now, FILE *broken,
                     Buffer *error)
{
    *report = (Report){.directory = directory, .db = db, .made = now};
    Result rc = report_complain(report_log_read(&report->log, directory), "crawl.log", error);
    Result watched = report_watch_read(&report->watch, directory);
    rc = rc == RESULT_OK ? report_complain(watched, "status.log", error) : rc;
    if (rc == RESULT_OK) {
        rc = report_complain(read_totals(report), "the counters", error);
    }
    if (rc == RESULT_OK) {
        rc = report_hosts_read(&report->hosts, db);
        report->has_hosts = rc == RESULT_OK;
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : report_complain(rc, "the hosts", error);
    }
    if (rc == RESULT_OK) {
        rc = report_complain(report_graph_read(&report->graph, db, broken), "the pages", error);
    }
    return rc;
}

void report_destroy(Report *report)
{
    report_log_destroy(&report->log);
    report_watch_destroy(&report->watch);
    report_graph_destroy(&report->graph);
}
