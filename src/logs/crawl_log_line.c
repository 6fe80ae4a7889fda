#include "logs/crawl_log_line.h"

#include <string.h>

#define COLUMNS       12u
#define DAY_S         INT64_C(86400)
#define DIGITS_MAX    18u /* of a number that fits into 63 bits */
#define ISO_BYTES     24u /* 2026-01-31T12:00:00.123Z */
#define COMPACT_BYTES 17u

bool log_text_is(LogText text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.bytes, word, text.length) == 0;
}

/* ---- numbers and times
 * ---------------------------------------------------------------------------- */

/* Reads n digits. */
static bool digits(const char *text, size_t n, int64_t *out)
{
    int64_t value = 0;
    if (n == 0 || n > DIGITS_MAX) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (text[i] - '0');
    }
    *out = value;
    return true;
}

static bool number(LogText text, int64_t *out)
{
    bool negative = text.length > 0 && text.bytes[0] == '-';
    bool ok = digits(text.bytes + negative, text.length - negative, out);
    *out = ok && negative ? -*out : *out;
    return ok;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar. Source: H. Hinnant, "chrono-Compatible
 * Low-Level Date Algorithms", days_from_civil. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    int64_t y = year - (month <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* year, month, day, hour, minute, second, milliseconds */
static bool time_of(const int64_t part[7], WallTime *out)
{
    if (part[1] < 1 || part[1] > 12 || part[2] < 1 || part[2] > 31 || part[3] > 23 ||
        part[4] > 59 || part[5] > 60) {
        return false;
    }
    int64_t s =
        days_of(part[0], part[1], part[2]) * DAY_S + part[3] * 3600 + part[4] * 60 + part[5];
    out->us = (s * 1000 + part[6]) * 1000;
    return true;
}

static bool iso_time(LogText text, WallTime *out)
{
    static const struct {
        unsigned at;
        unsigned n;
    } parts[7] = {{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}, {17, 2}, {20, 3}};
    static const char frame[] = "    -  -  T  :  :  .   Z";
    int64_t value[7] = {0};
    if (text.length != ISO_BYTES) {
        return false;
    }
    for (size_t i = 0; i < ISO_BYTES; i++) {
        if (frame[i] != ' ' && text.bytes[i] != frame[i]) {
            return false;
        }
    }
    for (size_t i = 0; i < 7; i++) {
        if (!digits(text.bytes + parts[i].at, parts[i].n, &value[i])) {
            return false;
        }
    }
    return time_of(value, out);
}

/* "20260131120000123+25" */
static bool start_and_duration(LogText text, WallTime *start, int64_t *duration_ms)
{
    static const unsigned lengths[7] = {4, 2, 2, 2, 2, 2, 3};
    int64_t value[7] = {0};
    const char *at = text.bytes;
    if (text.length < COMPACT_BYTES + 2 || text.bytes[COMPACT_BYTES] != '+') {
        return false;
    }
    for (size_t i = 0; i < 7; i++) {
        if (!digits(at, lengths[i], &value[i])) {
            return false;
        }
        at += lengths[i];
    }
    return time_of(value, start) &&
           number((LogText){at + 1, text.length - COMPACT_BYTES - 1}, duration_ms);
}

/* "A/B" or "A-B", two numbers. */
static bool pair(LogText text, char between, int64_t *a, int64_t *b)
{
    int64_t first = 0;
    int64_t second = 0;
    const char *mark = text.length < 2 ? NULL : memchr(text.bytes + 1, between, text.length - 1);
    if (mark == NULL) {
        return false;
    }
    size_t n = (size_t)(mark - text.bytes);
    if (!number((LogText){text.bytes, n}, &first) ||
        !number((LogText){mark + 1, text.length - n - 1}, &second)) {
        return false;
    }
    *a = first;
    *b = second;
    return true;
}

/* ---- annotations
 * ------------------------------------------------------------------------------------ */

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

static void take_text(LogText *field, LogText value)
{
    *field = field->length == 0 ? value : *field;
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
        if (out->mono_end < 0 && !pair(value, '-', &out->mono_start, &out->mono_end)) {
            *why = "mono: is not START-END in milliseconds";
        }
    } else if (has_name(annotation, "wait", &value)) {
        if (out->owed < 0 && !pair(value, '/', &out->owed, &out->given)) {
            *why = "wait: is not OWED/GIVEN in milliseconds";
        }
    } else if (has_name(annotation, "owes", &value)) {
        if (out->owes_host < 0 && !pair(value, '/', &out->owes_host, &out->owes_ip)) {
            *why = "owes: is not HOST/IP in milliseconds";
        }
    } else if (has_name(annotation, "robots", &value)) {
        if (out->robots < 0 && !number(value, &out->robots)) {
            *why = "robots: is not the number of a version";
        }
    } else {
        return false;
    }
    return true;
}

