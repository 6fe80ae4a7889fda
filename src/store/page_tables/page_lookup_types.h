/* Page look-up, its table in memory.
 *
 * What: the types that its parts share; page_lookup.h has the functions.
 * Owns: what each comment says.
 * Threads: as page_lookup.h says. */
#pragma once

#include <stdatomic.h>

#include "base/thread/mutex.h"

#define PAGE_LOOKUP_MAX_BUCKETS ((size_t)1 << 19)
#define PAGE_LOOKUP_PATIENCE    128u

typedef struct PageLookupTable PageLookupTable;

typedef struct PageLookup {
    _Atomic(PageLookupTable *) table; /* NULL until the first sweep */
    Mutex mutex;                      /* guards the rest, and writing to the table */
    uint64_t missed;                  /* look-ups in the tree since the last decision */
    uint64_t decide_at;               /* that many of them until the next */
    uint64_t swept;                   /* pages in the database at the last sweep */
} PageLookup;

struct PageDBStore;
struct PageReader;
