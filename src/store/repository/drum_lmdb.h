/* A DRUM repository that is a table of an LMDB environment.
 *
 * What: the table maps keys to values, nothing else: 64-bit numbers (MDB_INTEGERKEY) or byte
 * strings. How far the merges have come is in a second table, "drum.progress", under the name of
 * the first, and is committed by the same transactions.
 *
 * A generation is merged in one transaction, or, when options.commit_bytes is set, in several of
 * whole buckets. LMDB holds the pages that a transaction changes in memory, so this is how a large
 * merge stays small. The global_order of drum.h wants one transaction.
 *
 * The bulk look-ups of seed 001 are a table each. robots.txt: key = scheme and authority, value =
 * its text. Hosts that were fetched are entered with drum_update. A URL that needs the rules of its
 * host is given to drum_check_with as auxiliary. It comes back by duplicate_key_check with the
 * text, or by unique_key_check: fetch robots.txt first. DNS: key = host name, value = address and
 * time to live; drum_update replaces an address that was resolved again
 * (tests/unit/test_drum_lookup.c). The crawler itself asks for one host at a time, when the host is
 * loaded, in the table beside its record (host_table.h).
 *
 * Owns: the handles of its tables; the environment unless it was given one.
 * Threads: one write transaction at a time in the environment. begin waits until those of others
 * end.
 * Errors: RESULT_FULL when the map or the disk is full; RESULT_DAMAGED, RESULT_VERSION,
 * RESULT_IO. */
#ifndef STORE_REPOSITORY_DRUM_LMDB_H
#define STORE_REPOSITORY_DRUM_LMDB_H

#include <lmdb.h>

#include "store/drum/drum.h"

typedef struct DrumLmdbOptions {
    MDB_env *env;      /* borrowed, with room for two more tables; NULL: open path */
    const char *path;  /* of an environment of its own, one file; created if missing */
    size_t map_bytes;  /* of that; default 64 GiB, sparse */
    const char *table; /* its name; copied; default "drum" */
    DrumKeys keys;
    size_t commit_bytes; /* commit at the end of a bucket when about this number of bytes of pages
                            may be changed; 0: at the end of the generation */
} DrumLmdbOptions;

Result drum_lmdb_open(DrumRepository **repository, const DrumLmdbOptions *options);
/* Closes the environment if it is its own; NULL is allowed. */
void drum_lmdb_close(DrumRepository *repository);

/* Its environment, borrowed: for tables of the caller's beside it (two more in one of its own). */
MDB_env *drum_lmdb_environment(DrumRepository *repository);
/* The transaction of the merge under way, for callbacks that write into the same environment; NULL
 * between transactions. */
MDB_txn *drum_lmdb_transaction(DrumRepository *repository);

/* Reads one key outside of merges, by a read transaction of its own; any thread. value is malloc'd,
 * the caller frees it. RESULT_NOT_FOUND. */
Result drum_lmdb_get(DrumRepository *repository, const DrumKey *key, void **value, size_t *length);
/* How many keys there are. */
Result drum_lmdb_count(DrumRepository *repository, uint64_t *count);

#endif
