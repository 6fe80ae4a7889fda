#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "frontier/sieve/url_cache.h"
#include "unit.h"

#define ONE_SET (64u + 64u + 64u) /* enough for one set, not for two */

static void what_was_put_is_there(void)
{
    UrlCache *cache;
    CU_ASSERT_EQUAL_FATAL(url_cache_new(&cache, (size_t)1 << 20), RESULT_OK);
    CU_ASSERT_FALSE(url_cache_holds(cache, 5));
    url_cache_put(cache, 5);
    CU_ASSERT_TRUE(url_cache_holds(cache, 5));
    CU_ASSERT_FALSE(url_cache_holds(cache, 6));
    CU_ASSERT_FALSE(url_cache_holds(cache, 0)); /* nor is an empty place */
    url_cache_put(cache, 0);
    CU_ASSERT_TRUE(url_cache_holds(cache, 0));
    UrlCacheStats stats;
    url_cache_stats(cache, &stats);
    CU_ASSERT_EQUAL(stats.hits, 2);
    CU_ASSERT_EQUAL(stats.misses, 3);
    url_cache_delete(cache);
}

static void the_memory_stays_inside_the_bytes_given(void)
{
    UrlCache *cache;
    for (size_t bytes = 256; bytes < ((size_t)1 << 22); bytes = bytes * 5 / 3) {
        CU_ASSERT_EQUAL_FATAL(url_cache_new(&cache, bytes), RESULT_OK);
        UrlCacheStats stats;
        url_cache_stats(cache, &stats);
        CU_ASSERT(stats.bytes + 64 <= bytes);
        CU_ASSERT(bytes < 4096 || stats.capacity * 10 > bytes);
        url_cache_delete(cache);
    }
    CU_ASSERT_EQUAL(url_cache_new(&cache, 100), RESULT_LIMIT);
    CU_ASSERT_PTR_NULL(cache);
    url_cache_delete(NULL);
}

/* One set against a list kept in order of use: they must hold the same entries at every moment. */
static void a_set_replaces_what_was_used_longest_ago(void)
{
    UrlCache *cache;
    uint64_t keys[URL_CACHE_WAYS], random = 1;
    size_t n = 0, wrong = 0;
    CU_ASSERT_EQUAL_FATAL(url_cache_new(&cache, ONE_SET), RESULT_OK);
    UrlCacheStats stats;
    url_cache_stats(cache, &stats);
    CU_ASSERT_EQUAL_FATAL(stats.capacity, URL_CACHE_WAYS);
    for (uint64_t i = 0; i < 200000; i++) {
        random = hash_mix(random + 0x9E3779B9);
        uint64_t key = 1 + random % 12;
        size_t at = 0;
        while (at < n && keys[at] != key) {
            at++;
        }
        bool there = at < n;
        if ((random >> 20) % 2 == 0) {
            wrong += url_cache_holds(cache, key) != there;
            if (!there) {
                continue;
            }
        } else {
            url_cache_put(cache, key);
        }
        /* To the front; when it is new and the set full, the last falls out. */
        n += !there && n < URL_CACHE_WAYS;
        size_t last = there ? at : n - 1;
        memmove(keys + 1, keys, last * sizeof *keys);
        keys[0] = key;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    url_cache_delete(cache);
}

/* Navigation links: a fifth of the questions are about few URLs that come again and again. */
static void frequent_urls_stay_while_rare_ones_pass(void)
{
    UrlCache *cache;
    uint64_t random = 7;
    size_t hits = 0, asked = 0;
    CU_ASSERT_EQUAL_FATAL(url_cache_new(&cache, (size_t)256 << 10), RESULT_OK);
    for (uint64_t i = 0; i < 400000; i++) {
        random = hash_mix(random + 0x9E3779B9);
        bool frequent = random % 5 == 0;
        uint64_t key = hash_mix(frequent ? 1 + (random >> 8) % 500 : 1000000 + i);
        bool hit = url_cache_holds(cache, key);
        if (frequent && i > 20000) {
            asked++;
            hits += hit;
        }
        if (!hit) {
            url_cache_put(cache, key);
        }
    }
    CU_ASSERT((double)hits > 0.99 * (double)asked);
    url_cache_delete(cache);
}

UNIT_MAIN("url_cache", {"what was put is there", what_was_put_is_there},
          {"the memory stays inside the bytes given", the_memory_stays_inside_the_bytes_given},
          {"a set replaces what was used longest ago", a_set_replaces_what_was_used_longest_ago},
          {"frequent URLs stay while rare ones pass", frequent_urls_stay_while_rare_ones_pass})
