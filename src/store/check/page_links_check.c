#include "store/check/page_links_check.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/bits.h"
#include "store/format/page_links.h"
#include "store/page_tables/page_store.h"
#include "base/memory/array.h"

/* What one sweep needs. */
typedef struct Sweep {
    PageLinksCheck *check;
    uint64_t *to; /* scratch */
    uint8_t *kinds;
    size_t m_to; /* room */
    size_t m_kinds;
    uint64_t next; /* no list may be of an earlier page */
} Sweep;

static Result is_sound(Sweep *sweep, uint64_t index, const uint8_t *list, size_t length,
                       bool *sound)
{
    size_t n_diff = 0;
    size_t n = 0;
    size_t most = page_links_bound(length);
    Result rc = array_reserve(&sweep->to, &sweep->m_to, most, sizeof *sweep->to);
    if (rc == RESULT_OK) {
        rc = array_reserve(&sweep->kinds, &sweep->m_kinds, most, sizeof *sweep->kinds);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    const uint64_t *to = sweep->to;
    assert(to != NULL); /* a list takes room, be it empty */
    *sound = page_links_decode(index, list, length, false, sweep->to, &n_diff, &n) &&
             page_links_decode_kinds(list, length, sweep->kinds, n);
    for (size_t i = 0; *sound && i < n; i++) {
        *sound = to[i] < sweep->check->n_pages;
    }
    return RESULT_OK;
}

/* Whether every list of a record is sound and of a page that can have it. One that is not may have
 * shifted the others: the record is broken as a whole. */
static Result page_links_check_record(Sweep *sweep, uint64_t key, const MDB_val *record,
                                      bool *broken)
{
    PageLinksReader reader;
    uint64_t index = 0;
    uint64_t next = sweep->next;
    const uint8_t *list = NULL;
    size_t length = 0;
    Result rc = RESULT_OK;
    page_links_reader_init(&reader, key, record);
    int more = page_links_reader_next(&reader, &index, &list, &length);
    *broken = record->mv_size == 0 || more < 0;
    while (rc == RESULT_OK && !*broken && more == 1) {
        bool sound = index >= next && index < sweep->check->n_pages &&
                     bits_has(sweep->check->crawled, index);
        rc = sound ? is_sound(sweep, index, list, length, &sound) : RESULT_OK;
        next = index + 1;
        more = page_links_reader_next(&reader, &index, &list, &length);
        *broken = !sound || more < 0;
    }
    return rc;
}

/* Marks the pages of a sound record. */
static void page_links_check_mark(Sweep *sweep, uint64_t key, const MDB_val *record)
{
    PageLinksReader reader;
    uint64_t index = 0;
    const uint8_t *list = NULL;
    size_t length = 0;
    page_links_reader_init(&reader, key, record);
    while (page_links_reader_next(&reader, &index, &list, &length) == 1) {
        bits_set(sweep->check->listed, index);
        sweep->next = index + 1;
    }
}

static Result sweep_table(Sweep *sweep, LmdbRows *rows, bool mend)
{
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && lmdb_rows_next(rows)) {
        uint64_t first = 0;
        bool broken = false;
        memcpy(&first, rows->key.mv_data, sizeof first);
        rc = page_links_check_record(sweep, first, &rows->value, &broken);
        sweep->check->n_broken += broken;
        if (rc == RESULT_OK && !broken) {
            page_links_check_mark(sweep, first, &rows->value);
        } else if (broken && mend) {
            lmdb_rows_delete(rows, 0);
        }
    }
    return rc;
}

Result page_links_check(PageDB *db, MDB_txn *txn, PageLinksCheck *check, bool mend)
{
    LmdbRows rows;
    Sweep sweep = {.check = check};
    check->n_broken = 0;
    lmdb_rows_begin(&rows, txn, db->store->tables.links, (MDB_val){0});
    Result rc = lmdb_rows_end(&rows, sweep_table(&sweep, &rows, mend), "read lists of links");
    free(sweep.to);
    free(sweep.kinds);
    return rc;
}

Result page_keys_count(PageDB *db, MDB_txn *txn, uint64_t *n)
{
    return lmdb_count(txn, db->store->tables.hash2idx, n, "count hash2idx");
}
