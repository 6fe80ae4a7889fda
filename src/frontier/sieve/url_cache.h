/* URL cache: the URLs met lately, in a fixed number of bytes.
 *
 * What: a set of 64-bit fingerprints that stops repeated links, such as a site's navigation, before
 * the sieve. A URL that is in the cache is in the sieve or came through it. The cache consists of
 * sets of URL_CACHE_WAYS entries, one cache line each; inside a set, the entry that was used
 * longest ago is replaced (4-bit ages, a true LRU order). When a URL was replaced, its next link
 * goes through the sieve once more; nothing else happens. Never saved to disk.
 *
 * Threads: one.
 * Errors: two URLs with equal fingerprints are mistaken for each other: about entries / 2^64 per
 * question. Fingerprint 0 is treated as 1.
 * Source: BUbiNG's URL cache, with replacement by use instead of by age. */
#pragma once

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

typedef struct UrlCacheStats {
    uint64_t hits;
    uint64_t misses;
    uint64_t replaced; /* entries displaced by others */
    size_t capacity;   /* entries */
    size_t bytes;
} UrlCacheStats;

void url_cache_stats(const UrlCache *cache, UrlCacheStats *stats);
