#include "crawl/when.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/option/option.h"

#define DAY_US     INT64_C(86400000000)
#define WORD_BYTES 64u

/* "7:05", "07:05:30", "07:05:30Z" */
static Result clock_time(const char *text, WallTime *out)
{
    struct tm tm = {.tm_sec = 0};
    const char *end = strpbrk(text, " \t") == NULL ? strptime(text, "%H:%M", &tm) : NULL;
    if (end != NULL && *end == ':') {
        end = strptime(end + 1, "%S", &tm);
    }
    if (end == NULL || tm.tm_sec > 60 || (strcmp(end, "Z") != 0 && *end != '\0')) {
        return RESULT_INVALID;
    }
    out->us += ((tm.tm_hour * 60 + tm.tm_min) * INT64_C(60) + tm.tm_sec) * 1000000;
    return RESULT_OK;
}

/* "2026-01-31", midnight of a date that exists; *rest is what stands behind it. */
static Result leading_date(const char *text, WallTime *out, const char **rest)
{
    char iso[CLOCK_TEXT_BYTES];
    char is[CLOCK_TEXT_BYTES];
    (void)snprintf(iso, sizeof iso, "%.10sT00:00:00Z", text);
    if (!wall_parse_iso(iso, strlen(iso), out) || out->us < 0 ||
        strncmp(wall_format_iso(*out, is), text, 10) != 0) {
        return RESULT_INVALID;
    }
    *rest = text + 10;
    return RESULT_OK;
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
