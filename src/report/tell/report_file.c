#include "report/tell/report_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/write/report_words.h"

/* What the sections share. */
typedef struct Telling {
    const Report *report;
    ReportWriter *to;
    Buffer origin; /* what telling_origin returned last */
    Buffer url;
} Telling;

#define ROWS_SHOWN 15u

static void tell_number(const Telling *tell, const char *key, const char *label, uint64_t n)
{
    report_fact(tell->to, key, label, REPORT_COUNT(n));
}

/* The origin of a host, the URL of a page; "" when it cannot be read. */
static const char *telling_origin(Telling *tell, uint32_t host)
{
    MDB_txn *txn = NULL;
    buffer_reset(&tell->origin);
    if (page_db_txn_begin(tell->report->db, true, &txn) == page_db_error_ok) {
        (void)page_db_host_origin(tell->report->db, txn, host, &tell->origin);
        page_db_txn_abort(tell->report->db, txn);
    }
    return buffer_string(&tell->origin);
}

static const char *telling_url(Telling *tell, uint64_t index)
{
    MDB_txn *txn = NULL;
    PageRef page;
    buffer_reset(&tell->url);
    if (page_db_txn_begin(tell->report->db, true, &txn) == page_db_error_ok) {
        (void)page_db_get(tell->report->db, txn, index, &page, &tell->url);
        page_db_txn_abort(tell->report->db, txn);
    }
    return buffer_string(&tell->url);
}

/* A list of a tally, most counted first; people see the first rows. name NULL: for programs alone.
 * bytes: with a column of them. meaning (may be NULL) says what a name means, or NULL. */
static void tell_tally(const Telling *tell, const Tally *tally, const char *key, const char *name,
                       bool bytes, const char *(*meaning)(const char *name))
{
    const ReportColumn columns[] = {
        {"name", name, false, false},
        {NULL, name == NULL ? NULL : "meaning", false, false},
        {"count", name == NULL ? NULL : "count", true, false},
        {NULL, name == NULL ? NULL : "share", true, false},
        {bytes ? "bytes" : NULL, bytes && name != NULL ? "bytes" : NULL, true, false}};
    size_t n = 0;
    const TallyRow **rows = tally_sorted(tally, &n);
    report_list(tell->to, key, columns, 5);
    for (size_t i = 0; i < n && (i < ROWS_SHOWN || report_is_json(tell->to)); i++) {
        char share[WORDS_BYTES];
        const ReportValue values[] = {REPORT_TEXT(rows[i]->name),
                                      REPORT_TEXT(meaning == NULL ? NULL : meaning(rows[i]->name)),
                                      REPORT_COUNT(rows[i]->count),
                                      REPORT_TEXT(words_share(rows[i]->count, tally->count, share)),
                                      REPORT_BYTES(rows[i]->bytes)};
        report_row(tell->to, values);
    }
    report_list_end(tell->to);
    if (n > ROWS_SHOWN && name != NULL) {
        tell_number(tell, NULL, "further rows", n - ROWS_SHOWN);
    }
    free(rows);
}

/* The meaning of a status that is a name in a tally. */
static const char *telling_status(const char *name)
{
    char *end = NULL;
    long status = strtol(name, &end, 10);
    return *end == '\0' ? words_status((int)status) : NULL;
}

/* How a histogram is told. */
typedef struct HistogramWords {
    const char *key;
    const char *bars;   /* above them */
    const char *median; /* labels; NULL: for programs alone */
    const char *mean;
    const char *p95;
    ReportKind kind;
    char *(*range)(uint64_t from, uint64_t to, char text[WORDS_BYTES]);
} HistogramWords;

/* Up to the last count that is not 0. range NULL: of whole numbers from 0; else of the bins of a
 * histogram, from the first that is not empty. */
static void tell_bars(const Telling *tell, const char *key, const char *title,
                      const uint64_t *counts, unsigned n,
                      char *(*range)(uint64_t, uint64_t, char *))
{
    unsigned first = 0;
    unsigned last = n;
    uint64_t most = 1;
    while (last > 0 && counts[last - 1] == 0) {
        last--;
    }
    while (range != NULL && first < last && counts[first] == 0) {
        first++;
    }
    for (unsigned i = first; i < last; i++) {
        most = counts[i] > most ? counts[i] : most;
    }
    if (range != NULL && first == last) {
        return;
    }
    report_bars(tell->to, key, title);
    for (unsigned i = first; i < last; i++) {
        char label[WORDS_BYTES];
        if (range == NULL) {
            (void)snprintf(label, sizeof label, i == n - 1 ? "%u and more" : "%u", i);
        } else {
            (void)range(histogram_from(i), histogram_to(i), label);
        }
        report_bar(tell->to, label, REPORT_COUNT(counts[i]), (double)counts[i] / (double)most);
    }
    report_bars_end(tell->to);
}

