/* The streams of all pages by hash: with their indices, with their infos. */
#include "store/pages/page_stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/page_tables/page_key.h"
#include "store/page_tables/page_parts.h"
#include "store/page_tables/page_snapshot.h"
#include "store/pages/page_error.h"

#define ENTRIES_BYTES ((size_t)64 << 10)

static StreamState page_hash_stream_failed(PageDB *db, StreamState *state, int rc, const char *what)
{
    error_clean(db->error);
    (void)page_db_fail_mdb(db, rc, what);
    *state = stream_state_error;
    return *state;
}

PageDBError hashidx_stream_new(HashIdxStream **st, PageDB *db)
{
    int checked = page_db_check(db, st != NULL, "hashidx_stream_new");
    if (checked != page_db_error_ok) {
        return (PageDBError)checked;
    }
    assert(st != NULL); /* or page_db_check would have told */
    *st = NULL;
    HashIdxStream *stream = calloc(1, sizeof *stream);
    uint8_t *entries = malloc(ENTRIES_BYTES);
    if (stream == NULL || entries == NULL) {
        free(entries);
        free(stream);
        return (PageDBError)page_db_fail(db, page_db_error_memory, "hash stream: out of memory");
    }
    stream->db = db;
    stream->state = stream_state_init;
    stream->entries = entries;
    int rc =
        page_snapshot_open(&stream->snapshot, db->store, db->store->tables.hash2idx, &stream->cur);
    if (rc != 0) {
        free(entries);
        free(stream);
        return (PageDBError)page_db_fail_mdb(db, rc, "hash stream");
    }
    *st = stream;
    return page_db_error_ok;
}

void hashidx_stream_delete(HashIdxStream *st)
{
    if (st != NULL) {
        page_snapshot_close(st->snapshot);
        free(st->entries);
        free(st);
    }
}

/* Finds the entries behind the last one again. An entry that has moved meanwhile (its depth is part
 * of it) may come twice or not at all; its neighbours are not touched by that. */
static int seek_entries(HashIdxStream *st, MDB_val *key, MDB_val *value)
{
    if (!st->started) {
        return mdb_cursor_get(st->cur, key, value, MDB_FIRST);
    }
    uint8_t behind[PAGE_ENTRY_BYTES];
    memcpy(behind, st->last, sizeof behind);
    for (size_t i = sizeof behind; i > 0; i--) {
        behind[i - 1]++;
        if (behind[i - 1] != 0) {
            break;
        }
    }
    key->mv_size = sizeof st->domain;
    key->mv_data = &st->domain;
    value->mv_size = sizeof behind;
    value->mv_data = behind;
    int rc = mdb_cursor_get(st->cur, key, value, MDB_GET_BOTH_RANGE);
    if (rc != MDB_NOTFOUND) {
        return rc;
    }
    uint32_t next = st->domain + 1;
    if (next == 0) {
        return MDB_NOTFOUND;
    }
    MDB_val from = {sizeof next, &next};
    rc = mdb_cursor_get(st->cur, &from, value, MDB_SET_RANGE);
    if (rc == 0) {
        *key = from; /* LMDB has put its own there */
    }
    return rc;
}

/* Moves to the next entries: a whole page of the domain's, or the first of another domain. */
static int next_entries(HashIdxStream *st, bool lost, MDB_val *key, MDB_val *value)
{
    int rc = MDB_NOTFOUND;
    if (st->started && !lost) {
        rc = mdb_cursor_get(st->cur, key, value, MDB_NEXT_MULTIPLE);
        if (rc != MDB_NOTFOUND) {
            return rc;
        }
        rc = mdb_cursor_get(st->cur, key, value, MDB_NEXT_NODUP);
    } else {
        rc = seek_entries(st, key, value);
    }
    return rc == 0 ? mdb_cursor_get(st->cur, key, value, MDB_GET_MULTIPLE) : rc;
}

