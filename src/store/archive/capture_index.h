/* What is stored of each page: when it was captured last, and the newest whole payload of a 200
 * answer.
 *
 * What: LMDB table `captures`. Key: page index. Value: the date (microseconds, 8 bytes), and the
 * digest of the payload (20 bytes) if there is one. A 304 confirms that payload (WARC's revisit
 * record "server not modified"). And `ragno verify` knows which pages must be in the files: those
 * with an entry, whatever store.filter said about others. Entries are written by the transaction
 * that commits the records.
 * Owns: the handle; the table is the environment's.
 * Threads: writer: the one with the write transaction. Readers: any thread with a read transaction
 * of its own.
 * Errors: RESULT_FULL (the map must grow), RESULT_DAMAGED, RESULT_IO; RESULT_NOT_FOUND. */
#pragma once

#include <lmdb.h>

#include "store/archive/warc_record.h"
#include "store/pages/page_db_read.h"

typedef MDB_dbi CaptureIndex; /* its handle */

typedef struct Capture {
    WallTime newest; /* WARC-Date of the newest capture, whatever its status */
    bool has_payload;
    WarcDigest payload; /* of the newest whole 200 answer */
} Capture;

/* Opens the table; creates it when create is set, which takes a write transaction.
 * RESULT_NOT_FOUND: there is none. RESULT_MEMORY, RESULT_IO. */
Result capture_index_open(CaptureIndex *index, MDB_txn *txn, bool create);

/* RESULT_NOT_FOUND: nothing is stored of the page; RESULT_DAMAGED. */
Result capture_index_get(CaptureIndex index, MDB_txn *txn, uint64_t page, Capture *capture);
/* Enters a group of this page that was appended. status is that of HTTP. RESULT_FULL: the map must
 * grow. */
Result capture_index_put_group(CaptureIndex index, MDB_txn *txn, uint64_t page, int status,
                               const WarcGroup *group);
/* Notes that the records of a page are lost: its payload is forgotten, but its date stays, so that
 * `ragno verify` keeps missing the records. RESULT_OK also when the page was not known. */
Result capture_index_lost(CaptureIndex index, MDB_txn *txn, uint64_t page);
/* Forgets a page altogether. RESULT_OK also when it was not known. */
Result capture_index_remove(CaptureIndex index, MDB_txn *txn, uint64_t page);

/* Which payloads are stored already: what makes the second fetch of the same bytes a WARC revisit
 * record.
 *
 * What: LMDB table `payloads`. Key: digest of the payload. Value: of the first record that holds
 * it, the date (8 bytes, microseconds), the record id (16 bytes) and the URI: when it is that of a
 * page, a zero byte and the page's index as a varint, else its text. An entry is written by the
 * transaction that commits the record it names, so it never names one that is not stored.
 * Two fetches of one new payload in the same batch are both stored; the first is kept here.
 * Owns: the handle; the table is the environment's.
 * Threads: writer: the one with the write transaction. Readers: any thread with a read transaction
 * of its own.
 * Errors: RESULT_FULL (the map must grow), RESULT_DAMAGED, RESULT_IO; RESULT_NOT_FOUND. */

typedef MDB_dbi PayloadIndex; /* its handle */

/* Opens the table; creates it when create is set, which takes a write transaction.
 * RESULT_NOT_FOUND: there is none. RESULT_MEMORY, RESULT_IO. */
Result payload_index_open(PayloadIndex *index, MDB_txn *txn, bool create);

/* The first record of a payload. */
typedef struct PayloadRow {
    WallTime date;
    WarcId id;
    uint64_t page; /* whose URL its URI is; PAGE_DB_NO_INDEX: none, see uri */
    WarcBytes uri; /* LMDB's, or the caller's */
} PayloadRow;

/* Reads the value of an entry. RESULT_DAMAGED. */
Result payload_row_read(const MDB_val *value, PayloadRow *row);
/* Fills original (its buffer is overwritten); URLs of pages are those of db. RESULT_NOT_FOUND: the
 * payload is new; RESULT_DAMAGED. */
Result payload_index_get(PayloadIndex index, PageDB *db, MDB_txn *txn, const WarcDigest *payload,
                         WarcOriginal *original);
/* Remembers the first record of a payload. RESULT_EXISTS: there is one, it stays. RESULT_FULL: the
 * map must grow. RESULT_LIMIT: the URI is longer than 64 Ki (nothing is remembered). */
Result payload_index_put(PayloadIndex index, MDB_txn *txn, const WarcDigest *payload,
                         const PayloadRow *row);
/* Enters the payload of a group that was appended, when its main record is a complete response.
 * page, uri: as of PayloadRow. RESULT_OK also when the payload is known, or there is none. */
Result payload_index_put_group(PayloadIndex index, MDB_txn *txn, const WarcGroup *group,
                               uint64_t page, WarcBytes uri);

/* Forgets all payloads, because records that the index names were lost. The next fetch of each
 * payload is stored in full. */
Result payload_index_clear(PayloadIndex index, MDB_txn *txn);

/* The look-up of a recorder (WarcFindOriginal), in a read transaction of its own; without one the
 * payload counts as new. context: */
typedef struct PayloadReader {
    PayloadIndex index;
    PageDB *db;
} PayloadReader;
Result payload_index_find(void *reader, const WarcDigest *payload, WarcOriginal *original);