static void tell_histogram(const Telling *tell, const Histogram *histogram, HistogramWords words)
{
    report_object(tell->to, words.key);
    tell_number(tell, "count", NULL, histogram->n);
    if (histogram->n > 0) {
        ReportValue value = {.kind = words.kind, .decimals = 1};
        tell_number(tell, "least", NULL, histogram->least);
        value.of.real = histogram_quantile(histogram, 0.5);
        report_fact(tell->to, "median", words.median, value);
        value.of.real = histogram->sum / (double)histogram->n;
        report_fact(tell->to, "mean", words.mean, value);
        value.of.real = histogram_quantile(histogram, 0.95);
        report_fact(tell->to, "p95", words.p95, value);
        tell_number(tell, "most", NULL, histogram->most);
    }
    report_object_end(tell->to);
    tell_bars(tell, NULL, words.bars, histogram->count, HISTOGRAM_BINS, words.range);
}

/* ---- Report sections ---- */

#define LEAST_POINTS 4u

/* ---- what it came to ---- */

/* The totals have the times of runs that ended, the last line of status.log those up to now. */
static double greater_ms(uint64_t total_ms, double status_s)
{
    return status_s * 1e3 > (double)total_ms ? status_s * 1e3 : (double)total_ms;
}

static void tell_summary(Telling *tell)
{
    const Report *report = tell->report;
    const ReportLog *log = &report->log;
    const CrawlTotals *totals = &report->totals;
    const ReportWatch *watch = &report->watch;
    report_section(tell->to, "Summary", NULL);
    report_fact(tell->to, "missing", "not counted here",
                REPORT_TEXT(report->missing.length > 0 ? buffer_string(&report->missing) : NULL));
    report_fact(tell->to, "unreadable_lines",
                log->unreadable > 0 ? "lines of crawl.log that cannot be read" : NULL,
                REPORT_COUNT(log->unreadable));
    report_fact(tell->to, "first_request", "first request", REPORT_TIME(log->first));
    report_fact(tell->to, "last_answer", "last answer", REPORT_TIME(log->last));
    report_fact(tell->to, "state", watch->state[0] == '\0' ? NULL : "state",
                REPORT_TEXT(watch->lines > 0 ? watch->state : NULL));
    if (report->has_totals) {
        double cpu_ms = greater_ms(totals->cpu_ms, watch->cpu_s);
        report_fact(tell->to, "elapsed_ms", "time crawling",
                    REPORT_MS(greater_ms(totals->elapsed_ms, watch->elapsed_s)));
        report_fact(tell->to, "cpu_ms", "CPU time", REPORT_MS(cpu_ms));
        report_fact(tell->to, "pages_per_cpu_s", "pages per CPU-second",
                    REPORT_REAL(cpu_ms > 0 ? (double)totals->pages * 1e3 / cpu_ms : 0.0, 0));
    }
    /* The totals count what rotated logs that are gone had. */
    tell_number(tell, "pages", "pages fetched", report->has_totals ? totals->pages : log->pages);
    tell_number(tell, "requests", "requests", report->has_totals ? totals->fetches : log->requests);
    tell_number(tell, "robots_files", "requests of robots.txt", log->robots_files);
    report_fact(tell->to, "bytes", "received",
                REPORT_BYTES(report->has_totals ? totals->bytes : log->bytes));
    tell_number(tell, "urls_known", "URLs known", report->graph.n_pages);
    report_fact(tell->to, "urls_crawled", "URLs crawled",
                REPORT_SHARE(report->graph.n_crawled, report->graph.n_pages));
    report_fact(tell->to, "duplicates", "duplicates", REPORT_SHARE(log->duplicates, log->pages));
    tell_number(tell, "truncated", "cut off (truncated)", log->truncated);
    tell_number(tell, "unread", "not read to the end for links", log->unread);
    tell_number(tell, "pages_beyond", "pages beyond parse.max_links", log->beyond_pages);
    tell_number(tell, "links_beyond", "links beyond parse.max_links", log->beyond_links);
    tell_number(tell, "pages_long_links", "pages with links that are too long", log->long_pages);
    tell_number(tell, "long_links", "links that are too long", log->long_links);
}

