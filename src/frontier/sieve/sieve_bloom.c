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

bool sieve_bloom_takes(SieveBloom *bloom, const PageOrigin *from, const char *url)
{
    PageKey key;
    bool cross = false;
    page_key_of_link(bloom->db->store, url, strlen(url), from, &key, &cross);
    return !seen(bloom, &key);
}

double sieve_bloom_rate(const SieveBloom *bloom)
{
    return bloom_rate(bloom->bloom);
}
