/* Sieve state: what the last commit knows of the sieve.
 *
 * What: up to where the bucket files count, how far the merge is, and which lists of links are
 * written. A record of the table `crawl` under SIEVE_STATE_KEY, written with every commit that
 * changes it.
 * Errors: RESULT_DAMAGED; RESULT_VERSION: another version of ragno wrote it. */
#ifndef FRONTIER_SIEVE_SIEVE_STATE_H
#define FRONTIER_SIEVE_SIEVE_STATE_H

#include <lmdb.h>

#include "store/drum/drum.h"

#define SIEVE_STATE_KEY "sieve"

typedef struct SieveState {
    DrumPosition position; /* bucket files count up to here */
    DrumProgress progress;
    uint64_t lists; /* of the generation that is merged: lists of pages below are written */
} SieveState;

/* The state; zeroes when there is none. */
Result sieve_state_read(MDB_txn *txn, MDB_dbi crawl, SieveState *state);
Result sieve_state_write(MDB_txn *txn, MDB_dbi crawl, const SieveState *state);

#endif