/* A line needs points. */
static bool is_worth_drawing(const Series *series)
{
    unsigned points = 0;
    for (size_t i = 0; i < series->n; i++) {
        points += series->buckets[i].n > 0;
    }
    return points >= LEAST_POINTS;
}

static void tell_speed(Telling *tell)
{
    const ReportLog *log = &tell->report->log;
    const ReportWatch *watch = &tell->report->watch;
    const ReportChart charts[] = {
        {"pages per second", &log->pages_s, true, CHART_COUNT},
        {"bytes per second", &log->bytes_s, true, CHART_BYTES},
        {"failed attempts per second", &log->errors_s, true, CHART_COUNT},
        {"URLs queued", &watch->queued, false, CHART_COUNT},
        {"transfers at once", &watch->active, false, CHART_COUNT},
        {"resident memory", &watch->resident, false, CHART_BYTES},
    };
    size_t n_drawn = 0;
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
        n_drawn += is_worth_drawing(charts[i].series);
    }
    report_section(tell->to, "Speed over time",
                   n_drawn > 0 ? "Times are UTC." : "The crawl was too short for a graph.");
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
        if (is_worth_drawing(charts[i].series)) {
            report_chart(tell->to, &charts[i]);
        }
    }
    tell_tally(tell, &watch->limits, "limited_by_ms", NULL, false, NULL);
    if (watch->lines >= LEAST_POINTS && watch->limits.count > 0) {
        size_t n = 0;
        const TallyRow **rows = tally_sorted(&watch->limits, &n);
        report_bars(tell->to, NULL, "What limited the crawl, and for how long");
        for (size_t i = 0; i < n; i++) {
            report_bar(tell->to, rows[i]->name, REPORT_MS(rows[i]->count),
                       (double)rows[i]->count / (double)rows[0]->count);
        }
        report_bars_end(tell->to);
        free(rows);
    }
}

static void tell_answers(Telling *tell)
{
    const ReportLog *log = &tell->report->log;
    report_section(tell->to, "Answers", "Statuses of pages; robots.txt is not counted.");
    tell_tally(tell, &log->statuses, "statuses", "status", true, telling_status);
    report_section(tell->to, "Types", "Media types of pages with status 2xx, and bytes received.");
    tell_tally(tell, &log->types, "types", "type", true, NULL);
    report_section(tell->to, "Languages",
                   "Of HTML pages with status 2xx, as they say: the lang attribute of html, else "
                   "Content-Language.");
    tell_tally(tell, &log->languages, "languages", "language", true, NULL);
    report_section(tell->to, "Sizes and times",
                   "Of pages: bytes received with status 2xx, and duration of requests.");
    tell_histogram(tell, &log->lengths,
                   (HistogramWords){.key = "page_bytes",
                                    .bars = "Bytes of a page",
                                    .median = "median size",
                                    .mean = "mean size",
                                    .kind = VALUE_BYTES,
                                    .range = words_bytes_range});
    tell_histogram(tell, &log->speeds,
                   (HistogramWords){.key = "page_bytes_s",
                                    .bars = "Bytes a second of a page",
                                    .median = "median speed, bytes a second",
                                    .kind = VALUE_BYTES,
                                    .range = words_bytes_range});
    tell_histogram(tell, &log->durations,
                   (HistogramWords){.key = "request_ms",
                                    .bars = "Milliseconds of a request",
                                    .median = "median duration",
                                    .p95 = "95 % took less than",
                                    .kind = VALUE_MS,
                                    .range = words_range});
}

static void tell_pages(Telling *tell, const char *key, const char *title, const char *column,
                       const ReportPage top[REPORT_TOP], ReportKind kind)
{
    const ReportColumn columns[] = {{column, column, true, false}, {"url", "URL", false, true}};
    if (top[0].url != NULL) {
        report_section(tell->to, title, NULL);
    }
    report_list(tell->to, key, columns, 2);
    for (size_t i = 0; i < REPORT_TOP && top[i].url != NULL; i++) {
        const ReportValue values[] = {{.kind = kind, .of.real = (double)top[i].value},
                                      REPORT_TEXT(top[i].url)};
        report_row(tell->to, values);
    }
    report_list_end(tell->to);
}

/* ---- what went wrong ---- */

