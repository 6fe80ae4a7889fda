/* When: points in time on a command line.
 *
 * What: dates, times, and how long ago; all in UTC.
 * Threads: any; pure. */
#pragma once

#include "base/core/clock.h"

/* Reads "2026-01-31", "2026-01-31T12:00", "2026-01-31 12:00:05" (also with "Z"), "now", or how long
 * before now: "90s", "15m", "6h", "2d". RESULT_INVALID: it is none of these. */
Result when_parse(const char *text, WallTime now, WallTime *out);
/* Reads a day, "2026-01-31", "today" or "yesterday": its first moment and that of the next day.
 * RESULT_INVALID. */
Result when_parse_day(const char *text, WallTime now, WallTime *from, WallTime *until);
