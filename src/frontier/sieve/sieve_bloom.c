#include "frontier/sieve/sieve_bloom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

#include "frontier/sieve/page_merge.h"
#include "store/lmdb/lmdb_result.h"
#include "store/page_tables/page_key.h"

/* Page keys: what the sieve asks PageDB's tables besides its merges.
 *
 * What: reads only, each in the caller's transaction.
 * Errors: RESULT_DAMAGED, RESULT_IO. */

static Result page_keys_result_of(int rc, const char *what)
{
    return rc == ENOMEM ? RESULT_MEMORY : lmdb_result(rc, what);
}

/* Every key of hash2idx, in order. */
static Result page_keys_walk(PageDB *db, MDB_txn *txn,
                             void (*visit)(void *context, const PageKey *key), void *context)
{
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, db->store->tables.hash2idx, &cursor);
    MDB_val key, value;
    for (MDB_cursor_op op = MDB_FIRST; rc == 0; op = MDB_NEXT) {
        rc = mdb_cursor_get(cursor, &key, &value, op);
        if (rc == 0 && (key.mv_size != sizeof(uint32_t) || value.mv_size != PAGE_ENTRY_BYTES)) {
            rc = MDB_CORRUPTED;
        }
        if (rc == 0) {
            uint32_t domain = 0;
            PageEntry entry;
            memcpy(&domain, key.mv_data, sizeof domain);
            page_entry_read(value.mv_data, &entry);
            PageKey page = {.hash = (uint64_t)domain << 32 | entry.url_hash, .print = entry.print};
            visit(context, &page);
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? RESULT_OK : page_keys_result_of(rc, "walk hash2idx");
}

/* ---- Sieve Bloom filter ---- */

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

/* ---- bloom ---- */

#define MOST_PROBES 64u

struct Bloom {
    uint64_t *words;
    uint64_t n_bits;
    uint64_t n_set; /* bits that are 1 */
    uint64_t count;
    unsigned probes;
};

/* Bits in whole words; 0 when out of range. */
static uint64_t bits_for(uint64_t expected, double rate)
{
    if (expected == 0 || !(rate > 0) || !(rate < 1)) {
        return 0;
    }
    double bits = ceil(-(double)expected * log(rate) / (M_LN2 * M_LN2));
    if (bits >= 0x1p62) {
        return 0;
    }
    return ((uint64_t)bits / 64 + 1) * 64;
}

size_t bloom_bytes_for(uint64_t expected, double rate)
{
    uint64_t bits = bits_for(expected, rate);
    return bits == 0 ? SIZE_MAX : (size_t)(bits / 8) + sizeof(Bloom);
}

Result bloom_new(Bloom **result, uint64_t expected, double rate, size_t limit_bytes)
{
    *result = NULL;
    uint64_t bits = bits_for(expected, rate);
    if (bits == 0) {
        return RESULT_INVALID;
    }
    if (bloom_bytes_for(expected, rate) > limit_bytes) {
        return RESULT_LIMIT;
    }
    Bloom *bloom = calloc(1, sizeof *bloom);
    if (bloom == NULL) {
        return RESULT_MEMORY;
    }
    bloom->words = calloc((size_t)(bits / 64), sizeof *bloom->words);
    if (bloom->words == NULL) {
        free(bloom);
        return RESULT_MEMORY;
    }
    bloom->n_bits = bits;
    double probes = round((double)bits / (double)expected * M_LN2);
    bloom->probes = probes < 1 ? 1 : probes > MOST_PROBES ? MOST_PROBES : (unsigned)probes;
    *result = bloom;
    return RESULT_OK;
}

void bloom_delete(Bloom *bloom)
{
    if (bloom != NULL) {
        free(bloom->words);
        free(bloom);
    }
}

/* Scales 64 random bits to 0..n_bits-1 without a division: the high half of their product. */
static uint64_t scale(uint64_t random, uint64_t n_bits)
{
    uint64_t low = (random & UINT32_MAX) * (n_bits & UINT32_MAX);
    uint64_t a = (random >> 32) * (n_bits & UINT32_MAX) + (low >> 32);
    uint64_t b = (random & UINT32_MAX) * (n_bits >> 32) + (a & UINT32_MAX);
    return (random >> 32) * (n_bits >> 32) + (a >> 32) + (b >> 32);
}

bool bloom_add(Bloom *bloom, Hash128 fingerprint)
{
    uint64_t probe = fingerprint.low;
    uint64_t step = fingerprint.high | 1; /* odd, so that it is never 0 */
    uint64_t fresh = 0;
    for (unsigned i = 0; i < bloom->probes; i++) {
        uint64_t bit = scale(probe, bloom->n_bits);
        uint64_t mask = UINT64_C(1) << (bit % 64);
        fresh += (bloom->words[bit / 64] & mask) == 0;
        bloom->words[bit / 64] |= mask;
        probe += step;
    }
    bloom->n_set += fresh;
    bloom->count += fresh > 0;
    return fresh == 0;
}

bool bloom_contains(const Bloom *bloom, Hash128 fingerprint)
{
    uint64_t probe = fingerprint.low;
    uint64_t step = fingerprint.high | 1;
    for (unsigned i = 0; i < bloom->probes; i++) {
        uint64_t bit = scale(probe, bloom->n_bits);
        if ((bloom->words[bit / 64] >> (bit % 64) & 1) == 0) {
            return false;
        }
        probe += step;
    }
    return true;
}

uint64_t bloom_count(const Bloom *bloom)
{
    return bloom->count;
}

double bloom_rate(const Bloom *bloom)
{
    return pow((double)bloom->n_set / (double)bloom->n_bits, bloom->probes);
}

size_t bloom_bytes(const Bloom *bloom)
{
    return (size_t)(bloom->n_bits / 8) + sizeof *bloom;
}

unsigned bloom_probes(const Bloom *bloom)
{
    return bloom->probes;
}
