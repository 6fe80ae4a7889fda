/* How a page was found: the letters from the seed to it, and the page that linked to it, as
 * crawl.log and the archive's metadata records tell them (Heritrix's). */
#ifndef PAGE_DISCOVERY_H
#define PAGE_DISCOVERY_H

#include <lmdb.h>
#include <stdint.h>

#include "base/memory/buffer.h"
#include "store/pages/page_db.h"

/* Appends the letters (at most 64, the last of the path; nothing for PAGE_DB_NO_INDEX) and the URL
 * of the linking page (nothing for a seed). What cannot be read is left out. */
void discovery_find(PageDB *db, MDB_txn *txn, uint64_t index, Buffer *path, Buffer *referrer);

#endif
