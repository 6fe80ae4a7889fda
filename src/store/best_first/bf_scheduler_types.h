/* Best-first scheduler, its types: options, counts and errors.
 *
 * What: the types that its parts share; bf_scheduler.h has the functions.
 * Owns: what each comment says.
 * Threads: as bf_scheduler.h says. */
#ifndef STORE_BEST_FIRST_BF_SCHEDULER_TYPES_H
#define STORE_BEST_FIRST_BF_SCHEDULER_TYPES_H

#include "base/thread/timekeeper.h"
#include "store/pages/page_db.h"
#include "store/records/page_request.h"
#include "store/scorers/scorer.h"

#define BF_SCHEDULER_DEFAULT_SIZE     PAGE_DB_DEFAULT_SIZE /* the environment is the PageDB's */
#define BF_SCHEDULER_DEFAULT_PERSIST  1
#define BF_SCHEDULER_CRAWL_RATE_STEPS 5
/* Scores are updated when this number of pages was added since the last update, */
#define BF_SCHEDULER_UPDATE_NUM_PAGES 100
/* and that is so large a share of those added before. */
#define BF_SCHEDULER_UPDATE_PER_PAGES 0.01

/* Entries of the schedule that an update looks at, and moves, in one transaction. */
#define BF_SCHEDULER_UPDATE_BATCH_SIZE 100

#define BF_SCHEDULER_EFFORT 256u

typedef enum BFSchedulerError {
    bf_scheduler_error_ok = 0,       /* no error */
    bf_scheduler_error_memory,       /* error allocating memory */
    bf_scheduler_error_invalid_path, /* file system error */
    bf_scheduler_error_internal,     /* unexpected error */
    bf_scheduler_error_thread,       /* error inside the threading library */
    /* Beyond the documented ones: */
    bf_scheduler_error_full,    /* disk full: make room and try again */
    bf_scheduler_error_no_page, /* no such page */
    bf_scheduler_error_locked,  /* another BFScheduler works on the PageDB, or this thread has a
                                   write  transaction open */
    bf_scheduler_error_invalid  /* an argument is NULL or out of range */
} BFSchedulerError;

typedef struct BFSchedulerState BFSchedulerState;

typedef struct BFScheduler {
    PageDB *page_db;         /* borrowed; outlives the scheduler */
    Scorer *scorer;          /* owned; without functions until one is set up */
    TxnManager *txn_manager; /* the PageDB's */
    char *path;              /* as given, or "PATH_OF_PAGE_DB_bfs" */
    Error *error;
    int persist;                      /* if not, delete empties the schedule */
    float max_soft_domain_crawl_rate; /* per second; negative: none (default) */
    float max_hard_domain_crawl_rate;
    uint64_t max_crawl_depth; /* 0: none */
    int leases;               /* requests lease, and take nothing out of the schedule; default 0 */
    BFSchedulerState *state;  /* bf_state.h */
} BFScheduler;

typedef struct BFSchedulerCounts {
    uint64_t scheduled;       /* entries of the schedule, those that are leased included */
    uint64_t requested;       /* leased: not crawled yet */
    uint64_t hosts;           /* with entries */
    uint64_t loaded_hosts;    /* that requests have in memory */
    uint64_t updates;         /* that the scorer has completed */
    uint64_t moves;           /* of pages between levels by updates */
    uint64_t update_txns;     /* of updates, that were committed */
    double longest_update_ms; /* of these, with its commit */
} BFSchedulerCounts;

#endif
