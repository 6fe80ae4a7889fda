/* Time zone: how far the clocks of a place are ahead of universal time, and until when.
 *
 * What: read from the system's tzdata by its IANA name ("Europe/Rome"). Its changes are a list:
 * those of the file, and behind them two a year up to TIME_ZONE_LAST_YEAR, by the rule at its end,
 * since files may leave out what follows from that. Owns: the list. Immutable once read. Threads:
 * any. Errors: RESULT_NOT_FOUND: no zone has this name. RESULT_INVALID: the file is damaged, or
 * counts leap seconds. RESULT_MEMORY, RESULT_IO. Source: RFC 9636 (TZif, versions 2 to 4);
 * POSIX 8.3, TZ. */
#ifndef BASE_CORE_TIME_ZONE_H
#define BASE_CORE_TIME_ZONE_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

#define TIME_ZONE_LAST_YEAR 2100
#define TIME_ZONE_BYTES     65536u /* of a file, at most */

typedef struct TimeZone TimeZone;

Result time_zone_open(TimeZone **zone, const char *name);
/* The same of a file's bytes. */
Result time_zone_parse(TimeZone **zone, const char *bytes, size_t length);
void time_zone_delete(TimeZone *zone); /* NULL is allowed */
/* Seconds ahead of universal time at a time (unix, seconds); they are the same until *until_s,
 * which is later. */
int32_t time_zone_ahead_s(const TimeZone *zone, int64_t unix_s, int64_t *until_s);

#endif
