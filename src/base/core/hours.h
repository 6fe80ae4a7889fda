/* Hours: the times of a day at which a site may be visited.
 *
 * What: the minutes of a day, 0 to 1439, in universal time or by the clocks of a zone. Spans are
 * added up; one that ends before it begins passes midnight. Without any all times are allowed. On
 * a day on which clocks change, a time that they pass over does not come, and one that they show
 * twice is open twice.
 * Owns: nothing; a value that borrows its zone. A book owns what it has read, and zones.
 * Threads: pure functions; the time is a parameter. A book is one thread's while texts are added.
 * Source: Visit-time ("0600-0845", in UT) of the extended robots.txt, as robots.txt files in use
 * have it. */
#pragma once

#include "base/core/clock.h"

/* Time zone: how far the clocks of a place are ahead of universal time, and until when.
 *
 * What: read from the system's tzdata by its IANA name ("Europe/Rome"). Its changes are a list:
 * those of the file, and behind them two a year up to TIME_ZONE_LAST_YEAR, by the rule at its end,
 * since files may leave out what follows from that.
 * Owns: the list. Immutable once read.
 * Threads: any.
 * Errors: RESULT_NOT_FOUND: no zone has this name. RESULT_INVALID: the file is damaged, or counts
 * leap seconds. RESULT_MEMORY, RESULT_IO.
 * Source: RFC 9636 (TZif, versions 2 to 4); POSIX 8.3, TZ. */

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

#define HOURS_MINUTES 1440u

typedef struct Hours {
    bool is_limited;
    uint64_t open[HOURS_MINUTES / 64 + 1]; /* bits: the minutes that are allowed */
    const TimeZone *zone;                  /* NULL: universal time */
} Hours;

/* What texts such as "22:00-06:00, 12:00-13:00 Europe/Rome" say, each read once. */
typedef struct HoursBook {
    struct HoursText *list;
    size_t n;
} HoursBook;

/* Adds "0600-0845" or "06:00-08:45"; what follows is ignored. False: it cannot be read, and nothing
 * has changed. */
bool hours_add(Hours *hours, const char *text, size_t length);
/* Milliseconds until a visit is allowed; 0: it is. */
int64_t hours_wait_ms(const Hours *hours, WallTime now);
/* The part of a day that is open, above 0. */
double hours_share(const Hours *hours);
/* Milliseconds from now on until so much open time has passed. */
int64_t hours_last_ms(const Hours *hours, WallTime now, int64_t open_ms);

/* Looks a text up, and reads it when it is new. *hours: the book's; NULL for "", always open.
 * RESULT_INVALID: *why says what is wrong, a literal. RESULT_MEMORY. */
Result hours_book_get(HoursBook *book, const char *text, const Hours **hours, const char **why);
/* Only if it was read before; else NULL. */
const Hours *hours_book_find(const HoursBook *book, const char *text);
void hours_book_destroy(HoursBook *book);
