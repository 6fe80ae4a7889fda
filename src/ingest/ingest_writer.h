/* Ingest writer: one durable transaction after the other.
 *
 * What: what a fetch changed and the URLs that it found are committed together, so a crash at any
 * instant loses no URL and stores no page twice. After the commit everybody hears of it: the
 * counters, crawl.log, the trap patterns, the distributor.
 *
 *   ingest_writer_commit --> batch_init --> page_way_apply --> a chore's piece --> batch_finish
 *                              --> commit --> tell
 *
 * Owns: the totals as of the last commit, and the table of trap patterns. Stores, log, counters,
 * revisits and sieve are borrowed.
 *
 * Threads: ingest; ingest_writer_abandon any. ingest_writer_seeds and ingest_writer_destroy while
 * there is no ingest thread.
 *
 * Errors: a full disk (or no memory) aborts the transaction, pauses the crawl (`stuck`) and tries
 * the same work again; nothing is dropped. Where that cannot help (a failed sync, a broken
 * environment) the crawl is ended (`failed`): what was not committed stays scheduled, and the next
 * start cuts it off the archive. Once a batch was dropped nothing is committed any more, because
 * the archive ends before it. */
#ifndef INGEST_INGEST_WRITER_H
#define INGEST_INGEST_WRITER_H

#include "base/thread/mutex.h"
#include "base/thread/queue.h"
#include "ingest/batch/ingest_batch.h"
#include "ingest/batch/ingest_live.h"
#include "ingest/batch/ingest_chore.h"
#include "ingest/ingest_patience.h"
#include "ingest/host_places.h"

typedef struct IngestSinks {
    void *context;
    void (*committed)(void *context, CommitNotice *notice); /* takes it */
    void (*finished)(void *context); /* nothing is scheduled any more; may be called repeatedly */
    void (*quiet)(void *context, bool quiet); /* the same, after every turn; may be NULL */
    bool (*hungry)(void *context); /* fetchers could do more than is ready: commit soon */
    void (*stuck)(void *context, bool stuck); /* the disk is full, or no longer */
    void (*failed)(void *context);            /* nothing can be committed until the next start */
} IngestSinks;

typedef struct IngestWriter {
    IngestOptions options; /* the writer's thread's */
    IngestStore store;
    IngestSinks sinks;
    CrawlLog *log;
    Stats *stats;
    CrawlTotals totals; /* as of the last commit */
    RevisitTotals visits;
    WallTotals walls;
    uint64_t log_serial;    /* of the last batch that has lines in crawl.log */
    Revisits *revisits;     /* NULL: schedule.mode = once */
    TrapYield *traps;       /* NULL = off */
    Map crowds;             /* groups of hosts that have met a limit since the start */
    IngestSieve *sieve;     /* NULL = off */
    IngestCluster *cluster; /* NULL = one agent alone */
    HostPlaces places;      /* that wait for the next batch */
    SharedReader admission; /* what the operator admits; opened when there is one */
    IngestPatience patience;
    Queue *waiting;  /* results that wait meanwhile: only counted */
    bool dead;       /* a batch was dropped; so is what follows, since the archive ends before it */
    IngestLive live; /* of the options, as they are for the next batch */
    Mutex stop_mutex; /* guards abandon */
    Condition stop_changed;
    bool abandon;
} IngestWriter;

/* Restores the totals of earlier runs. RESULT_MEMORY, RESULT_IO, RESULT_DAMAGED. The writer must be
 * destroyed in any case. */
Result ingest_writer_init(IngestWriter *writer, const IngestOptions *options,
                          const IngestStore *store, const IngestSinks *sinks, CrawlLog *log,
                          Stats *stats, Queue *waiting);
void ingest_writer_destroy(IngestWriter *writer);
/* Returns when the pages and a piece of the chore (NULL: none) are committed or given up. */
void ingest_writer_commit(IngestWriter *writer, ParsedPage **pages, size_t n_pages,
                          const IngestChore *chore);
/* Adds seeds in one transaction; *added counts the new ones. */
Result ingest_writer_seeds(IngestWriter *writer, const LinkInfo *seeds, const char *const *tags,
                           size_t n, uint64_t *added);
/* The values that may change while the crawl runs; any thread. */
void ingest_writer_change(IngestWriter *writer, const IngestOptions *options);
/* Brings the counters up to date with the database. */
void ingest_writer_publish(IngestWriter *writer);
/* From now on, drops work that cannot be committed at once. */
void ingest_writer_abandon(IngestWriter *writer);

#endif
