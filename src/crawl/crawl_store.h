/* Crawl store: everything that a crawl keeps, opened.
 *
 *   DIR/lock       held by the one process that crawls
 *   DIR/crawl.mdb  the LMDB environment with all tables
 *
 * What: opens the directory, its lock, the environment and its tables, and creates what is missing.
 * Owns: all of it.
 * Threads: main opens and closes it; the tables are used by ingest and by readers. */
#pragma once

#include "ingest/ingest.h"

typedef struct CrawlStore {
    IngestStore tables;
    char *directory; /* owned */
    int lock;        /* descriptor, or -1 */
    bool existed;    /* it held a crawl before */
} CrawlStore;

typedef struct CrawlStoreOptions {
    bool must_be_new;
    size_t map_bytes; /* 0 = PageDB's default */
    ScheduleOptions schedule;
    DedupSteps dedup;
    bool continuous;      /* open the revisit tables */
    bool renders;         /* open the table of jobs for browsers */
    size_t journal_bytes; /* of memory for the journal's index; 0 = none is used */
} CrawlStoreOptions;

/* What the configuration says. */
CrawlStoreOptions crawl_store_options(const Config *config, const DedupSteps *dedup);

/* Creates or opens a crawl for writing. RESULT_EXISTS: must_be_new and it holds a crawl;
 * RESULT_LOCKED: another process has it; RESULT_INVALID: it was begun with another dedup key;
 * RESULT_VERSION, RESULT_DAMAGED, RESULT_FULL, RESULT_IO. error holds one sentence. */
Result crawl_store_open(CrawlStore *store, const char *directory, const CrawlStoreOptions *options,
                        Buffer *error);
void crawl_store_close(CrawlStore *store);

/* Looks at the pages of the database, before it is opened in this process: of one above a gibibyte
 * only at those that lead to others. RESULT_DAMAGED: error names the first broken page. Also
 * beside a running crawl; unlocked: whatever locks somebody holds. A database that is not there,
 * or that LMDB refuses by itself, is RESULT_OK: who opens it is told. */
Result crawl_store_look(const char *directory, bool unlocked, Buffer *error);
/* What a crawl keeps may hold secrets: headers and cookies of the operator, tokens in URLs. From
 * this call on the files of the process are for its user and group, whatever umask it was started
 * with. Those who take the lock have called it. */
void crawl_store_keep_private(void);
/* Opens the directory and takes its lock, nothing else; crawl_store_open goes on from there. */
Result crawl_store_lock(CrawlStore *store, const char *directory, bool must_be_new, Buffer *error);
/* Whether the directory holds a crawl. */
bool crawl_store_exists(const char *directory);
/* Whether a crawl has told its status there; it does so after its first commit, and after its
 * config.ini is on the disk: without either, something was lost. */
bool crawl_store_has_run(const char *directory);
/* Process id of who holds the lock, or 0. */
long crawl_store_owner(const char *directory);
