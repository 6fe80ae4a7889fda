/* Tally: counts by name, for example of statuses, media types or classes of errors.
 *
 * What: each name has a count and a sum of bytes. Names may come from the network, so their number
 * is bounded: beyond TALLY_NAMES different names, further names count as "other".
 * Owns: its names.
 * Threads: one.
 * Errors: when memory is short, a new name counts as "other", too. */
#ifndef REPORT_COUNT_TALLY_H
#define REPORT_COUNT_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory/map.h"

#define TALLY_NAMES 2000u

typedef struct TallyRow {
    char *name;
    uint64_t count;
    uint64_t bytes;
} TallyRow;

typedef struct Tally {
    Map rows;
    TallyRow other;
    uint64_t count; /* of all */
    uint64_t bytes;
} Tally;

void tally_init(Tally *tally);
void tally_destroy(Tally *tally);
void tally_add(Tally *tally, const char *name, size_t length, uint64_t bytes);
/* The same as `count` calls of tally_add, with `bytes` in all. */
void tally_add_many(Tally *tally, const char *name, size_t length, uint64_t count, uint64_t bytes);
/* The rows, most counted first ("other" last); *n = how many. The caller frees the array, the names
 * are the tally's. NULL without memory. */
const TallyRow **tally_sorted(const Tally *tally, size_t *n);

#endif
