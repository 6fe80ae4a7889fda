/* One batch of ingest while its transaction is open: host records that were read and changed, what
 * the commit notice will say. Used by ingest.c and its chores, in the ingest thread. */
#ifndef INGEST_INGEST_BATCH_H
#define INGEST_INGEST_BATCH_H

#include "base/memory/map.h"
#include "ingest/ingest.h"

typedef struct IngestSieve IngestSieve; /* ingest_sieve.h */

typedef struct BatchHost {
    uint32_t host;
    HostRecord record;
    uint32_t got_urls;  /* new ones that were scheduled */
    uint8_t best_level; /* of those */
    bool cleared;       /* its schedule was emptied */
} BatchHost;

typedef struct Batch {
    const IngestOptions *options;
    const IngestStore *store;
    TrapYield *traps;   /* borrowed; NULL = off */
    Revisits *revisits; /* borrowed; NULL = schedule.mode = once */
    IngestSieve *sieve; /* borrowed; NULL = links are looked up here */
    bool defers;        /* links go through it */
    bool hungry;        /* fetchers have nothing to do */
    bool woke;          /* a host that has nothing to fetch but what this brought; when hungry */
    bool merges;        /* its merge is under way: new URLs are its links' */
    CrawlLog *log;
    MDB_txn *txn;
    CrawlTotals totals; /* the saved ones plus this batch */
    RevisitTotals visits;
    double late_s;     /* the most that a visit of this batch was late */
    Map hosts;         /* by id, to BatchHost */
    PageWrite *writes; /* pages with an HTTP status */
    CrawledPage *crawled;
    PageLinks *links;
    Arena names;        /* links as dedup_first spells them */
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

/* What PageDB tells of a page goes into schedule, host records and totals. */
PageSink batch_sink(Batch *batch);
/* Everything the batch changes, up to but without the commit. */
Result batch_init(Batch *batch, const IngestOptions *options, const IngestStore *store,
                  CrawlLog *log, const CrawlTotals *totals, MDB_txn *txn, ParsedPage **pages,
                  size_t n_pages);
Result batch_apply(Batch *batch);
/* Adds seeds; *added counts the new ones. */
Result batch_seed(Batch *batch, const LinkInfo *seeds, size_t n, uint64_t *added);
/* A page that was crawled before and parsed again, for its list of links alone: it is written as by
 * its crawl, and new URLs are scheduled. RESULT_NOT_FOUND: it was never crawled. */
Result batch_relink(Batch *batch, ParsedPage *page);
/* Writes host records and totals. */
Result batch_finish(Batch *batch);
/* The host's record as of this batch, to be changed; NULL: batch->result says why. */
BatchHost *batch_host(Batch *batch, uint32_t id);
/* The page of a result as it is stored. */
Result batch_stored(Batch *batch, const FetchResult *fetch, PageRef *page);
/* What the distributor must hear; NULL when memory is short (it finds out by its walk). */
CommitNotice *batch_notice(const Batch *batch);
void batch_destroy(Batch *batch);

#endif
