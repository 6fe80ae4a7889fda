/* Whether the file of an LMDB environment is whole, page by page, before LMDB is let near it.
 *
 * What: LMDB trusts its pages. One that a disk has zeroed or mixed up ends the program with an
 * assertion or a fault. This module reads the file itself: first both meta pages, before LMDB
 * divides by what stands there; then, from the meta page of a read transaction, every tree. It
 * looks whether a page is the one it should be and is used once, whether counts and offsets stay
 * inside it, whether keys ascend, whether there are as many entries as the tree says, and whether
 * the pages of the free list are free: LMDB would write over them. It keeps no checksums, so bytes
 * changed inside a value go unseen; what the values mean is for others to check.
 * Memory: a bit for each page.
 *
 * Beside a running writer it sees the moment of its read transaction. No other handle of the same
 * environment may be open in this process, because of LMDB's file locks. `unlocked` is for a
 * process that looks after one that has met a broken page and may hold LMDB's locks for ever: no
 * lock is taken, and what is found is believed when no commit came meanwhile.
 * Owns: the descriptor and the bits, for the length of the call.
 * Threads: one.
 * Errors: RESULT_IO, RESULT_MEMORY, RESULT_TIMEOUT.
 * Source: LMDB 0.9, 64 bits; its header documents none of the format, mdb.c does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct LmdbCheckOptions {
    bool unlocked;        /* takes no lock */
    uint64_t leaves_most; /* bytes: of a longer file the leaves are not read. 0: they are always */
} LmdbCheckOptions;

/* table: its name, "" for the table of tables, "free list". */
typedef void (*LmdbBroken)(void *context, const char *table, uint64_t page, const char *what);

/* path: the directory. options: NULL for none. told: for each broken page; what hangs from it is
 * not looked at. RESULT_OK, whatever was found, *n_broken counts; also when LMDB itself refuses to
 * open it (it says why to whoever tries). RESULT_MEMORY, RESULT_IO; RESULT_TIMEOUT: unlocked, and
 * a writer was faster each time. */
Result lmdb_check(const char *path, const LmdbCheckOptions *options, LmdbBroken told, void *context,
                  uint64_t *n_broken);
