#include "base/core/clock.h"

#include <time.h>

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

/* By hand: strftime costs ten times as much, and each fetch writes two. marks: what follows each
 * part, NUL = nothing. */
static char *format(WallTime t, char *text, const char marks[7])
{
    time_t seconds = (time_t)(t.us / 1000000);
    struct tm tm = {0};
    (void)gmtime_r(&seconds, &tm);
    const int values[] = {
        tm.tm_year + 1900,           tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
        (int)(t.us % 1000000 / 1000)};
    static const int digits[] = {4, 2, 2, 2, 2, 2, 3};
    char *p = text;
    for (size_t i = 0; i < sizeof digits / sizeof *digits; i++) {
        p = clock_put(p, values[i], digits[i], marks[i]);
    }
    *p = '\0';
    return text;
}

char *wall_format_iso(WallTime t, char text[CLOCK_TEXT_BYTES])
{
    return format(t, text, "--T::.Z");
}

char *wall_format_compact(WallTime t, char text[CLOCK_TEXT_BYTES])
{
    return format(t, text, "\0\0\0\0\0\0");
}
