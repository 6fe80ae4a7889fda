#include "parse/sitemap/sitemap_entry.h"

#include <math.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "parse/http/http_header.h"
#include "parse/sitemap/sitemap_types.h"

/* Dates in sitemaps and feeds: parse/sitemap/sitemap.h. */

typedef struct Scan {
    const char *p;
    const char *end;
} Scan;

/* Exactly n digits; -1 otherwise. */
static int read_digits(Scan *scan, int n)
{
    int value = 0;
    for (int i = 0; i < n; i++) {
        if (scan->p >= scan->end || *scan->p < '0' || *scan->p > '9') {
            return -1;
        }
        value = value * 10 + (*scan->p++ - '0');
    }
    return value;
}

static bool sitemap_date_take(Scan *scan, const char *any_of)
{
    for (; scan->p < scan->end && *any_of != '\0'; any_of++) {
        if (*scan->p == *any_of) {
            scan->p++;
            return true;
        }
    }
    return false;
}

/* "10:00", "10:00:00", "10:00:00.5" and a zone; seconds since midnight UTC. */
static bool read_time(Scan *scan, int64_t *seconds)
{
    int hour = read_digits(scan, 2);
    int minute = sitemap_date_take(scan, ":") ? read_digits(scan, 2) : -1;
    int second = 0;
    if (sitemap_date_take(scan, ":")) {
        second = read_digits(scan, 2);
        if (sitemap_date_take(scan, ".,")) {
            while (sitemap_date_take(scan, "0123456789")) {
            }
        }
    }
    if (hour < 0 || hour > 24 || minute < 0 || minute > 59 || second < 0 || second > 60) {
        return false;
    }
    *seconds = (int64_t)hour * 3600 + minute * 60 + second;
    (void)sitemap_date_take(scan, " ");
    bool is_west = scan->p < scan->end && *scan->p == '-';
    if (sitemap_date_take(scan, "+-")) {
        int zone_hour = read_digits(scan, 2);
        (void)sitemap_date_take(scan, ":");
        int zone_minute = scan->p < scan->end ? read_digits(scan, 2) : 0;
        if (zone_hour < 0 || zone_hour > 23 || zone_minute < 0 || zone_minute > 59) {
            return false;
        }
        int64_t zone = (int64_t)zone_hour * 3600 + zone_minute * 60;
        *seconds += is_west ? zone : -zone;
    }
    return true;
}

static bool read_w3c(Scan scan, int64_t *unix_s)
{
    struct tm parts = {.tm_mday = 1};
    int year = read_digits(&scan, 4);
    int month = 1;
    int day = 1;
    int64_t seconds = 0;
    if (year < 1000) {
        return false;
    }
    if (sitemap_date_take(&scan, "-")) {
        month = read_digits(&scan, 2);
        if (sitemap_date_take(&scan, "-")) {
            day = read_digits(&scan, 2);
            if (sitemap_date_take(&scan, "Tt ") && !read_time(&scan, &seconds)) {
                return false;
            }
        }
    } else if (scan.p < scan.end) {
        return false;
    }
    if (month < 1 || month > 12 || day < 1 || day > 31) {
        return false;
    }
    parts.tm_year = year - 1900;
    parts.tm_mon = month - 1;
    parts.tm_mday = day;
    *unix_s = (int64_t)timegm(&parts) + seconds;
    return true;
}

bool sitemap_date(const char *text, size_t length, int64_t *unix_s)
{
    if (length == 0) {
        return false;
    }
    return read_w3c((Scan){text, text + length}, unix_s) || http_header_date(text, length, unix_s);
}

/* ---- One entry of a sitemap or feed while its fields are collected, and what becomes of it */

#define DAY_S INT64_C(86400)

static const char *const frequency_names[] = {"",       "always",  "hourly", "daily",
                                              "weekly", "monthly", "yearly", "never"};

const char *sitemap_frequency_name(SitemapFrequency frequency)
{
    return frequency_names[frequency];
}

void sitemap_entry_reset(SitemapParser *parser)
{
    for (size_t i = 0; i < sizeof parser->fields / sizeof *parser->fields; i++) {
        buffer_reset(&parser->fields[i]);
        parser->is_overlong[i] = false;
    }
    parser->is_refused = false;
}

