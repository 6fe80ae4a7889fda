#include "frontier/sieve/url_cache.h"

#include <stdlib.h>

#include "base/core/hash.h"

/* A cache line. order lists the ways, youngest in the lowest 4 bits; it is a permutation of 0..6,
 * or 0 in a set that was never used. */
typedef struct Set {
    uint64_t tags[URL_CACHE_WAYS]; /* 0: empty */
    uint32_t order;                /* 0: nothing was put in yet */
    uint32_t unused;
} __attribute__((aligned(64))) Set;

_Static_assert(sizeof(Set) == 64, "a cache line");

#define FIRST_ORDER  UINT32_C(0x6543210)
#define OLDEST_SHIFT (4 * (URL_CACHE_WAYS - 1))

struct UrlCache {
    void *memory; /* of the sets, which begin at a cache line */
    Set *sets;
    size_t n_sets;
    uint64_t hits;
    uint64_t misses;
    uint64_t replaced;
};

Result url_cache_new(UrlCache **result, size_t bytes)
{
    *result = NULL;
    size_t overhead = sizeof(UrlCache) + sizeof(Set); /* up to a line before the first */
    if (bytes < overhead + sizeof(Set)) {
        return RESULT_LIMIT;
    }
    UrlCache *cache = calloc(1, sizeof *cache);
    if (cache == NULL) {
        return RESULT_MEMORY;
    }
    cache->n_sets = (bytes - overhead) / sizeof(Set);
    /* Not cleared here: what no URL has reached yet is no page of this process. */
    cache->memory = calloc(cache->n_sets + 1, sizeof(Set));
    if (cache->memory == NULL) {
        free(cache);
        return RESULT_MEMORY;
    }
    uintptr_t start = ((uintptr_t)cache->memory + sizeof(Set) - 1) & ~(uintptr_t)(sizeof(Set) - 1);
    cache->sets = (Set *)start;
    *result = cache;
    return RESULT_OK;
}

void url_cache_delete(UrlCache *cache)
{
    if (cache != NULL) {
        free(cache->memory);
        free(cache);
    }
}

/* The set by the high bits of the mixed fingerprint: callers' fingerprints may share their own. */
static Set *url_cache_set_of(const UrlCache *cache, uint64_t fingerprint)
{
    uint64_t high = hash_mix(fingerprint) >> 32;
    return &cache->sets[cache->n_sets <= UINT32_MAX
                            ? (size_t)(high * cache->n_sets >> 32)
                            : (size_t)(hash_mix(fingerprint) % cache->n_sets)];
}

/* The way that holds the tag; URL_CACHE_WAYS when none does. */
static unsigned way_of(const Set *set, uint64_t tag)
{
    unsigned found = URL_CACHE_WAYS;
    for (unsigned way = 0; way < URL_CACHE_WAYS; way++) {
        found = set->tags[way] == tag ? way : found;
    }
    return found;
}

/* Moves way to the front of the order; those that were younger than it age by one place. */
static void make_youngest(Set *set, unsigned way)
{
    unsigned shift = 0;
    while ((set->order >> shift & 0xF) != way) {
        shift += 4;
    }
    uint32_t younger = set->order & ((UINT32_C(1) << shift) - 1);
    uint32_t older = set->order >> (shift + 4) << (shift + 4);
    set->order = older | younger << 4 | way;
}

bool url_cache_holds(UrlCache *cache, uint64_t fingerprint)
{
    uint64_t tag = fingerprint != 0 ? fingerprint : 1;
    Set *set = url_cache_set_of(cache, tag);
    unsigned way = way_of(set, tag);
    if (way == URL_CACHE_WAYS) {
        cache->misses++;
        return false;
    }
    cache->hits++;
    make_youngest(set, way);
    return true;
}

void url_cache_put(UrlCache *cache, uint64_t fingerprint)
{
    uint64_t tag = fingerprint != 0 ? fingerprint : 1;
    Set *set = url_cache_set_of(cache, tag);
    unsigned way = way_of(set, tag);
    set->order = set->order == 0 ? FIRST_ORDER : set->order;
    if (way == URL_CACHE_WAYS) {
        way = set->order >> OLDEST_SHIFT;
        cache->replaced += set->tags[way] != 0;
        set->tags[way] = tag;
    }
    make_youngest(set, way);
}

void url_cache_stats(const UrlCache *cache, UrlCacheStats *stats)
{
    *stats = (UrlCacheStats){.hits = cache->hits,
                             .misses = cache->misses,
                             .replaced = cache->replaced,
                             .capacity = cache->n_sets * URL_CACHE_WAYS,
                             .bytes = sizeof *cache + cache->n_sets * sizeof(Set)};
}
