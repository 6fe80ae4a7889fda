/* Dates in sitemaps and feeds: parse/sitemap/sitemap.h. */
#include <time.h>

#include "parse/http/http_header.h"
#include "parse/sitemap/sitemap.h"

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
