#include "report/tell/report_sections.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/gather/report.h"
#include "report/tell/report_words.h"
#include "report/tell/report_writer.h"
#include "store/pages/page_db_read.h"

/* Report telling: what the sections of a report share.
 *
 * What: short ways to tell the writer of a fact, a table or a histogram.
 * Owns: two buffers; what telling_origin and telling_url return is borrowed until their next call.
 * Threads: one. */

typedef struct Telling {
    const Report *report;
    const ReportWriter *to;
    Buffer origin;
    Buffer url;
} Telling;

#define ROWS_SHOWN 15u

/* ---- shorthand ---- */

static void tell_section(const Telling *tell, const char *title, const char *note)
{
    tell->to->section(tell->to->context, title, note);
}

static void tell_fact(const Telling *tell, const char *name, const char *value)
{
    tell->to->fact(tell->to->context, name, value);
}

static void report_tell_count(const Telling *tell, const char *name, uint64_t n)
{
    char text[WORDS_BYTES];
    tell_fact(tell, name, words_count(n, text));
}

/* "123 (4.5 %)" */
static void tell_share(const Telling *tell, const char *name, uint64_t n, uint64_t all)
{
    char count[WORDS_BYTES];
    char share[WORDS_BYTES];
    char text[3 * WORDS_BYTES];
    (void)words_share(n, all, share);
    (void)snprintf(text, sizeof text, share[0] == '\0' ? "%s%s" : "%s (%s)", words_count(n, count),
                   share);
    tell_fact(tell, name, text);
}

static void tell_bytes(const Telling *tell, const char *name, uint64_t bytes)
{
    char text[WORDS_BYTES];
    tell_fact(tell, name, words_bytes((double)bytes, text));
}

static void tell_table(const Telling *tell, const ReportColumn *columns, unsigned n)
{
    tell->to->table(tell->to->context, columns, n);
}

static void tell_row(const Telling *tell, const char *const *cells)
{
    tell->to->row(tell->to->context, cells);
}

