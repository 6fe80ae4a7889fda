/* Discovery: how a page was found.
 *
 * What: the letters from the seed to the page, and the page that linked to it, as crawl.log and the
 * archive's metadata records tell them. For example "LLR" is a redirect of a link of a link of a
 * seed.
 * Threads: any, with a read transaction.
 * Source: Heritrix's discovery path. */
#ifndef PAGE_DISCOVERY_H
#define PAGE_DISCOVERY_H

#include <lmdb.h>
#include <stdint.h>

#include "base/memory/buffer.h"
#include "store/pages/page_db.h"

#define DISCOVERY_STEPS 1024

/* Steps that were taken: the paths of many pages meet on their way to few seeds. Zeroed, it is
 * empty; it holds while the transaction writes nothing. */
typedef struct DiscoverySteps {
    struct {
        uint64_t page; /* its index, plus one; 0 = none */
        uint64_t linked_from;
        uint8_t hop;
    } of[DISCOVERY_STEPS];
} DiscoverySteps;

/* *seed (may be NULL): the index of the seed at the start, or PAGE_DB_NO_INDEX when the path is
 * longer than what is followed. Appends the letters (at most 64, the last of the path; nothing for
 * PAGE_DB_NO_INDEX); the URL of the linking page replaces what is in referrer (a seed has none).
 * What cannot be read is left out. steps: NULL for one page alone. */
void discovery_find(PageDB *db, MDB_txn *txn, uint64_t index, Buffer *path, Buffer *referrer,
                    uint64_t *seed, DiscoverySteps *steps);

#endif
