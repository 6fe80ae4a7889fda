#include "base/core/hours.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)

struct HoursText {
    char *text;
    Hours *hours; /* in a place of its own: others point to it */
    TimeZone *zone;
};

/* A time of the day at *at, "0600", "06:00", "6:00", "24:00"; *at is moved behind it. -1: none. */
static int hours_take_time(const char **at, const char *end)
{
    int digits[4] = {0};
    size_t n = 0;
    size_t colon = 0;
    const char *p = *at;
    while (p < end && n < 4 && ((*p >= '0' && *p <= '9') || (*p == ':' && n > 0 && colon == 0))) {
        if (*p == ':') {
            colon = n;
        } else {
            digits[n++] = *p - '0';
        }
        p++;
    }
    size_t n_hour = colon > 0 ? colon : 2;
    if ((colon == 0 && n != 4) || n != n_hour + 2) {
        return -1;
    }
    int hour = n_hour == 1 ? digits[0] : digits[0] * 10 + digits[1];
    int minute = digits[n_hour] * 10 + digits[n_hour + 1];
    *at = p;
    return hour > 24 || minute > 59 || (hour == 24 && minute > 0) ? -1 : hour * 60 + minute;
}

static const char *hours_skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    return p;
}

/* A span at *at, which is moved behind it. */
static bool hours_take_span(Hours *hours, const char **at, const char *end)
{
    const char *p = hours_skip_blanks(*at, end);
    int from = hours_take_time(&p, end);
    p = hours_skip_blanks(p, end);
    if (from < 0 || p == end || *p != '-') {
        return false;
    }
    p = hours_skip_blanks(p + 1, end);
    int to = hours_take_time(&p, end);
    if (to < 0) {
        return false;
    }
    unsigned minute = (unsigned)from % HOURS_MINUTES;
    unsigned last = (unsigned)to % HOURS_MINUTES;
    hours->is_limited = true;
    do { /* from 0600 to 0600 is a whole day */
        hours->open[minute / 64] |= UINT64_C(1) << (minute % 64);
        minute = (minute + 1) % HOURS_MINUTES;
    } while (minute != last);
    *at = hours_skip_blanks(p, end);
    return true;
}

bool hours_add(Hours *hours, const char *text, size_t length)
{
    return hours_take_span(hours, &text, text + length);
}

static int64_t hours_of_day_ms(int64_t ms)
{
    return (ms % DAY_MS + DAY_MS) % DAY_MS;
}

static bool hours_has_minute(const Hours *hours, unsigned minute)
{
    return (hours->open[minute / 64] & UINT64_C(1) << (minute % 64)) != 0;
}

/* From a time by its clocks on, as long as these go on as they do. */
static int64_t hours_wait_by_clocks(const Hours *hours, int64_t ms)
{
    int64_t of_day_ms = hours_of_day_ms(ms);
    unsigned minute = (unsigned)(of_day_ms / 60000);
    unsigned n = 0;
    while (!hours_has_minute(hours, minute)) {
        minute = (minute + 1) % HOURS_MINUTES;
        n++;
    }
    return n == 0 ? 0 : (int64_t)n * 60000 - of_day_ms % 60000;
}

int64_t hours_wait_ms(const Hours *hours, WallTime now)
{
    int64_t from_ms = now.us / 1000;
    int64_t at_ms = from_ms;
    int64_t until_s = INT64_MAX;
    if (!hours->is_limited) {
        return 0;
    }
    for (;;) {
        int64_t ahead_s =
            hours->zone == NULL ? 0 : time_zone_ahead_s(hours->zone, at_ms / 1000, &until_s);
        int64_t open_ms = at_ms + hours_wait_by_clocks(hours, at_ms + ahead_s * 1000);
        if (open_ms / 1000 < until_s) {
            return open_ms - from_ms;
        }
        at_ms = until_s * 1000; /* clocks change before */
    }
}

