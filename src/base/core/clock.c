#include "base/core/clock.h"

#include <time.h>

#include "base/core/ascii.h"

static int64_t read_clock(clockid_t id)
{
    struct timespec ts = {0};
    (void)clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

MonoTime mono_now(void)
{
    return (MonoTime){read_clock(CLOCK_MONOTONIC)};
}

WallTime wall_now(void)
{
    return (WallTime){read_clock(CLOCK_REALTIME) / 1000};
}

int64_t clock_asleep_ns(void)
{
    int64_t mono = read_clock(CLOCK_MONOTONIC);
    return read_clock(CLOCK_BOOTTIME) - mono;
}

int64_t cpu_process_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t cpu_thread_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* Digits of value (not negative), as many as wanted; then what follows them, unless NUL. Returns
 * where to go on. */
static char *clock_put(char *text, int value, int digits, char then)
{
    for (int i = digits; i-- > 0; value /= 10) {
        text[i] = (char)('0' + value % 10);
    }
    text += digits;
    if (then != '\0') {
        *text++ = then;
    }
    return text;
}

/* By hand: strftime costs ten times as much, and each fetch writes several. marks: what follows
 * each part, NUL = nothing. */
static char *clock_format(WallTime t, char *text, const char marks[7], int decimals)
{
    int64_t us = t.us % 1000000;
    time_t seconds = (time_t)(t.us / 1000000);
    if (us < 0) { /* before 1970 */
        us += 1000000;
        seconds--;
    }
    struct tm tm = {0};
    (void)gmtime_r(&seconds, &tm);
    const int values[] = {tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
                          tm.tm_hour,        tm.tm_min,     tm.tm_sec};
    char *p = text;
    for (size_t i = 0; i < 6; i++) {
        p = clock_put(p, values[i], i == 0 ? 4 : 2, marks[i]);
    }
    if (decimals > 0) {
        p = clock_put(p, (int)(decimals == 3 ? us / 1000 : us), decimals, marks[6]);
    }
    *p = '\0';
    return text;
}

char *wall_format_iso(WallTime t, char text[CLOCK_TEXT_BYTES])
{
    return clock_format(t, text, "--T::.Z", 3);
}

char *wall_format_micro(WallTime t, char text[CLOCK_TEXT_BYTES])
{
    return clock_format(t, text, "--T::.Z", 6);
}

char *wall_format_compact(WallTime t, char text[CLOCK_TEXT_BYTES])
{
    return clock_format(t, text, "\0\0\0\0\0\0", 3);
}

char *wall_format_seconds(WallTime t, char text[CLOCK_TEXT_BYTES])
{
    return clock_format(t, text, "\0\0\0\0\0\0", 0);
}

/* ---- reading ---- */

int64_t wall_days(int64_t year, int64_t month, int64_t day)
{
    int64_t y = year - (month <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* n digits; -1: they are none. */
static int64_t clock_digits(const char *text, size_t n)
{
    uint64_t value = 0;
    return ascii_number(text, n, INT64_MAX, &value) ? (int64_t)value : -1;
}

/* Decimals of a second, nine at most, in microseconds. */
static int64_t clock_fraction(const char *text, size_t n)
{
    int64_t us = clock_digits(text, n < 6 ? n : 6);
    for (size_t i = n; us >= 0 && i < 6; i++) {
        us *= 10;
    }
    return n > 6 && (n > 9 || clock_digits(text + 6, n - 6) < 0) ? -1 : us;
}

/* at: where year, month, day, hour, minute and second begin. */
static bool clock_join(const char *text, const size_t at[6], int64_t us, WallTime *out)
{
    static const int64_t least[6] = {0, 1, 1, 0, 0, 0};
    static const int64_t most[6] = {9999, 12, 31, 23, 59, 60};
    int64_t part[6];
    for (size_t i = 0; i < 6; i++) {
        part[i] = clock_digits(text + at[i], i == 0 ? 4 : 2);
        if (part[i] < least[i] || part[i] > most[i]) {
            return false;
        }
    }
    int64_t days = wall_days(part[0], part[1], part[2]);
    out->us = ((days * 24 + part[3]) * 60 + part[4]) * 60000000 + part[5] * 1000000 + us;
    return us >= 0;
}

bool wall_parse_iso(const char *text, size_t length, WallTime *out)
{
    static const char frame[] = "    -  -  T  :  :  ";
    static const size_t at[6] = {0, 5, 8, 11, 14, 17};
    size_t fixed = sizeof frame - 1;
    if (length <= fixed || text[length - 1] != 'Z') {
        return false;
    }
    for (size_t i = 0; i < fixed; i++) {
        if (frame[i] != ' ' && text[i] != frame[i]) {
            return false;
        }
    }
    size_t n = length - fixed - 1; /* the point and what follows */
    if (n > 0 && text[fixed] != '.') {
        return false;
    }
    return clock_join(text, at, n == 0 ? 0 : clock_fraction(text + fixed + 1, n - 1), out);
}

bool wall_parse_compact(const char *text, size_t length, WallTime *out)
{
    static const size_t at[6] = {0, 4, 6, 8, 10, 12};
    return (length == 14 || length == 17) &&
           clock_join(text, at, length == 14 ? 0 : clock_fraction(text + 14, 3), out);
}
