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
#ifndef INGEST_H
#define INGEST_H

#include "archive.h"
#include "crawl_log.h"
#include "frontier/distributor.h"
#include "parsed_page.h"
#include "stats.h"
#include "store/host_table.h"
#include "store/near_table.h"
#include "store/page_db.h"
#include "store/schedule.h"
#include "trap_yield.h"

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
    ScheduleOrder order;
    unsigned levels;
    double depth_factor;
    double redirect_weight;
    uint64_t max_depth;
    unsigned max_redirects;
    uint64_t pages_per_host; /* 0 = no limit */
    bool follow_duplicates;
    bool near_duplicates;   /* look for them */
    TrapYieldOptions traps; /* fetches 0 = off */
} IngestOptions;

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
    MDB_dbi bodies;   /* body fingerprint and host -> page index: exact duplicates */
    MDB_dbi near;     /* simhashes: store/near_table.h */
    MDB_dbi crawl;    /* names -> values: totals, the end of the WARC files */
    Archive *archive; /* NULL: none is kept */
} IngestStore;

typedef struct Ingest Ingest;

/* Restores the totals of earlier runs. */
Result ingest_new(Ingest **ingest, const IngestOptions *options, const IngestStore *store,
                  const IngestSinks *sinks, CrawlLog *log, Stats *stats);
Result ingest_start(Ingest *ingest);
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

/* Reads the saved totals; zeroes when there are none. */
Result ingest_read_totals(MDB_txn *txn, MDB_dbi crawl, CrawlTotals *totals);

#endif
