/* Reader guard: looks after the readers of the crawl's database while the crawl runs.
 *
 * What: every few seconds the slots of dead processes are cleared, and the oldest snapshot is
 * looked at. A snapshot that lags behind keeps the database from reusing its pages, so data.mdb
 * grows for as long as it lives. The commands of ragno give way (crawl/short_read.h); a process
 * that was stopped (Ctrl-Z), or another program that reads the file, does not. So a warning in
 * ragno.log names its pid once it is older than store.reader_age, and says when it is over. Owns:
 * nothing; the environment is borrowed. Threads: main. Time is a parameter. */
#ifndef CRAWL_RUN_READER_GUARD_H
#define CRAWL_RUN_READER_GUARD_H

#include <lmdb.h>
#include <stdbool.h>

#include "store/lmdb/reader_table.h"

#define READER_GUARD_MS 2000 /* between two looks */

typedef struct ReaderGuard {
    MDB_env *env;
    int64_t patience_ms; /* store.reader_age */
    ReaderTable table;   /* as of the last look */
    ReaderWatch watch;
    int64_t age_ms; /* of the oldest snapshot that lags behind; 0 = none does */
    bool warned;    /* of this one */
    bool crowded;   /* warned of a table that is nearly full */
    MonoTime next;
} ReaderGuard;

void reader_guard_init(ReaderGuard *guard, MDB_env *env, int64_t patience_ms, MonoTime now);
/* Looks when it is time to. */
void reader_guard_tick(ReaderGuard *guard, MonoTime now);

#endif
