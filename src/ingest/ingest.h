/* Ingest: the one thread that writes. Parsed pages in, one durable transaction per batch.
 *
 *   parsing threads --ingest_push--> [queue] --> ingest thread --> PageDB, schedule, hosts,
 * counters
 *                                                     |--> crawl.log (after the commit)
 *                                                     '--> CommitNotice --> distributor
 *
 * What a fetch changed and the URLs it found are committed together: the page's schedule entry
 * leaves in the transaction that holds its result, so a crash at any instant loses no URL and
 * stores no page twice. A batch ends when it is full, when its oldest result is old enough, or at
 * once when nothing else is waiting and the frontier is hungry. A full disk aborts the transaction,
 * pauses the crawl and tries the same batch again; nothing is dropped. Where that cannot help (a
 * failed sync, a broken environment) the crawl is ended: what was not committed stays scheduled,
 * and the next start cuts it off the archive. */
#ifndef INGEST_INGEST_H
#define INGEST_INGEST_H

#include "page/archive.h"
#include "rules/config.h"
#include "page/crawl_log.h"
#include "rules/dedup.h"
#include "frontier/distributor/distributor.h"
#include "page/parsed_page.h"
#include "page/stats.h"
#include "store/tables/host_table.h"
#include "store/tables/near_table.h"
#include "store/pages/page_db.h"
#include "store/tables/revisit_table.h"
#include "store/schedule/schedule.h"
#include "store/scorers/scorer.h"
#include "ingest/trap_yield.h"

struct Batch;                     /* ingest_batch.h */
typedef struct Revisits Revisits; /* revisits.h */
struct IngestSieve;               /* ingest_sieve.h */

typedef enum ScheduleOrder {
    ORDER_BEST_FIRST,
    ORDER_BREADTH_FIRST,
    ORDER_DEPTH_FIRST
} ScheduleOrder;

typedef struct IngestOptions {
    size_t batch_pages;
    size_t batch_links; /* of its pages together; a single page may have more */
    size_t queue;       /* results that may wait; then parsing waits */
    ByteGate *results;  /* where they are counted; a batch ends when it is closed; NULL = nowhere */
    int64_t batch_time_ms;
    int64_t stop_ms; /* for chores, at a stop */
    ScheduleOrder order;
    unsigned levels;
    const Scorer *scorer; /* estimates new pages, best-first; NULL: their links' scores and depth;
                             borrowed */
    double depth_factor;  /* without a scorer */
    double redirect_weight;
    uint64_t max_depth;
    unsigned max_redirects;
    uint64_t pages_per_host; /* 0 = no limit */
    bool follow_duplicates;
    bool near_duplicates; /* look for them */
    DedupSteps dedup;
    TrapYieldOptions traps; /* fetches 0 = off */
} IngestOptions;

/* What the configuration says; gate, scorer and dedup steps are the caller's to set. */
IngestOptions ingest_options(const Config *config);

typedef struct IngestSinks {
    void *context;
    void (*committed)(void *context, CommitNotice *notice); /* takes it */
    void (*finished)(void *context); /* nothing is scheduled any more; may be called repeatedly */
    bool (*hungry)(void *context);   /* fetchers could do more than is ready: commit soon */
    void (*stuck)(void *context, bool stuck); /* the disk is full, or no longer */
    void (*failed)(void *context);            /* nothing can be committed until the next start */
} IngestSinks;

/* What the stores are, opened by the agent. */
typedef struct IngestStore {
    PageDB *db;
    Schedule *schedule;
    HostTable *hosts;
    MDB_dbi bodies;         /* body fingerprint and host -> page index: exact duplicates */
    MDB_dbi near;           /* simhashes: store/tables/near_table.h */
    MDB_dbi keys;           /* dedup keys: dedup.h; used when they are on */
    MDB_dbi crawl;          /* names -> values: totals, the end of the WARC files */
    RevisitTable *revisits; /* NULL: schedule.mode = once */
    Archive *archive;       /* NULL: none is kept */
} IngestStore;

/* Work that must write but waits for no result: levels that moved, visits that are due, a merge.
 * The ingest thread does it in pieces. One that rides goes into the next batch's transaction,
 * behind its results: it costs no sync of its own, so they wait for its run alone, INGEST_RIDE_MS
 * or little more. Only when no result comes for as long as a batch is collected, it gets a
 * transaction of its own, as do all pieces of others. All functions are called in the ingest
 * thread. */
typedef struct IngestChore {
    void *context;
    /* When it wants to run; a time that has passed: now; MONO_NEVER: nothing to do. */
    MonoTime (*due)(void *context);
    /* One piece: what it changes through the batch is committed whole. Ends by `until`, or soon
     * after: results wait meanwhile. An error takes the transaction back, results and all. */
    Result (*run)(void *context, struct Batch *batch, MonoTime until);
    /* The piece was committed (RESULT_OK), or all is as it was before. */
    void (*ended)(void *context, Result rc);
    /* Has something that may still become a URL to fetch: the crawl is not over. */
    bool (*holds)(void *context);
    bool rides;
    bool at_stop; /* a stop runs it until it holds nothing, IngestOptions.stop_ms at most */
} IngestChore;

#define INGEST_MAX_CHORES 4u
#define INGEST_RIDE_MS    20 /* a piece that goes with results */
#define INGEST_CHORE_MS   40 /* one in a transaction of its own */

typedef struct Ingest Ingest;

/* Restores the totals of earlier runs. */
Result ingest_new(Ingest **ingest, const IngestOptions *options, const IngestStore *store,
                  const IngestSinks *sinks, CrawlLog *log, Stats *stats);
/* Before ingest_start. The context must outlive the thread. */
void ingest_add_chore(Ingest *ingest, const IngestChore *chore);
/* Every crawled page is visited again; adds the chore. Before ingest_start; borrowed. */
void ingest_set_revisits(Ingest *ingest, Revisits *revisits);
/* Links may go through it; adds its chore. Before ingest_start; borrowed. */
void ingest_set_sieve(Ingest *ingest, struct IngestSieve *sieve);
Result ingest_start(Ingest *ingest);
/* A chore may have become due. Any thread. */
void ingest_wake(Ingest *ingest);
/* Takes a page; waits while the queue is full. */
void ingest_push(Ingest *ingest, ParsedPage *page);
size_t ingest_waiting(Ingest *ingest);
/* Adds seeds in one transaction, before ingest_start. Known ones are left alone; *added counts the
 * others. */
Result ingest_seeds(Ingest *ingest, const LinkInfo *seeds, size_t n, uint64_t *added);
/* From now on a batch that cannot be committed at once (disk full) is dropped, and all after it:
 * their URLs stay scheduled. Any thread. */
void ingest_abandon(Ingest *ingest);
/* Commits what is queued, then ends the thread. */
void ingest_stop(Ingest *ingest);
void ingest_delete(Ingest *ingest);

/* The totals as of the last commit; after ingest_stop, or from the ingest thread. */
const CrawlTotals *ingest_totals(const Ingest *ingest);
/* Adds this run's time and CPU to the saved totals; after ingest_stop. */
Result ingest_save_times(Ingest *ingest, uint64_t elapsed_ms, uint64_t cpu_ms);

#endif
