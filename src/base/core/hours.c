#include "base/core/hours.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/core/ascii.h"

/* ---- Time zone ---- */

#define FOLDER       "/usr/share/zoneinfo"
#define HEADER_BYTES 44u
#define TYPE_BYTES   6u
#define AHEAD_MOST   (26 * 3600)
#define RULE_CHANGES (2u * (TIME_ZONE_LAST_YEAR - 1970 + 1))

typedef struct ZoneChange {
    int64_t at_s;
    int32_t ahead_s; /* from then on */
} ZoneChange;

struct TimeZone {
    int32_t first_s; /* ahead, before all changes */
    size_t n;
    ZoneChange changes[]; /* by time */
};

/* A day of the year: "M3.5.0", "J60", "59", and a time of it, "/3". */
typedef struct ZoneRule {
    char kind; /* 'M', 'J' or 'N' */
    int month, week, day;
    int32_t time_s;
} ZoneRule;

typedef struct RuleReader {
    const char *at;
    bool is_bad;
} RuleReader;

static int rule_reader_number(RuleReader *reader, int most)
{
    int n = 0;
    reader->is_bad |= *reader->at < '0' || *reader->at > '9';
    while (*reader->at >= '0' && *reader->at <= '9' && n <= most) {
        n = n * 10 + *reader->at++ - '0';
    }
    reader->is_bad |= n > most;
    return n;
}

static bool rule_reader_takes(RuleReader *reader, char c)
{
    bool is_there = *reader->at == c;
    reader->at += is_there;
    return is_there;
}

/* "-3", "5:30", "+01:00:00". */
static int32_t rule_reader_time(RuleReader *reader)
{
    int sign = *reader->at == '-' ? -1 : 1;
    reader->at += *reader->at == '-' || *reader->at == '+';
    int seconds = rule_reader_number(reader, 167) * 3600;
    seconds += rule_reader_takes(reader, ':') ? rule_reader_number(reader, 59) * 60 : 0;
    seconds += rule_reader_takes(reader, ':') ? rule_reader_number(reader, 59) : 0;
    return sign * seconds;
}

/* "CEST", "<+0330>". */
static void rule_reader_skip_name(RuleReader *reader)
{
    bool is_quoted = *reader->at == '<';
    const char *begin = reader->at;
    while (*reader->at != '\0' &&
           (is_quoted ? *reader->at != '>' : strchr("+-,:0123456789", *reader->at) == NULL)) {
        reader->at++;
    }
    reader->is_bad |= reader->at == begin || (is_quoted && !rule_reader_takes(reader, '>'));
}

static ZoneRule rule_reader_day(RuleReader *reader)
{
    ZoneRule rule = {.kind = *reader->at, .time_s = 2 * 3600};
    reader->is_bad |= !rule_reader_takes(reader, ',');
    rule.kind = *reader->at == 'M' || *reader->at == 'J' ? *reader->at++ : 'N';
    if (rule.kind == 'M') {
        rule.month = rule_reader_number(reader, 12);
        reader->is_bad |= !rule_reader_takes(reader, '.');
        rule.week = rule_reader_number(reader, 5);
        reader->is_bad |= !rule_reader_takes(reader, '.') || rule.month == 0 || rule.week == 0;
    }
    rule.day = rule_reader_number(reader, rule.kind == 'M' ? 6 : 365);
    if (rule_reader_takes(reader, '/')) {
        rule.time_s = rule_reader_time(reader);
    }
    return rule;
}

/* Days since 1970 of a day of a month, 1 being January; days of another month count on. */
static int64_t days_of(int year, int month, int day)
{
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    return timegm(&tm) / 86400;
}

/* When the clocks change, by the clocks of the place. */
static int64_t zone_rule_s(const ZoneRule *rule, int year)
{
    int64_t day = days_of(year, 1, 1) + rule->day;
    if (rule->kind == 'J') { /* 29 February is not counted */
        bool is_leap = days_of(year + 1, 1, 1) - days_of(year, 1, 1) == 366;
        day += is_leap && rule->day >= 60 ? 0 : -1;
    } else if (rule->kind == 'M') {
        int64_t first = days_of(year, rule->month, 1);
        int64_t weekday = ((first + 4) % 7 + 7) % 7; /* 1970 began on a Thursday */
        day = first + (rule->day - weekday + 7) % 7 + 7 * (rule->week - 1);
        day -= day >= days_of(year, rule->month + 1, 1) ? 7 : 0;
    }
    return day * 86400 + rule->time_s;
}

