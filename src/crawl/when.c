#include "crawl/when.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/option/option.h"

#define DAY_US     INT64_C(86400000000)
#define WORD_BYTES 64u

/* Midnight of a date that exists. */
static Result date(int year, int month, int day, WallTime *out)
{
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    if (year < 1970 || year > 9999) {
        return RESULT_INVALID;
    }
    out->us = (int64_t)timegm(&tm) * 1000000;
    return tm.tm_mday == day && tm.tm_mon == month - 1 ? RESULT_OK : RESULT_INVALID;
}

static Result clock_time(const char *text, WallTime *out)
{
    int hour = 0;
    int minute = 0;
    int second = 0;
    int n = 0;
    int fields = sscanf(text, "%2d:%2d%n:%2d%n", &hour, &minute, &n, &second, &n);
    if (fields < 2 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
        second > 60 || (text[n] != '\0' && strcmp(text + n, "Z") != 0)) {
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
    int n = 0;
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &n) != 3 || n != 10) {
        return RESULT_INVALID;
    }
    *rest = text + n;
    return date(year, month, day, out);
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
        rc = rc == RESULT_OK && *rest != '\0' ? RESULT_INVALID : rc;
    }
    until->us = from->us + DAY_US;
    return rc;
}
