/* Two clocks that cannot be mixed up: monotonic time orders and delays, wall time is for people.
 *
 * What: modules that wait or measure take the time as a parameter; only thread mains and tests read
 * the clocks. This is the only file that calls clock_gettime.
 * Threads: any. */
#ifndef BASE_CORE_CLOCK_H
#define BASE_CORE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct MonoTime {
    int64_t ns; /* nanoseconds since an arbitrary start; never goes back */
} MonoTime;

typedef struct WallTime {
    int64_t us; /* microseconds since 1970-01-01 UTC; may jump */
} WallTime;

#define MONO_NEVER ((MonoTime){INT64_MAX})

MonoTime mono_now(void) RAGNO_SYMBOL(mono_now);
WallTime wall_now(void) RAGNO_SYMBOL(wall_now);

/* How long the machine has been asleep since it started, in nanoseconds: time that the monotonic
 * clock did not count. */
int64_t clock_asleep_ns(void);

/* CPU time of this process (user+system) and of this thread, in nanoseconds. */
int64_t cpu_process_ns(void);
int64_t cpu_thread_ns(void);

static inline MonoTime mono_add_ms(MonoTime t, int64_t ms)
{
    int64_t ns = ms > INT64_MAX / 1000000 ? INT64_MAX : ms * 1000000;
    return (MonoTime){t.ns > 0 && ns > INT64_MAX - t.ns ? INT64_MAX : t.ns + ns};
}

/* Milliseconds from earlier to later, rounded down; negative when later is before earlier. */
static inline int64_t mono_ms_between(MonoTime earlier, MonoTime later)
{
    int64_t ns = later.ns - earlier.ns;
    return ns >= 0 ? ns / 1000000 : -((-ns + 999999) / 1000000);
}

static inline bool mono_before(MonoTime a, MonoTime b)
{
    return a.ns < b.ns;
}

static inline MonoTime mono_later(MonoTime a, MonoTime b)
{
    return a.ns < b.ns ? b : a;
}

static inline MonoTime mono_earlier(MonoTime a, MonoTime b)
{
    return b.ns < a.ns ? b : a;
}

static inline int64_t wall_seconds(WallTime t)
{
    return t.us / 1000000;
}

#define CLOCK_TEXT_BYTES 32

/* "2026-01-31T12:00:00.123Z"; text holds CLOCK_TEXT_BYTES. Returns text. */
char *wall_format_iso(WallTime t, char text[CLOCK_TEXT_BYTES]) RAGNO_SYMBOL(wall_format_iso);
/* "2026-01-31T12:00:00.123456Z", the form of WARC. */
char *wall_format_micro(WallTime t, char text[CLOCK_TEXT_BYTES]) RAGNO_SYMBOL(wall_format_micro);
/* "20260131120000123", the form of Heritrix's logs. */
char *wall_format_compact(WallTime t, char text[CLOCK_TEXT_BYTES])
    RAGNO_SYMBOL(wall_format_compact);
/* "20260131120000", the form of CDXJ. */
char *wall_format_seconds(WallTime t, char text[CLOCK_TEXT_BYTES])
    RAGNO_SYMBOL(wall_format_seconds);

/* Days from 1970-01-01 to a date of the Gregorian calendar.
 * Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil. */
int64_t wall_days(int64_t year, int64_t month, int64_t day) RAGNO_SYMBOL(wall_days);
/* Reads "2026-01-31T12:00:00Z", with none to nine decimals of the second. */
bool wall_parse_iso(const char *text, size_t length, WallTime *out) RAGNO_SYMBOL(wall_parse_iso);
/* Reads digits alone: 14 up to the second, or 17 up to the millisecond. */
bool wall_parse_compact(const char *text, size_t length, WallTime *out)
    RAGNO_SYMBOL(wall_parse_compact);

#endif
