#include "why/why_trail.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "logs/crawl_log_line.h"
#include "logs/log_reader.h"

/* What is looked for. */
typedef struct Search {
    WhyTrail *trail;
    LogText url;
    Buffer robots; /* URL of its host's robots.txt */
    Buffer name;   /* "dns:HOST" */
} Search;

static char *why_trail_copy_of(LogText text)
{
    return text.length == 0 ? NULL : strndup(text.bytes, text.length);
}

static void why_trail_forget(WhyAttempt *attempt)
{
    free(attempt->error);
    free(attempt->rule);
    free(attempt->duplicate_of);
    free(attempt->near);
}

static WhyAttempt attempt_of(const CrawlLogLine *line)
{
    return (WhyAttempt){.start = line->start,
                        .duration_ms = line->duration_ms,
                        .status = line->status,
                        .bytes = line->bytes,
                        .retry = line->retry,
                        .robots = line->robots,
                        .error = why_trail_copy_of(line->error),
                        .rule = why_trail_copy_of(line->rule),
                        .duplicate_of = why_trail_copy_of(line->duplicate_of),
                        .near = why_trail_copy_of(line->near),
                        .truncated = line->truncated.length > 0,
                        .dropped_host = line->host_dropped};
}

static void why_trail_keep(WhyTrail *trail, const CrawlLogLine *line)
{
    if (trail->n == WHY_ATTEMPTS) {
        why_trail_forget(&trail->attempts[0]);
        memmove(&trail->attempts[0], &trail->attempts[1],
                (WHY_ATTEMPTS - 1) * sizeof *trail->attempts);
        trail->n--;
    }
    trail->attempts[trail->n++] = attempt_of(line);
    trail->n_all++;
}

static bool why_trail_is_text(LogText text, const Buffer *word)
{
    return text.length == word->length && memcmp(text.bytes, word->data, word->length) == 0;
}

/* Trouble of its host is of interest until the host answers. */
static void why_trail_take_host(Search *search, const CrawlLogLine *line, bool robots)
{
    WhyTrail *trail = search->trail;
    why_trail_forget(&trail->host);
    trail->host = (WhyAttempt){.status = 0};
    if (line->status < 200 || line->status >= 500) {
        trail->host = attempt_of(line);
        trail->host_is_robots = robots;
    }
}

static void why_trail_take_line(Search *search, const char *bytes, size_t length)
{
    CrawlLogLine line;
    const char *why = NULL;
    bool may_be = memmem(bytes, length, search->url.bytes, search->url.length) != NULL;
    bool may_be_host =
        !may_be && (memmem(bytes, length, search->robots.data, search->robots.length) != NULL ||
                    memmem(bytes, length, search->name.data, search->name.length) != NULL);
    if ((!may_be && !may_be_host) ||
        crawl_log_line_parse(bytes, length, &line, &why) != RESULT_OK) {
        return;
    }
    bool robots = why_trail_is_text(line.url, &search->robots);
    if (line.url.length == search->url.length &&
        memcmp(line.url.bytes, search->url.bytes, line.url.length) == 0) {
        why_trail_keep(search->trail, &line);
    } else if (robots || why_trail_is_text(line.url, &search->name)) {
        why_trail_take_host(search, &line, robots);
    }
}

static Result why_trail_open_log(LogReader **reader, const char *directory, const char *name,
                                 size_t bytes)
{
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, "%s/%s", directory, name);
    if (rc == RESULT_OK) {
        rc = bytes == 0 ? log_reader_open(reader, buffer_string(&path))
                        : log_reader_open_tail(reader, buffer_string(&path), bytes);
    }
    buffer_destroy(&path);
    return rc;
}

/* "URL STATUS RULE DEPTH REFERRER" */
static void take_skipped(WhyTrail *trail, LogText url, const char *bytes, size_t length)
{
    LogText column[4] = {{NULL, 0}};
    int64_t status = 0;
    size_t at = url.length + 1;
    if (length <= at || memcmp(bytes, url.bytes, url.length) != 0 || bytes[url.length] != ' ') {
        return;
    }
    for (size_t i = 0; i < 4 && at < length; i++) {
        const char *blank = memchr(bytes + at, ' ', length - at);
        size_t end = blank == NULL ? length : (size_t)(blank - bytes);
        column[i] = (LogText){bytes + at, end - at};
        at = end + 1;
    }
    if (!log_text_number(column[0], &status)) {
        return;
    }
    free(trail->skipped_rule);
    free(trail->skipped_on);
    trail->is_skipped = true;
    trail->skipped_status = (int)status;
    trail->skipped_rule = why_trail_copy_of(column[1]);
    trail->skipped_on = log_text_is(column[3], "-") ? NULL : why_trail_copy_of(column[3]);
}

Result why_trail_read(WhyTrail *trail, const char *directory, const char *url, const char *origin,
                      size_t bytes)
{
    Search search = {.trail = trail, .url = {url, strlen(url)}};
    LogReader *reader = NULL;
    const char *line = NULL;
    size_t length = 0;
    LogText host = log_text_host((LogText){origin, strlen(origin)});
    *trail = (WhyTrail){.is_partial = false};
    buffer_init(&search.robots, BUFFER_NO_LIMIT);
    buffer_init(&search.name, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&search.robots, "%s/robots.txt", origin);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&search.name, "dns:%.*s", (int)host.length, host.bytes);
    }
    if (rc == RESULT_OK &&
        why_trail_open_log(&reader, directory, "crawl.log", bytes) == RESULT_OK) {
        while (log_reader_next(reader, &line, &length)) {
            why_trail_take_line(&search, line, length);
        }
        trail->is_partial = log_reader_is_cut(reader);
        log_reader_close(reader);
        reader = NULL;
    }
    if (rc == RESULT_OK &&
        why_trail_open_log(&reader, directory, "skipped.log", bytes) == RESULT_OK) {
        while (log_reader_next(reader, &line, &length)) {
            take_skipped(trail, search.url, line, length);
        }
        trail->is_partial = trail->is_partial || log_reader_is_cut(reader);
        log_reader_close(reader);
    }
    buffer_destroy(&search.robots);
    buffer_destroy(&search.name);
    return rc;
}

void why_trail_destroy(WhyTrail *trail)
{
    for (size_t i = 0; i < trail->n; i++) {
        why_trail_forget(&trail->attempts[i]);
    }
    why_trail_forget(&trail->host);
    free(trail->skipped_rule);
    free(trail->skipped_on);
}
