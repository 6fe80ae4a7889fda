#include "frontier/sieve/sieve_bloom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
