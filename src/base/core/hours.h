/* Hours: the times of a day at which a site may be visited.
 *
 * What: the minutes of a day, 0 to 1439, in universal time. Spans are added up; one that ends
 * before it begins passes midnight. Without any all times are allowed. Owns: nothing; a value.
 * Threads: pure functions; the time is a parameter.
 * Source: Visit-time ("0600-0845", in UT) of the extended robots.txt, as robots.txt files in use
 * have it. */
#ifndef BASE_CORE_HOURS_H
#define BASE_CORE_HOURS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/clock.h"

#define HOURS_MINUTES 1440u

typedef struct Hours {
    bool is_limited;
    uint64_t open[HOURS_MINUTES / 64 + 1]; /* bits: the minutes that are allowed */
} Hours;

/* Adds "0600-0845" or "06:00-08:45"; what follows is ignored. False: it cannot be read, and nothing
 * has changed. */
bool hours_add(Hours *hours, const char *text, size_t length);
/* Milliseconds until a visit is allowed; 0: it is. */
int64_t hours_wait_ms(const Hours *hours, WallTime now);

#endif
