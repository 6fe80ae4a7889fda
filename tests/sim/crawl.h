/* A crawl in virtual time: the real distributor, workbench, fetch steps, politeness, schedule, page
 * database, host table and ingest batches, driven by one thread against a World and checked by an
 * Audit. Only the network is simulated: name servers and servers answer from the World after their
 * simulated time.
 *
 *   Crawl (this)                the real parts
 *   events: DNS answers   --->  distributor_receive --> workbench_add
 *           fetch ends    --->  fetch_step_end --> workbench_release, batch
 *   clock                 --->  workbench_acquire --> fetch_step_begin --> an event
 *   batch full or old     --->  batch_init/apply/finish, commit, distributor_committed
 *   sieve due             --->  the same with sieve_merge for page_way_apply
 *
 * A crash drops everything but the database, which is closed and opened again. Source of the idea:
 * unbound's replay tests; DESIGN section 11. */
#ifndef TESTS_SIM_CRAWL_H
#define TESTS_SIM_CRAWL_H

#include "../unit/dice.h"
#include "audit.h"
#include "page/crawl_log.h"
#include "fetch/transfer/fetch_step.h"
#include "frontier/distributor/distributor.h"
#include "frontier/visit/workbench.h"
#include "ingest/ingest_writer.h"
#include "ingest/batch/ingest_chore.h"
#include "ingest/batch/ingest_batch.h"
#include "leaves.h"
#include "world.h"

typedef struct CrawlOptions {
    const char *directory; /* of the database; borrowed */
    size_t memory_bytes;   /* of the frontier */
    size_t connections;
    int64_t batch_ms; /* a result waits for its commit at most so long */
    size_t batch_pages;
    size_t front_max;
    uint32_t window;
    uint32_t seeds;       /* roots of this many hosts */
    size_t sieve_bytes;   /* memory of the sieve; 0 = none: batches look links up themselves */
    uint64_t sieve_least; /* URLs known before it is used */
    size_t map_bytes;     /* of the database */
    size_t journal_bytes; /* of memory for its index; 0 = none */
    uint32_t leaves;      /* of every such transaction the pages are counted; 0 = none */
    uint16_t agent;       /* for the books of the audit */
    PolitenessOptions politeness;
} CrawlOptions;

#define CRAWL_CHORES    4u
#define CRAWL_ROBOTS_MS INT64_C(86400000) /* until a robots.txt expires */

/* What a crawl has in addition that is one of many agents. */
typedef struct CrawlShare {
    IngestCluster *cluster;
    IngestChore chores[CRAWL_CHORES];
    size_t n_chores;
    size_t next_chore; /* has its turn */
    bool waits;        /* a chore is due: it goes with the next batch */
    bool fails;        /* the next commit comes to nothing: the disk */
    bool failed;       /* it has; nothing more is done until the process is gone */
    Dice *dice;        /* how long a piece of a chore is */
    WorkbenchLeases leases;
    void *context;
    void (*left)(void *context, uint32_t host); /* DistributorSinks.left */
} CrawlShare;

/* CPU time by part, from the beginning. */
typedef struct CrawlCost {
    int64_t apply_ns; /* batches: what is looked up and changed */
    int64_t write_ns; /* LMDB's commits */
    int64_t tell_ns;  /* commit notices to the distributor; what they make it do */
    int64_t merge_ns; /* pieces of merges, with their commits */
    uint64_t commits; /* of batches */
    uint64_t pieces;  /* of merges */
} CrawlCost;

typedef struct Crawl {
    CrawlOptions options;
    const World *world;
    Audit *audit;
    CrawlShare *share;  /* borrowed; NULL: alone */
    uint64_t may_fetch; /* pages in all */
    bool held;          /* by an operator: nothing is begun */
    uint64_t fetched;   /* pages for good, in flight to their commit or committed */
    PolitenessOptions politeness;
    FetchRules rules;
    IngestOptions ingest;
    IngestStore store;
    CrawlLog *log;
    CrawlTotals totals;
    IngestSieve sieve;
    Stats stats; /* what the sieve's chore reads */
    Distributor distributor;
    Workbench workbench;
    VisitState **recalled; /* what the distributor wants home, until its commit has been told */
    size_t n_recalled;
    Heap events;        /* Event, by virtual time */
    uint64_t n_events;  /* since the beginning: ties in order of creation */
    ParsedPage **pages; /* the batch */
    size_t n_pages;
    MonoTime batch_since;
    IngestPatience patience;
    MonoTime now;
    MonoTime wake; /* when the distributor wants to work */
    size_t required_front;
    bool hungry;
    bool begun;
    bool finished;
    bool broken; /* a part failed: told on standard error */
    CrawlCost cost;
    Leaves leaves;                 /* of every options.leaves-th transaction */
    int64_t longest_merge_ns;      /* CPU time of a piece */
    int64_t longest_merge_wall_ns; /* the same by the clock */
    uint64_t evictions;
    uint64_t starved; /* times a connection was free and nothing due */
} Crawl;

PolitenessOptions crawl_politeness(void);
/* Opens the database. False: it cannot be done, told on standard error. */
bool crawl_open(Crawl *crawl, const CrawlOptions *options, const World *world, Audit *audit);
/* Begins, at crawl->now. resumed: what was before is not known. */
void crawl_begin(Crawl *crawl, bool resumed);
/* Seeds it: the roots of hosts 0, n, 2n, ... */
bool crawl_seed(Crawl *crawl);
/* When something happens next; MONO_NEVER: nothing ever will. */
MonoTime crawl_next(Crawl *crawl);
/* Does what is due now; false when the crawl is over or broken. */
bool crawl_turn(Crawl *crawl, MonoTime now);
/* Ends, with the database closed. */
void crawl_stop(Crawl *crawl);
/* The same, and what was not committed is lost. */
void crawl_die(Crawl *crawl);
/* The same on a machine that nobody hears of any more: what it has in flight ends in its time. */
void crawl_be_lost(Crawl *crawl);
/* The same as crawl_die, and it starts again pause_ms later. */
bool crawl_crash(Crawl *crawl, int64_t pause_ms);
/* Compares the database with the audit's books. */
void crawl_check_end(Crawl *crawl);
void crawl_close(Crawl *crawl, bool remove);
/* Brings home what the distributor has recalled. */
void crawl_recall(Crawl *crawl);

/* Database and tables, opened or created. */
bool crawl_store_of(Crawl *crawl);
/* Nothing is left to do here. */
bool crawl_is_quiet(const Crawl *crawl);

#endif