static int zone_change_compare(const void *a, const void *b)
{
    const ZoneChange *x = a;
    const ZoneChange *y = b;
    return (x->at_s > y->at_s) - (x->at_s < y->at_s);
}

/* "CET-1CEST,M3.5.0,M10.5.0/3": adds the changes behind the last one. */
static Result time_zone_go_on(TimeZone *zone, const char *text)
{
    RuleReader reader = {.at = text};
    if (*text == '\0') {
        return RESULT_OK;
    }
    rule_reader_skip_name(&reader);
    int32_t winter_s = -rule_reader_time(&reader);
    if (*reader.at == '\0' || reader.is_bad) { /* clocks do not change */
        zone->first_s = zone->n == 0 ? winter_s : zone->first_s;
        return reader.is_bad ? RESULT_INVALID : RESULT_OK;
    }
    rule_reader_skip_name(&reader);
    int32_t summer_s = *reader.at == ',' ? winter_s + 3600 : -rule_reader_time(&reader);
    ZoneRule begin = rule_reader_day(&reader);
    ZoneRule end = rule_reader_day(&reader);
    if (reader.is_bad || *reader.at != '\0') {
        return RESULT_INVALID;
    }
    int64_t last_s = zone->n == 0 ? INT64_MIN : zone->changes[zone->n - 1].at_s;
    for (int year = 1970; year <= TIME_ZONE_LAST_YEAR; year++) {
        ZoneChange both[] = {{zone_rule_s(&begin, year) - winter_s, summer_s},
                             {zone_rule_s(&end, year) - summer_s, winter_s}};
        for (size_t i = 0; i < 2; i++) {
            if (both[i].at_s > last_s) {
                zone->changes[zone->n++] = both[i];
            }
        }
    }
    qsort(zone->changes, zone->n, sizeof *zone->changes, zone_change_compare);
    return RESULT_OK;
}

static int64_t time_zone_big_endian(const char *bytes, size_t n)
{
    uint64_t value = (*bytes & 0x80) != 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < n; i++) {
        value = value << 8 | (unsigned char)bytes[i];
    }
    return (int64_t)value;
}

/* Counts of a header, in its order. */
typedef struct ZoneCounts {
    size_t ut, standard, leaps, times, types, letters;
} ZoneCounts;

/* The bytes behind a header whose times have time_bytes bytes; false: it is none. */
static bool zone_counts_read(const char *bytes, size_t length, size_t time_bytes,
                             ZoneCounts *counts, size_t *size)
{
    size_t n[6];
    if (length < HEADER_BYTES || memcmp(bytes, "TZif", 4) != 0 || bytes[4] < '2') {
        return false;
    }
    for (size_t i = 0; i < 6; i++) {
        int64_t count = time_zone_big_endian(bytes + 20 + 4 * i, 4);
        if (count < 0 || count > TIME_ZONE_BYTES) {
            return false;
        }
        n[i] = (size_t)count;
    }
    *counts = (ZoneCounts){n[0], n[1], n[2], n[3], n[4], n[5]};
    *size =
        n[3] * (time_bytes + 1) + n[4] * TYPE_BYTES + n[5] + n[2] * (time_bytes + 4) + n[1] + n[0];
    return *size <= length - HEADER_BYTES;
}

/* The times, and from when on which type of offset holds. */
static bool time_zone_take(TimeZone *zone, const char *bytes, const ZoneCounts *counts)
{
    const char *kinds = bytes + counts->times * 8;
    const char *types = kinds + counts->times;
    bool is_good = counts->types > 0 && counts->leaps == 0;
    zone->first_s = is_good ? (int32_t)time_zone_big_endian(types, 4) : 0;
    for (size_t i = 0; i < counts->times && is_good; i++) {
        size_t kind = (unsigned char)kinds[i];
        ZoneChange change = {.at_s = time_zone_big_endian(bytes + 8 * i, 8)};
        is_good = kind < counts->types && (i == 0 || change.at_s > zone->changes[i - 1].at_s);
        change.ahead_s = is_good ? (int32_t)time_zone_big_endian(types + kind * TYPE_BYTES, 4) : 0;
        zone->changes[zone->n++] = change;
    }
    return is_good;
}

