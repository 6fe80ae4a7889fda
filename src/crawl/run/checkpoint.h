/* Checkpoint: a consistent copy of the database, made while the crawl goes on.
 *
 * What: a thread of its own copies DIR/crawl.mdb, as it is at one commit, into
 * DIR/checkpoint-TIME/crawl.mdb, and puts config.ini and denied.txt beside it. The copy can be
 * looked at with `ragno db`, and moved away. It has a draft's name (.new) until it is whole and
 * synced. Links that wait in the sieve (`sieve_pending` in the status) are in files of their own,
 * and not in it. Owns: its thread. Threads: main, and its own. Errors: a sentence; what was copied
 * until then is left under its draft's name. */
#ifndef CRAWL_RUN_CHECKPOINT_H
#define CRAWL_RUN_CHECKPOINT_H

#include <lmdb.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "base/thread/thread.h"

typedef struct Checkpoint {
    Thread thread;
    MDB_env *env;
    char *draft; /* directory */
    char *path;  /* its name at the end */
    void (*ring)(void *context);
    void *context;
    bool runs;
    atomic_bool is_done;
    int code; /* of LMDB or errno; the thread's until is_done */
} Checkpoint; /* all zero: none */

/* Makes the folder checkpoint->draft, for what is to stand beside the copy. RESULT_EXISTS: a
 * checkpoint is being made already; RESULT_IO and the like. answer gets a sentence then. */
Result checkpoint_prepare(Checkpoint *checkpoint, const char *directory, Buffer *answer);
/* Begins the copy. ring is called by the thread when it is done. Errors as before. */
Result checkpoint_begin(Checkpoint *checkpoint, MDB_env *env, void (*ring)(void *context),
                        void *context, Buffer *answer);
/* False: none is done. True, once: *rc is what came of it, answer gets a sentence. */
bool checkpoint_end(Checkpoint *checkpoint, Result *rc, Buffer *answer);
/* Waits for the end of the one that is being made. */
void checkpoint_stop(Checkpoint *checkpoint);

#endif
