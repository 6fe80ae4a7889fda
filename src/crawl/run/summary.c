#include "crawl/run/summary.h"

#include <math.h>

#include "store/pages/page_db_read.h"
#include "ingest/batch/ingest_batch.h"
#include "store/schedule/schedule.h"
#include "store/tables/host_rows.h"
#include "report/write/report_words.h"

typedef struct HostSums {
    PageDB *db;
    uint64_t active;
    uint64_t dropped;
    uint64_t parked;
    uint64_t dropped_by[FETCH_CLASSES];
    uint64_t parked_by[FETCH_CLASSES];
    uint64_t full;
} HostSums;

static Result add_host(void *context, uint32_t host, const HostRecord *record)
{
    (void)host;
    HostSums *sums = context;
    page_db_looked_up(sums->db, 1);
    sums->active += record->state == HOST_ACTIVE;
    sums->dropped += record->state == HOST_DROPPED;
    sums->parked += record->state == HOST_PARKED;
    if (host_is_aside(record) && record->drop_class < FETCH_CLASSES) {
        (record->state == HOST_DROPPED ? sums->dropped_by : sums->parked_by)[record->drop_class]++;
    }
    sums->full += record->state == HOST_FULL;
    return RESULT_OK;
}

static void print_refusals(const CrawlTotals *totals, FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < REFUSALS; i++) {
        if (totals->refused[i] > 0) {
            (void)fprintf(out, "%s %s %llu", any ? "," : "  refused    ", refusal_name((Refusal)i),
                          (unsigned long long)totals->refused[i]);
            any = true;
        }
    }
    if (any) {
        (void)fputc('\n', out);
    }
}

/* Why hosts were set aside, by the words of politeness.retry. */
static void print_reasons(const char *title, const uint64_t *of_class, FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < FETCH_CLASSES; i++) {
        if (of_class[i] > 0) {
            (void)fprintf(out, "%s %s %llu", any ? "," : title, fetch_class_name((FetchClass)i),
                          (unsigned long long)of_class[i]);
            any = true;
        }
    }
    if (any) {
        (void)fputc('\n', out);
    }
}

static void summary_print_hosts(const IngestStore *store, MDB_txn *txn, FILE *out)
{
    HostSums sums = {.db = store->db};
    if (host_rows_walk(store->hosts, txn, add_host, &sums) == RESULT_OK) {
        (void)fprintf(out,
                      "  hosts       %llu active, %llu dropped after errors, %llu parked, %llu "
                      "at their limit\n",
                      (unsigned long long)sums.active, (unsigned long long)sums.dropped,
                      (unsigned long long)sums.parked, (unsigned long long)sums.full);
        print_reasons("  dropped    ", sums.dropped_by, out);
        print_reasons("  parked     ", sums.parked_by, out);
    }
}

/* What hosts have that were set aside, and how it comes back. */
static void print_kept(const IngestStore *store, MDB_txn *txn, const char *directory, FILE *out)
{
    uint64_t urls = 0;
    uint64_t hosts = 0;
    if (schedule_parked_counts(store->schedule, txn, &urls, &hosts) == RESULT_OK && urls > 0) {
        (void)fprintf(
            out,
            "  kept        %llu URLs of %llu hosts that were dropped or parked; they come "
            "back with: ragno schedule %s revive\n",
            (unsigned long long)urls, (unsigned long long)hosts, directory);
    }
}

/* What schedule.mode = continuous did, and what comes. */
static void print_revisits(const IngestStore *store, MDB_txn *txn, FILE *out)
{
    RevisitTotals totals;
    RevisitDue next = {.freq = 0};
    uint64_t n = 0;
    char time[WORDS_BYTES];
    if (store->revisits == NULL ||
        ingest_kept_read(txn, store->crawl, KEPT_REVISITS, &totals) != RESULT_OK ||
        revisit_rows_count(store->revisits, txn, &n) != RESULT_OK) {
        return;
    }
    (void)fprintf(out,
                  "  revisits    %llu, %llu not modified, %llu changed, %llu gone; %llu pages will "
                  "be visited again, %llu no more\n",
                  (unsigned long long)totals.visits, (unsigned long long)totals.not_modified,
                  (unsigned long long)totals.changed, (unsigned long long)totals.gone,
                  (unsigned long long)n, (unsigned long long)totals.ended);
    if (revisit_rows_next(store->revisits, txn, &next) == RESULT_OK &&
        next.time_s >= REVISIT_VIRTUAL_MAX) {
        double left_s = next.time_s - (double)wall_now().us / 1e6;
        (void)fprintf(out, left_s > 0 ? "  next visit  in %s\n" : "  next visit  due since %s\n",
                      words_ms(fabs(left_s) * 1e3, time));
    }
}

void summary_print(const IngestStore *store, const char *directory, const CrawlTotals *totals,
                   const char *how_it_ended, FILE *out)
{
    char bytes[WORDS_BYTES];
    char time[WORDS_BYTES];
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(store->db, true, &txn) != 0) {
        return;
    }
    uint64_t queued = 0;
    uint64_t hosts = 0;
    (void)schedule_counts(store->schedule, txn, &queued, &hosts);
    double cpu_s = (double)totals->cpu_ms / 1000;
    (void)fprintf(out, "%s: %s\n", directory, how_it_ended);
    uint64_t answers = totals->by_status[2] + totals->by_status[3] + totals->by_status[4] +
                       totals->by_status[5]; /* with those that were asked for again */
    (void)fprintf(
        out,
        "  pages       %llu fetched; %llu answers (2xx %llu, 3xx %llu, 4xx %llu, 5xx %llu), %llu "
        "failed attempts\n",
        (unsigned long long)totals->pages, (unsigned long long)answers,
        (unsigned long long)totals->by_status[2], (unsigned long long)totals->by_status[3],
        (unsigned long long)totals->by_status[4], (unsigned long long)totals->by_status[5],
        (unsigned long long)totals->by_status[0]);
    (void)fprintf(out, "  requests    %llu, robots.txt %llu, retries %llu, throttled %llu\n",
                  (unsigned long long)totals->fetches, (unsigned long long)totals->robots_files,
                  (unsigned long long)totals->retries, (unsigned long long)totals->throttled);
    (void)fprintf(out, "  received    %s, %llu truncated, %llu duplicates\n",
                  words_bytes((double)totals->bytes, bytes), (unsigned long long)totals->truncated,
                  (unsigned long long)totals->duplicates);
    (void)fprintf(out, "  known       %llu URLs, %llu still queued on %llu hosts\n",
                  (unsigned long long)page_db_n_pages(store->db, txn), (unsigned long long)queued,
                  (unsigned long long)hosts);
    print_kept(store, txn, directory, out);
    print_revisits(store, txn, out);
    print_refusals(totals, out);
    summary_print_hosts(store, txn, out);
    (void)fprintf(out, "  time        %s, CPU %.1f s, %.0f pages per CPU-second\n",
                  words_ms((double)totals->elapsed_ms, time), cpu_s,
                  cpu_s > 0 ? (double)totals->pages / cpu_s : 0);
    page_db_txn_abort(store->db, txn);
}
