/* Seed verdict: what became of the seeds.
 *
 * What: a seed has succeeded when it was fetched with a status below 400. For each one that has
 * failed there is a sentence with the reason and, where the operator can do something about it,
 * what:
 *
 *   http://a.example/: the name does not exist: check how it is spelled
 *   http://b.example/: 10.0.0.7 is private or special: fetch.allow_addresses allows it
 *   http://c.example/: robots.txt forbids it (line 2: Disallow: /)
 *
 * Threads: main, with a read transaction. */
#pragma once

#include <stdio.h>

#include "ingest/batch/ingest_batch.h"

/* Seed reason: what became of one seed, or what stands in its way, in a few words.
 *
 * What: told from its page's status, from the record of its host, and from its host's robots.txt:
 * "the name does not exist: check how it is spelled", "robots.txt forbids it (line 2: Disallow:
 * /)".
 * Owns: nothing.
 * Threads: any, with a read transaction. */

typedef enum SeedState {
    SEED_HAS_SUCCEEDED, /* fetched with a status below 400 */
    SEED_HAS_FAILED,
    SEED_IS_RETRIED, /* its host has failed, and is asked again */
    SEED_IS_TO_COME
} SeedState;

/* words gets the reason of what has failed. host: that of the page. */
SeedState seed_reason_tell(HostRows *hosts, const Config *config, MDB_txn *txn, const PageRef *page,
                           const HostRecord *host, Buffer *words);

typedef struct SeedVerdict {
    uint64_t seeds;     /* that were looked at */
    uint64_t succeeded; /* among them */
    uint64_t redirects; /* of these: only sent us elsewhere */
    uint64_t failed;    /* tried, refused, or of a host that was set aside */
} SeedVerdict;

/* Looks at all seeds, but at no more than a hundred thousand; the first failed ones are told to
 * `out`, one line each. With out NULL none is told, and it looks no further than to the first seed
 * that has succeeded by itself: whether any has is then all that the verdict says. */
Result seed_verdict_find(const IngestStore *store, const Config *config, FILE *out,
                         SeedVerdict *verdict);
