/* The sieve's part of ingest (frontier/sieve/sieve.h): which pages' links go through it, and the
 * chore that merges them; and the Bloom filter that may stand in front
 * (frontier/sieve/sieve_bloom.h).
 *
 *   batch_takes_later --yes--> page_db_write without links, sieve_add --> batch_finish: sieve_save
 *        '--no--> page_db_write with links                           --> chore: sieve_merge
 *
 * Links go through the sieve when the database is large and fetchers have enough to do; see
 * sieve.h. One more case: while the sieve holds anything, a page that was crawled before goes
 * through it, so that its lists are written in the order of its crawls. Threads: ingest. */
#ifndef INGEST_INGEST_SIEVE_H
#define INGEST_INGEST_SIEVE_H

#include "frontier/sieve/sieve.h"
#include "frontier/sieve/sieve_bloom.h"
#include "ingest/ingest_batch.h"

struct IngestSieve {
    Sieve *sieve;
    SieveBloom *bloom; /* sieve.test = bloom; then the sieve only merges what an earlier run left */
    void *context;
    bool (*hungry)(void *context);  /* fetchers could do more than is ready */
    MonoTime (*now)(void *context); /* NULL: mono_now */
    Stats *stats;                   /* of the last commit */
};

/* Whether the links of a page are left to a merge. */
Result batch_takes_later(Batch *batch, const ParsedPage *page, size_t n_links, bool *later);
/* Takes the links of the page of a write, which PageDB has just told of. */
Result batch_sieve(Batch *batch, size_t write, const PageRef *page);
/* Leaves only the links that the Bloom filter has not seen. */
void batch_filter_links(Batch *batch, ParsedPage *page);

IngestChore ingest_sieve_chore(IngestSieve *sieve);
void ingest_sieve_publish(const IngestSieve *sieve);

#endif
