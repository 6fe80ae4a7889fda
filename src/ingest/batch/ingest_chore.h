/* Ingest chore: work that has to write, but that no result waits for.
 *
 * What: levels that moved, visits that are due, a merge of the sieve. The ingest thread does a
 * chore in pieces, one transaction each at most. A chore that rides goes into the transaction of
 * the next batch, behind its results: it costs no sync of its own, and the results wait for its run
 * alone, INGEST_RIDE_MS or little more. Only when no result comes for as long as a batch is
 * collected does it get a transaction of its own, as every piece of the other chores does.
 *
 * Owns: the context is the chore's maker's; it must outlive the ingest thread.
 * Threads: all functions are called in the ingest thread. */
#pragma once

#include "base/core/clock.h"

#define INGEST_MAX_CHORES 13u
#define INGEST_RIDE_MS    20 /* a piece that goes with results */
#define INGEST_CHORE_MS   40 /* one in a transaction of its own */

struct Batch; /* ingest_batch.h */

typedef struct IngestChore {
    void *context;
    /* When it wants to run: a time in the past means now, MONO_NEVER means that it has nothing to
     * do. NULL: it never does. */
    MonoTime (*due)(void *context);
    /* Does one piece. What it changes through the batch is committed as a whole. It ends by `until`
     * or soon after, because results wait for it. An error aborts the transaction, results
     * included. */
    Result (*run)(void *context, struct Batch *batch, MonoTime until);
    /* Called after the transaction: RESULT_OK when the piece was committed; any other result when
     * nothing has changed. May be NULL. */
    void (*ended)(void *context, Result rc);
    /* Whether it holds something that may become a URL to fetch: then the crawl is not over. NULL:
     * as long as it has anything to do, unless it has nothing_to_fetch. */
    bool (*holds)(void *context);
    bool nothing_to_fetch; /* comes of it, ever */
    bool rides;
    bool at_stop; /* a stop runs it until it holds nothing, crawl.grace at most */
} IngestChore;

static inline MonoTime ingest_chore_due(const IngestChore *chore)
{
    return chore->due == NULL ? MONO_NEVER : chore->due(chore->context);
}

static inline bool ingest_chore_holds(const IngestChore *chore)
{
    return chore->holds != NULL
               ? chore->holds(chore->context)
               : !chore->nothing_to_fetch && ingest_chore_due(chore).ns != MONO_NEVER.ns;
}