static bool time_zone_is_ahead(int32_t ahead_s)
{
    return ahead_s >= -AHEAD_MOST && ahead_s <= AHEAD_MOST;
}

static bool time_zone_is_possible(const TimeZone *zone)
{
    bool is_good = time_zone_is_ahead(zone->first_s);
    for (size_t i = 0; i < zone->n; i++) {
        is_good &= time_zone_is_ahead(zone->changes[i].ahead_s);
    }
    return is_good;
}

Result time_zone_parse(TimeZone **out, const char *bytes, size_t length)
{
    ZoneCounts counts;
    char rule[128] = "";
    size_t old = 0;
    size_t size = 0;
    /* What stands first is for readers of times in 32 bits. */
    if (!zone_counts_read(bytes, length, 4, &counts, &old)) {
        return RESULT_INVALID;
    }
    bytes += HEADER_BYTES + old;
    length -= HEADER_BYTES + old;
    if (!zone_counts_read(bytes, length, 8, &counts, &size)) {
        return RESULT_INVALID;
    }
    const char *end = bytes + length;
    const char *footer = bytes + HEADER_BYTES + size;
    const char *stop = footer < end && *footer == '\n'
                           ? memchr(footer + 1, '\n', (size_t)(end - footer - 1))
                           : NULL;
    if (stop == NULL || (size_t)(stop - footer) > sizeof rule) {
        return RESULT_INVALID;
    }
    memcpy(rule, footer + 1, (size_t)(stop - footer - 1));
    TimeZone *zone =
        calloc(1, sizeof *zone + (counts.times + RULE_CHANGES) * sizeof *zone->changes);
    if (zone == NULL) {
        return RESULT_MEMORY;
    }
    if (!time_zone_take(zone, bytes + HEADER_BYTES, &counts) ||
        time_zone_go_on(zone, rule) != RESULT_OK || !time_zone_is_possible(zone)) {
        time_zone_delete(zone);
        return RESULT_INVALID;
    }
    *out = zone;
    return RESULT_OK;
}

Result time_zone_open(TimeZone **zone, const char *name)
{
    char path[256];
    int n = snprintf(path, sizeof path, FOLDER "/%s", name);
    if (*name == '\0' || *name == '/' || strstr(name, "..") != NULL || n >= (int)sizeof path) {
        return RESULT_NOT_FOUND;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC);
    char *bytes = file < 0 ? NULL : malloc(TIME_ZONE_BYTES);
    ssize_t length = bytes == NULL ? -1 : read(file, bytes, TIME_ZONE_BYTES);
    Result rc = length < 0 ? RESULT_NOT_FOUND : time_zone_parse(zone, bytes, (size_t)length);
    free(bytes);
    if (file >= 0) {
        (void)close(file);
    }
    return rc;
}

void time_zone_delete(TimeZone *zone)
{
    free(zone);
}

int32_t time_zone_ahead_s(const TimeZone *zone, int64_t unix_s, int64_t *until_s)
{
    size_t low = 0;
    size_t high = zone->n; /* the first change that is later than the time */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->changes[middle].at_s <= unix_s) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *until_s = low == zone->n ? INT64_MAX : zone->changes[low].at_s;
    return low == 0 ? zone->first_s : zone->changes[low - 1].ahead_s;
}

/* ---- Hours ---- */

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

/* A span at *at, which is moved behind it. */
static bool hours_take_span(Hours *hours, const char **at, const char *end)
{
    const char *p = ascii_skip_blanks(*at, end);
    int from = hours_take_time(&p, end);
    p = ascii_skip_blanks(p, end);
    if (from < 0 || p == end || *p != '-') {
        return false;
    }
    p = ascii_skip_blanks(p + 1, end);
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
    *at = ascii_skip_blanks(p, end);
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
    struct HoursText *list = reallocarray(book->list, book->n + 1, sizeof *list);
    if (list == NULL) {
        return RESULT_MEMORY;
    }
    book->list = list;
    struct HoursText one = {.text = strdup(text), .hours = calloc(1, sizeof *one.hours)};
    Result rc = one.text == NULL || one.hours == NULL ? RESULT_MEMORY : hours_text_read(&one, why);
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
