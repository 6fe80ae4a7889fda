/* Kept: what the directory of an agent remembers of its cluster, as values of the table `crawl`.
 *
 *   cluster_identity, cluster_table   who it is, and the newest table (message/membership.h)
 *   slot_duty                         what is left to do about slots that moved (slot_duty.h)
 *   outbox                            the numbers of the outbox (outbox.h)
 *   peer.N                            its dealings with agent N: PeerMark
 *
 * What: each value is a record, or bytes that begin with their format.
 * Owns: nothing; what is found is LMDB's until the transaction changes something.
 * Threads: that of the transaction.
 * Errors: RESULT_NOT_FOUND: no such value; RESULT_DAMAGED: it is not what it should be;
 * RESULT_FULL, RESULT_IO, RESULT_MEMORY. */
#pragma once

#include <lmdb.h>

#include "cluster/wire/wire.h"

Result kept_find(MDB_txn *txn, MDB_dbi crawl, const char *key, MDB_val *value);
Result kept_put(MDB_txn *txn, MDB_dbi crawl, const char *key, const void *bytes, size_t length);
/* A value that is one record. */
Result kept_get_record(MDB_txn *txn, MDB_dbi crawl, const char *key, const WireRecord *record,
                       void *value);
Result kept_put_record(MDB_txn *txn, MDB_dbi crawl, const char *key, const WireRecord *record,
                       const void *value);

/* Peer marks: what this directory remembers of its dealings with another agent.
 *
 * What: a peer whose own count is below what was heard of it runs from an older copy of its
 * directory: rows that were deleted here for its word are not there any more
 * (cluster/desk/greet_desk.h). The numbers are of directories, not of processes, and no clock,
 * machine or token is asked. */
typedef struct PeerMark {
    uint64_t taken; /* messages of the peer that were committed here; counted in that transaction */
    uint64_t heard; /* the greatest `taken` that the peer has answered with; written in the
                       transaction that deletes the rows it has answered for */
} PeerMark;

/* Zeros when nothing was ever written. */
Result peer_mark_read(MDB_txn *txn, MDB_dbi crawl, uint16_t agent, PeerMark *mark);
Result peer_mark_write(MDB_txn *txn, MDB_dbi crawl, uint16_t agent, const PeerMark *mark);
/* One more message of the agent is taken in; *taken: with it. */
Result peer_mark_take(MDB_txn *txn, MDB_dbi crawl, uint16_t agent, uint64_t *taken);
/* The agent has answered with so many. */
Result peer_mark_hear(MDB_txn *txn, MDB_dbi crawl, uint16_t agent, uint64_t taken);
