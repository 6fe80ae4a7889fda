#include "base/core/hours.h"

#include <string.h>

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

bool hours_add(Hours *hours, const char *text, size_t length)
{
    const char *end = text + length;
    const char *p = hours_skip_blanks(text, end);
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
    return true;
}

int64_t hours_wait_ms(const Hours *hours, WallTime now)
{
    const int64_t day_ms = INT64_C(86400000);
    int64_t of_day_ms = (now.us / 1000 % day_ms + day_ms) % day_ms;
    unsigned minute = (unsigned)(of_day_ms / 60000);
    unsigned n = 0;
    if (!hours->is_limited) {
        return 0;
    }
    while ((hours->open[minute / 64] & UINT64_C(1) << (minute % 64)) == 0) {
        minute = (minute + 1) % HOURS_MINUTES;
        n++;
    }
    return n == 0 ? 0 : (int64_t)n * 60000 - of_day_ms % 60000;
}
