/* Due entries: the workbench's entries that may be fetched from now, in the order of their turns.
 *
 * What: an entry offers the best visit state of each standing that it has (standing.h), so it has
 * up to one place for each standing. Of the standings that are open the best level goes first, or
 * the one whose turn it is (LevelBias); within it the entry that has been due longest, whatever its
 * standing.
 *
 * Owns: its heaps; entries are the workbench's.
 * Threads: todo. */
#ifndef FRONTIER_VISIT_DUE_ENTRIES_H
#define FRONTIER_VISIT_DUE_ENTRIES_H

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/memory/heap.h"
#include "frontier/visit/standing.h"
#include "store/schedule/level_bias.h"
#include "store/schedule/schedule.h"

/* A member of the entry. */
typedef struct DuePlace {
    HeapNode node;
    uint8_t level; /* in which heap */
} DuePlace;

typedef struct DueEntries {
    Heap at[STANDINGS][SCHEDULE_MAX_LEVELS]; /* by time */
    uint64_t levels[STANDINGS];              /* bit l: at[.][l] is not empty */
    size_t count[STANDINGS];
    LevelBias bias;
    uint64_t ticket; /* turns so far, for the bias */
} DueEntries;

/* The bias is strict. */
void due_entries_init(DueEntries *due);
void due_entries_destroy(DueEntries *due);
/* level: the best of what it offers. RESULT_MEMORY: it is not in. */
Result due_entries_add(DueEntries *due, Standing standing, DuePlace *place, unsigned level,
                       MonoTime time);
void due_entries_remove(DueEntries *due, Standing standing, DuePlace *place);
/* The place whose turn it is, among the standings that are open; NULL. It stays in. */
DuePlace *due_entries_next(const DueEntries *due, const bool open[STANDINGS], Standing *standing);
/* Any place, NULL when there is none. */
DuePlace *due_entries_any(const DueEntries *due, Standing *standing);

#endif
