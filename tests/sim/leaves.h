/* Leaves: how many pages of each table a commit writes.
 *
 * What: a page of LMDB that a transaction changes gets another number, and so do all above it. So
 * what a commit wrote of a table is what its tree has now and had not before, and below a page that
 * is the same nothing has changed. leaves_before looks through all tables just before a commit,
 * leaves_after through what is new. That takes a while in a large database: one commit of many is
 * looked at.
 * Owns: the counts, and the bits between the two calls. */
#ifndef TESTS_SIM_LEAVES_H
#define TESTS_SIM_LEAVES_H

#include <lmdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAVES_TABLES 32u

typedef struct LeavesTable {
    char name[32];
    uint64_t written; /* pages, branches and overflow pages included */
} LeavesTable;

typedef struct Leaves {
    LeavesTable tables[LEAVES_TABLES];
    size_t n_tables;
    uint64_t results; /* of the commits that were looked at */
    uint8_t *bits;    /* pages that were there before; NULL: none is looked at */
    uint64_t n_bits;
    int fd;
} Leaves;

/* env: as it is before the commit, while its write transaction is open. false: it cannot be read.
 */
bool leaves_before(Leaves *leaves, MDB_env *env);
/* After the commit; results: that it held. */
bool leaves_after(Leaves *leaves, MDB_env *env, uint64_t results);
/* Frees what leaves_before took, when there was no commit. */
void leaves_forget(Leaves *leaves);

#endif
