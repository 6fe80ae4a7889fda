#include "report/gather/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/batch/ingest_batch.h"
#include "logs/crawl_log_line.h"
#include "logs/log_reader.h"
#include "store/schedule/schedule_read.h"

/* ---- Report log ---- */

#define BUCKET_MS 100

/* Keeps the URL among the REPORT_TOP with the greatest values. */
static void report_log_rank(ReportPage top[REPORT_TOP], uint64_t value, LogText url)
{
    size_t i = REPORT_TOP - 1;
    if (value == 0 || value <= top[i].value) {
        return;
    }
    char *copy = strndup(url.bytes, url.length);
    if (copy == NULL) {
        return;
    }
    free(top[i].url);
    while (i > 0 && top[i - 1].value < value) {
        top[i] = top[i - 1];
        i--;
    }
    top[i] = (ReportPage){.value = value, .url = copy};
}

static void count_status(Tally *tally, const CrawlLogLine *line, uint64_t bytes)
{
    char text[16];
    int n = snprintf(text, sizeof text, "%d", line->status);
    tally_add(tally, text, (size_t)n, bytes);
}

static bool is_html(LogText type)
{
    return log_text_is(type, "text/html") || log_text_is(type, "application/xhtml+xml");
}

static void report_log_take_page(ReportLog *log, const CrawlLogLine *line, uint64_t bytes)
{
    bool good = line->status >= 200 && line->status < 300;
    log->pages++;
    log->duplicates += line->duplicate_of.length > 0;
    log->near_duplicates += line->near.length > 0;
    log->unread += line->unread;
    log->beyond_pages += line->links_beyond > 0;
    log->beyond_links += (uint64_t)(line->links_beyond > 0 ? line->links_beyond : 0);
    log->long_pages += line->links_long > 0;
    log->long_links += (uint64_t)(line->links_long > 0 ? line->links_long : 0);
    count_status(&log->statuses, line, bytes);
    histogram_add(&log->durations, (uint64_t)(line->duration_ms > 0 ? line->duration_ms : 0));
    report_log_rank(log->slowest, (uint64_t)(line->duration_ms > 0 ? line->duration_ms : 0),
                    line->url);
    if (good) {
        LogText type = line->mime;
        tally_add(&log->types, type.length == 0 ? "(none)" : type.bytes,
                  type.length == 0 ? 6 : type.length, bytes);
        if (is_html(type)) {
            LogText language = line->language;
            tally_add(&log->languages, language.length == 0 ? "(not said)" : language.bytes,
                      language.length == 0 ? 10 : language.length, bytes);
        }
        histogram_add(&log->lengths, bytes);
        histogram_add(&log->speeds,
                      bytes * 1000 / (uint64_t)(line->duration_ms > 0 ? line->duration_ms : 1));
        report_log_rank(log->largest, bytes, line->url);
    }
}

static void report_log_take_request(ReportLog *log, const CrawlLogLine *line)
{
    uint64_t bytes = line->bytes > 0 ? (uint64_t)line->bytes : 0;
    int64_t end_ms = line->end.us / 1000;
    bool robots = crawl_log_line_is_robots(line);
    log->requests++;
    log->robots_files += robots;
    log->bytes += bytes;
    log->truncated += line->truncated.length > 0;
    series_add(&log->bytes_s, end_ms, (double)bytes);
    if (line->error.length > 0) {
        tally_add(&log->errors, line->error.bytes, line->error.length, 0);
        series_add(&log->errors_s, end_ms, 1);
    }
    if (robots) {
        count_status(&log->robots_statuses, line, bytes);
    } else if (line->status > 0) {
        series_add(&log->pages_s, end_ms, 1);
        report_log_take_page(log, line, bytes);
    }
}

