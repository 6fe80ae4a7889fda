/* Sieve Bloom filter: sieve.test = bloom, for crawls that may lose a stated share of their URLs.
 *
 * What: a Bloom filter (below) decides which links were never seen. A link that it
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "store/page_tables/page_key.h"
#include "store/pages/page_db.h"
#include "base/core/hash.h"
#include "base/core/result.h"

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

/* A Bloom filter: a set that answers "never seen" surely and "seen" nearly surely, in memory only.
 *
 * What: the URL-seen test of a crawl that may lose a stated share of its URLs (sieve.test = bloom).
 * It is sized from the number of elements expected and the rate of false positives wanted at that
 * number: bits = -n ln(p) / ln(2)^2, probes = bits / n ln(2). Probes are g_i = h1 + i h2 (double
 * hashing) over all the bits, from one 128-bit fingerprint. bloom_rate says, from the share of bits
 * that are set, how often the filter would answer wrongly now; so a crawl that outgrew its filter
 * shows it.
 * Owns: its bits.
 * Threads: one thread, or the lock of whoever owns it.
 * Errors: RESULT_MEMORY, RESULT_INVALID.
 * Source: seed 002; A. Kirsch, M. Mitzenmacher, Less Hashing, Same Performance, ESA 2006. */

typedef struct Bloom Bloom;

/* expected >= 1 elements; 0 < rate < 1. RESULT_INVALID; RESULT_LIMIT: it would need more than
 * limit_bytes; RESULT_MEMORY. */
Result bloom_new(Bloom **bloom, uint64_t expected, double rate, size_t limit_bytes);
void bloom_delete(Bloom *bloom);
/* The memory that bloom_new would take; SIZE_MAX when the parameters are out of range. */
size_t bloom_bytes_for(uint64_t expected, double rate);

/* Adds an element; true when it was there already, or, with probability bloom_rate, wrongly. */
bool bloom_add(Bloom *bloom, Hash128 fingerprint);
/* Whether an element is there, as bloom_add would answer, without adding it. */
bool bloom_contains(const Bloom *bloom, Hash128 fingerprint);

/* Elements added that were not there already (as far as the filter could tell). */
uint64_t bloom_count(const Bloom *bloom);
/* The present probability that an element that was never added is taken for seen. */
double bloom_rate(const Bloom *bloom);
size_t bloom_bytes(const Bloom *bloom);
unsigned bloom_probes(const Bloom *bloom);

#endif
