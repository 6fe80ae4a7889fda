#include "logs/crawl_log_line.h"

#include <string.h>

#include "logs/log_reader.h"
#include "page/crawl_log_notes.h"

/* ---- pieces ---- */

/* "20260131120000123+25" */
static bool start_and_duration(LogText text, WallTime *start, int64_t *duration_ms)
{
    const char *plus = text.length == 0 ? NULL : memchr(text.bytes, '+', text.length);
    if (plus == NULL) {
        return false;
    }
    size_t n = (size_t)(plus - text.bytes);
    return wall_parse_compact(text.bytes, n, start) &&
           log_text_number((LogText){plus + 1, text.length - n - 1}, duration_ms);
}

/* "A/B" or "A-B", two numbers; the first may be negative. */
static bool crawl_log_line_pair(LogText text, int64_t *a, int64_t *b)
{
    size_t n = 1;
    while (n < text.length && text.bytes[n] != '/' && text.bytes[n] != '-') {
        n++;
    }
    return n < text.length && log_text_number((LogText){text.bytes, n}, a) &&
           log_text_number((LogText){text.bytes + n + 1, text.length - n - 1}, b);
}

/* ---- annotations ---- */

/* Where the value of an annotation is kept; those without a row are passed over. */
static const struct {
    size_t field;
    size_t second; /* of a pair */
} fields[CRAWL_LOG_NOTE_COUNT] = {
    [NOTE_MONO] = {offsetof(CrawlLogLine, mono_start), offsetof(CrawlLogLine, mono_end)},
    [NOTE_WAIT] = {offsetof(CrawlLogLine, owed), offsetof(CrawlLogLine, given)},
    [NOTE_OWES] = {offsetof(CrawlLogLine, owes_host), offsetof(CrawlLogLine, owes_ip)},
    [NOTE_LEARNED] = {offsetof(CrawlLogLine, learned), 0},
    [NOTE_MONO_US] = {offsetof(CrawlLogLine, us_start), offsetof(CrawlLogLine, us_end)},
    [NOTE_BURST] = {offsetof(CrawlLogLine, burst), 0},
    [NOTE_AT_ONCE] = {offsetof(CrawlLogLine, at_once), 0},
    [NOTE_RETRY] = {offsetof(CrawlLogLine, retry), 0},
    [NOTE_BEYOND] = {offsetof(CrawlLogLine, links_beyond), 0},
    [NOTE_LONG] = {offsetof(CrawlLogLine, links_long), 0},
    [NOTE_AS] = {offsetof(CrawlLogLine, as), 0},
    [NOTE_BOOT] = {offsetof(CrawlLogLine, boot), 0},
    [NOTE_ERROR] = {offsetof(CrawlLogLine, error), 0},
    [NOTE_RULE] = {offsetof(CrawlLogLine, rule), 0},
    [NOTE_DUP] = {offsetof(CrawlLogLine, duplicate_of), 0},
    [NOTE_NEAR] = {offsetof(CrawlLogLine, near), 0},
    [NOTE_LANG] = {offsetof(CrawlLogLine, language), 0},
    [NOTE_TRUNC] = {offsetof(CrawlLogLine, truncated), 0},
    [NOTE_DROPPED] = {offsetof(CrawlLogLine, host_dropped), 0}};

/* false: the value does not have the form of its annotation. */
static bool crawl_log_line_take_value(CrawlLogLine *out, CrawlLogNote note, LogText value)
{
    char *field = (char *)out + fields[note].field;
    if (fields[note].field == 0) {
        /* What is more than a number or a text. false: the value is none. */
        if (note == NOTE_IP) {
            return ip_address_parse(value.bytes, value.length, &out->address) == RESULT_OK;
        }
        if (note == NOTE_ROBOTS) { /* "ignored": [site] robots.obey = no */
            return log_text_is(value, "ignored") || log_text_number(value, &out->robots);
        }
        if (note == NOTE_READ) {
            out->unread = value.length > 0 && value.bytes[value.length - 1] == '+';
        }
        return true;
    }
    switch (crawl_log_notes[note].kind) {
    case CRAWL_LOG_FLAG:
        *(bool *)(void *)field = true;
        return true;
    case CRAWL_LOG_NUMBER:
        return log_text_number(value, (int64_t *)(void *)field);
    case CRAWL_LOG_PAIR:
        return crawl_log_line_pair(value, (int64_t *)(void *)field,
                                   (int64_t *)(void *)((char *)out + fields[note].second));
    case CRAWL_LOG_TEXT:
        *(LogText *)(void *)field = value;
        return true;
    }
    return true;
}

