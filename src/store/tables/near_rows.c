#include "store/tables/near_rows.h"

#include <endian.h>
#include <string.h>

#include "store/lmdb/lmdb_result.h"

/* Big endian, so that bytes sort as numbers do. */
typedef struct NearEntry {
    uint64_t key;
    uint64_t page;
} NearEntry;

typedef struct NearKey {
    uint8_t bytes[3]; /* band, then the top 16 bits */
} NearKey;

Result near_rows_open(MDB_txn *txn, NearRows *rows)
{
    int rc = mdb_dbi_open(txn, "near", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED, &rows->bands);
    if (rc == 0) {
        rc = mdb_dbi_open(txn, "near_sketches", MDB_CREATE | MDB_INTEGERKEY, &rows->sketches);
    }
    return lmdb_result(rc, "open near");
}

static NearKey near_rows_key_of(unsigned band, uint64_t key)
{
    return (NearKey){{(uint8_t)band, (uint8_t)(key >> 56), (uint8_t)(key >> 48)}};
}

/* Puts the entries of all bands, or deletes them. */
static int near_rows_change(const NearRows *rows, uint64_t page, const TextSketch *sketch,
                            bool enters)
{
    int rc = 0;
    for (unsigned band = 0; rc == 0 && band < SKETCH_BANDS; band++) {
        uint64_t key = sketch_band(sketch, band);
        NearKey name = near_rows_key_of(band, key);
        NearEntry entry = {.key = htobe64(key), .page = htobe64(page)};
        MDB_val k = {.mv_size = sizeof name, .mv_data = &name};
        MDB_val v = {.mv_size = sizeof entry, .mv_data = &entry};
        rc = enters ? mdb_put(rows->txn, rows->bands, &k, &v, MDB_NODUPDATA)
                    : mdb_del(rows->txn, rows->bands, &k, &v);
        rc = rc == MDB_KEYEXIST || rc == MDB_NOTFOUND ? 0 : rc;
    }
    return rc;
}

Result near_rows_get(const NearRows *rows, uint64_t page, TextSketch *sketch)
{
    MDB_val k = {.mv_size = sizeof page, .mv_data = &page};
    MDB_val v;
    int rc = mdb_get(rows->txn, rows->sketches, &k, &v);
    *sketch = (TextSketch){.exists = rc == 0 && v.mv_size == sizeof sketch->bytes};
    if (sketch->exists) {
        memcpy(sketch->bytes, v.mv_data, sizeof sketch->bytes);
    }
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "get sketch");
}

/* Compares with a page that agrees in a band. */
static Result near_rows_compare(const NearRows *rows, const TextSketch *sketch, uint64_t page,
                                NearMatch *match)
{
    TextSketch other;
    Result rc = near_rows_get(rows, page, &other);
    double similarity = rc == RESULT_OK ? sketch_similarity(sketch, &other) : 0;
    if (similarity > match->similarity ||
        (similarity == match->similarity && similarity > 0 && page < match->page)) {
        bool is_twin = memcmp(sketch->bytes, other.bytes, sizeof other.bytes) == 0;
        *match = (NearMatch){.page = page, .similarity = similarity, .is_twin = is_twin};
    }
    return rc;
}

/* The pages that agree in one band, in order. */
static Result near_rows_find_in_band(const NearRows *rows, MDB_cursor *cursor,
                                     const TextSketch *sketch, unsigned band, uint64_t self,
                                     NearMatch *match)
{
    uint64_t key = sketch_band(sketch, band);
    NearKey name = near_rows_key_of(band, key);
    NearEntry entry = {.key = htobe64(key), .page = 0};
    MDB_val k = {.mv_size = sizeof name, .mv_data = &name};
    MDB_val v = {.mv_size = sizeof entry, .mv_data = &entry};
    Result compared = RESULT_OK;
    int rc = mdb_cursor_get(cursor, &k, &v, MDB_GET_BOTH_RANGE);
    for (unsigned n = 0; rc == 0 && compared == RESULT_OK && n < NEAR_CANDIDATES; n++) {
        memcpy(&entry, v.mv_data, sizeof entry);
        if (be64toh(entry.key) != key) {
            break;
        }
        if (be64toh(entry.page) != self) {
            compared = near_rows_compare(rows, sketch, be64toh(entry.page), match);
        }
        rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT_DUP);
    }
    return rc == 0 || rc == MDB_NOTFOUND ? compared : lmdb_result(rc, "find near");
}

Result near_rows_find(const NearRows *rows, const TextSketch *sketch, uint64_t self,
                      NearMatch *match)
{
    MDB_cursor *cursor = NULL;
    *match = (NearMatch){.similarity = 0};
    int opened = mdb_cursor_open(rows->txn, rows->bands, &cursor);
    Result rc = lmdb_result(opened, "open near");
    for (unsigned band = 0; rc == RESULT_OK && band < SKETCH_BANDS && !match->is_twin; band++) {
        rc = near_rows_find_in_band(rows, cursor, sketch, band, self, match);
    }
    if (opened == 0) {
        mdb_cursor_close(cursor);
    }
    return rc == RESULT_OK && match->similarity < SKETCH_NEAR ? RESULT_NOT_FOUND : rc;
}

Result near_rows_enter(const NearRows *rows, uint64_t page, const TextSketch *sketch, bool has_twin)
{
    MDB_val k = {.mv_size = sizeof page, .mv_data = &page};
    MDB_val v = {.mv_size = sizeof sketch->bytes, .mv_data = (void *)(uintptr_t)sketch->bytes};
    int rc = mdb_put(rows->txn, rows->sketches, &k, &v, 0);
    if (rc == 0 && !has_twin) {
        rc = near_rows_change(rows, page, sketch, true);
    }
    return lmdb_result(rc, "enter sketch");
}

Result near_rows_remove(const NearRows *rows, uint64_t page, const TextSketch *sketch)
{
    MDB_val k = {.mv_size = sizeof page, .mv_data = &page};
    int rc = mdb_del(rows->txn, rows->sketches, &k, NULL);
    if (rc == 0 || rc == MDB_NOTFOUND) {
        rc = near_rows_change(rows, page, sketch, false);
    }
    return lmdb_result(rc, "remove sketch");
}
