/* Peer marks: what this directory remembers of its dealings with each other agent.
 *
 *   taken   messages of the peer that were committed here; counted in the transaction that does so
 *   heard   the greatest `taken` that the peer has answered with; written in the transaction that
 *           deletes the rows it has answered for
 *
 * What: a peer whose own count is below what was heard of it runs from an older copy of its
 * directory: rows that were deleted here for its word are not there any more
 * (cluster/desk/greet_desk.h). The numbers are of directories, not of processes, and no clock,
 * machine or token is asked.
 *
 * Owns: nothing; values of the table `crawl`.
 * Threads: that of the transaction.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_DAMAGED. */
#ifndef CLUSTER_LINK_PEER_MARKS_H
#define CLUSTER_LINK_PEER_MARKS_H

#include <lmdb.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct PeerMark {
    uint64_t taken;
    uint64_t heard;
} PeerMark;

/* Zeros when nothing was ever written. */
Result peer_mark_read(MDB_txn *txn, MDB_dbi crawl, uint16_t agent, PeerMark *mark);
Result peer_mark_write(MDB_txn *txn, MDB_dbi crawl, uint16_t agent, const PeerMark *mark);
/* One more message of the agent is taken in; *taken: with it. */
Result peer_mark_take(MDB_txn *txn, MDB_dbi crawl, uint16_t agent, uint64_t *taken);
/* The agent has answered with so many. */
Result peer_mark_hear(MDB_txn *txn, MDB_dbi crawl, uint16_t agent, uint64_t taken);

#endif
