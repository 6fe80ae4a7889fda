/* The URLs met lately, in a fixed number of bytes: stops repeated navigation links before the
 * sieve.
 *
 * A set of 64-bit fingerprints: whoever is in it is in the sieve, or came through it. Sets of
 * URL_CACHE_WAYS entries, one cache line each; inside a set the entry used longest ago is replaced:
 * every hit makes its entry the youngest (4-bit ages, a true LRU order). A URL that was replaced
 * costs a repeated question to the sieve, no more.
 *
 * An answer is right but for equal fingerprints of different URLs: with a full 64-bit comparison
 * about entries / 2^64 per question. A fingerprint of 0 is treated as 1.
 *
 * Threads: one; a parsing thread has its own, or the owner's lock guards it. Never saved to disk.
 * Source: BUbiNG's url cache, with replacement by use instead of by age. */
#ifndef FRONTIER_SIEVE_URL_CACHE_H
#define FRONTIER_SIEVE_URL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

#define URL_CACHE_WAYS 7u

typedef struct UrlCache UrlCache;

/* Takes at most bytes, in all; at least one set. RESULT_LIMIT: fewer than that; RESULT_MEMORY. */
Result url_cache_new(UrlCache **cache, size_t bytes);
void url_cache_delete(UrlCache *cache);

/* Whether fingerprint is there. Counts a hit or a miss, and makes the entry the youngest of its
 * set. */
bool url_cache_holds(UrlCache *cache, uint64_t fingerprint);
/* Enters fingerprint, as the youngest. */
void url_cache_put(UrlCache *cache, uint64_t fingerprint);
void url_cache_clear(UrlCache *cache);

typedef struct UrlCacheStats {
    uint64_t hits;
    uint64_t misses;
    uint64_t replaced; /* entries displaced by others */
    size_t capacity;   /* entries */
    size_t bytes;
} UrlCacheStats;

void url_cache_stats(const UrlCache *cache, UrlCacheStats *stats);

#endif
