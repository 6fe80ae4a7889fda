/* Ingest's sieve: which pages' links wait for a merge instead of being looked up with their batch.
 *
 *   ingest_sieve_takes_later --yes--> page_db_write without links, ingest_sieve_add
 *        |                              --> batch_finish: sieve_save --> sieve_chore: sieve_merge
 *        '--no--> page_db_write with links
 *
 * What: links go through the sieve when the database is large and fetchers have enough to do
 * (frontier/sieve/sieve.h). So do, at any time, the links of a page that has more of them than a
 * transaction is to have (store.batch_links): new URLs change pages of the database all over it,
 * and a merge looks them up a piece at a time. While the sieve holds anything, a page that was
 * crawled before goes through it, too, so that its lists of links are written in the order of its
 * crawls. With sieve.test = bloom a Bloom filter stands in front (frontier/sieve/sieve_bloom.h).
 * Owns: nothing; sieve and filter are the main thread's.
 * Threads: ingest; flush may be set by any, followed by ingest_wake. */
#ifndef INGEST_BATCH_INGEST_SIEVE_H
#define INGEST_BATCH_INGEST_SIEVE_H

#include <stdatomic.h>

#include "frontier/sieve/sieve.h"
#include "frontier/sieve/sieve_bloom.h"
#include "ingest/batch/ingest_batch.h"

struct IngestSieve {
    Sieve *sieve;
    SieveBloom *bloom; /* sieve.test = bloom; then the sieve only merges what an earlier run left */
    void *context;
    bool (*hungry)(void *context);  /* fetchers could do more than is ready */
    MonoTime (*now)(void *context); /* NULL: mono_now */
    Stats *stats;                   /* of the last commit */
    atomic_bool flush;              /* anybody's wish: what it holds is looked up without delay */
};

/* Whether the links of a page are left to a merge. RESULT_DAMAGED. */
Result ingest_sieve_takes_later(Batch *batch, const ParsedPage *page, size_t n_links, bool *later);
/* Adds the links of a page that PageDB has just written to the sieve. write: its place in
 * Batch.writes. */
Result ingest_sieve_add(Batch *batch, size_t write, const PageRef *page);
/* Leaves only the links that the Bloom filter has not seen. */
void ingest_sieve_filter(Batch *batch, ParsedPage *page);
/* Publishes the figures for the status log; call after a commit. */
void ingest_sieve_publish(const IngestSieve *sieve);

#endif
