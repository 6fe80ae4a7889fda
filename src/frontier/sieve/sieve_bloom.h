/* Sieve Bloom filter: sieve.test = bloom, for crawls that may lose a stated share of their URLs.
 *
 * What: a Bloom filter (base/memory/bloom.h) decides which links were never seen. A link that it
 * calls seen is dropped as if it had not been on the page: it is not looked up, not scheduled, and
 * no edge of the link graph, because naming the target of an edge would cost a look-up. So the
 * lists of links of such a crawl hold the links that led to something new. A link that it calls new
 * is looked up as usual: nothing is stored twice. For example, sieve.bloom_rate = 0.001 loses about
 * one new URL in a thousand once sieve.bloom_urls are known.
 *
 * The filter lives in memory only; a start fills it from the keys of PageDB in one sequential walk.
 *
 * Threads: ingest. */
#ifndef FRONTIER_SIEVE_SIEVE_BLOOM_H
#define FRONTIER_SIEVE_SIEVE_BLOOM_H

#include "base/memory/bloom.h"
#include "store/page_tables/page_key.h"
#include "store/pages/page_db.h"

typedef struct SieveBloom SieveBloom;

/* expected URLs, rate of wrong answers at that number. txn: any, for the walk. RESULT_LIMIT: more
 * than limit_bytes; RESULT_INVALID, RESULT_MEMORY, RESULT_IO. */
Result sieve_bloom_new(SieveBloom **bloom, PageDB *db, MDB_txn *txn, uint64_t expected, double rate,
                       size_t limit_bytes);
void sieve_bloom_delete(SieveBloom *bloom);
/* Whether a link of a page of this origin was never seen; from then on it counts as seen. */
bool sieve_bloom_takes(SieveBloom *bloom, const PageOrigin *from, const char *url);
/* The present share of new URLs that the filter takes for seen. */
double sieve_bloom_rate(const SieveBloom *bloom);

#endif
