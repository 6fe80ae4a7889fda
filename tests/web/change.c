#include "change.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "request_log.h"

#define PERIODS    6u
#define DATE_BYTES 32

static bool has_etag(uint32_t i)
{
    return i % 4 != 3;
}

static bool has_date(uint32_t i)
{
    return i % 2 == 1;
}

static uint64_t period_ms(const WebOptions *o, uint32_t i)
{
    uint64_t ms = (uint64_t)o->change_ms << (i % PERIODS);
    if (has_etag(i)) {
        return ms;
    }
    return ms < 2000 ? 2000 : (ms + 999) / 1000 * 1000;
}

/* Pages do not change all at once. */
static uint64_t phase_ms(const WebOptions *o, uint32_t i)
{
    uint64_t phase = hash_mix(o->seed + i) % period_ms(o, i);
    return has_etag(i) ? phase : phase / 1000 * 1000;
}

static void format_date(uint64_t ms, char text[DATE_BYTES])
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm t;
    time_t seconds = (time_t)(ms / 1000);
    (void)gmtime_r(&seconds, &t);
    (void)snprintf(text, DATE_BYTES, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[t.tm_wday],
                   t.tm_mday, months[t.tm_mon], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

static bool is_text(const char *value, size_t length, const char *text)
{
    return length == strlen(text) && memcmp(value, text, length) == 0;
}

void change_look(const Site *site, uint32_t i, const Request *request, Change *change)
{
    const WebOptions *o = site->options;
    uint64_t period = period_ms(o, i);
    uint64_t since = (uint64_t)(wall_now().us / 1000) + phase_ms(o, i);
    char etag[64];
    char date[DATE_BYTES];
    char last_etag[64];
    char last_date[DATE_BYTES];
    *change = (Change){.version = since / period};
    uint64_t last = atomic_exchange(&site->served[i], change->version);
    (void)snprintf(etag, sizeof etag, "\"p%u-v%llu\"", i, (unsigned long long)change->version);
    (void)snprintf(last_etag, sizeof last_etag, "\"p%u-v%llu\"", i, (unsigned long long)last);
    format_date(change->version * period - phase_ms(o, i), date);
    format_date(last == 0 ? 0 : last * period - phase_ms(o, i), last_date);
    (void)snprintf(change->header, sizeof change->header, "%s%s%s%s%s%s",
                   has_etag(i) ? "ETag: " : "", has_etag(i) ? etag : "", has_etag(i) ? "\r\n" : "",
                   has_date(i) ? "Last-Modified: " : "", has_date(i) ? date : "",
                   has_date(i) ? "\r\n" : "");
    const char *match = request->if_none_match;
    const char *modified = request->if_modified_since;
    if (match != NULL) {
        change->not_modified = is_text(match, request->if_none_match_length, etag);
    } else if (modified != NULL) {
        change->not_modified = is_text(modified, request->if_modified_since_length, date);
    }
    /* The client knows all that was given out last, and nothing else. */
    bool is_right =
        (match != NULL) == has_etag(i) && (modified != NULL) == has_date(i) &&
        (match == NULL || is_text(match, request->if_none_match_length, last_etag)) &&
        (modified == NULL || is_text(modified, request->if_modified_since_length, last_date));
    if (match != NULL || modified != NULL) {
        change->flags = REQUEST_CONDITIONAL | (is_right ? 0U : REQUEST_STALE);
    }
}
