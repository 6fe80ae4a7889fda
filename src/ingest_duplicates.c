#include "ingest_duplicates.h"

#include <string.h>

#include "base/hash.h"
#include "store/lmdb_result.h"

Result ingest_find_duplicate(Batch *batch, const ParsedPage *page, uint64_t *original,
                             bool *same_links)
{
    const FetchResult *fetch = page->fetch;
    uint64_t words[2] = {page->body_hash[0] ^ hash_mix(fetch->host + UINT64_C(1)),
                         page->body_hash[1]};
    uint64_t first[2] = {fetch->index, page->links_hash};
    *original = PAGE_DB_NO_INDEX;
    *same_links = false;
    if (fetch->status != 200 || (page->body_hash[0] | page->body_hash[1]) == 0) {
        return RESULT_OK;
    }
    MDB_val key = {.mv_size = sizeof words, .mv_data = words};
    MDB_val value = {.mv_size = sizeof first, .mv_data = first};
    int rc = mdb_put(batch->txn, batch->store->bodies, &key, &value, MDB_NOOVERWRITE);
    if (rc == MDB_KEYEXIST) {
        if (value.mv_size != sizeof first) {
            return RESULT_DAMAGED;
        }
        memcpy(first, value.mv_data, sizeof first);
        *original = first[0] == fetch->index ? PAGE_DB_NO_INDEX : first[0];
        *same_links = first[1] == page->links_hash;
        return RESULT_OK;
    }
    return lmdb_result(rc, "put body fingerprint");
}

Result ingest_find_near(Batch *batch, const ParsedPage *page, uint64_t *near)
{
    if (!batch->options->near_duplicates || page->fetch->status != 200 || page->simhash == 0) {
        return RESULT_OK;
    }
    NearTable table = {.txn = batch->txn, .dbi = batch->store->near};
    SimhashTables tables = near_table_interface(&table);
    SimhashMatch match = {.page = 0};
    Result rc = simhash_find(&tables, page->simhash, &match);
    if (rc == RESULT_OK && match.page != page->fetch->index) {
        *near = match.page;
    }
    return rc == RESULT_OK || rc == RESULT_NOT_FOUND
               ? simhash_insert(&tables, page->simhash, page->fetch->index)
               : rc;
}