static void tell_table_end(const Telling *tell)
{
    tell->to->table_end(tell->to->context);
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

/* A table of a tally, most counted first. meaning may be NULL. */
/* A table of a tally, most counted first. bytes: with a column of them. meaning (may be NULL) says
 * what a name means, or NULL. */
static void tell_tally(const Telling *tell, const Tally *tally, const char *name, bool bytes,
                       const char *(*meaning)(const char *name))
{
    ReportColumn columns[5] = {{.name = name}};
    unsigned n_columns = 1;
    size_t n = 0;
    const TallyRow **rows = tally_sorted(tally, &n);
    if (meaning != NULL) {
        columns[n_columns++] = (ReportColumn){.name = "meaning"};
    }
    columns[n_columns++] = (ReportColumn){.name = "count", .is_number = true};
    columns[n_columns++] = (ReportColumn){.name = "share", .is_number = true};
    if (bytes) {
        columns[n_columns++] = (ReportColumn){.name = "bytes", .is_number = true};
    }
    tell_table(tell, columns, n_columns);
    for (size_t i = 0; i < n && i < ROWS_SHOWN; i++) {
        char count[WORDS_BYTES];
        char share[WORDS_BYTES];
        char size[WORDS_BYTES];
        const char *cells[5] = {rows[i]->name};
        unsigned at = 1;
        if (meaning != NULL) {
            const char *words = meaning(rows[i]->name);
            cells[at++] = words == NULL ? "" : words;
        }
        cells[at++] = words_count(rows[i]->count, count);
        cells[at++] = words_share(rows[i]->count, tally->count, share);
        cells[at] = words_bytes((double)rows[i]->bytes, size);
        tell_row(tell, cells);
    }
    tell_table_end(tell);
    if (n > ROWS_SHOWN) {
        report_tell_count(tell, "further rows", n - ROWS_SHOWN);
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

static void tell_histogram(const Telling *tell, const char *name, const Histogram *histogram,
                           char *(*label)(uint64_t from, uint64_t to, char text[WORDS_BYTES]))
{
    unsigned first = 0;
    unsigned last = HISTOGRAM_BINS;
    uint64_t most = 1;
    while (first < HISTOGRAM_BINS && histogram->count[first] == 0) {
        first++;
    }
    while (last > first && histogram->count[last - 1] == 0) {
        last--;
    }
    for (unsigned i = first; i < last; i++) {
        most = histogram->count[i] > most ? histogram->count[i] : most;
    }
    tell->to->bars(tell->to->context, name);
    for (unsigned i = first; i < last; i++) {
        char range[WORDS_BYTES];
        char count[WORDS_BYTES];
        tell->to->bar(tell->to->context, label(histogram_from(i), histogram_to(i), range),
                      words_count(histogram->count[i], count),
                      (double)histogram->count[i] / (double)most);
    }
    tell->to->bars_end(tell->to->context);
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
    char text[2 * WORDS_BYTES + 8];
    char a[WORDS_BYTES];
    tell_section(tell, "Summary", NULL);
    if (log->first.us != 0) {
        tell_fact(tell, "first request (UTC)", words_time(log->first, a));
        tell_fact(tell, "last answer (UTC)", words_time(log->last, a));
    }
    if (report->watch.is_there && report->watch.state[0] != '\0') {
        tell_fact(tell, "state", report->watch.state);
    }
    if (report->has_totals) {
        tell_fact(tell, "time crawling",
                  words_ms(greater_ms(totals->elapsed_ms, watch->elapsed_s), a));
        report_tell_count(tell, "pages fetched", totals->pages);
        report_tell_count(tell, "requests", totals->fetches);
        tell_bytes(tell, "received", totals->bytes);
        double cpu_ms = greater_ms(totals->cpu_ms, watch->cpu_s);
        (void)snprintf(text, sizeof text, "%s, %.0f pages per CPU-second", words_ms(cpu_ms, a),
                       cpu_ms > 0 ? (double)totals->pages * 1e3 / cpu_ms : 0.0);
        tell_fact(tell, "CPU time", text);
    }
    report_tell_count(tell, "URLs known", report->graph.n_pages);
    tell_share(tell, "URLs crawled", report->graph.n_crawled, report->graph.n_pages);
    report_tell_count(tell, "links", report->graph.n_links);
    if (report->has_hosts) {
        report_tell_count(tell, "hosts visited", report->hosts.n);
    }
    if (log->pages > 0) {
        tell_share(tell, "duplicates", log->duplicates, log->pages);
        report_tell_count(tell, "cut off (truncated)", log->truncated);
        report_tell_count(tell, "not read to the end for links", log->unread);
        report_tell_count(tell, "pages beyond parse.max_links", log->beyond_pages);
        report_tell_count(tell, "links beyond parse.max_links", log->beyond_links);
        report_tell_count(tell, "pages with links that are too long", log->long_pages);
        report_tell_count(tell, "links that are too long", log->long_links);
    }
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
    tell_section(tell, "Speed over time",
                 n_drawn > 0 ? "Times are UTC." : "The crawl was too short for a graph.");
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
        if (is_worth_drawing(charts[i].series)) {
            tell->to->chart(tell->to->context, &charts[i]);
        }
    }
    if (watch->lines >= LEAST_POINTS && watch->limits.count > 0) {
        size_t n = 0;
        const TallyRow **rows = tally_sorted(&watch->limits, &n);
        tell->to->bars(tell->to->context, "What limited the crawl, and for how long");
        for (size_t i = 0; i < n; i++) {
            char time[WORDS_BYTES];
            tell->to->bar(tell->to->context, rows[i]->name, words_ms((double)rows[i]->count, time),
                          (double)rows[i]->count / (double)rows[0]->count);
        }
        tell->to->bars_end(tell->to->context);
        free(rows);
    }
}

static void tell_answers(Telling *tell)
{
    const ReportLog *log = &tell->report->log;
    char text[WORDS_BYTES];
    tell_section(tell, "Answers", "Statuses of pages; robots.txt is not counted.");
    tell_tally(tell, &log->statuses, "status", true, telling_status);
    tell_section(tell, "Types", "Media types of pages with status 2xx, and bytes received.");
    tell_tally(tell, &log->types, "type", true, NULL);
    tell_section(tell, "Languages",
                 "Of HTML pages with status 2xx, as they say: the lang attribute of html, else "
                 "Content-Language.");
    tell_tally(tell, &log->languages, "language", true, NULL);
    tell_section(tell, "Sizes and times",
                 "Of pages: bytes received with status 2xx, and duration of requests.");
    if (log->lengths.n > 0) {
        tell_fact(tell, "median size", words_bytes(histogram_quantile(&log->lengths, 0.5), text));
        tell_fact(tell, "mean size", words_bytes(log->lengths.sum / (double)log->lengths.n, text));
        tell_histogram(tell, "Bytes of a page", &log->lengths, words_bytes_range);
    }
    if (log->speeds.n > 0) {
        tell_fact(tell, "median speed, bytes a second",
                  words_bytes(histogram_quantile(&log->speeds, 0.5), text));
        tell_histogram(tell, "Bytes a second of a page", &log->speeds, words_bytes_range);
    }
    if (log->durations.n > 0) {
        tell_fact(tell, "median duration",
                  words_ms(histogram_quantile(&log->durations, 0.5), text));
        tell_fact(tell, "95 % took less than",
                  words_ms(histogram_quantile(&log->durations, 0.95), text));
        tell_histogram(tell, "Milliseconds of a request", &log->durations, words_range);
    }
}

static void tell_pages(Telling *tell, const char *title, const char *name,
                       const ReportPage top[REPORT_TOP],
                       char *(*words)(double value, char text[WORDS_BYTES]))
{
    const ReportColumn columns[] = {{.name = name, .is_number = true},
                                    {.name = "URL", .is_url = true}};
    if (top[0].url == NULL) {
        return;
    }
    tell_section(tell, title, NULL);
    tell_table(tell, columns, 2);
    for (size_t i = 0; i < REPORT_TOP && top[i].url != NULL; i++) {
        char value[WORDS_BYTES];
        const char *cells[] = {words((double)top[i].value, value), top[i].url};
        tell_row(tell, cells);
    }
    tell_table_end(tell);
}

/* ---- what went wrong ---- */

static void tell_errors(Telling *tell)
{
    const Report *report = tell->report;
    const ReportLog *log = &report->log;
    tell_section(tell, "Errors",
                 "Attempts that brought no whole answer, by class (politeness.retry).");
    if (log->errors.count == 0) {
        tell_fact(tell, "errors", "none");
    } else {
        tell_tally(tell, &log->errors, "class", false, NULL);
    }
    tell_section(tell, "Refusals",
                 "URLs that were found and not scheduled, or scheduled and not requested.");
    if (report->has_totals) {
        const ReportColumn columns[] = {{.name = "reason"}, {.name = "URLs", .is_number = true}};
        tell_table(tell, columns, 2);
        for (size_t i = 0; i < REFUSALS; i++) {
            char count[WORDS_BYTES];
            const char *cells[] = {refusal_name((Refusal)i),
                                   words_count(report->totals.refused[i], count)};
            if (report->totals.refused[i] > 0) {
                tell_row(tell, cells);
            }
        }
        tell_table_end(tell);
    }
    if (log->refusals.count > 0) {
        tell_section(tell, "Deciding rules", "Of URLs that were scheduled and not requested.");
        tell_tally(tell, &log->refusals, "rule", false, telling_status);
    }
}

static void report_sections_tell_broken(Telling *tell)
{
    const ReportGraph *graph = &tell->report->graph;
    const ReportColumn columns[] = {{.name = "status", .is_number = true},
                                    {.name = "links", .is_number = true},
                                    {.name = "broken URL", .is_url = true},
                                    {.name = "pages that link to it", .is_url = true}};
    tell_section(
        tell, "Broken links",
        "Linked pages with status 4xx (but 401, 403, 429, 451) or without an answer, most linked "
        "first. All of them: ragno report DIR --broken-links.");
    report_tell_count(tell, "broken pages", graph->n_broken);
    report_tell_count(tell, "links to them", graph->n_broken_links);
    if (graph->n_broken_links == 0) {
        return;
    }
    tell_table(tell, columns, 4);
    for (size_t i = 0; i < graph->n_broken_shown && graph->broken[i].n_from > 0; i++) {
        const BrokenPage *page = &graph->broken[i];
        char status[WORDS_BYTES];
        char links[WORDS_BYTES];
        Buffer from;
        buffer_init(&from, BUFFER_NO_LIMIT);
        for (uint32_t k = 0; k < page->n_from && k < REPORT_BROKEN_FROM; k++) {
            (void)buffer_printf(&from, "%s%s", k == 0 ? "" : " ", telling_url(tell, page->from[k]));
        }
        (void)snprintf(status, sizeof status, "%" PRId32, page->status);
        const char *cells[] = {status, words_count(page->n_from, links),
                               telling_url(tell, page->index), buffer_string(&from)};
        tell_row(tell, cells);
        buffer_destroy(&from);
    }
    tell_table_end(tell);
}

/* ---- hosts ---- */

static void tell_ranking(Telling *tell, const char *title, const HostRanking *ranking)
{
    const ReportColumn columns[] = {
        {.name = "host", .is_url = true},     {.name = "pages", .is_number = true},
        {.name = "bytes", .is_number = true}, {.name = "a request", .is_number = true},
        {.name = "2xx", .is_number = true},   {.name = "4xx", .is_number = true},
        {.name = "5xx", .is_number = true},   {.name = "failed", .is_number = true}};
    if (ranking->n == 0) {
        return;
    }
    tell_section(tell, title, NULL);
    tell_table(tell, columns, 8);
    for (size_t i = 0; i < ranking->n; i++) {
        const HostRecord *record = &ranking->hosts[i].record;
        char text[7][WORDS_BYTES];
        double ms = record->fetches == 0 ? 0 : (double)record->fetch_ms / record->fetches;
        const char *cells[] = {telling_origin(tell, ranking->hosts[i].host),
                               words_count(record->pages, text[0]),
                               words_bytes((double)record->bytes, text[1]),
                               words_ms(ms, text[2]),
                               words_count(record->by_status[2], text[3]),
                               words_count(record->by_status[4], text[4]),
                               words_count(record->by_status[5], text[5]),
                               words_count(record->by_status[0], text[6])};
        tell_row(tell, cells);
    }
    tell_table_end(tell);
}

static void report_sections_tell_hosts(Telling *tell)
{
    const ReportHosts *hosts = &tell->report->hosts;
    if (!tell->report->has_hosts) {
        return;
    }
    tell_section(tell, "Hosts", NULL);
    report_tell_count(tell, "active", hosts->active);
    report_tell_count(tell, "given up after errors", hosts->dropped);
    for (size_t i = 0; i < FETCH_CLASSES; i++) {
        if (hosts->dropped_by[i] > 0) {
            char name[64];
            (void)snprintf(name, sizeof name, "given up: %s", fetch_class_name((FetchClass)i));
            report_tell_count(tell, name, hosts->dropped_by[i]);
        }
    }
    report_tell_count(tell, "parked: failed for too long", hosts->parked);
    report_tell_count(tell, "at their limit", hosts->full);
    report_tell_count(tell, "denied by the operator", hosts->denied);
    if (hosts->queues.n > 0) {
        report_tell_count(tell, "with URLs that are scheduled", hosts->queues.n);
        tell_histogram(tell, "URLs that are scheduled, by host", &hosts->queues, words_range);
    }
    tell_ranking(tell, "Largest hosts, by pages", &hosts->largest);
    tell_ranking(tell, "Largest hosts, by bytes", &hosts->heaviest);
    tell_ranking(tell, "Slowest hosts", &hosts->slowest);
    tell_ranking(tell, "Hosts with most failures", &hosts->failing);
}

/* Single answers, of any host. */
static void tell_walls(Telling *tell)
{
    const ReportHosts *hosts = &tell->report->hosts;
    static const char *const names[] = {[WALL_PAYMENT] = "402: payment wanted",
                                        [WALL_FORBIDDEN] = "403: forbidden",
                                        [WALL_BUSY] = "429: too many requests",
                                        [WALL_CHALLENGE] = "challenges: proof of a human wanted"};
    const ReportColumn columns[] = {{.name = "host", .is_url = true},
                                    {.name = "402", .is_number = true},
                                    {.name = "403", .is_number = true},
                                    {.name = "429", .is_number = true},
                                    {.name = "challenge", .is_number = true}};
    if (!tell->report->has_hosts || hosts->walled == 0) {
        return;
    }
    tell_section(tell, "Answers that keep crawlers out",
                 "Pages that were answered so, each attempt counted; ragno db DIR hosts --walls "
                 "lists all hosts.");
    report_tell_count(tell, "hosts", hosts->walled);
    report_tell_count(tell, "of these rest, since they give no others", hosts->resting);
    for (size_t i = 0; i < HTTP_WALLS; i++) {
        report_tell_count(tell, names[i], hosts->walls[i]);
    }
    tell_table(tell, columns, 5);
    for (size_t i = 0; i < hosts->walling.n; i++) {
        const uint32_t *walls = hosts->walling.hosts[i].record.walls;
        char text[HTTP_WALLS][WORDS_BYTES];
        const char *cells[] = {
            telling_origin(tell, hosts->walling.hosts[i].host),
            words_count(walls[WALL_PAYMENT], text[0]), words_count(walls[WALL_FORBIDDEN], text[1]),
            words_count(walls[WALL_BUSY], text[2]), words_count(walls[WALL_CHALLENGE], text[3])};
        tell_row(tell, cells);
    }
    tell_table_end(tell);
}

static void report_sections_tell_robots(Telling *tell)
{
    const Report *report = tell->report;
    const ReportGraph *graph = &report->graph;
    tell_section(tell, "robots.txt", "How robots.txt was answered, and what it forbade.");
    tell_tally(tell, &report->log.robots_statuses, "status", false, telling_status);
    if (report->has_hosts) {
        report_tell_count(tell, "URLs forbidden", report->hosts.robots_denied);
        report_tell_count(tell, "hosts that forbid all that was tried", report->hosts.closed);
        report_tell_count(tell, "hosts with Crawl-delay", report->hosts.with_crawl_delay);
    }
    tell_section(
        tell, "Walls",
        "Hosts that answered at least 80 % of their pages, and at least 10, with 401, 403, "
        "429, 451 "
        "or 503.");
    report_tell_count(tell, "hosts", graph->n_walls_all);
    if (graph->n_walls > 0) {
        const ReportColumn columns[] = {{.name = "host", .is_url = true},
                                        {.name = "refusals", .is_number = true},
                                        {.name = "answers", .is_number = true}};
        tell_table(tell, columns, 3);
        for (size_t i = 0; i < graph->n_walls; i++) {
            char refusals[WORDS_BYTES];
            char answers[WORDS_BYTES];
            const char *cells[] = {telling_origin(tell, graph->walls[i].host),
                                   words_count(graph->walls[i].refusals, refusals),
                                   words_count(graph->walls[i].answers, answers)};
            tell_row(tell, cells);
        }
        tell_table_end(tell);
    }
    tell_walls(tell);
}

/* ---- the graph ---- */

static void tell_graph(Telling *tell)
{
    const ReportGraph *graph = &tell->report->graph;
    uint64_t most = 1;
    unsigned last = REPORT_DEPTHS;
    tell_section(tell, "Depth", "Links from a seed, of crawled pages.");
    while (last > 0 && graph->depths[last - 1] == 0) {
        last--;
    }
    for (unsigned i = 0; i < last; i++) {
        most = graph->depths[i] > most ? graph->depths[i] : most;
    }
    tell->to->bars(tell->to->context, "Pages by depth");
    for (unsigned i = 0; i < last; i++) {
        char depth[WORDS_BYTES];
        char count[WORDS_BYTES];
        (void)snprintf(depth, sizeof depth, i == REPORT_DEPTHS - 1 ? "%u and more" : "%u", i);
        tell->to->bar(tell->to->context, depth, words_count(graph->depths[i], count),
                      (double)graph->depths[i] / (double)most);
    }
    tell->to->bars_end(tell->to->context);
    tell_section(tell, "Links",
                 "Different links of a page that has any; redirects are not counted.");
    report_tell_count(tell, "links", graph->n_links);
    tell_share(tell, "to another host", graph->n_links_cross, graph->n_links);
    if (graph->degrees.n > 0) {
        char text[WORDS_BYTES];
        (void)snprintf(text, sizeof text, "%.1f", graph->degrees.sum / (double)graph->degrees.n);
        tell_fact(tell, "mean of a page", text);
        tell_histogram(tell, "Links of a page", &graph->degrees, words_range);
    }
    tell_section(tell, "Redirects", NULL);
    tell_share(tell, "pages that redirect", graph->redirects, graph->n_crawled);
    tell_share(tell, "to another host", graph->redirects_cross, graph->redirects);
}

static char *size_words(double value, char text[WORDS_BYTES])
{
    return words_bytes(value, text);
}

Result report_tell(const Report *report, const ReportWriter *writer)
{
    Telling tell = {.report = report, .to = writer};
    char time[WORDS_BYTES];
    char subtitle[4096];
    buffer_init(&tell.origin, BUFFER_NO_LIMIT);
    buffer_init(&tell.url, BUFFER_NO_LIMIT);
    (void)snprintf(subtitle, sizeof subtitle, "%s, as of %s UTC, ragno %s", report->directory,
                   words_time(report->made, time), RAGNO_VERSION);
    writer->begin(writer->context, "Crawl report", subtitle);
    tell_summary(&tell);
    tell_speed(&tell);
    tell_answers(&tell);
    tell_errors(&tell);
    report_sections_tell_robots(&tell);
    report_sections_tell_hosts(&tell);
    tell_pages(&tell, "Largest pages", "bytes", report->log.largest, size_words);
    tell_pages(&tell, "Slowest requests", "time", report->log.slowest, words_ms);
    tell_graph(&tell);
    report_sections_tell_broken(&tell);
    buffer_destroy(&tell.origin);
    buffer_destroy(&tell.url);
    return writer->end(writer->context);
}