static void tell_errors(Telling *tell)
{
    const Report *report = tell->report;
    const ReportLog *log = &report->log;
    const ReportColumn columns[] = {{"name", "reason", false, false},
                                    {"count", "URLs", true, false}};
    report_section(tell->to, "Errors",
                   "Attempts that brought no whole answer, by class (politeness.retry).");
    tell_tally(tell, &log->errors, "errors", "class", false, NULL);
    if (log->errors.count == 0) {
        report_fact(tell->to, NULL, "errors", REPORT_TEXT("none"));
    }
    report_section(tell->to, "Refusals",
                   "URLs that were found and not scheduled, or scheduled and not requested.");
    if (report->has_totals) {
        report_list(tell->to, "refusals", columns, 2);
        for (size_t i = 0; i < REFUSALS; i++) {
            const ReportValue values[] = {REPORT_TEXT(refusal_name((Refusal)i)),
                                          REPORT_COUNT(report->totals.refused[i])};
            if (report->totals.refused[i] > 0) {
                report_row(tell->to, values);
            }
        }
        report_list_end(tell->to);
    }
    if (log->refusals.count > 0) {
        report_section(tell->to, "Deciding rules",
                       "Of URLs that were scheduled and not requested.");
    }
    tell_tally(tell, &log->refusals, "deciding_rules", "rule", false, telling_status);
}

static void report_sections_tell_broken(Telling *tell)
{
    const ReportGraph *graph = &tell->report->graph;
    const ReportColumn columns[] = {{"status", "status", true, false},
                                    {"links", "links", true, false},
                                    {"url", "broken URL", false, true},
                                    {"pages", "pages that link to it", false, true}};
    report_section(tell->to, "Broken links",
                   "Linked pages with status 4xx (but 401, 403, 429, 451) or without an answer, "
                   "most linked first. All of them: ragno report DIR --broken-links.");
    tell_number(tell, "broken_pages", "broken pages", graph->n_broken);
    tell_number(tell, "broken_links", "links to them", graph->n_broken_links);
    report_list(tell->to, "most_linked_broken", columns, 4);
    for (size_t i = 0; i < graph->n_broken_shown && graph->broken[i].n_from > 0; i++) {
        const BrokenPage *page = &graph->broken[i];
        Buffer from = {.limit = BUFFER_NO_LIMIT};
        for (uint32_t k = 0; k < page->n_from && k < REPORT_BROKEN_FROM; k++) {
            (void)buffer_printf(&from, "%s%s", k == 0 ? "" : " ", telling_url(tell, page->from[k]));
        }
        const ReportValue values[] = {REPORT_INTEGER(page->status), REPORT_COUNT(page->n_from),
                                      REPORT_TEXT(telling_url(tell, page->index)),
                                      REPORT_TEXT(buffer_string(&from))};
        report_row(tell->to, values);
        buffer_destroy(&from);
    }
    report_list_end(tell->to);
}

/* ---- hosts ---- */

static void tell_ranking(Telling *tell, const char *key, const char *title,
                         const HostRanking *ranking)
{
    const ReportColumn columns[] = {
        {"host", "host", false, true},      {"pages", "pages", true, false},
        {"bytes", "bytes", true, false},    {"request_ms", "a request", true, false},
        {"status_2xx", "2xx", true, false}, {"status_4xx", "4xx", true, false},
        {"status_5xx", "5xx", true, false}, {"failed", "failed", true, false}};
    if (ranking->n > 0) {
        report_section(tell->to, title, NULL);
    }
    report_list(tell->to, key, columns, 8);
    for (size_t i = 0; i < ranking->n; i++) {
        const HostRecord *record = &ranking->hosts[i].record;
        double ms = record->fetches == 0 ? 0 : (double)record->fetch_ms / record->fetches;
        const ReportValue values[] = {REPORT_TEXT(telling_origin(tell, ranking->hosts[i].host)),
                                      REPORT_COUNT(record->pages),
                                      REPORT_BYTES(record->bytes),
                                      REPORT_MS(ms),
                                      REPORT_COUNT(record->by_status[2]),
                                      REPORT_COUNT(record->by_status[4]),
                                      REPORT_COUNT(record->by_status[5]),
                                      REPORT_COUNT(record->by_status[0])};
        report_row(tell->to, values);
    }
    report_list_end(tell->to);
}