static Result report_log_take_line(void *context, const char *bytes, size_t length)
{
    ReportLog *log = context;
    CrawlLogLine line;
    const char *why = NULL;
    log->lines++;
    if (crawl_log_line_parse(bytes, length, &line, &why) != RESULT_OK) {
        log->unreadable++;
        return RESULT_OK;
    }
    if (log->first.us == 0 || line.start.us < log->first.us) {
        log->first = line.start;
    }
    log->last = line.end.us > log->last.us ? line.end : log->last;
    if (line.was_sent) {
        report_log_take_request(log, &line);
    } else if (line.url.length > 4 && memcmp(line.url.bytes, "dns:", 4) == 0) {
        LogText class = line.error; /* a name without an address */
        tally_add(&log->errors, class.length == 0 ? "dns" : class.bytes,
                  class.length == 0 ? 3 : class.length, 0);
    } else if (line.rule.length > 0) {
        tally_add(&log->refusals, line.rule.bytes, line.rule.length, 0);
    } else {
        count_status(&log->refusals, &line, 0);
    }
    return RESULT_OK;
}

Result report_log_read(ReportLog *log, const char *directory, Buffer *problem)
{
    Path path;
    *log = (ReportLog){.lines = 0};
    series_init(&log->pages_s, BUCKET_MS);
    series_init(&log->bytes_s, BUCKET_MS);
    series_init(&log->errors_s, BUCKET_MS);
    return log_reader_each(file_path(&path, "%s/crawl.log", directory), report_log_take_line, log,
                           problem);
}

void report_log_destroy(ReportLog *log)
{
    tally_destroy(&log->statuses);
    tally_destroy(&log->robots_statuses);
    tally_destroy(&log->types);
    tally_destroy(&log->languages);
    tally_destroy(&log->errors);
    tally_destroy(&log->refusals);
    for (size_t i = 0; i < REPORT_TOP; i++) {
        free(log->largest[i].url);
        free(log->slowest[i].url);
    }
}

/* ---- Report watch ---- */

/* Counts the time since the line before for the limit that this line names. The last line of a
 * run tells of its end, not of the seconds before it. */
static void take_limit(ReportWatch *watch, const char *line, size_t length, double elapsed)
{
    LogText limit = status_log_get(line, length, "limit");
    LogText state = status_log_get(line, length, "state");
    double seconds = elapsed - watch->elapsed_s;
    if (log_text_is(state, "running") && limit.length > 0 && seconds > 0 && seconds < 1e9) {
        tally_add_many(&watch->limits, limit.bytes, limit.length, (uint64_t)llround(seconds * 1e3),
                       0);
    }
}

static Result report_watch_take_line(void *context, const char *line, size_t length)
{
    ReportWatch *watch = context;
    WallTime time;
    if (!status_log_time(line, length, &time)) {
        return RESULT_OK;
    }
    int64_t ms = time.us / 1000;
    double elapsed = status_log_number(line, length, "elapsed_s", watch->elapsed_s);
    double cpu = status_log_number(line, length, "cpu_s", 0);
    LogText state = status_log_get(line, length, "state");
    watch->lines++;
    if (watch->lines == 1 || cpu < watch->run_cpu_s) { /* cpu_s is that of one run */
        watch->runs++;
        watch->cpu_s += watch->run_cpu_s;
    }
    watch->run_cpu_s = cpu;
    take_limit(watch, line, length, elapsed);
    watch->elapsed_s = elapsed;
    series_add(&watch->queued, ms, status_log_number(line, length, "urls_queued", 0));
    series_add(&watch->resident, ms, status_log_number(line, length, "rss_bytes", 0));
    series_add(&watch->active, ms, status_log_number(line, length, "active", 0));
    size_t n = state.length < sizeof watch->state ? state.length : 0;
    memcpy(watch->state, state.length == 0 ? "" : state.bytes, n);
    watch->state[n] = '\0';
    return RESULT_OK;
}

Result report_watch_read(ReportWatch *watch, const char *directory, Buffer *problem)
{
    Path path;
    *watch = (ReportWatch){.lines = 0};
    series_init(&watch->queued, BUCKET_MS);
    series_init(&watch->resident, BUCKET_MS);
    series_init(&watch->active, BUCKET_MS);
    Result rc = log_reader_each(file_path(&path, "%s/status.log", directory),
                                report_watch_take_line, watch, problem);
    watch->cpu_s += watch->run_cpu_s;
    return rc;
}

