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
#pragma once

#include "base/thread/queue.h"
#include "base/thread/tray.h"
#include "ingest/batch/ingest_batch.h"
#include "ingest/batch/ingest_chore.h"

/* Ingest patience: how long a batch is collected while the fetchers have nothing to do.
 *
 * What: idle fetchers may be waiting for a commit, because it brings a new host, or more URLs of a
 * host that has run out of them. So the first batch is collected for INGEST_HUNGRY_MS only. When
 * its commit gave the fetchers nothing to do, they are waiting for the delays of hosts and not for
 * ingest, and the next batch is collected twice as long, and so on up to store.batch_time; after
 * one that did, half as long: what a host is given now and then, as by the blocks of other agents,
 * is no reason for many commits. The reason for patience is that the database copies pages for each
 * commit, however few results it holds: the slow end of a crawl, where few hosts have work left,
 * would pay for a commit with nearly every page.
 * Threads: ingest. */

#define INGEST_HUNGRY_MS 20

typedef struct IngestPatience {
    int64_t hungry_ms; /* 0: INGEST_HUNGRY_MS */
} IngestPatience;

/* How long the next batch is collected, at most batch_time_ms. */
int64_t ingest_patience_ms(const IngestPatience *patience, int64_t batch_time_ms, bool hungry);
/* Notes a commit of results. woke: it gave work to a host that had nothing to fetch, nor had others
 * on its address. For a piece of a merge, call this only when woke is true, because a piece that
 * wakes nobody says nothing about results. */
void ingest_patience_note(IngestPatience *patience, int64_t batch_time_ms, bool woke);

/* Host places: where hosts were found, on the way from the distributor to ingest.
 *
 *   distributor --host_places_add--> [waiting] --host_places_apply--> host_groups_place
 *
 * What: the address of each new host counts in its group (host_groups.h). A result for each of them
 * would cost as much as the host's robots.txt does on the same way, so they wait in a list for the
 * next transaction that has results, and one result is on its way for all of them, so that it
 * comes.
 *
 * Owns: the list.
 * Threads: host_places_add any; the others ingest.
 * Errors: what is not placed, for lack of memory or because the crawl ends, is placed when the host
 * is next loaded. */

typedef struct HostPlaces {
    Tray waiting;        /* for a commit */
    atomic_bool is_told; /* a result is on its way */
    size_t n_taken;      /* of those that wait, in the transaction at hand; ingest's */
} HostPlaces;

void host_places_init(HostPlaces *places);
void host_places_destroy(HostPlaces *places);
/* Adds one. True: nobody comes for it yet, and a result has to be pushed. */
bool host_places_add(HostPlaces *places, uint32_t host, const IpAddress *address);
/* There is no memory for that result: the next one is asked for again. */
void host_places_not_told(HostPlaces *places);
/* Places all that wait, and those of a transaction that was aborted, in the batch's. */
Result host_places_apply(HostPlaces *places, Batch *batch);
/* The transaction was committed. */
void host_places_settle(HostPlaces *places);

typedef struct IngestSinks {
    void *context;
    void (*committed)(void *context, CommitNotice *notice); /* takes it */
    void (*finished)(void *context); /* nothing is scheduled any more; may be called repeatedly */
    void (*quiet)(void *context, bool quiet); /* the same, after every turn; may be NULL */
    bool (*hungry)(void *context);   /* fetchers could do more than is ready: commit soon */
    size_t (*enough)(void *context); /* pages that are worth a commit before a batch's time is over;
                                        NULL: no number is */
    void (*stuck)(void *context, bool stuck);  /* the disk is full, or no longer */
    void (*failed)(void *context, Result why); /* nothing is committed until the next start */
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
    Map walled;             /* Batch.walled */
    Map crowds;             /* groups of hosts that have met a limit since the start */
    IngestSieve *sieve;     /* NULL = off */
    IngestCluster *cluster; /* NULL = one agent alone */
    HostPlaces places;      /* that wait for the next batch */
    SharedReader admission; /* what the operator admits; opened when there is one */
    IngestPatience patience;
    Queue *waiting; /* results that wait meanwhile: only counted */
    bool dead;      /* a batch was dropped; so is what follows, since the archive ends before it */
    Mutex live_mutex; /* RANK_TABLE; guards live */
    Config live;      /* of the options, as it is for the next batch; any thread puts it */
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
void ingest_writer_change(IngestWriter *writer, const Config *config);
/* Brings the counters up to date with the database. */
void ingest_writer_publish(IngestWriter *writer);
/* From now on, drops work that cannot be committed at once. */
void ingest_writer_abandon(IngestWriter *writer);
