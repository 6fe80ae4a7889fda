#include "base/core/clock.h"

#include <stdio.h>
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

static struct tm utc(WallTime t, int *ms)
{
    time_t seconds = (time_t)(t.us / 1000000);
    struct tm tm = {0};
    (void)gmtime_r(&seconds, &tm);
    *ms = (int)(t.us % 1000000 / 1000);
    return tm;
}

char *wall_format_iso(WallTime t, char text[CLOCK_TEXT_BYTES])
{
    int ms = 0;
    struct tm tm = utc(t, &ms);
    size_t n = strftime(text, CLOCK_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(text + n, CLOCK_TEXT_BYTES - n, ".%03dZ", ms);
    return text;
}

char *wall_format_compact(WallTime t, char text[CLOCK_TEXT_BYTES])
{
    int ms = 0;
    struct tm tm = utc(t, &ms);
    size_t n = strftime(text, CLOCK_TEXT_BYTES, "%Y%m%d%H%M%S", &tm);
    (void)snprintf(text + n, CLOCK_TEXT_BYTES - n, "%03d", ms);
    return text;
}