/* Copies entries behind the last one; after a seek the page may begin before it. */
static int copy_entries(HashIdxStream *st, const MDB_val *key, const MDB_val *value)
{
    if (value->mv_size == 0 || value->mv_size > ENTRIES_BYTES ||
        value->mv_size % PAGE_ENTRY_BYTES != 0) {
        return MDB_CORRUPTED;
    }
    uint32_t domain = st->domain;
    if (key->mv_size == sizeof domain) {
        memcpy(&domain, key->mv_data, sizeof domain);
    }
    memcpy(st->entries, value->mv_data, value->mv_size);
    st->n_entries = value->mv_size / PAGE_ENTRY_BYTES;
    st->i_entry = 0;
    while (st->started && domain == st->domain && st->i_entry < st->n_entries &&
           memcmp(st->entries + st->i_entry * PAGE_ENTRY_BYTES, st->last, PAGE_ENTRY_BYTES) <= 0) {
        st->i_entry++;
    }
    st->domain = domain;
    memcpy(st->last, st->entries + value->mv_size - PAGE_ENTRY_BYTES, PAGE_ENTRY_BYTES);
    st->started = true;
    return 0;
}

static int read_entries(HashIdxStream *st)
{
    bool lost = false;
    int rc = page_snapshot_enter(st->snapshot, &lost);
    if (rc != 0) {
        return rc;
    }
    do {
        MDB_val key = {0, NULL}, value = {0, NULL};
        rc = next_entries(st, lost, &key, &value);
        lost = false;
        if (rc == 0) {
            rc = copy_entries(st, &key, &value);
        }
    } while (rc == 0 && st->i_entry == st->n_entries);
    page_snapshot_leave(st->snapshot);
    return rc;
}

StreamState hashidx_stream_next(HashIdxStream *st, uint64_t *hash, size_t *idx)
{
    uint64_t print = 0;
    return hashidx_stream_next_key(st, hash, &print, idx);
}

StreamState hashidx_stream_next_key(HashIdxStream *st, uint64_t *hash, uint64_t *print, size_t *idx)
{
    if (st == NULL || hash == NULL || print == NULL || idx == NULL) {
        return stream_state_error;
    }
    if (st->i_entry == st->n_entries) {
        int rc = st->state == stream_state_end ? MDB_NOTFOUND : read_entries(st);
        if (rc == MDB_NOTFOUND) {
            st->state = stream_state_end;
            return st->state;
        }
        if (rc != 0) {
            return page_hash_stream_failed(st->db, &st->state, rc, "hash stream");
        }
    }
    PageEntry entry;
    page_entry_read(st->entries + st->i_entry++ * PAGE_ENTRY_BYTES, &entry);
    *hash = (uint64_t)st->domain << 32 | entry.url_hash;
    *print = entry.print;
    *idx = entry.index;
    st->state = stream_state_next;
    return st->state;
}

PageDBError hashinfo_stream_new(HashInfoStream **st, PageDB *db)
{
    int checked = page_db_check(db, st != NULL, "hashinfo_stream_new");
    if (checked != page_db_error_ok) {
        return (PageDBError)checked;
    }
    assert(st != NULL); /* or page_db_check would have told */
    *st = NULL;
    HashIdxStream *indices = NULL;
    PageDBError rc = hashidx_stream_new(&indices, db);
    if (indices == NULL) {
        return rc;
    }
    HashInfoStream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        hashidx_stream_delete(indices);
        return (PageDBError)page_db_fail(db, page_db_error_memory, "info stream: out of memory");
    }
    *stream = (HashInfoStream){
        .db = db, .cur = indices->cur, .state = stream_state_init, .indices = indices};
    *st = stream;
    return page_db_error_ok;
}

void hashinfo_stream_delete(HashInfoStream *st)
{
    if (st != NULL) {
        hashidx_stream_delete(st->indices);
        free(st);
    }
}

StreamState hashinfo_stream_next(HashInfoStream *st, uint64_t *hash, PageInfo **pi)
{
    size_t index = 0;
    if (st == NULL || hash == NULL || pi == NULL) {
        return stream_state_error;
    }
    st->state = hashidx_stream_next(st->indices, hash, &index);
    st->cur = st->indices->cur;
    if (st->state != stream_state_next) {
        return st->state;
    }
    st->index = index;
    PageSnapshot *snapshot = st->indices->snapshot;
    bool lost = false;
    int rc = page_snapshot_enter(snapshot, &lost);
    if (rc == 0) {
        rc = page_parts_info(st->db->store, page_snapshot_txn(snapshot), NULL, *hash, index, pi);
        if (lost) {
            /* The cursor has no place now: let the index stream seek again. */
            page_snapshot_park(snapshot);
        }
        page_snapshot_leave(snapshot);
    }
    if (rc != 0) {
        return page_hash_stream_failed(st->db, &st->state, rc, "info stream");
    }
    return st->state;
}
