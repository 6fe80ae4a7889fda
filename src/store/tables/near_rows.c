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
    const LmdbTable tables[] = {{&rows->bands, "near", MDB_DUPSORT | MDB_DUPFIXED},
                                {&rows->sketches, "near_sketches", MDB_INTEGERKEY}};
    return lmdb_tables_open(txn, tables, 2, MDB_CREATE);
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
    *sketch = (TextSketch){.exists = false};
    Result rc = lmdb_get_struct(rows->txn, rows->sketches, lmdb_bytes(&page, sizeof page),
                                sketch->bytes, sizeof sketch->bytes, "get sketch");
    sketch->exists = rc == RESULT_OK;
    return rc == RESULT_NOT_FOUND || rc == RESULT_VERSION ? RESULT_OK : rc;
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
static Result near_rows_find_in_band(const NearRows *rows, LmdbRows *bands,
                                     const TextSketch *sketch, unsigned band, uint64_t self,
                                     NearMatch *match)
{
    uint64_t key = sketch_band(sketch, band);
    NearKey name = near_rows_key_of(band, key);
    NearEntry entry = {.key = htobe64(key), .page = 0};
    Result rc = RESULT_OK;
    bands->key = lmdb_bytes(&name, sizeof name);
    bands->value = lmdb_bytes(&entry, sizeof entry);
    bool more = lmdb_rows_get(bands, MDB_GET_BOTH_RANGE);
    for (unsigned n = 0; more && rc == RESULT_OK && n < NEAR_CANDIDATES; n++) {
        memcpy(&entry, bands->value.mv_data, sizeof entry);
        if (be64toh(entry.key) != key) {
            break;
        }
        if (be64toh(entry.page) != self) {
            rc = near_rows_compare(rows, sketch, be64toh(entry.page), match);
        }
        more = lmdb_rows_get(bands, MDB_NEXT_DUP);
    }
    return rc;
}

Result near_rows_find(const NearRows *rows, const TextSketch *sketch, uint64_t self,
                      NearMatch *match)
{
    LmdbRows bands;
    Result rc = RESULT_OK;
    *match = (NearMatch){.similarity = 0};
    lmdb_rows_open(&bands, rows->txn, rows->bands);
    for (unsigned band = 0; rc == RESULT_OK && band < SKETCH_BANDS && !match->is_twin; band++) {
        rc = near_rows_find_in_band(rows, &bands, sketch, band, self, match);
    }
    rc = lmdb_rows_end(&bands, rc, "find near");
    return rc == RESULT_OK && match->similarity < SKETCH_NEAR ? RESULT_NOT_FOUND : rc;
}

Result near_rows_enter(const NearRows *rows, uint64_t page, const TextSketch *sketch, bool has_twin)
{
    Result rc = lmdb_put(rows->txn, rows->sketches, lmdb_bytes(&page, sizeof page),
                         lmdb_bytes(sketch->bytes, sizeof sketch->bytes), "enter sketch");
    if (rc == RESULT_OK && !has_twin) {
        rc = lmdb_result(near_rows_change(rows, page, sketch, true), "enter sketch");
    }
    return rc;
}

Result near_rows_remove(const NearRows *rows, uint64_t page, const TextSketch *sketch)
{
    Result rc =
        lmdb_remove(rows->txn, rows->sketches, lmdb_bytes(&page, sizeof page), "remove sketch");
    return rc == RESULT_OK
               ? lmdb_result(near_rows_change(rows, page, sketch, false), "remove sketch")
               : rc;
}
