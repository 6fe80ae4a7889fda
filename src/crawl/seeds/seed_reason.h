/* Seed reason: what became of one seed, or what stands in its way, in a few words.
 *
 * What: told from its page's status, from the record of its host, and from its host's robots.txt:
 * "the name does not exist: check how it is spelled", "robots.txt forbids it (line 2: Disallow:
 * /)". Owns: nothing. Threads: any, with a read transaction. */
#ifndef CRAWL_SEEDS_SEED_REASON_H
#define CRAWL_SEEDS_SEED_REASON_H

#include "base/memory/buffer.h"
#include "rules/config.h"
#include "store/pages/page_db.h"
#include "store/tables/host_table.h"

typedef enum SeedState {
    SEED_HAS_SUCCEEDED, /* fetched with a status below 400 */
    SEED_HAS_FAILED,
    SEED_IS_RETRIED, /* its host has failed, and is asked again */
    SEED_IS_TO_COME
} SeedState;

/* words gets the reason of what has failed. host: that of the page. */
SeedState seed_reason_tell(HostTable *hosts, const Config *config, MDB_txn *txn,
                           const PageRef *page, const HostRecord *host, Buffer *words);

#endif