static void report_sections_tell_hosts(Telling *tell)
{
    const ReportHosts *hosts = &tell->report->hosts;
    if (!tell->report->has_hosts) {
        return;
    }
    report_section(tell->to, "Hosts", NULL);
    report_object(tell->to, "hosts");
    tell_number(tell, "visited", "hosts visited", hosts->n);
    tell_number(tell, "active", "active", hosts->active);
    tell_number(tell, "dropped", "given up after errors", hosts->dropped);
    for (size_t i = 0; i < FETCH_CLASSES; i++) {
        if (hosts->dropped_by[i] > 0) {
            char name[64];
            (void)snprintf(name, sizeof name, "given up: %s", fetch_class_name((FetchClass)i));
            tell_number(tell, NULL, name, hosts->dropped_by[i]);
        }
    }
    tell_number(tell, "parked", "parked: failed for too long", hosts->parked);
    tell_number(tell, "full", "at their limit", hosts->full);
    tell_number(tell, "denied", "denied by the operator", hosts->denied);
    tell_number(tell, "with_crawl_delay", "with Crawl-delay", hosts->with_crawl_delay);
    tell_number(tell, "closed", "whose robots.txt forbids all that was tried", hosts->closed);
    tell_number(tell, "urls_forbidden", "URLs forbidden", hosts->robots_denied);
    tell_number(tell, "with_urls_queued", "with URLs that are scheduled", hosts->queues.n);
    tell_histogram(tell, &hosts->queues,
                   (HistogramWords){.key = "urls_queued",
                                    .bars = "URLs that are scheduled, by host",
                                    .kind = VALUE_REAL,
                                    .range = words_range});
    report_object_end(tell->to);
    tell_ranking(tell, "hosts_by_pages", "Largest hosts, by pages", &hosts->largest);
    tell_ranking(tell, "hosts_by_bytes", "Largest hosts, by bytes", &hosts->heaviest);
    tell_ranking(tell, "hosts_by_time", "Slowest hosts", &hosts->slowest);
    tell_ranking(tell, "hosts_by_failures", "Hosts with most failures", &hosts->failing);
}

/* Single answers, of any host. */
static void tell_walls(Telling *tell)
{
    const ReportHosts *hosts = &tell->report->hosts;
    static const ReportColumn kinds[HTTP_WALLS] = {
        [WALL_PAYMENT] = {"payment", "402: payment wanted", true, false},
        [WALL_FORBIDDEN] = {"forbidden", "403: forbidden", true, false},
        [WALL_BUSY] = {"busy", "429: too many requests", true, false},
        [WALL_CHALLENGE] = {"challenge", "challenges: proof of a human wanted", true, false}};
    const ReportColumn columns[] = {{"host", "host", false, true},
                                    {"payment", "402", true, false},
                                    {"forbidden", "403", true, false},
                                    {"busy", "429", true, false},
                                    {"challenge", "challenge", true, false}};
    if (!tell->report->has_hosts || hosts->walled == 0) {
        return;
    }
    report_section(tell->to, "Answers that keep crawlers out",
                   "Pages that were answered so, each attempt counted; ragno db DIR hosts --walls "
                   "lists all hosts.");
    report_object(tell->to, "walls");
    tell_number(tell, "hosts", "hosts", hosts->walled);
    tell_number(tell, "resting", "of these rest, since they give no others", hosts->resting);
    for (size_t i = 0; i < HTTP_WALLS; i++) {
        tell_number(tell, kinds[i].key, kinds[i].name, hosts->walls[i]);
    }
    report_list(tell->to, "by_host", columns, 5);
    for (size_t i = 0; i < hosts->walling.n; i++) {
        const uint32_t *walls = hosts->walling.hosts[i].record.walls;
        const ReportValue values[] = {
            REPORT_TEXT(telling_origin(tell, hosts->walling.hosts[i].host)),
            REPORT_COUNT(walls[WALL_PAYMENT]), REPORT_COUNT(walls[WALL_FORBIDDEN]),
            REPORT_COUNT(walls[WALL_BUSY]), REPORT_COUNT(walls[WALL_CHALLENGE])};
        report_row(tell->to, values);
    }
    report_list_end(tell->to);
    report_object_end(tell->to);
}

