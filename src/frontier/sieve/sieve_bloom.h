/* sieve.test = bloom: a Bloom filter says which links were never seen, for crawls that accept to
 * lose a stated share of their URLs (base/memory/bloom.h).
 *
 * What it calls seen is dropped as if it had not been on the page: it is neither looked up nor
 * scheduled, and is no edge of the link graph, which costs a look-up to name its target. So such a
 * crawl's link lists hold the links that led to something new. What it calls new is looked up as
 * ever: nothing is stored twice. It lives in memory only; a start fills it again from the keys of
 * PageDB, in one sequential walk.
 *
 * Threads: ingest. Source: seed 002. */
#ifndef FRONTIER_SIEVE_SIEVE_BLOOM_H
#define FRONTIER_SIEVE_SIEVE_BLOOM_H

#include "base/memory/bloom.h"
#include "store/pages/page_db.h"

typedef struct SieveBloom SieveBloom;

/* expected URLs, rate of wrong answers at that number. txn: any, for the walk. RESULT_LIMIT: more
 * than limit_bytes; RESULT_INVALID, RESULT_MEMORY, RESULT_IO. */
Result sieve_bloom_new(SieveBloom **bloom, PageDB *db, MDB_txn *txn, uint64_t expected, double rate,
                       size_t limit_bytes);
void sieve_bloom_delete(SieveBloom *bloom);
/* Keeps the links that were never seen, with hops and kinds (each may be NULL), in order; returns
 * how many. Once for a page: asking is remembering. */
size_t sieve_bloom_filter(SieveBloom *bloom, const char *page_url, LinkInfo *links, uint8_t *hops,
                          uint8_t *kinds, size_t n);
/* The share of new URLs that it would call seen now. */
double sieve_bloom_rate(const SieveBloom *bloom);

#endif
