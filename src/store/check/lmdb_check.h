/* Whether the file of an LMDB environment is whole, page by page, before LMDB is let near it.
 *
 * LMDB trusts its pages: one that a disk has zeroed or mixed up ends the program with an assertion
 * or a fault. This reads the file itself, from the meta page of a read transaction, through every
 * tree: that a page is the one it should be and is used once, that counts and offsets stay inside
 * it, that keys ascend, that there are as many entries as the tree says. There are no checksums, so
 * bytes changed inside a value go unseen; what the values mean is for others to check.
 *
 * Beside a running writer it sees the moment of its read transaction. No other handle of the same
 * environment may be open in this process (LMDB's file locks). The format is that of LMDB 0.9, 64
 * bits, whose header documents none of it: mdb.c. Memory: a bit per page. Threads: one. */
#ifndef STORE_CHECK_LMDB_CHECK_H
#define STORE_CHECK_LMDB_CHECK_H

#include <stdint.h>

#include "base/core/result.h"

/* table: its name, "" for the table of tables, "free list". */
typedef void (*LmdbBroken)(void *context, const char *table, uint64_t page, const char *what);

/* path: the directory. told: for each broken page; what hangs from it is not looked at. RESULT_OK,
 * whatever was found, *n_broken counts; also when LMDB itself refuses to open it (it says why to
 * whoever tries). RESULT_MEMORY, RESULT_IO. */
Result lmdb_check(const char *path, LmdbBroken told, void *context, uint64_t *n_broken);

#endif
