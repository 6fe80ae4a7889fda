/* The table of readers of an LMDB environment: who holds a snapshot, and for how long.
 *
 * What: LMDB keeps one slot for each read transaction of each process, in shared memory. While a
 * slot holds a snapshot, no page that was freed after that snapshot can be used again, so the file
 * grows. A process that dies leaves its slots behind; nobody but reader_slots_check clears them. A
 * process that lives but never ends its transaction cannot be helped, only named.
 * The age of a snapshot is how long it has been seen to lag behind the last commit: a snapshot of
 * the last commit costs nothing, however old it is.
 * Owns: nothing; the environment is borrowed.
 * Threads: reader_slots_check any; a ReaderWatch belongs to one.
 * Errors: LMDB codes. */
#pragma once

#include <lmdb.h>

#include "base/core/clock.h"

typedef struct ReaderTable {
    unsigned slots;    /* that a process holds, with or without a snapshot */
    unsigned limit;    /* of slots */
    unsigned cleared;  /* left by dead processes, and cleared by this call */
    long oldest_pid;   /* of the oldest snapshot that is older than the last commit; 0 = none */
    size_t oldest_txn; /* its number */
} ReaderTable;

/* Clears what dead processes have left, then counts. */
int reader_slots_check(MDB_env *env, ReaderTable *table);
/* The same, and the log says how many were cleared: of a crawl, whichever part looks first. */
int reader_slots_tell(MDB_env *env, ReaderTable *table);

/* How long the oldest snapshot has been there, from look to look. */
typedef struct ReaderWatch {
    long pid; /* of the last look; 0 = none */
    size_t txn;
    MonoTime since;
} ReaderWatch;

/* Milliseconds for which the oldest snapshot has lagged behind; 0 when none does. */
int64_t reader_watch_look(ReaderWatch *watch, const ReaderTable *table, MonoTime now);
