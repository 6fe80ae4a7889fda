#include "ingest/page/ingest_duplicates.h"

#include <string.h>

#include "base/core/hash.h"
#include "store/lmdb/lmdb_result.h"

static MDB_val body_key(const FetchResult *fetch, uint64_t words[2])
{
    words[0] ^= hash_mix(fetch->host.id + UINT64_C(1));
    return (MDB_val){.mv_size = 2 * sizeof *words, .mv_data = words};
}

/* A page's record knows only the first word of its fingerprint; among the entries that share it,
 * its own is looked for. */
Result ingest_forget_body(Batch *batch, const ParsedPage *page)
{
    const FetchResult *fetch = page->fetch;
    PageRef stored = {.n_crawls = 0};
    Result rc = fetch->request.again ? batch_stored(batch, fetch, &stored) : RESULT_OK;
    if (rc != RESULT_OK || stored.n_crawls == 0 || stored.content_hash64 == page->body_hash[0]) {
        return rc;
    }
    uint64_t words[2] = {stored.content_hash64, 0};
    MDB_val key = body_key(fetch, words);
    MDB_val value;
    MDB_cursor *cursor = NULL;
    uint64_t first = words[0];
    int code = mdb_cursor_open(batch->txn, batch->store->bodies, &cursor);
    if (code == MDB_SUCCESS) {
        code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    }
    while (code == MDB_SUCCESS && memcmp(key.mv_data, &first, sizeof first) == 0) {
        if (value.mv_size >= sizeof fetch->request.index &&
            memcmp(value.mv_data, &fetch->request.index, sizeof fetch->request.index) == 0) {
            code = mdb_cursor_del(cursor, 0);
            break;
        }
        code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return code == MDB_NOTFOUND ? RESULT_OK : lmdb_result(code, "forget body fingerprint");
}

Result ingest_find_duplicate(Batch *batch, const ParsedPage *page, uint64_t *original,
                             bool *same_links)
{
    const FetchResult *fetch = page->fetch;
    uint64_t words[2] = {page->body_hash[0], page->body_hash[1]};
    uint64_t first[2] = {fetch->request.index, page->links_hash};
    *original = PAGE_DB_NO_INDEX;
    *same_links = false;
    if (fetch->answer.status != 200 || (page->body_hash[0] | page->body_hash[1]) == 0) {
        return RESULT_OK;
    }
    MDB_val key = body_key(fetch, words);
    MDB_val value = {.mv_size = sizeof first, .mv_data = first};
    int rc = mdb_put(batch->txn, batch->store->bodies, &key, &value, MDB_NOOVERWRITE);
    if (rc == MDB_KEYEXIST) {
        if (value.mv_size != sizeof first) {
            return RESULT_DAMAGED;
        }
        memcpy(first, value.mv_data, sizeof first);
        *original = first[0] == fetch->request.index ? PAGE_DB_NO_INDEX : first[0];
        *same_links = first[1] == page->links_hash;
        return RESULT_OK;
    }
    return lmdb_result(rc, "put body fingerprint");
}

Result ingest_find_near(Batch *batch, const ParsedPage *page, bool duplicate, uint64_t *near)
{
    const FetchResult *fetch = page->fetch;
    uint64_t hash = fetch->answer.status == 200 && !duplicate ? page->simhash : 0;
    if (!batch->options->near_duplicates || (hash == 0 && !fetch->request.again)) {
        return RESULT_OK;
    }
    NearTable table = {.txn = batch->txn, .dbi = batch->store->near};
    SimhashTables tables = near_table_interface(&table);
    SimhashMatch match = {.page = 0};
    uint64_t old = 0;
    Result rc =
        fetch->request.again ? near_table_get(&table, fetch->request.index, &old) : RESULT_OK;
    if (rc == RESULT_OK && old != hash) { /* what it was must not be found */
        rc = near_table_change(&table, fetch->request.index, old, 0);
    }
    rc = rc == RESULT_OK ? simhash_find(&tables, hash, &match) : rc;
    if (rc == RESULT_OK && match.page != fetch->request.index) {
        *near = match.page;
    }
    rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    return rc == RESULT_OK && old != hash ? near_table_change(&table, fetch->request.index, 0, hash)
                                          : rc;
}