void sitemap_field_append(SitemapParser *parser, SitemapField field, const char *bytes,
                          size_t length)
{
    Buffer *buffer = &parser->fields[field];
    if (buffer->length == 0) {
        while (length > 0 && sitemap_is_blank(*bytes)) {
            bytes++;
            length--;
        }
    }
    Result rc = buffer_append(buffer, bytes, length);
    parser->is_overlong[field] |= rc == RESULT_LIMIT;
    parser->result = rc == RESULT_MEMORY ? RESULT_MEMORY : parser->result;
}

/* White space of Unicode in UTF-8, with the byte order mark that once was some. */
static const char white_space[][4] = {
    "\t",           "\n",           "\v",           "\f",           "\r",           " ",
    "\x1C",         "\x1D",         "\x1E",         "\x1F",         "\xC2\x85",     "\xC2\xA0",
    "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84",
    "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A",
    "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80", "\xEF\xBB\xBF",
};

/* Bytes of the white space at the end (or the start) of text; 0 when there is none. */
static size_t white_space_of(const char *text, size_t length, bool at_end)
{
    for (size_t i = 0; i < sizeof white_space / sizeof *white_space; i++) {
        size_t n = strlen(white_space[i]);
        if (n <= length && memcmp(at_end ? text + length - n : text, white_space[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

/* What readers in Java and Python strip, too. */
static void sitemap_entry_trim(Buffer *buffer)
{
    if (buffer->length == 0) {
        return; /* it may have no memory yet */
    }
    size_t n = 0;
    while ((n = white_space_of(buffer->data, buffer->length, true)) > 0) {
        buffer->length -= n;
        buffer->data[buffer->length] = '\0';
    }
    size_t start = 0;
    while ((n = white_space_of(buffer->data + start, buffer->length - start, false)) > 0) {
        start += n;
    }
    if (start > 0) {
        buffer->length -= start;
        memmove(buffer->data, buffer->data + start, buffer->length + 1);
    }
}

static bool is_absolute(const char *loc, size_t length)
{
    return (length > 7 && strncasecmp(loc, "http://", 7) == 0) ||
           (length > 8 && strncasecmp(loc, "https://", 8) == 0);
}

static bool is_in_location(const SitemapParser *parser)
{
    const Url *base = &parser->base;
    const Url *url = &parser->url;
    if (parser->options.location == SITEMAP_ANYWHERE) {
        return true;
    }
    size_t host_length = base->host_end - base->host_start;
    bool is_same =
        base->https == url->https && base->port == url->port &&
        host_length == url->host_end - url->host_start &&
        memcmp(base->href + base->host_start, url->href + url->host_start, host_length) == 0;
    if (!is_same || parser->options.location == SITEMAP_SAME_HOST) {
        return is_same;
    }
    const char *path = base->href + base->path_start;
    const char *slash = memrchr(path, '/', base->query_start - base->path_start);
    size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    return url->length - url->path_start >= folder &&
           memcmp(url->href + url->path_start, path, folder) == 0;
}

static SitemapFrequency frequency_of(const Buffer *field)
{
    for (size_t i = 1; i < sizeof frequency_names / sizeof *frequency_names; i++) {
        if (strcasecmp(buffer_string(field), frequency_names[i]) == 0) {
            return (SitemapFrequency)i;
        }
    }
    return SITEMAP_FREQUENCY_NONE;
}

static double priority_of(const Buffer *field)
{
    const char *p = buffer_string(field);
    double value = 0.0;
    double unit = 1.0;
    bool any = false;
    for (; *p >= '0' && *p <= '9'; p++) {
        value = value * 10.0 + (*p - '0');
        any = true;
    }
    if (*p == '.' || *p == ',') {
        for (p++; *p >= '0' && *p <= '9'; p++) {
            unit /= 10.0;
            value += unit * (*p - '0');
            any = true;
        }
    }
    if (!any || *p != '\0') {
        return -1.0;
    }
    return value > 1.0 ? 1.0 : value;
}

double sitemap_hint_factor(const SitemapEntry *entry, int64_t now_s)
{
    static const double of_frequency[] = {[SITEMAP_ALWAYS] = 0.25,
                                          [SITEMAP_HOURLY] = 0.25,
                                          [SITEMAP_DAILY] = 0.125,
                                          [SITEMAP_YEARLY] = -0.125,
                                          [SITEMAP_NEVER] = -0.25};
    double shift = of_frequency[entry->changefreq];
    if (entry->priority >= 0.0) {
        shift += 2.0 * (entry->priority - 0.5);
    }
    if (entry->lastmod_s != SITEMAP_NO_DATE && entry->lastmod_s <= now_s + DAY_S) {
        bool is_recent = entry->lastmod_s >= now_s - 7 * DAY_S;
        bool is_old = entry->lastmod_s < now_s - 365 * DAY_S;
        shift += is_recent ? 0.25 : is_old ? -0.25 : 0.0;
    }
    return exp2(shift < -1.0 ? -1.0 : shift > 1.0 ? 1.0 : shift);
}

static void sitemap_entry_give(SitemapParser *parser, const Buffer *loc)
{
    SitemapReport *report = parser->report;
    const Buffer *lastmod = &parser->fields[FIELD_LASTMOD];
    SitemapEntry entry = {
        .url = &parser->url,
        .loc = buffer_string(loc),
        .loc_length = loc->length,
        .is_sitemap = report->kind == SITEMAP_INDEX,
        .lastmod_s = SITEMAP_NO_DATE,
        .lastmod = parser->is_overlong[FIELD_LASTMOD] ? "" : buffer_string(lastmod),
        .changefreq = frequency_of(&parser->fields[FIELD_FREQUENCY]),
        .priority = priority_of(&parser->fields[FIELD_PRIORITY]),
    };
    if (!sitemap_date(entry.lastmod, strlen(entry.lastmod), &entry.lastmod_s)) {
        entry.lastmod_s = SITEMAP_NO_DATE;
    }
    report->n_entries++;
    if (!parser->sink(parser->context, &entry)) {
        parser->is_stopped = true;
    }
}

void sitemap_entry_emit(SitemapParser *parser)
{
    SitemapReport *report = parser->report;
    bool is_feed = report->kind == SITEMAP_RSS || report->kind == SITEMAP_ATOM;
    for (size_t i = 0; i < sizeof parser->fields / sizeof *parser->fields; i++) {
        sitemap_entry_trim(&parser->fields[i]);
    }
    SitemapField field = FIELD_LOC;
    if (parser->fields[FIELD_LOC].length == 0 && !parser->is_overlong[FIELD_LOC]) {
        field = FIELD_GUID;
    }
    const Buffer *loc = &parser->fields[field];
    bool is_empty = loc->length == 0;
    if (!parser->is_stopped && (!is_empty || parser->is_refused || parser->is_overlong[field])) {
        bool is_valid = !is_empty && !parser->is_refused && !parser->is_overlong[field] &&
                        loc->length <= parser->options.max_url_bytes &&
                        ((is_feed && field == FIELD_LOC) || is_absolute(loc->data, loc->length));
        Result rc = RESULT_INVALID;
        if (is_valid) {
            rc = url_parse(&parser->url, is_feed ? parser->based[SITEMAP_BASE_LINK] : NULL,
                           loc->data, loc->length);
            parser->result = rc == RESULT_MEMORY ? RESULT_MEMORY : parser->result;
        }
        if (rc != RESULT_OK || !is_in_location(parser)) {
            report->n_rejected++;
        } else if (report->n_entries >= parser->options.max_entries) {
            parser->result = RESULT_LIMIT;
            parser->is_stopped = true;
        } else {
            sitemap_entry_give(parser, loc);
        }
    }
    sitemap_entry_reset(parser);
}

void sitemap_entry_end_line(SitemapParser *parser)
{
    Buffer *line = &parser->fields[FIELD_LOC];
    sitemap_entry_trim(line);
    if (parser->is_overlong[FIELD_LOC] || is_absolute(buffer_string(line), line->length)) {
        parser->report->kind = SITEMAP_TEXT;
        sitemap_entry_emit(parser);
    } else {
        parser->report->n_rejected += line->length > 0 ? 1 : 0;
    }
    sitemap_entry_reset(parser);
}
