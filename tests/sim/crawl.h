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

#include "audit.h"
#include "page/crawl_log.h"
#include "fetch/transfer/fetch_step.h"
#include "frontier/distributor/distributor.h"
#include "frontier/visit/workbench.h"
#include "ingest/ingest_patience.h"
#include "ingest/batch/ingest_sieve.h"
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
} CrawlOptions;

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
    bool finished;
    bool broken; /* a part failed: told on standard error */
    CrawlCost cost;
    int64_t longest_merge_ns;      /* CPU time of a piece */
    int64_t longest_merge_wall_ns; /* the same by the clock */
    uint64_t evictions;
    uint64_t starved; /* times a connection was free and nothing due */
} Crawl;

/* False: cannot be opened, told on standard error. */
bool crawl_open(Crawl *crawl, const CrawlOptions *options, const World *world, Audit *audit);
/* Seeds it: the roots of hosts 0, n, 2n, ... */
bool crawl_seed(Crawl *crawl);
/* Goes on until the next event has been served; false when the crawl is over or broken. */
bool crawl_step(Crawl *crawl);
/* Loses everything but the database and starts again pause_ms later. */
bool crawl_crash(Crawl *crawl, int64_t pause_ms);
/* Compares the database with the audit's books. */
void crawl_check_end(Crawl *crawl);
void crawl_close(Crawl *crawl, bool remove);
/* Brings home what the distributor has recalled. */
void crawl_recall(Crawl *crawl);

/* Database and tables, opened or created. */
bool crawl_store_of(Crawl *crawl);

#endif
