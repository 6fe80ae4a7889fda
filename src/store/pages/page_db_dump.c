/* Whole-database exports: scores, infos, links. */
#include "store/pages/page_db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/pages/page_db_internal.h"
#include "store/records/page_packs.h"
#include "store/pages/page_record.h"

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

static bool is_stopped(const atomic_bool *stop)
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
            rc = is_stopped(stop) ? EINTR : copy_pack(&key, &value, scores);
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
    error_clean(db->error);
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

int page_db_print_info(FILE *output, char separator, uint64_t hash, uint64_t index,
                       const PageInfo *pi)
{
    char s = separator;
    return fprintf(output, "%016llx%c%llu%c%s%c%.3f%c%.3f%c%llu%c%llu%c%llu%c%.9g\n",
                   (unsigned long long)hash, s, (unsigned long long)index, s, pi->url, s,
                   pi->first_crawl, s, pi->last_crawl, s, (unsigned long long)pi->n_changes, s,
                   (unsigned long long)pi->n_crawls, s, (unsigned long long)pi->depth, s,
                   (double)pi->score);
}

static PageDBError end_dump(PageDB *db, FILE *output, StreamState state)
{
    if (state == stream_state_error) {
        return (PageDBError)error_code(db->error);
    }
    if (fflush(output) != 0 || ferror(output)) {
        return (PageDBError)page_db_fail(db, page_db_error_invalid_path,
                                         "the dump cannot be written");
    }
    return page_db_error_ok;
}

PageDBError page_db_info_dump(PageDB *db, FILE *output)
{
    HashInfoStream *stream = NULL;
    PageDBError rc = hashinfo_stream_new(&stream, db);
    if (rc != page_db_error_ok) {
        return rc;
    }
    uint64_t hash = 0;
    PageInfo *pi = NULL;
    StreamState state = stream_state_init;
    while ((state = hashinfo_stream_next(stream, &hash, &pi)) == stream_state_next) {
        int n = page_db_print_info(output, ' ', hash, stream->index, pi);
        page_info_delete(pi);
        if (n < 0) {
            break;
        }
    }
    hashinfo_stream_delete(stream);
    return end_dump(db, output, state);
}

PageDBError page_db_links_dump(PageDB *db, FILE *output)
{
    PageDBLinkStream *stream = NULL;
    PageDBError rc = page_db_link_stream_new(&stream, db);
    if (rc != page_db_error_ok) {
        return rc;
    }
    stream->only_diff_domain = 0;
    Link link;
    StreamState state = stream_state_init;
    while ((state = page_db_link_stream_next(stream, &link)) == stream_state_next) {
        if (fprintf(output, "%lld %lld\n", (long long)link.from, (long long)link.to) < 0) {
            break;
        }
    }
    page_db_link_stream_delete(stream);
    return end_dump(db, output, state);
}