static void take_annotation(CrawlLogLine *out, LogText annotation, bool *has_ip, const char **why)
{
    LogText value;
    if (take_times(out, annotation, has_ip, why)) {
        return;
    }
    if (has_name(annotation, "boot", &value)) {
        take_text(&out->boot, value);
    } else if (has_name(annotation, "as", &value)) {
        take_text(&out->as, value);
    } else if (has_name(annotation, "error", &value)) {
        take_text(&out->error, value);
    } else if (has_name(annotation, "rule", &value)) {
        take_text(&out->rule, value);
    } else if (has_name(annotation, "dup", &value)) {
        take_text(&out->duplicate_of, value);
    } else if (has_name(annotation, "near", &value)) {
        take_text(&out->near, value);
    } else if (has_name(annotation, "trunc", &value)) {
        take_text(&out->truncated, value);
    } else if (has_name(annotation, "retry", &value)) {
        (void)number(value, &out->retry);
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
    if (*why == NULL && out->was_sent && out->mono_end < out->mono_start) {
        *why = "its fetch ended before it began";
    }
    return *why == NULL ? RESULT_OK : RESULT_INVALID;
}

/* ---- the line
 * ---------------------------------------------------------------------------------------- */

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
    if (!iso_time(column[0], &out->end)) {
        *why = "it does not begin with a time such as 2026-01-31T12:00:00.123Z";
        return RESULT_INVALID;
    }
    if (!number(column[1], &status) || status < INT32_MIN || status > INT32_MAX) {
        *why = "its status is no number";
        return RESULT_INVALID;
    }
    if (column[2].length > 0 && !number(column[2], &out->bytes)) {
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

/* Where the authority of a URL begins and ends. */
static bool authority_of(LogText url, size_t *from, size_t *to)
{
    const char *slashes = url.length < 3 ? NULL : memmem(url.bytes, url.length, "//", 2);
    if (slashes == NULL) {
        return false;
    }
    *from = (size_t)(slashes - url.bytes) + 2;
    *to = *from;
    while (*to < url.length && strchr("/?#", url.bytes[*to]) == NULL) {
        ++*to;
    }
    return true;
}

/* Where the host begins: behind user information. */
static size_t host_of(LogText url, size_t from, size_t to)
{
    const char *at = memrchr(url.bytes + from, '@', to - from);
    return at == NULL ? from : (size_t)(at - url.bytes) + 1;
}

LogText log_text_origin(LogText url, char scratch[LOG_ORIGIN_BYTES])
{
    size_t from = 0;
    size_t to = 0;
    if (!authority_of(url, &from, &to)) {
        return (LogText){NULL, 0};
    }
    size_t host = host_of(url, from, to);
    if (host == from) {
        return (LogText){url.bytes, to};
    }
    if (from + (to - host) > LOG_ORIGIN_BYTES) {
        return (LogText){NULL, 0};
    }
    memcpy(scratch, url.bytes, from);
    memcpy(scratch + from, url.bytes + host, to - host);
    return (LogText){scratch, from + (to - host)};
}

LogText log_text_host(LogText url)
{
    size_t from = 0;
    size_t to = 0;
    if (!authority_of(url, &from, &to)) {
        return (LogText){NULL, 0};
    }
    from = host_of(url, from, to);
    const char *bracket = memchr(url.bytes + from, ']', to - from);
    size_t search = bracket == NULL ? from : (size_t)(bracket - url.bytes);
    const char *colon = memchr(url.bytes + search, ':', to - search);
    return (LogText){url.bytes + from, (colon == NULL ? to : (size_t)(colon - url.bytes)) - from};
}
