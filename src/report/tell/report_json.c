#include "report/tell/report_json.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory/json_writer.h"

static void report_json_put_time(JsonWriter *json, const char *name, WallTime time)
{
    char text[CLOCK_TEXT_BYTES];
    json_string(json, name, time.us == 0 ? NULL : wall_format_iso(time, text));
}

/* "types": [{"name": "text/html", "count": 12, "bytes": 3400}] */
static void put_tally(JsonWriter *json, const char *name, const Tally *tally, bool has_bytes)
{
    size_t n = 0;
    const TallyRow **rows = tally_sorted(tally, &n);
    json_open(json, name, '[');
    for (size_t i = 0; i < n; i++) {
        json_open(json, NULL, '{');
        json_string(json, "name", rows[i]->name);
        json_count(json, "count", rows[i]->count);
        if (has_bytes) {
            json_count(json, "bytes", rows[i]->bytes);
        }
        json_close(json);
    }
    json_close(json);
    free(rows);
}

static void put_histogram(JsonWriter *json, const char *name, const Histogram *histogram)
{
    json_open(json, name, '{');
    json_count(json, "count", histogram->n);
    if (histogram->n > 0) {
        json_count(json, "least", histogram->least);
        json_real(json, "median", histogram_quantile(histogram, 0.5), 1);
        json_real(json, "mean", histogram->sum / (double)histogram->n, 1);
        json_real(json, "p95", histogram_quantile(histogram, 0.95), 1);
        json_count(json, "most", histogram->most);
    }
    json_close(json);
}

static void put_pages(JsonWriter *json, const char *name, const char *value,
                      const ReportPage pages[REPORT_TOP])
{
    json_open(json, name, '[');
    for (size_t i = 0; i < REPORT_TOP && pages[i].url != NULL; i++) {
        json_open(json, NULL, '{');
        json_string(json, "url", pages[i].url);
        json_count(json, value, pages[i].value);
        json_close(json);
    }
    json_close(json);
}

static void put_log(JsonWriter *json, const ReportLog *log)
{
    report_json_put_time(json, "first_request", log->first);
    report_json_put_time(json, "last_answer", log->last);
    json_count(json, "requests", log->requests);
    json_count(json, "robots_files", log->robots_files);
    json_count(json, "pages", log->pages);
    json_count(json, "bytes", log->bytes);
    json_count(json, "duplicates", log->duplicates);
    json_count(json, "truncated", log->truncated);
    put_tally(json, "statuses", &log->statuses, true);
    put_tally(json, "robots_statuses", &log->robots_statuses, true);
    put_tally(json, "types", &log->types, true);
    put_tally(json, "languages", &log->languages, true);
    put_tally(json, "errors", &log->errors, false);
    put_tally(json, "deciding_rules", &log->refusals, false);
    put_histogram(json, "page_bytes", &log->lengths);
    put_histogram(json, "request_ms", &log->durations);
    put_pages(json, "largest_pages", "bytes", log->largest);
    put_pages(json, "slowest_requests", "ms", log->slowest);
}

static void put_graph(JsonWriter *json, const ReportGraph *graph)
{
    json_count(json, "urls_known", graph->n_pages);
    json_count(json, "urls_crawled", graph->n_crawled);
    json_count(json, "links", graph->n_links);
    json_count(json, "links_to_other_hosts", graph->n_links_cross);
    put_histogram(json, "links_of_a_page", &graph->degrees);
    json_open(json, "depths", '[');
    size_t n = REPORT_DEPTHS;
    while (n > 0 && graph->depths[n - 1] == 0) {
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        json_count(json, NULL, graph->depths[i]);
    }
    json_close(json);
    json_count(json, "redirects", graph->redirects);
    json_count(json, "broken_pages", graph->n_broken);
    json_count(json, "broken_links", graph->n_broken_links);
}

static void put_hosts(JsonWriter *json, const ReportHosts *hosts)
{
    json_open(json, "hosts", '{');
    json_count(json, "visited", hosts->n);
    json_count(json, "active", hosts->active);
    json_count(json, "dropped", hosts->dropped);
    json_count(json, "parked", hosts->parked);
    json_count(json, "full", hosts->full);
    json_count(json, "denied", hosts->denied);
    json_count(json, "with_crawl_delay", hosts->with_crawl_delay);
    json_count(json, "walled", hosts->walled);
    json_close(json);
}

Result report_json_print(const Report *report, FILE *out)
{
    JsonWriter json;
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    json_init(&json, &text);
    json_open(&json, NULL, '{');
    json_string(&json, "directory", report->directory);
    report_json_put_time(&json, "made", report->made);
    json_string(&json, "version", RAGNO_VERSION);
    json_string(&json, "state", report->watch.is_there ? report->watch.state : NULL);
    put_log(&json, &report->log);
    put_graph(&json, &report->graph);
    if (report->has_hosts) {
        put_hosts(&json, &report->hosts);
    }
    put_tally(&json, "limited_by_ms", &report->watch.limits, false);
    json_close(&json);
    Result rc = json.result;
    if (rc == RESULT_OK && (fwrite(text.data, 1, text.length, out) != text.length ||
                            fputc('\n', out) == EOF || fflush(out) != 0)) {
        rc = errno == 0 ? RESULT_IO : result_of_errno(errno);
    }
    buffer_destroy(&text);
    return rc;
}
