#include "logs/crawl_log_line.h"

#include <string.h>

#define COLUMNS 12u

/* ---- pieces ---- */

/* "20260131120000123+25" */
static bool start_and_duration(LogText text, WallTime *start, int64_t *duration_ms)
{
    const char *plus = text.length == 0 ? NULL : memchr(text.bytes, '+', text.length);
    if (plus == NULL) {
        return false;
    }
    size_t n = (size_t)(plus - text.bytes);
    return log_text_compact_time((LogText){text.bytes, n}, start) &&
           log_text_number((LogText){plus + 1, text.length - n - 1}, duration_ms);
}

/* "A/B" or "A-B", two numbers. */
static bool crawl_log_line_pair(LogText text, char between, int64_t *a, int64_t *b)
{
    int64_t first = 0;
    int64_t second = 0;
    const char *mark = text.length < 2 ? NULL : memchr(text.bytes + 1, between, text.length - 1);
    if (mark == NULL) {
        return false;
    }
    size_t n = (size_t)(mark - text.bytes);
    if (!log_text_number((LogText){text.bytes, n}, &first) ||
        !log_text_number((LogText){mark + 1, text.length - n - 1}, &second)) {
        return false;
    }
    *a = first;
    *b = second;
    return true;
}

/* ---- annotations ---- */

/* Whether the annotation has this name; *value is what stands behind the colon. */
static bool has_name(LogText annotation, const char *name, LogText *value)
{
    size_t n = strlen(name);
    if (annotation.length <= n || annotation.bytes[n] != ':' ||
        memcmp(annotation.bytes, name, n) != 0) {
        return false;
    }
    *value = (LogText){annotation.bytes + n + 1, annotation.length - n - 1};
    return true;
}

static void crawl_log_line_take_text(LogText *field, LogText value)
{
    *field = field->length == 0 ? value : *field;
}

/* A request of a burst. false: it is another annotation. */
static bool take_burst(CrawlLogLine *out, LogText annotation, const char **why)
{
    LogText value;
    if (has_name(annotation, "burst", &value)) {
        if (out->burst < 0 && !log_text_number(value, &out->burst)) {
            *why = "burst: is no number";
        }
    } else if (has_name(annotation, "at-once", &value)) {
        if (out->at_once < 0 && !log_text_number(value, &out->at_once)) {
            *why = "at-once: is no number";
        }
    } else if (has_name(annotation, "mono-us", &value)) {
        if (out->us_end < 0 && !crawl_log_line_pair(value, '-', &out->us_start, &out->us_end)) {
            *why = "mono-us: is not START-END in microseconds";
        }
    } else {
        return false;
    }
    return true;
}

/* What the audit goes by. false: it is another annotation. */
static bool take_times(CrawlLogLine *out, LogText annotation, bool *has_ip, const char **why)
{
    LogText value;
    if (has_name(annotation, "ip", &value)) {
        *has_ip =
            *has_ip || ip_address_parse(value.bytes, value.length, &out->address) == RESULT_OK;
        *why = *has_ip ? *why : "ip: is no address";
    } else if (has_name(annotation, "mono", &value)) {
        if (out->mono_end < 0 &&
            !crawl_log_line_pair(value, '-', &out->mono_start, &out->mono_end)) {
            *why = "mono: is not START-END in milliseconds";
        }
    } else if (has_name(annotation, "wait", &value)) {
        if (out->owed < 0 && !crawl_log_line_pair(value, '/', &out->owed, &out->given)) {
            *why = "wait: is not OWED/GIVEN in milliseconds";
        }
    } else if (has_name(annotation, "owes", &value)) {
        if (out->owes_host < 0 &&
            !crawl_log_line_pair(value, '/', &out->owes_host, &out->owes_ip)) {
            *why = "owes: is not HOST/IP in milliseconds";
        }
    } else if (has_name(annotation, "robots", &value)) {
        bool is_ignored = log_text_is(value, "ignored"); /* [site] robots.obey = no */
        if (!is_ignored && out->robots < 0 && !log_text_number(value, &out->robots)) {
            *why = "robots: is not the number of a version";
        }
    } else {
        return take_burst(out, annotation, why);
    }
    return true;
}