double hours_share(const Hours *hours)
{
    unsigned n = 0;
    for (unsigned i = 0; i < HOURS_MINUTES; i++) {
        n += hours_has_minute(hours, i);
    }
    return hours->is_limited ? n / (double)HOURS_MINUTES : 1;
}

int64_t hours_last_ms(const Hours *hours, WallTime now, int64_t open_ms)
{
    int64_t until_s = 0;
    int64_t ahead_s =
        hours->zone == NULL ? 0 : time_zone_ahead_s(hours->zone, wall_seconds(now), &until_s);
    int64_t begin_ms = now.us / 1000 + ahead_s * 1000;
    int64_t open_day_ms = llround(hours_share(hours) * (double)DAY_MS);
    int64_t at_ms = begin_ms + open_ms / open_day_ms * DAY_MS;
    for (int64_t left_ms = open_ms % open_day_ms; left_ms > 0;) {
        int64_t of_day_ms = hours_of_day_ms(at_ms);
        bool is_open = !hours->is_limited || hours_has_minute(hours, (unsigned)(of_day_ms / 60000));
        int64_t step_ms = 60000 - of_day_ms % 60000; /* to the end of the minute */
        step_ms = is_open && left_ms < step_ms ? left_ms : step_ms;
        left_ms -= is_open ? step_ms : 0;
        at_ms += step_ms;
    }
    return at_ms - begin_ms;
}

/* ---- the book ---- */

static Result hours_text_read(struct HoursText *to, const char **why)
{
    const char *p = to->text;
    const char *end = p + strlen(p);
    *why = "expected spans of a day and a zone, such as 22:00-06:00, 12:00-13:00 Europe/Rome";
    bool is_good = hours_take_span(to->hours, &p, end);
    while (is_good && *p == ',') {
        p++;
        is_good = hours_take_span(to->hours, &p, end);
    }
    if (!is_good || p == end) {
        return is_good ? RESULT_OK : RESULT_INVALID;
    }
    Result rc = time_zone_open(&to->zone, p);
    to->hours->zone = to->zone;
    if (rc != RESULT_NOT_FOUND && rc != RESULT_OK) {
        *why = "the file of this time zone cannot be read";
    } else if (strchr(p, '/') != NULL || strpbrk(p, ":,-0123456789") == NULL) {
        *why = "there is no such time zone (Area/City of the system's tzdata)";
    }
    return rc == RESULT_OK || rc == RESULT_MEMORY ? rc : RESULT_INVALID;
}

static void hours_text_free(struct HoursText *text)
{
    free(text->text);
    free(text->hours);
    time_zone_delete(text->zone);
}

const Hours *hours_book_find(const HoursBook *book, const char *text)
{
    for (size_t i = 0; i < book->n; i++) {
        if (strcmp(book->list[i].text, text) == 0) {
            return book->list[i].hours;
        }
    }
    return NULL;
}

Result hours_book_get(HoursBook *book, const char *text, const Hours **hours, const char **why)
{
    *hours = *text == '\0' ? NULL : hours_book_find(book, text);
    if (*hours != NULL || *text == '\0') {
        return RESULT_OK;
    }
    struct HoursText one = {.text = strdup(text), .hours = calloc(1, sizeof *one.hours)};
    struct HoursText *list = reallocarray(book->list, book->n + 1, sizeof *list);
    book->list = list == NULL ? book->list : list;
    Result rc = one.text == NULL || one.hours == NULL || list == NULL ? RESULT_MEMORY
                                                                      : hours_text_read(&one, why);
    if (rc != RESULT_OK) {
        hours_text_free(&one);
        return rc;
    }
    *hours = one.hours;
    list[book->n++] = one;
    return RESULT_OK;
}

void hours_book_destroy(HoursBook *book)
{
    for (size_t i = 0; i < book->n; i++) {
        hours_text_free(&book->list[i]);
    }
    free(book->list);
    *book = (HoursBook){.list = NULL};
}
