#include "parse/http/http_freshness.h"

#define DAY_S          INT64_C(86400)
#define HEURISTIC_MOST (30 * DAY_S) /* a guess is no promise */

/* False when the field is missing; *unix_s is 0 when it is no date ("Expires: 0"). */
static bool http_freshness_date(const HttpHeader *header, const char *name, int64_t *unix_s)
{
    HttpField field;
    *unix_s = 0;
    if (!http_header_find(header, name, &field)) {
        return false;
    }
    if (!http_header_date(field.value, field.value_length, unix_s) || *unix_s < 0) {
        *unix_s = 0;
    }
    return true;
}

static int64_t http_freshness_within(int64_t seconds)
{
    int64_t least = seconds > 0 ? seconds : 0;
    return least < HTTP_MAX_SECONDS ? least : HTTP_MAX_SECONDS;
}

/* Statuses that RFC 9110 15.1 lets a cache guess for. */
static bool http_freshness_may_guess(unsigned status)
{
    return status == 200 || status == 203 || status == 300 || status == 301 || status == 304 ||
           status == 308 || status == 404 || status == 410;
}

static int64_t http_freshness_lifetime(const HttpHeader *header, const HttpCacheControl *control,
                                       int64_t date_s, double heuristic)
{
    int64_t expires_s = 0;
    int64_t modified_s = 0;
    if (control->max_age_s >= 0) {
        return control->max_age_s;
    }
    if (http_freshness_date(header, "Expires", &expires_s)) {
        return expires_s == 0 ? 0 : http_freshness_within(expires_s - date_s);
    }
    if (heuristic > 0 && http_freshness_may_guess(header->status) &&
        http_freshness_date(header, "Last-Modified", &modified_s) && modified_s > 0 &&
        modified_s < date_s) {
        int64_t guess_s = (int64_t)(heuristic * (double)(date_s - modified_s));
        return guess_s < HEURISTIC_MOST ? guess_s : HEURISTIC_MOST;
    }
    return 0;
}

static int64_t http_freshness_age(const HttpHeader *header, int64_t date_s, int64_t now_s)
{
    HttpField field;
    int64_t apparent_s = now_s > date_s ? now_s - date_s : 0;
    if (!http_header_find(header, "Age", &field)) {
        return apparent_s;
    }
    int64_t age_s = 0;
    for (size_t i = 0; i < field.value_length; i++) {
        if (field.value[i] < '0' || field.value[i] > '9') {
            return HTTP_MAX_SECONDS;
        }
        age_s = http_freshness_within(age_s * 10 + (field.value[i] - '0'));
    }
    return age_s > apparent_s ? age_s : apparent_s;
}

HttpFreshness http_freshness_of(const HttpHeader *header, int64_t now_s, double heuristic)
{
    HttpFreshness freshness = {.fresh_s = 0};
    HttpCacheControl control = HTTP_CACHE_CONTROL_NONE;
    HttpField field;
    size_t position = 0;
    int64_t date_s = 0;
    while (http_header_next_named(header, "Cache-Control", &position, &field)) {
        http_header_cache_control(field.value, field.value_length, &control);
    }
    if (!http_freshness_date(header, "Date", &date_s) || date_s == 0) {
        date_s = now_s;
    }
    if (!control.no_cache && header->status < 500) {
        int64_t lifetime_s = http_freshness_lifetime(header, &control, date_s, heuristic);
        freshness.fresh_s =
            http_freshness_within(lifetime_s - http_freshness_age(header, date_s, now_s));
    }
    if (header->status >= 300 && header->status < 400 &&
        http_header_find(header, "Retry-After", &field)) {
        int64_t wait_s = http_header_retry_after(field.value, field.value_length, now_s);
        freshness.fresh_s = wait_s > freshness.fresh_s ? wait_s : freshness.fresh_s;
    }
    (void)http_freshness_date(header, "Sunset", &freshness.ends_s);
    return freshness;
}
