/* Outbox: blocks for other agents, durable until their receivers have committed them.
 *
 *   transaction of a batch: page, edges, stubs, outbox_draft_add --> outbox_draft_finish: rows
 *   courier:                outbox_read --> request --> answer
 *   a later transaction:    outbox_draft_delete
 *
 * What: LMDB table "outbox". Key: agent (16 bits), sequence (48 bits), big-endian, so that the rows
 * of an agent are neighbours and in order. Value: one block (cluster/wire/link_block.h). Sequences
 * are counted over all agents and never used again, so a late answer deletes only the rows that it
 * answers. The numbers of rows and bytes are in the table `crawl` under OUTBOX_STATE_KEY.
 *
 * Owns: a draft owns the blocks that are being filled.
 * Threads: drafts belong to the thread with the write transaction; readers bring a transaction of
 * their own.
 * Invariants:
 *  1. A URL of another agent is in the outbox from the commit that made its stub until the commit
 *     that follows its receiver's answer.
 *  2. OutboxState describes the table.
 * Errors: RESULT_FULL and RESULT_IO of LMDB, RESULT_MEMORY; the transaction must then be aborted.
 * RESULT_DAMAGED: a row does not hold a block.
 * Source: MANY-MACHINES 3. */
#pragma once

#include <lmdb.h>

#include "base/memory/map.h"
#include "cluster/wire/link_block.h"

#define OUTBOX_STATE_KEY   "outbox"
#define OUTBOX_BLOCK_BYTES ((size_t)48 << 10) /* a block is closed when it has these */

typedef struct OutboxState {
    uint64_t next;   /* sequence */
    uint64_t blocks; /* rows */
    uint64_t bytes;  /* of their values */
} OutboxState;

typedef struct Outbox {
    MDB_dbi table;
    MDB_dbi crawl;
} Outbox;

/* Opens (creates) the table in a write transaction; in one that only reads RESULT_NOT_FOUND when
 * there is none. */
Result outbox_open(Outbox *outbox, MDB_txn *txn, MDB_dbi crawl);
/* Zeroes when there is none. RESULT_DAMAGED. */
Result outbox_read_state(const Outbox *outbox, MDB_txn *txn, OutboxState *state);

/* ---- writing ---- */

/* What a draft has for one agent. */
typedef struct OutboxPage {
    uint16_t to;
    bool used; /* in this draft */
    LinkBlockWriter writer;
    size_t bytes; /* that were put into rows */
} OutboxPage;

typedef struct OutboxDraft {
    Outbox outbox;
    MDB_txn *txn; /* NULL: there is no transaction */
    OutboxState state;
    bool changed;
    uint32_t epoch;
    Map pages; /* by agent + 1; kept from draft to draft */
    OutboxPage *last;
} OutboxDraft;

void outbox_draft_init(OutboxDraft *draft, const Outbox *outbox);
void outbox_draft_destroy(OutboxDraft *draft);
/* The write transaction begins. epoch: of the table by which URLs are divided. */
Result outbox_draft_begin(OutboxDraft *draft, MDB_txn *txn, uint32_t epoch);
/* A URL for agent `to`. The record is copied. */
Result outbox_draft_add(OutboxDraft *draft, uint16_t to, const LinkRecord *record);
/* A whole block, with its header, for agent `to`: a row of its own. */
Result outbox_draft_put(OutboxDraft *draft, uint16_t to, const void *block, size_t length);
/* Deletes the rows of an agent with sequences first to last; *n (may be NULL): how many. */
Result outbox_draft_delete(OutboxDraft *draft, uint16_t to, uint64_t first, uint64_t last,
                           uint64_t *n);
/* Writes what was added, and the state: before the commit. */
Result outbox_draft_finish(OutboxDraft *draft);
/* The transaction was committed or aborted. Until then outbox_draft_grown tells of it. */
void outbox_draft_end(OutboxDraft *draft);
/* The next agent that the draft has something for, and how many bytes; begin with *place = 0. */
bool outbox_draft_grown(const OutboxDraft *draft, size_t *place, uint16_t *to, size_t *bytes);

/* ---- reading ---- */

typedef struct OutboxRange {
    uint64_t first; /* sequences */
    uint64_t last;
    uint16_t blocks;
    uint64_t heard; /* of an answered one: messages that the receiver has of us */
} OutboxRange;

/* Rows of an agent from sequence `from` on, one after the other: as many as have `most` bytes
 * together, and the first in any case. *blocks is replaced. RESULT_NOT_FOUND: there is none. */
Result outbox_read(const Outbox *outbox, MDB_txn *txn, uint16_t to, uint64_t from, size_t most,
                   Buffer *blocks, OutboxRange *range);
/* The first agent from *to on that has rows, and the sequence of the first (NULL: not wanted).
 * RESULT_NOT_FOUND. */
Result outbox_next_agent(const Outbox *outbox, MDB_txn *txn, uint16_t *to, uint64_t *sequence);
