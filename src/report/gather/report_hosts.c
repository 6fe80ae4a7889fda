#include "report/gather/report_hosts.h"

#include "store/schedule/schedule_read.h"
#include "store/schedule/schedule.h"

#define SLOW_LEAST_FETCHES 2u
#define QUEUES             1024u /* hosts read in one transaction */

static void report_hosts_rank(HostRanking *ranking, uint32_t host, double value,
                              const HostRecord *record)
{
    size_t i = ranking->n;
    if (value <= 0) {
        return;
    }
    if (i == REPORT_HOSTS) {
        if (value <= ranking->hosts[--i].value) {
            return;
        }
    } else {
        ranking->n++;
    }
    while (i > 0 && ranking->hosts[i - 1].value < value) {
        ranking->hosts[i] = ranking->hosts[i - 1];
        i--;
    }
    ranking->hosts[i] = (RankedHost){.host = host, .value = value, .record = *record};
}

static Result report_hosts_take_host(void *context, uint32_t host, const HostRecord *record)
{
    ReportHosts *hosts = context;
    hosts->n += record->fetches > 0;
    hosts->active += record->state == HOST_ACTIVE;
    hosts->parked += record->state == HOST_PARKED;
    hosts->full += record->state == HOST_FULL;
    hosts->denied += record->state == HOST_DENIED;
    hosts->dropped += record->state == HOST_DROPPED;
    if (record->state == HOST_DROPPED && record->drop_class < FETCH_CLASSES) {
        hosts->dropped_by[record->drop_class]++;
    }
    hosts->with_crawl_delay += record->crawl_delay_ms > 0;
    hosts->closed += record->pages == 0 && record->duplicates == 0 && record->robots_denied > 0;
    hosts->robots_denied += record->robots_denied;
    report_hosts_rank(&hosts->largest, host, record->pages, record);
    report_hosts_rank(&hosts->heaviest, host, (double)record->bytes, record);
    if (record->fetches >= SLOW_LEAST_FETCHES) {
        report_hosts_rank(&hosts->slowest, host, (double)record->fetch_ms / record->fetches,
                          record);
    }
    uint64_t walls = 0;
    for (size_t i = 0; i < HTTP_WALLS; i++) {
        hosts->walls[i] += record->walls[i];
        walls += record->walls[i];
    }
    hosts->walled += walls > 0;
    report_hosts_rank(&hosts->walling, host, (double)walls, record);
    report_hosts_rank(&hosts->failing, host, (double)record->by_status[0] + record->by_status[5],
                      record);
    return RESULT_OK;
}

/* The queues of the next hosts; *n = how many there were. */
static Result read_queues(Histogram *queues, PageDB *db, uint64_t *from, size_t *n)
{
    uint32_t ids[QUEUES];
    uint64_t entries[QUEUES];
    MDB_txn *txn = NULL;
    Schedule *schedule = NULL;
    *n = 0;
    if (page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = schedule_open(&schedule, txn, NULL);
    if (rc == RESULT_OK) {
        rc = schedule_host_counts(schedule, txn, from, ids, entries, QUEUES, n);
    }
    for (size_t i = 0; rc == RESULT_OK && i < *n; i++) {
        histogram_add(queues, entries[i]);
    }
    schedule_close(schedule);
    page_db_txn_abort(db, txn);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

static Result read_all_queues(Histogram *queues, PageDB *db)
{
    uint64_t from = 0;
    size_t n = QUEUES;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && n == QUEUES) {
        rc = read_queues(queues, db, &from, &n);
    }
    return rc;
}

Result report_hosts_read(ReportHosts *hosts, PageDB *db)
{
    MDB_txn *txn = NULL;
    HostTable *table = NULL;
    *hosts = (ReportHosts){.n = 0};
    if (page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = host_table_open(&table, txn);
    if (rc == RESULT_OK) {
        rc = host_table_walk(table, txn, report_hosts_take_host, hosts);
    }
    host_table_close(table);
    page_db_txn_abort(db, txn);
    return rc == RESULT_OK ? read_all_queues(&hosts->queues, db) : rc;
}
