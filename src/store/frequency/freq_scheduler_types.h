/* Frequency scheduler, its types.
 *
 * What: the types that its parts share; freq_scheduler.h has the functions.
 * Owns: what each comment says.
 * Threads: as freq_scheduler.h says. */
#ifndef STORE_FREQUENCY_FREQ_SCHEDULER_TYPES_H
#define STORE_FREQUENCY_FREQ_SCHEDULER_TYPES_H

#include <lmdb.h>
#include <stdio.h>

#include "store/frequency/freq_rules.h"
#include "store/pages/page_db.h"
#include "store/records/page_request.h"

#define FREQ_SCHEDULER_DEFAULT_SIZE    PAGE_DB_DEFAULT_SIZE /* the environment is the PageDB's */
#define FREQ_SCHEDULER_DEFAULT_PERSIST 0

/* With a margin: how long a page stays out that nobody crawls or releases. */
#define FREQ_SCHEDULER_DEFAULT_LEASE_S 600.0

/* With a margin: how many pages that must wait a request passes over. */
#define FREQ_SCHEDULER_PASSED_MAX 10000u

typedef struct PageFreq {
    uint64_t hash; /* page_db_hash */
    float freq;    /* visits per second */
} PageFreq;

typedef enum FreqSchedulerError {
    freq_scheduler_error_ok = 0,       /* no error */
    freq_scheduler_error_memory,       /* error allocating memory */
    freq_scheduler_error_invalid_path, /* file system error */
    freq_scheduler_error_internal,     /* unexpected error */
    /* Beyond the documented ones: */
    freq_scheduler_error_full,   /* disk or map full */
    freq_scheduler_error_locked, /* a cursor is open in this thread, or another scheduler works on
                                    the PageDB */
    freq_scheduler_error_invalid /* an argument is NULL or out of range */
} FreqSchedulerError;

typedef struct FreqScheduler {
    char *path;              /* as given, or "PATH_OF_PAGE_DB_freqs" */
    PageDB *page_db;         /* borrowed; outlives the scheduler */
    TxnManager *txn_manager; /* the PageDB's */
    Error *error;
    int persist;         /* if not, delete empties the schedule; default 0 */
    float margin;        /* default -1: none */
    size_t max_n_crawls; /* default 0: no bound */
    double lease_s;      /* default FREQ_SCHEDULER_DEFAULT_LEASE_S */
    bool is_claimed;     /* the PageDB */
    MDB_dbi schedule;
    MDB_dbi pages;
    double (*now_s)(void *context); /* seconds since 1970, for margin; NULL: the wall clock */
    void *now_context;
} FreqScheduler;

#endif
