#include "ingest/page/ingest_duplicates.h"

#include <string.h>

#include "base/core/hash.h"
#include "page/content_hash.h"
#include "store/lmdb/lmdb_result.h"

/* What makes two pages of a host duplicates. */
static const uint64_t *ingest_duplicates_fingerprint(const Batch *batch, const ParsedPage *page)
{
    return batch->options->same_content ? page->content_hash : page->body_hash;
}

static MDB_val body_key(const FetchResult *fetch, uint64_t words[2])
{
    words[0] ^= hash_mix(fetch->host.id + UINT64_C(1));
    return (MDB_val){.mv_size = 2 * sizeof *words, .mv_data = words};
}

/* ---- what a page's own entry is ---- */

/* A page's record knows its content, which may be another hash than that of its body. Such a page
 * has a second entry, page -> key of the first. */
static bool has_own_key(const Batch *batch, ContentKind kind)
{
    return !batch->options->same_content && kind != CONTENT_BODY;
}

static Result put_own_key(Batch *batch, const ParsedPage *page, const uint64_t words[2])
{
    uint64_t index = page->fetch->request.index;
    MDB_val key = {.mv_size = sizeof index, .mv_data = &index};
    MDB_val value = {.mv_size = 2 * sizeof *words, .mv_data = (void *)(uintptr_t)words};
    return lmdb_result(mdb_put(batch->txn, batch->store->bodies, &key, &value, 0),
                       "put key of body");
}

/* Removes the entry with this key if it is the page's. */
static Result forget_key(Batch *batch, uint64_t index, MDB_val *key)
{
    MDB_val value;
    int code = mdb_get(batch->txn, batch->store->bodies, key, &value);
    if (code == MDB_SUCCESS && value.mv_size >= sizeof index &&
        memcmp(value.mv_data, &index, sizeof index) == 0) {
        code = mdb_del(batch->txn, batch->store->bodies, key, NULL);
    }
    return code == MDB_NOTFOUND ? RESULT_OK : lmdb_result(code, "forget body fingerprint");
}

static Result forget_own_key(Batch *batch, const ParsedPage *page)
{
    uint64_t index = page->fetch->request.index;
    uint64_t words[2] = {page->body_hash[0], page->body_hash[1]};
    uint64_t old[2];
    MDB_val now = body_key(page->fetch, words);
    MDB_val key = {.mv_size = sizeof index, .mv_data = &index};
    MDB_val value;
    int code = mdb_get(batch->txn, batch->store->bodies, &key, &value);
    if (code != MDB_SUCCESS || value.mv_size != sizeof old ||
        memcmp(value.mv_data, now.mv_data, sizeof old) == 0) {
        return code == MDB_SUCCESS || code == MDB_NOTFOUND ? RESULT_OK
                                                           : lmdb_result(code, "get key of body");
    }
    memcpy(old, value.mv_data, sizeof old);
    code = mdb_del(batch->txn, batch->store->bodies, &key, NULL);
    MDB_val old_key = {.mv_size = sizeof old, .mv_data = old};
    return code == MDB_SUCCESS ? forget_key(batch, index, &old_key)
                               : lmdb_result(code, "forget key of body");
}

/* A page's record knows only the first word of its fingerprint; among the entries that share it,
 * its own is looked for. */
static Result forget_by_first_word(Batch *batch, const ParsedPage *page, uint64_t word)
{
    const FetchResult *fetch = page->fetch;
    uint64_t words[2] = {word, 0};
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

Result ingest_forget_body(Batch *batch, const ParsedPage *page, const PageRef *stored)
{
    if (stored->n_crawls == 0) {
        return RESULT_OK;
    }
    if (has_own_key(batch, content_hash_kind(stored->flags))) {
        return forget_own_key(batch, page);
    }
    return stored->content_hash64 == ingest_duplicates_fingerprint(batch, page)[0]
               ? RESULT_OK
               : forget_by_first_word(batch, page, stored->content_hash64);
}

Result ingest_find_duplicate(Batch *batch, const ParsedPage *page, uint64_t *original,
                             bool *same_links)
{
    const FetchResult *fetch = page->fetch;
    const uint64_t *hash = ingest_duplicates_fingerprint(batch, page);
    uint64_t words[2] = {hash[0], hash[1]};
    uint64_t first[2] = {fetch->request.index, page->links_hash};
    *original = PAGE_DB_NO_INDEX;
    *same_links = false;
    if (fetch->answer.status != 200 || (hash[0] | hash[1]) == 0) {
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
    if (rc == MDB_SUCCESS && has_own_key(batch, page->content_kind)) {
        return put_own_key(batch, page, words);
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
    if (rc != RESULT_OK || old == hash) {
        return rc;
    }
    bool has_twin = *near != PAGE_DB_NO_INDEX && match.hash == hash;
    return near_table_enter(&table, fetch->request.index, hash, has_twin);
}
