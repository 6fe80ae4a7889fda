/* Near tables: the sketches of all pages, for finding near duplicates.
 *
 * What: table "near_sketches" has the sketch that a page is entered with; table "near" has its
 * bands (parse/text/sketch.h), an entry of 16 bytes for each. A key is the number of the band and
 * the top 16 bits of the band's key; the values, sorted and of fixed size, are the rest of it and
 * the page. So a look-up reads SKETCH_BANDS runs of adjacent values, and the sketches of those
 * that agree; a page costs 680 bytes. Of one band NEAR_CANDIDATES pages are looked at, the oldest:
 * where more agree (thousands of pages of one template), one of them is near enough.
 * Owns: the handles; the tables are the environment's.
 * Threads: the ingest thread, inside its transaction.
 * Errors: RESULT_FULL (the map must grow), RESULT_DAMAGED, RESULT_IO. */
#pragma once

#include <lmdb.h>

#include "base/core/result.h"
#include "parse/text/sketch.h"

#define NEAR_CANDIDATES 16u

typedef struct NearRows {
    MDB_txn *txn; /* of this batch; borrowed */
    MDB_dbi bands;
    MDB_dbi sketches;
} NearRows;

typedef struct NearMatch {
    uint64_t page;
    double similarity; /* at least SKETCH_NEAR */
    bool is_twin;      /* the same sketch */
} NearMatch;

/* Opens or creates the tables. */
Result near_rows_open(MDB_txn *txn, NearRows *rows);
/* The page, but for self, that has most in common with a text, the oldest among equals.
 * RESULT_NOT_FOUND: none is near. */
Result near_rows_find(const NearRows *rows, const TextSketch *sketch, uint64_t self,
                      NearMatch *match);
/* The sketch that a page is entered with; it does not exist when the page is not entered. */
Result near_rows_get(const NearRows *rows, uint64_t page, TextSketch *sketch);
/* Enters a page. has_twin: another page is entered with the same sketch, and stands for this one
 * in every search, so that thousands of equal pages are one. */
Result near_rows_enter(const NearRows *rows, uint64_t page, const TextSketch *sketch,
                       bool has_twin);
/* Removes a page that is entered with this sketch. */
Result near_rows_remove(const NearRows *rows, uint64_t page, const TextSketch *sketch);
