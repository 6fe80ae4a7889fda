#include "frontier/sieve/sieve_bloom.h"

#include <stdlib.h>
#include <string.h>

#include "frontier/sieve/page_keys.h"
#include "frontier/sieve/page_merge.h"

struct SieveBloom {
    PageDB *db;
    Bloom *bloom;
};

static bool seen(SieveBloom *bloom, const PageKey *key)
{
    uint8_t bytes[PAGE_MERGE_KEY_BYTES];
    page_merge_key(key, bytes);
    return bloom_add(bloom->bloom, hash_128(bytes, sizeof bytes));
}

static void refill(void *context, const PageKey *key)
{
    (void)seen(context, key);
}

Result sieve_bloom_new(SieveBloom **out, PageDB *db, MDB_txn *txn, uint64_t expected, double rate,
                       size_t limit_bytes)
{
    *out = NULL;
    SieveBloom *bloom = calloc(1, sizeof *bloom);
    if (bloom == NULL) {
        return RESULT_MEMORY;
    }
    bloom->db = db;
    Result rc = bloom_new(&bloom->bloom, expected, rate, limit_bytes);
    if (rc == RESULT_OK) {
        rc = page_keys_walk(db, txn, refill, bloom);
    }
    if (rc != RESULT_OK) {
        sieve_bloom_delete(bloom);
        return rc;
    }
    *out = bloom;
    return RESULT_OK;
}

void sieve_bloom_delete(SieveBloom *bloom)
{
    if (bloom != NULL) {
        bloom_delete(bloom->bloom);
        free(bloom);
    }
}

size_t sieve_bloom_filter(SieveBloom *bloom, const char *page_url, LinkInfo *links, uint8_t *hops,
                          uint8_t *kinds, size_t n)
{
    PageOrigin origin;
    size_t kept = 0;
    page_origin_of(page_url, strlen(page_url), &origin);
    for (size_t i = 0; i < n; i++) {
        PageKey key;
        bool cross = false;
        page_key_of_link(bloom->db->store, links[i].url, strlen(links[i].url), &origin, &key,
                         &cross);
        if (seen(bloom, &key)) {
            continue;
        }
        links[kept] = links[i];
        if (hops != NULL) {
            hops[kept] = hops[i];
        }
        if (kinds != NULL) {
            kinds[kept] = kinds[i];
        }
        kept++;
    }
    return kept;
}

double sieve_bloom_rate(const SieveBloom *bloom)
{
    return bloom_rate(bloom->bloom);
}
