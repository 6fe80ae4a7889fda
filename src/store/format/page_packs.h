/* Records by dense index, sixteen to a row of an LMDB table.
 *
 * What: idx2info has a record for every page ever seen. A row for each would cost eighteen bytes
 * more, and half a dozen cache misses to find it among its neighbours. In packs of
 * PAGE_PACK_RECORDS the tree is small, and a record is found by an offset. Key: index /
 * PAGE_PACK_RECORDS. Value: count, width of the offsets (2, or 4 when 64 KiB are not enough), the
 * end of each record, the records. Records are appended in order of index without gaps, or
 * replaced.
 * Owns: an editor owns its cursor and the pack that is being changed.
 * Threads: reading any; an editor belongs to the thread with the write transaction.
 * Errors: LMDB codes and ENOMEM. */
#pragma once

#include <lmdb.h>

#include "store/format/page_record.h"
#include "store/lmdb/journal.h"
#include "store/lmdb/lmdb_result.h"

#define PAGE_PACK_RECORDS 16u

/* How many records a pack has; 0 when it is damaged. */
size_t page_pack_count(const MDB_val *pack);
/* The slot-th record of a pack. false: there is none, or the pack is damaged. */
bool page_pack_record(const MDB_val *pack, size_t slot, MDB_val *record);
/* Finds a record, in the journal (NULL: there is none) or in its pack. An LMDB code; MDB_NOTFOUND,
 * MDB_CORRUPTED. */
int page_pack_find(MDB_txn *txn, MDB_dbi dbi, Journal *journal, uint64_t index, MDB_val *record);

/* The pack that is being changed; written when another one is needed, and at the end. After the
 * first failure nothing more is found or written (LmdbRows). */
typedef struct PagePackEditor {
    MDB_txn *txn;
    LmdbRows rows;    /* of the packs */
    Journal *journal; /* NULL: every change goes to its pack */
    Buffer bytes;     /* records of the pack, one after the other */
    Buffer scratch;
    Buffer changed_head; /* a record with another head */
    uint32_t ends[PAGE_PACK_RECORDS];
    uint64_t key;
    size_t n;
    bool open;
    bool changed;
    bool stored;  /* a previous state is in the table */
    bool resized; /* and has another size */
} PagePackEditor;

void page_pack_editor_begin(PagePackEditor *editor, MDB_txn *txn, MDB_dbi dbi, Journal *journal);
/* Writes what is left, unless rc, what went before, is an error. Returns the code of the first
 * failure, an LMDB code or ENOMEM. */
int page_pack_editor_end(PagePackEditor *editor, int rc);
/* The record of index, valid until the next call. false: there is none. */
bool page_pack_editor_get(PagePackEditor *editor, uint64_t index, MDB_val *record);
/* The same, and what it says (page_record_read). One that is damaged is a failure. */
bool page_pack_editor_read(PagePackEditor *editor, uint64_t index, uint32_t domain, MDB_val *value,
                           PageRecord *record);
/* Replaces the record of index, in the journal if that takes it. The record may not point into the
 * editor. */
void page_pack_editor_set(PagePackEditor *editor, uint64_t index, const MDB_val *record);
/* Replaces the head of a record that was read. */
void page_pack_editor_set_head(PagePackEditor *editor, uint64_t index, const MDB_val *value,
                               const PageRecord *record);
/* Appends the record of index to the last pack, or to a new one (MDB_CORRUPTED: it is not the next
 * one), or replaces it there. */
void page_pack_editor_append(PagePackEditor *editor, uint64_t index, const MDB_val *record);