static void tell_renders(Telling *tell)
{
    const RenderTotals *renders = &tell->report->renders;
    if (renders->judged == 0) {
        return;
    }
    report_section(tell->to, "Pages that need a browser",
                   "Rendered from what the crawl has fetched (render.mode).");
    report_object(tell->to, "renders");
    tell_number(tell, "judged", "pages that were judged", renders->judged);
    tell_number(tell, "done", "rendered", renders->jobs[RENDER_JOB_DONE]);
    tell_number(tell, "failed", "of which no document came", renders->jobs[RENDER_JOB_FAILED]);
    tell_number(tell, "waiting", "that wait for a browser", renders->jobs[RENDER_JOB_WAITING]);
    tell_number(tell, "lacking", "that wait for what they lack",
                renders->jobs[RENDER_JOB_LACKING] + renders->jobs[RENDER_JOB_ASKED]);
    tell_number(tell, "passed", "passed by, since others like them brought nothing",
                renders->passed);
    tell_number(tell, "rounds", "renderings", renders->rounds);
    tell_number(tell, "requisites", "URLs that pages waited for", renders->requisites);
    tell_number(tell, "links", "links that only documents had", renders->links);
    tell_number(tell, "unanswered", "requests without an answer", renders->lacking);
    tell_number(tell, "refused", "requests that were refused", renders->refused);
    tell_number(tell, "near", "answers whose query differed in clock or dice", renders->near);
    tell_number(tell, "cpu_ms", "CPU time of browsers, ms", renders->cpu_ms);
    report_object_end(tell->to);
}

static void report_sections_tell_robots(Telling *tell)
{
    report_section(tell->to, "robots.txt", "How robots.txt was answered.");
    tell_tally(tell, &tell->report->log.robots_statuses, "robots_statuses", "status", false,
               telling_status);
    tell_walls(tell);
}

/* ---- the graph ---- */

static void tell_graph(Telling *tell)
{
    const ReportGraph *graph = &tell->report->graph;
    report_section(tell->to, "Depth", "Links from a seed, of crawled pages.");
    tell_bars(tell, "depths", "Pages by depth", graph->depths, REPORT_DEPTHS, NULL);
    report_section(tell->to, "Links",
                   "Different links of a page that has any; redirects are not counted.");
    tell_number(tell, "links", "links", graph->n_links);
    report_fact(tell->to, "links_to_other_hosts", "to another host",
                REPORT_SHARE(graph->n_links_cross, graph->n_links));
    tell_histogram(tell, &graph->degrees,
                   (HistogramWords){.key = "links_of_a_page",
                                    .bars = "Links of a page",
                                    .mean = "mean of a page",
                                    .kind = VALUE_REAL,
                                    .range = words_range});
    report_section(tell->to, "Redirects", NULL);
    report_fact(tell->to, "redirects", "pages that redirect",
                REPORT_SHARE(graph->redirects, graph->n_crawled));
    report_fact(tell->to, "redirects_to_other_hosts", "to another host",
                REPORT_SHARE(graph->redirects_cross, graph->redirects));
}

static void report_tell(const Report *report, ReportWriter *writer)
{
    Telling tell = {.report = report, .to = writer};
    char time[WORDS_BYTES];
    char subtitle[4096];
    buffer_init(&tell.origin, BUFFER_NO_LIMIT);
    buffer_init(&tell.url, BUFFER_NO_LIMIT);
    (void)snprintf(subtitle, sizeof subtitle, "%s, as of %s UTC, ragno %s", report->directory,
                   words_time(report->made, time), RAGNO_VERSION);
    report_title(writer, "Crawl report", subtitle);
    report_fact(writer, "directory", NULL, REPORT_TEXT(report->directory));
    report_fact(writer, "made", NULL, REPORT_TIME(report->made));
    report_fact(writer, "version", NULL, REPORT_TEXT(RAGNO_VERSION));
    tell_summary(&tell);
    tell_speed(&tell);
    tell_answers(&tell);
    tell_errors(&tell);
    tell_renders(&tell);
    report_sections_tell_robots(&tell);
    report_sections_tell_hosts(&tell);
    tell_pages(&tell, "largest_pages", "Largest pages", "bytes", report->log.largest, VALUE_BYTES);
    tell_pages(&tell, "slowest_requests", "Slowest requests", "ms", report->log.slowest, VALUE_MS);
    tell_graph(&tell);
    report_sections_tell_broken(&tell);
    buffer_destroy(&tell.origin);
    buffer_destroy(&tell.url);
}

#define REPORT_LABELS 38u /* columns */

Result report_print(const Report *report, ReportForm form, FILE *out)
{
    ReportWriter *writer = NULL;
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    Result rc = report_writer_new(&writer, form, REPORT_LABELS, &text);
    if (rc == RESULT_OK) {
        report_tell(report, writer);
        rc = report_writer_end(writer);
    }
    if (rc == RESULT_OK &&
        (fwrite(text.data, 1, text.length, out) != text.length || fflush(out) != 0)) {
        rc = errno == 0 ? RESULT_IO : result_of_errno(errno);
    }
    buffer_destroy(&text);
    return rc;
}
