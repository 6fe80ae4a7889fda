#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "frontier/url_cache.h"
#include "unit.h"

#define ONE_SET (128u + 64u + 64u) /* enough for one set, not for two */

static void what_was_put_comes_back_with_its_index(void)
{
    UrlCache *cache;
    uint64_t index = 0;
    CU_ASSERT_EQUAL_FATAL(url_cache_new(&cache, (size_t)1 << 20), RESULT_OK);
    CU_ASSERT_FALSE(url_cache_get(cache, 5, &index));
    url_cache_put(cache, 5, URL_CACHE_PENDING);
    CU_ASSERT_TRUE(url_cache_get(cache, 5, &index));
    CU_ASSERT_EQUAL(index, URL_CACHE_PENDING);
    url_cache_put(cache, 5, URL_CACHE_MAX_INDEX);
    CU_ASSERT_TRUE(url_cache_get(cache, 5, &index));
    CU_ASSERT_EQUAL(index, URL_CACHE_MAX_INDEX);
    CU_ASSERT_FALSE(url_cache_get(cache, 6, &index));
    url_cache_put(cache, 0, 3);
    CU_ASSERT_TRUE(url_cache_get(cache, 0, &index));
    CU_ASSERT_EQUAL(index, 3);
    url_cache_clear(cache);
    CU_ASSERT_FALSE(url_cache_get(cache, 0, &index));
    UrlCacheStats stats;
    url_cache_stats(cache, &stats);
    CU_ASSERT_EQUAL(stats.hits, 3);
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
        CU_ASSERT(bytes < 4096 || stats.capacity * 17 > bytes);
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
    uint64_t keys[URL_CACHE_WAYS], values[URL_CACHE_WAYS], random = 1;
    size_t n = 0, wrong = 0;
    CU_ASSERT_EQUAL_FATAL(url_cache_new(&cache, ONE_SET), RESULT_OK);
    UrlCacheStats stats;
    url_cache_stats(cache, &stats);
    CU_ASSERT_EQUAL_FATAL(stats.capacity, URL_CACHE_WAYS);
    for (uint64_t i = 0; i < 200000; i++) {
        random = hash_mix(random + 0x9E3779B9);
        uint64_t key = 1 + random % 14, found_index = 0;
        unsigned what = (unsigned)(random >> 20) % 6;
        size_t at = 0;
        while (at < n && keys[at] != key) {
            at++;
        }
        bool there = at < n;
        uint64_t value = there ? values[at] : 0;
        if (what < 3) {
            wrong += url_cache_get(cache, key, &found_index) != there;
            wrong += there && found_index != value;
            if (!there) {
                continue;
            }
        } else {
            url_cache_put(cache, key, i);
            value = i;
        }
        /* To the front; when it is new and the set full, the last falls out. */
        n += !there && n < URL_CACHE_WAYS;
        size_t last = there ? at : n - 1;
        memmove(keys + 1, keys, last * sizeof *keys);
        memmove(values + 1, values, last * sizeof *values);
        keys[0] = key;
        values[0] = value;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    url_cache_delete(cache);
}

/* Navigation links: a fifth of the questions are about few URLs that come again and again. */
static void frequent_urls_stay_while_rare_ones_pass(void)
{
    UrlCache *cache;
    uint64_t random = 7, index = 0;
    size_t hits = 0, asked = 0;
    CU_ASSERT_EQUAL_FATAL(url_cache_new(&cache, (size_t)256 << 10), RESULT_OK);
    for (uint64_t i = 0; i < 400000; i++) {
        random = hash_mix(random + 0x9E3779B9);
        bool frequent = random % 5 == 0;
        uint64_t key = hash_mix(frequent ? 1 + (random >> 8) % 500 : 1000000 + i);
        bool hit = url_cache_get(cache, key, &index);
        if (frequent && i > 20000) {
            asked++;
            hits += hit;
        }
        if (!hit) {
            url_cache_put(cache, key, i);
        }
    }
    CU_ASSERT((double)hits > 0.99 * (double)asked);
    url_cache_delete(cache);
}

UNIT_MAIN("url_cache",
          {"what was put comes back with its index", what_was_put_comes_back_with_its_index},
          {"the memory stays inside the bytes given", the_memory_stays_inside_the_bytes_given},
          {"a set replaces what was used longest ago", a_set_replaces_what_was_used_longest_ago},
          {"frequent URLs stay while rare ones pass", frequent_urls_stay_while_rare_ones_pass})
