#include "report/gather/report_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logs/crawl_log_line.h"
#include "logs/log_reader.h"

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

static void report_log_take_line(ReportLog *log, const char *bytes, size_t length)
{
    CrawlLogLine line;
    const char *why = NULL;
    log->lines++;
    if (crawl_log_line_parse(bytes, length, &line, &why) != RESULT_OK) {
        log->unreadable++;
        return;
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
}

Result report_log_read(ReportLog *log, const char *directory)
{
    LogReader *reader = NULL;
    Buffer path;
    const char *line = NULL;
    size_t length = 0;
    *log = (ReportLog){.is_there = false};
    Tally *const tallies[] = {&log->statuses, &log->robots_statuses, &log->types, &log->languages,
                              &log->errors,   &log->refusals,        NULL};
    for (size_t i = 0; tallies[i] != NULL; i++) {
        tally_init(tallies[i]);
    }
    series_init(&log->pages_s, BUCKET_MS);
    series_init(&log->bytes_s, BUCKET_MS);
    series_init(&log->errors_s, BUCKET_MS);
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, "%s/crawl.log", directory);
    if (rc == RESULT_OK) {
        rc = log_reader_open(&reader, buffer_string(&path));
    }
    log->is_there = rc == RESULT_OK;
    while (rc == RESULT_OK && log_reader_next(reader, &line, &length)) {
        report_log_take_line(log, line, length);
    }
    log_reader_close(reader);
    buffer_destroy(&path);
    return rc == RESULT_MEMORY ? rc : RESULT_OK;
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
