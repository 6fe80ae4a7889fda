/* The scores of all pages, as an array in a file. */
#include "store/pages/page_db.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/format/page_packs.h"
#include "store/format/page_record.h"
#include "store/page_tables/page_store.h"
#include "store/pages/page_error.h"

static int copy_pack(const MDB_val *key, const MDB_val *pack, MMapArray *scores)
{
    uint64_t number = 0;
    memcpy(&number, key->mv_data, sizeof number);
    size_t n = page_pack_count(pack);
    for (size_t i = 0; i < n; i++) {
        uint64_t index = number * PAGE_PACK_RECORDS + i;
        MDB_val record;
        if (!page_pack_record(pack, i, &record) || record.mv_size < PAGE_RECORD_HEAD_BYTES ||
            index >= scores->n_elements) {
            return MDB_CORRUPTED;
        }
        ((float *)(void *)scores->mem)[index] = page_record_score(record.mv_data);
    }
    return n == 0 ? MDB_CORRUPTED : 0;
}

static bool page_db_scores_is_stopped(const atomic_bool *stop)
{
    return stop != NULL && atomic_load_explicit(stop, memory_order_relaxed);
}

static int copy_scores(PageDB *db, MDB_txn *txn, MMapArray *scores, const atomic_bool *stop)
{
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, db->store->tables.idx2info, &cursor);
    MDB_val key, value;
    for (MDB_cursor_op op = MDB_FIRST; rc == 0; op = MDB_NEXT) {
        rc = mdb_cursor_get(cursor, &key, &value, op);
        if (rc == 0) {
            rc = page_db_scores_is_stopped(stop) ? EINTR : copy_pack(&key, &value, scores);
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

PageDBError page_db_get_scores(PageDB *db, MMapArray **scores)
{
    return page_db_get_scores_until(db, scores, NULL);
}

PageDBError page_db_get_scores_until(PageDB *db, MMapArray **scores, const atomic_bool *stop)
{
    int checked = page_db_check(db, scores != NULL, "page_db_get_scores");
    if (checked != page_db_error_ok) {
        return (PageDBError)checked;
    }
    assert(scores != NULL); /* or page_db_check would have told */
    *scores = NULL;
    size_t size = strlen(db->path) + sizeof "/scores.bin";
    char *path = malloc(size);
    if (path == NULL) {
        return (PageDBError)page_db_fail(db, page_db_error_memory, "scores: out of memory");
    }
    (void)snprintf(path, size, "%s/scores.bin", db->path);
    MDB_txn *txn = NULL;
    int rc = page_db_txn_begin(db, true, &txn);
    if (rc == page_db_error_ok) {
        uint64_t n_pages = page_db_n_pages(db, txn);
        MMapArrayError made =
            mmap_array_new(scores, path, n_pages == 0 ? 1 : n_pages, sizeof(float));
        if (made != mmap_array_error_ok) {
            rc = page_db_fail(db,
                              made == mmap_array_error_memory ? page_db_error_memory
                                                              : page_db_error_invalid_path,
                              "scores.bin cannot be made");
        } else {
            if (n_pages == 0) {
                mmap_array_zero(*scores);
            }
            rc = page_db_fail_mdb(db, copy_scores(db, txn, *scores, stop), "reading the scores");
        }
        page_db_txn_abort(db, txn);
    }
    if (rc != page_db_error_ok) {
        (void)mmap_array_delete(*scores);
        *scores = NULL;
        (void)unlink(path); /* also when only the file could be made */
    }
    free(path);
    return (PageDBError)rc;
}
