/* The table hash2idx read in order: many keys, each page of the table read once.
 *
 * What: keys are looked up in ascending order. A run of entries is searched in memory as long as
 * keys fall into it; only then is the tree asked again.
 * Owns: nothing; the cursor is the caller's.
 * Threads: the one whose transaction the cursor belongs to.
 * Invariants: writing to hash2idx may move entries and so ends a run: call page_sweep_restart after
 * it.
 * Errors: LMDB codes. */
#ifndef STORE_PAGE_TABLES_PAGE_SWEEP_H
#define STORE_PAGE_TABLES_PAGE_SWEEP_H

#include "store/page_tables/page_key.h"

typedef struct PageSweep {
    MDB_cursor *cursor; /* of hash2idx */
    uint32_t domain;
    const uint8_t *entries; /* of that domain, as they lie in the database, ascending */
    size_t n;
    bool ended; /* the domain has none behind them */
} PageSweep;

static inline void page_sweep_restart(PageSweep *sweep)
{
    *sweep = (PageSweep){.cursor = sweep->cursor};
}

/* *found tells whether there is an entry with this key. */
int page_sweep_find(PageSweep *sweep, const PageKey *key, PageEntry *entry, bool *found);

#endif
