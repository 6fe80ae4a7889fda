/* The URLs met lately, in a fixed number of bytes: stops repeated navigation links before the
 * sieve.
 *
 * Maps a 64-bit fingerprint to a 48-bit page index, or to "pending" while the sieve has not told
 * the index yet. Sets of URL_CACHE_WAYS entries, one cache line for the tags; inside a set the
 * entry used longest ago is replaced: every hit makes its entry the youngest (4-bit ages, a true
 * LRU order). Pending entries are replaced like the others, which costs a repeated question to the
 * sieve, no more.
 *
 * An answer is right but for equal fingerprints of different URLs: with a full 64-bit comparison
 * about entries / 2^64 per question. A fingerprint of 0 is treated as 1.
 *
 * Threads: one; a parsing thread has its own, or the owner's lock guards it. Never saved to disk.
 * Source: BUbiNG's url cache, with replacement by use instead of by age. */
#ifndef FRONTIER_URL_CACHE_H
#define FRONTIER_URL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"

#define URL_CACHE_WAYS      8u
#define URL_CACHE_MAX_INDEX ((UINT64_C(1) << 48) - 2)
#define URL_CACHE_PENDING   ((UINT64_C(1) << 48) - 1) /* seen, index not known yet */

typedef struct UrlCache UrlCache;

/* Takes at most bytes, in all; at least one set. RESULT_LIMIT: fewer than that; RESULT_MEMORY. */
Result url_cache_new(UrlCache **cache, size_t bytes);
void url_cache_delete(UrlCache *cache);

/* True when fingerprint is there; *index is its page index or URL_CACHE_PENDING. Counts a hit or a
 * miss, and makes the entry the youngest of its set. */
bool url_cache_get(UrlCache *cache, uint64_t fingerprint, uint64_t *index);
/* Enters fingerprint or changes its index (at most URL_CACHE_MAX_INDEX, or URL_CACHE_PENDING). */
void url_cache_put(UrlCache *cache, uint64_t fingerprint, uint64_t index);
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
