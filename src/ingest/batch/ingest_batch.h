/* Batch: the results of one transaction while it is open.
 *
 * What: the host records that were read and changed, the pages that are to be written, the
 * counters, and what the commit notice will say. What happens to each page is in
 * ingest/page/page_way.h; the batch is what its stations share.
 *
 *   batch_init --> stations, chores --> batch_finish --> commit --> batch_notice --> batch_destroy
 *
 * Owns: its host records and the arrays of writes. The transaction, the pages and whatever is said
 * to be borrowed are the caller's.
 *
 * Threads: ingest.
 *
 * Errors: a callback of PageDB cannot return a Result; it leaves it in `result`
 * (batch_result_of). */
#ifndef INGEST_BATCH_INGEST_BATCH_H
#define INGEST_BATCH_INGEST_BATCH_H

#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "frontier/distributor/commit_notice.h"
#include "ingest/batch/ingest_options.h"
#include "ingest/batch/ingest_store.h"
#include "page/crawl_log.h"
#include "page/parsed_page.h"
#include "page/stats.h"
#include "rules/scope/admission.h"

typedef struct IngestSieve IngestSieve;     /* ingest_sieve.h */
typedef struct Revisits Revisits;           /* ingest/revisit/revisits.h */
typedef struct IngestCluster IngestCluster; /* ingest_cluster.h */

typedef struct BatchHost {
    uint32_t host;
    HostRecord record;
    uint32_t got_urls;  /* new ones that were scheduled */
    uint8_t best_level; /* of those */
    bool cleared;       /* it is full, or set aside: none of its URLs is to be fetched any more */
    bool revived;       /* it was brought back */
    bool is_beyond;     /* it is one host too many on its address */
    bool has_limits;    /* its own are known; host_groups.c */
    HostLimits limits;
    int64_t waits_ms; /* where the table of waits has it, 0 = nowhere */
} BatchHost;

/* Hosts of one registered domain, or on one address. */
typedef struct BatchGroup {
    uint64_t key;
    GroupRecord record;
    bool changed;
} BatchGroup;

typedef struct Batch {
    const IngestOptions *options;
    const IngestStore *store;
    TrapYield *traps;           /* borrowed; NULL = off */
    Revisits *revisits;         /* borrowed; NULL = schedule.mode = once */
    IngestSieve *sieve;         /* borrowed; NULL = links are looked up here */
    IngestCluster *cluster;     /* borrowed; NULL = one agent alone */
    ClusterTotals shared;       /* with it: the saved ones plus this batch */
    const Admission *admission; /* what the operator admits; borrowed; NULL = everything */
    bool defers;                /* links go through it */
    bool hungry;                /* fetchers have nothing to do */
    bool woke;   /* a host that has nothing to fetch but what this brought, nor have others on its
                    address; when hungry */
    bool merges; /* its merge is under way: new URLs are its links' */
    CrawlLog *log;
    MDB_txn *txn;
    CrawlTotals totals; /* the saved ones plus this batch */
    RevisitTotals visits;
    WallTotals walls; /* the saved ones plus this batch; written when they have changed */
    bool walls_changed;
    double late_s;     /* the most that a visit of this batch was late */
    Map hosts;         /* by id, to BatchHost */
    Map groups;        /* by key, to BatchGroup */
    HostLimits limits; /* of groups, as they are now */
    bool site_limits;  /* some hosts have others */
    Map *crowds;       /* groups that have met a limit (host_groups.c); borrowed; NULL = not kept */
    PageWrite *writes; /* pages with an HTTP status */
    CrawledPage *crawled;
    PageLinks *links;
    Arena memory;       /* of hosts and groups, and of links as dedup_first spells them */
    DedupScratch dedup; /* of seeds, and of pages that are given up */
    size_t n_writes;
    ParsedPage **written; /* by write */
    size_t n_begun;       /* writes whose page was told of: the last one's links come now */
    uint64_t begun;       /* its index */
    ScorerLink estimated; /* the last link that was estimated, and */
    float estimate;       /* its score: links of one page are mostly alike */
    bool has_estimate;
    const ScheduleChange *moved; /* by a chore, which owns them; told to the distributor */
    size_t n_moved;
    ParsedPage **pages; /* borrowed */
    size_t n_pages;
    uint64_t *duplicate_of; /* per page: index, or PAGE_DB_NO_INDEX */
    uint64_t *near_of;      /* the same for pages whose text is nearly the same */
    Result result;          /* of what went wrong inside a callback */
} Batch;

/* Borrows everything. *totals are the saved ones; the batch counts on from there. RESULT_MEMORY:
 * the batch is to be destroyed. */
Result batch_init(Batch *batch, const IngestOptions *options, const IngestStore *store,
                  CrawlLog *log, const CrawlTotals *totals, MDB_txn *txn, ParsedPage **pages,
                  size_t n_pages);
/* The host's record as of this batch, to be changed; NULL: batch->result says why. */
BatchHost *batch_host(Batch *batch, uint32_t id);
/* Its name, terminated, into an empty buffer. RESULT_IO. */
Result batch_host_name(Batch *batch, uint32_t id, Buffer *name);
/* The same of a group; only with IngestStore.groups. */
BatchGroup *batch_group(Batch *batch, uint64_t key);
/* The page of a result as it is stored. RESULT_DAMAGED: the database does not have it. */
Result batch_stored(Batch *batch, const FetchResult *fetch, PageRef *page);
/* The result of a call of PageDB that returned rc. An error inside a callback takes precedence over
 * the error of PageDB. */
Result batch_result_of(const Batch *batch, int rc);
/* Writes host records and totals: the last thing before the commit. */
Result batch_finish(Batch *batch);
/* What the distributor must know about this batch. NULL when memory is short; the distributor then
 * finds the hosts by its walk. */
CommitNotice *batch_notice(const Batch *batch);
void batch_destroy(Batch *batch);

#endif
