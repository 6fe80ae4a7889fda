/* Body table: the first page of a host that had a content, by its fingerprint: what makes two pages
 * duplicates.
 *
 * What: key: the fingerprint, 128 bits, the first 32 of which the caller makes those of the host,
 * big-endian: the entries of a host are neighbours. Value: the page and the hash of its links. A
 * page whose record knows another hash than that of its entry has a second row, page ->
 * fingerprint. Keys of the first kind come in the order of results, so they go through the journal:
 * there a row has the second half of the fingerprint in front, and nothing behind it when the entry
 * is gone.
 * Owns: the handle; the table is the environment's.
 * Threads: the one with the write transaction.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_DAMAGED. */
#pragma once

#include <lmdb.h>

#include "base/core/result.h"
#include "store/lmdb/journal.h"

typedef struct BodyRows BodyRows;

typedef struct BodyOwner {
    uint64_t page;
    uint64_t links_hash;
} BodyOwner;

/* Creates the table in a write transaction. The journal is borrowed. */
Result body_rows_open(BodyRows **table, MDB_txn *txn, Journal *journal);
void body_rows_close(BodyRows *table);
/* Enters the owner of a fingerprint, unless there is one: then *owner is that, and *found is true.
 */
Result body_rows_enter(BodyRows *table, MDB_txn *txn, const uint64_t print[2], BodyOwner *owner,
                       bool *found);
/* Removes the entry of a fingerprint if it is the page's. */
Result body_rows_forget(BodyRows *table, MDB_txn *txn, const uint64_t print[2], uint64_t page);
/* The same when only the first word of the fingerprint is known. */
Result body_rows_forget_word(BodyRows *table, MDB_txn *txn, uint64_t word, uint64_t page);
/* The second row of a page. RESULT_NOT_FOUND. */
Result body_rows_put_own(BodyRows *table, MDB_txn *txn, uint64_t page, const uint64_t print[2]);
Result body_rows_get_own(BodyRows *table, MDB_txn *txn, uint64_t page, uint64_t print[2]);
Result body_rows_remove_own(BodyRows *table, MDB_txn *txn, uint64_t page);
