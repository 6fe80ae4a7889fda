#include "crawl/when.h"

#include <string.h>
#include <time.h>

#include "base/option/option.h"

#define DAY_US     INT64_C(86400000000)
#define WORD_BYTES 64u

/* Reads a number of at least least and at most most digits, and moves *text behind it. */
static bool when_number(const char **text, int least, int most, int *value)
{
    int n = 0;
    *value = 0;
    for (; n < most && **text >= '0' && **text <= '9'; n++) {
        *value = *value * 10 + (*(*text)++ - '0');
    }
    return n >= least;
}

static bool when_skip(const char **text, char c)
{
    bool is_there = **text == c;
    *text += is_there;
    return is_there;
}

/* "7:05", "07:05:30", "07:05:30Z" */
static Result clock_time(const char *text, WallTime *out)
{
    int hour = 0;
    int minute = 0;
    int second = 0;
    bool is_time = when_number(&text, 1, 2, &hour) && when_skip(&text, ':') &&
                   when_number(&text, 1, 2, &minute);
    if (is_time && when_skip(&text, ':')) {
        is_time = when_number(&text, 1, 2, &second);
    }
    (void)when_skip(&text, 'Z');
    if (!is_time || *text != '\0' || hour > 23 || minute > 59 || second > 60) {
        return RESULT_INVALID;
    }
    out->us += ((hour * 60 + minute) * INT64_C(60) + second) * 1000000;
    return RESULT_OK;
}

/* "2026-01-31"; *rest is what stands behind it. */
static Result leading_date(const char *text, WallTime *out, const char **rest)
{
    int year = 0;
    int month = 0;
    int day = 0;
    if (!when_number(&text, 4, 4, &year) || !when_skip(&text, '-') ||
        !when_number(&text, 2, 2, &month) || !when_skip(&text, '-') ||
        !when_number(&text, 2, 2, &day)) {
        return RESULT_INVALID;
    }
    *rest = text;
    /* Midnight of a date that exists. */
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    if (year < 1970 || year > 9999) {
        return RESULT_INVALID;
    }
    out->us = (int64_t)timegm(&tm) * 1000000;
    return tm.tm_mday == day && tm.tm_mon == month - 1 ? RESULT_OK : RESULT_INVALID;
}

Result when_parse(const char *text, WallTime now, WallTime *out)
{
    const char *rest = text;
    int64_t ms = 0;
    if (strcmp(text, "now") == 0) {
        *out = now;
        return RESULT_OK;
    }
    if (leading_date(text, out, &rest) == RESULT_OK) {
        if (*rest == '\0') {
            return RESULT_OK;
        }
        return *rest == 'T' || *rest == ' ' ? clock_time(rest + 1, out) : RESULT_INVALID;
    }
    if (strlen(text) >= WORD_BYTES || option_parse_time(text, &ms) != RESULT_OK || ms < 0) {
        return RESULT_INVALID;
    }
    out->us = now.us - ms * 1000;
    return RESULT_OK;
}

Result when_parse_day(const char *text, WallTime now, WallTime *from, WallTime *until)
{
    const char *rest = text;
    Result rc = RESULT_OK;
    if (strcmp(text, "today") == 0 || strcmp(text, "yesterday") == 0) {
        from->us = now.us - now.us % DAY_US - (text[0] == 'y' ? DAY_US : 0);
    } else {
        rc = leading_date(text, from, &rest);
        if (rc == RESULT_OK && *rest != '\0') {
            rc = RESULT_INVALID;
        }
    }
    until->us = from->us + DAY_US;
    return rc;
}