/* What was not taken from a page. */
static bool take_losses(CrawlLogLine *out, LogText annotation)
{
    LogText value;
    if (has_name(annotation, "read", &value)) {
        out->unread = value.length > 0 && value.bytes[value.length - 1] == '+';
    } else if (has_name(annotation, "links-beyond", &value)) {
        (void)log_text_number(value, &out->links_beyond);
    } else if (has_name(annotation, "links-long", &value)) {
        (void)log_text_number(value, &out->links_long);
    } else {
        return false;
    }
    return true;
}

static void take_annotation(CrawlLogLine *out, LogText annotation, bool *has_ip, const char **why)
{
    LogText value;
    if (take_times(out, annotation, has_ip, why) || take_losses(out, annotation)) {
        return;
    }
    if (has_name(annotation, "boot", &value)) {
        crawl_log_line_take_text(&out->boot, value);
    } else if (has_name(annotation, "as", &value)) {
        crawl_log_line_take_text(&out->as, value);
    } else if (has_name(annotation, "error", &value)) {
        crawl_log_line_take_text(&out->error, value);
    } else if (has_name(annotation, "rule", &value)) {
        crawl_log_line_take_text(&out->rule, value);
    } else if (has_name(annotation, "dup", &value)) {
        crawl_log_line_take_text(&out->duplicate_of, value);
    } else if (has_name(annotation, "near", &value)) {
        crawl_log_line_take_text(&out->near, value);
    } else if (has_name(annotation, "lang", &value)) {
        crawl_log_line_take_text(&out->language, value);
    } else if (has_name(annotation, "trunc", &value)) {
        crawl_log_line_take_text(&out->truncated, value);
    } else if (has_name(annotation, "retry", &value)) {
        (void)log_text_number(value, &out->retry);
    } else if (log_text_is(annotation, "host-dropped")) {
        out->host_dropped = true;
    }
}

static Result take_annotations(CrawlLogLine *out, LogText all, const char **why)
{
    bool has_ip = false;
    *why = NULL;
    while (all.length > 0) {
        const char *comma = memchr(all.bytes, ',', all.length);
        size_t n = comma == NULL ? all.length : (size_t)(comma - all.bytes);
        take_annotation(out, (LogText){all.bytes, n}, &has_ip, why);
        n += comma != NULL;
        all = (LogText){all.bytes + n, all.length - n};
    }
    out->was_sent = has_ip && out->mono_end >= 0;
    if (*why == NULL && out->was_sent &&
        (out->mono_end < out->mono_start || out->us_end < out->us_start)) {
        *why = "its fetch ended before it began";
    }
    return *why == NULL ? RESULT_OK : RESULT_INVALID;
}

/* ---- the line ---- */

/* The columns, separated by blanks; "-" is empty. Returns how many there are. */
static unsigned split(const char *line, size_t length, LogText column[COLUMNS])
{
    unsigned n = 0;
    size_t at = 0;
    while (at < length && n < COLUMNS) {
        const char *blank = memchr(line + at, ' ', length - at);
        size_t end = blank == NULL ? length : (size_t)(blank - line);
        if (end > at) {
            bool empty = end - at == 1 && line[at] == '-';
            column[n++] = (LogText){line + at, empty ? 0 : end - at};
        }
        at = end + 1;
    }
    return at < length ? COLUMNS + 1 : n;
}

Result crawl_log_line_parse(const char *line, size_t length, CrawlLogLine *out, const char **why)
{
    LogText column[COLUMNS] = {{NULL, 0}};
    int64_t status = 0;
    unsigned n = split(line, length, column);
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
    if (n != COLUMNS) {
        *why = n < COLUMNS ? "it has fewer than twelve columns" : "it has more than twelve columns";
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
