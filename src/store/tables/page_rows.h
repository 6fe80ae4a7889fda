/* Tables of pages: what is known of some of them besides their records, by index.
 *
 * What: URLs that a rule of the operator holds back, seeds, and links out of scope. Each is a table
 * of its own; the words are with its functions.
 * Owns: nothing; the tables belong to the environment, whose handles live as long as it.
 * Threads: writers in the write transaction, readers in any read transaction.
 * Errors: RESULT_FULL, RESULT_IO and the like. */
#pragma once

#include <lmdb.h>

#include "base/memory/buffer.h"

/* Held table: URLs that a rule of the operator holds back.
 *
 * What: a URL that was scheduled and that a rule refuses in its turn (scope, a denial,
 * filter.fetch) leaves the schedule and is entered here, with the reason and the level it had. When
 * the rules change, the table says which URLs are to be judged again. */

typedef MDB_dbi HeldRows; /* its handle */
#define HELD_TABLE "held" /* MDB_INTEGERKEY */

typedef struct HeldUrl {
    uint64_t index; /* of the page */
    int32_t status; /* why */
    uint8_t level;  /* of the schedule, until then */
} HeldUrl;

Result held_rows_put(HeldRows table, MDB_txn *txn, const HeldUrl *url);
/* RESULT_OK when it is not there, too. */
Result held_rows_remove(HeldRows table, MDB_txn *txn, uint64_t index);
/* RESULT_NOT_FOUND. */
Result held_rows_get(HeldRows table, MDB_txn *txn, uint64_t index, HeldUrl *url);
/* Reads up to max entries by index, from `first` on. *n = how many. */
Result held_rows_read(HeldRows table, MDB_txn *txn, uint64_t first, HeldUrl *urls, size_t max,
                      size_t *n);

/* Seed table: which pages are seeds, and their source tags.
 *
 * What: a seed is entered when it is read, new or not, with the tag behind it ("" = none). Whoever
 * wants to know what became of the seeds walks this table. */

#define SEED_TAG_BYTES 64u /* a longer tag is cut */

typedef MDB_dbi SeedRows;  /* its handle */
#define SEED_TABLE "seeds" /* MDB_INTEGERKEY */

typedef struct SeedEntry {
    uint64_t index; /* of the page */
    char tag[SEED_TAG_BYTES + 1];
} SeedEntry;

/* tag: "" or NULL = none; then a tag that is known stays. */
Result seed_rows_put(SeedRows table, MDB_txn *txn, uint64_t index, const char *tag);
/* RESULT_NOT_FOUND: it is no seed. */
Result seed_rows_get(SeedRows table, MDB_txn *txn, uint64_t index, SeedEntry *entry);
/* All of them, by index. What the call returns ends the walk, and is returned. */
typedef Result SeedCall(void *context, const SeedEntry *entry);
Result seed_rows_each(SeedRows table, MDB_txn *txn, SeedCall *call, void *context);

/* External table: links of pages that lead out of the scope of the crawl.
 *
 * What: such links are part of the graph, but nothing is scheduled for them, and their targets are
 * no pages of PageDB. LMDB table `external`: page index -> the list of the page, as a frame of
 * Zstandard. A list is, for each link, one byte, its kind (parse/html/html.h), then its URL and a
 * NUL. */

typedef MDB_dbi ExternalRows;     /* its handle */
#define EXTERNAL_TABLE "external" /* MDB_INTEGERKEY */

/* Replaces the list of a page; without a byte it has none. */
Result external_rows_put(ExternalRows table, MDB_txn *txn, uint64_t index, const char *list,
                         size_t length);
/* Appends the list of a page, and opens the table by itself: for commands, which have one thread.
 * Nothing when there is none. */
Result external_rows_read(MDB_txn *txn, uint64_t index, Buffer *list);

/* A list as the value of its row, and back; both append to out. */
Result external_rows_pack(const char *list, size_t length, Buffer *out);
Result external_rows_unpack(const MDB_val *value, Buffer *out);
