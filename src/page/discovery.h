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

/* *seed (may be NULL): the index of the seed at the start, or PAGE_DB_NO_INDEX when the path is
 * longer than what is followed. Appends the letters (at most 64, the last of the path; nothing for
 * PAGE_DB_NO_INDEX); the URL of the linking page replaces what is in referrer (a seed has none).
 * What cannot be read is left out. */
void discovery_find(PageDB *db, MDB_txn *txn, uint64_t index, Buffer *path, Buffer *referrer,
                    uint64_t *seed);

#endif