static void take_annotation(CrawlLogLine *out, LogText annotation, const char **why)
{
    const char *colon =
        annotation.length == 0 ? NULL : memchr(annotation.bytes, ':', annotation.length);
    size_t n = colon == NULL ? annotation.length : (size_t)(colon - annotation.bytes);
    CrawlLogNote note = crawl_log_note_find(annotation.bytes, n);
    bool is_flag = note < CRAWL_LOG_NOTE_COUNT && crawl_log_notes[note].kind == CRAWL_LOG_FLAG;
    if (n == 0 || note == CRAWL_LOG_NOTE_COUNT || is_flag != (colon == NULL) ||
        (out->notes & UINT64_C(1) << note) != 0) {
        return;
    }
    LogText value = {annotation.bytes + n + 1, is_flag ? 0 : annotation.length - n - 1};
    if (crawl_log_line_take_value(out, note, value)) {
        out->notes |= UINT64_C(1) << note;
    } else {
        *why = crawl_log_notes[note].wrong;
    }
}

static Result take_annotations(CrawlLogLine *out, LogText all, const char **why)
{
    *why = NULL;
    while (all.length > 0) {
        const char *comma = memchr(all.bytes, ',', all.length);
        size_t n = comma == NULL ? all.length : (size_t)(comma - all.bytes);
        take_annotation(out, (LogText){all.bytes, n}, why);
        n += comma != NULL;
        all = (LogText){all.bytes + n, all.length - n};
    }
    out->was_sent = (out->notes & UINT64_C(1) << NOTE_IP) != 0 && out->mono_end >= 0;
    if (*why == NULL && out->was_sent &&
        (out->mono_end < out->mono_start || out->us_end < out->us_start)) {
        *why = "its fetch ended before it began";
    }
    return *why == NULL ? RESULT_OK : RESULT_INVALID;
}

/* ---- the line ---- */

unsigned crawl_log_columns(const char *line, size_t length, LogText column[CRAWL_LOG_COLUMNS])
{
    unsigned n = 0;
    size_t at = 0;
    while (at < length && n < CRAWL_LOG_COLUMNS) {
        const char *blank = memchr(line + at, ' ', length - at);
        size_t end = blank == NULL ? length : (size_t)(blank - line);
        if (end > at) {
            bool empty = end - at == 1 && line[at] == '-';
            column[n++] = (LogText){line + at, empty ? 0 : end - at};
        }
        at = end + 1;
    }
    return at < length ? CRAWL_LOG_COLUMNS + 1 : n;
}

Result crawl_log_line_parse(const char *line, size_t length, CrawlLogLine *out, const char **why)
{
    LogText column[CRAWL_LOG_COLUMNS] = {{NULL, 0}};
    int64_t status = 0;
    unsigned n = crawl_log_columns(line, length, column);
    *out = (CrawlLogLine){.bytes = -1,
                          .mono_start = -1,
                          .mono_end = -1,
                          .burst = -1,
                          .at_once = -1,
                          .us_start = -1,
                          .us_end = -1,
                          .owed = -1,
                          .given = -1,
                          .owes_host = -1,
                          .owes_ip = -1,
                          .robots = -1,
                          .retry = -1};
    if (n != CRAWL_LOG_COLUMNS) {
        *why = n < CRAWL_LOG_COLUMNS ? "it has fewer than twelve columns"
                                     : "it has more than twelve columns";
        return RESULT_INVALID;
    }
    if (!log_text_time(column[0], &out->end)) {
        *why = "it does not begin with a time such as 2026-01-31T12:00:00.123Z";
        return RESULT_INVALID;
    }
    if (!log_text_number(column[1], &status) || status < INT32_MIN || status > INT32_MAX) {
        *why = "its status is no number";
        return RESULT_INVALID;
    }
    if (column[2].length > 0 && !log_text_number(column[2], &out->bytes)) {
        *why = "its size is no number";
        return RESULT_INVALID;
    }
    if (!start_and_duration(column[8], &out->start, &out->duration_ms)) {
        *why = "its ninth column is not START+DURATION";
        return RESULT_INVALID;
    }
    out->status = (int)status;
    out->url = column[3];
    out->path = column[4];
    out->referrer = column[5];
    out->mime = column[6];
    out->worker = column[7];
    out->digest = column[9];
    out->tag = column[10];
    return take_annotations(out, column[11], why);
}

bool crawl_log_line_is_robots(const CrawlLogLine *line)
{
    return line->path.length == 1 && line->path.bytes[0] == 'P';
}

Result crawl_log_oldest(const char *path, WallTime *oldest)
{
    LogReader *reader = NULL;
    const char *line = NULL;
    const char *why = NULL;
    size_t length = 0;
    CrawlLogLine parsed;
    Result rc = log_reader_open(&reader, path);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = RESULT_NOT_FOUND;
    while (rc != RESULT_OK && log_reader_next(reader, &line, &length)) {
        rc = crawl_log_line_parse(line, length, &parsed, &why);
    }
    *oldest = rc == RESULT_OK ? parsed.end : (WallTime){0};
    log_reader_close(reader);
    return rc == RESULT_OK ? rc : RESULT_NOT_FOUND;
}