void report_watch_destroy(ReportWatch *watch)
{
    tally_destroy(&watch->limits);
}

/* ---- Report hosts ---- */

#define SLOW_LEAST_FETCHES 2u

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

typedef struct HostsReading {
    ReportHosts *hosts;
    MDB_txn *txn;
    Schedule *schedule; /* NULL: there is none */
} HostsReading;

static Result report_hosts_take_queue(const HostsReading *reading, uint32_t host)
{
    uint64_t queued = 0;
    Result rc = reading->schedule == NULL
                    ? RESULT_OK
                    : schedule_host_count(reading->schedule, reading->txn, host, &queued);
    if (queued > 0) {
        histogram_add(&reading->hosts->queues, queued);
    }
    return rc;
}

static Result report_hosts_take_host(void *context, uint32_t host, const HostRecord *record)
{
    const HostsReading *reading = context;
    ReportHosts *hosts = reading->hosts;
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
    hosts->resting +=
        record->state == HOST_ACTIVE && record->failures > 0 && record->last_failure == FETCH_WALL;
    report_hosts_rank(&hosts->walling, host, (double)walls, record);
    report_hosts_rank(&hosts->failing, host, (double)record->by_status[0] + record->by_status[5],
                      record);
    return report_hosts_take_queue(reading, host);
}

/* Reads all records of hosts. RESULT_NOT_FOUND: the database has no table of hosts (a user of the
 * library made it). RESULT_DAMAGED, RESULT_IO. */
static Result report_hosts_read(ReportHosts *hosts, PageDB *db)
{
    HostsReading reading = {.hosts = hosts};
    HostRows *table = NULL;
    *hosts = (ReportHosts){.n = 0};
    if (page_db_txn_begin(db, true, &reading.txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = host_rows_open(&table, reading.txn, page_db_journal(db));
    if (rc != RESULT_OK) {
        goto done;
    }
    rc = schedule_open(&reading.schedule, reading.txn, NULL, page_db_journal(db));
    if (rc != RESULT_OK && rc != RESULT_NOT_FOUND) {
        goto done;
    }
    rc = host_rows_walk(table, reading.txn, report_hosts_take_host, &reading);
done:
    host_rows_close(table);
    schedule_close(reading.schedule);
    page_db_txn_abort(db, reading.txn);
    return rc;
}

/* ---- Report ---- */

static Result report_complain(Result rc, const char *what, Buffer *error)
{
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s cannot be read: %s", what, result_name(rc));
    }
    return rc;
}

/* The counters of the crawl, and those of its renderings. */
static Result report_read_counters(Report *report)
{
    MDB_txn *txn = NULL;
    MDB_dbi crawl = 0;
    RenderTable *table = NULL;
    if (page_db_txn_begin(report->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    report->has_totals = mdb_dbi_open(txn, "crawl", 0, &crawl) == MDB_SUCCESS &&
                         ingest_kept_read(txn, crawl, KEPT_TOTALS, &report->totals) == RESULT_OK;
    Result rc = render_table_open(&table, txn);
    if (rc == RESULT_OK) {
        rc = render_table_totals(table, txn, &report->renders);
    }
    render_table_close(table);
    page_db_txn_abort(report->db, txn);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

Result report_gather(Report *report, const char *directory, PageDB *db, WallTime now, FILE *broken,
                     Buffer *error)
{
    *report = (Report){
        .directory = directory, .db = db, .made = now, .missing = {.limit = BUFFER_NO_LIMIT}};
    Result rc = report_log_read(&report->log, directory, &report->missing);
    Result watched = report_watch_read(&report->watch, directory, &report->missing);
    rc = rc == RESULT_OK ? watched : rc;
    if (rc != RESULT_OK) {
        (void)buffer_append_string(error, buffer_string(&report->missing));
    }
    if (rc == RESULT_OK) {
        rc = report_complain(report_read_counters(report), "the counters", error);
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
    buffer_destroy(&report->missing);
    report_log_destroy(&report->log);
    report_watch_destroy(&report->watch);
    report_graph_destroy(&report->graph);
}
