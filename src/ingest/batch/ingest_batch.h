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
 * Errors: the first failure is left in `result` (batch_note), and whatever answers false has left
 * one there: a callback of PageDB cannot return it. The transaction is to be aborted then. */
#pragma once

#include <lmdb.h>
#include <stdatomic.h>

#include "cluster/link/outbox.h"
#include "cluster/link/kept.h"
#include "cluster/link/slot_duty.h"
#include "cluster/link/stub.h"
#include "cluster/message/node_note.h"
#include "frontier/distributor/distributor.h"
#include "ingest/batch/trap_yield.h"
#include "page/archive.h"
#include "page/crawl_log.h"
#include "render/render_table.h"
#include "rules/dedup.h"
#include "rules/scope/admission.h"
#include "store/scorers/scorer.h"
#include "store/tables/body_rows.h"
#include "store/tables/page_rows.h"
#include "store/tables/near_rows.h"

/* Ingest options: what the configuration says about writing results.
 *
 * What: plain values, copied by whoever takes them.
 * Owns: nothing. The gate and the scorer are borrowed. */

/* Of a host, and of all hosts of its registered domain, or on its address, together; 0 = no limit.
 */
typedef struct HostLimits {
    uint64_t pages_per_host;
    uint64_t hosts_per_domain;
    uint64_t pages_per_domain;
    uint64_t urls_per_domain; /* queued */
    uint64_t hosts_per_address;
    uint64_t pages_per_address;
    uint64_t urls_per_address;
    uint64_t feeds_per_host; /* that its pages bring; 0 = none */
} HostLimits;

/* What ingest leaves to the room that has pages rendered (render/desk/render_way.h), inside the
 * batch's transaction. */
struct Batch;

typedef struct IngestRendering {
    void *context;
    /* A page is stored that may need a browser; *wanted: it is to be rendered. */
    Result (*judge)(void *context, struct Batch *batch, const ParsedPage *page, bool *wanted);
    /* What a browser made of a page (FETCHED_RENDERED); its records are in the archive. *original:
     * the page of its host whose document shows the same; left alone when there is none. */
    Result (*take)(void *context, struct Batch *batch, ParsedPage *page, uint64_t *original);
} IngestRendering;

typedef struct IngestOptions {
    Config config;     /* flat: its numbers and words are read, no text of it */
    size_t queue;      /* results that may wait; then parsing waits */
    ByteGate *results; /* where they are counted; a batch ends when it is closed; NULL = nowhere */
    const Scorer *scorer; /* estimates new pages, best-first; NULL: their links' scores and depth;
                             borrowed */
    HostLimits limits;
    /* The configuration of now, for one host (site sections), and for "" that of all others. False:
     * limits are the same for all. NULL: limits hold, and politeness does not bear on revisits. */
    bool (*host_config)(void *context, const char *hostname, Config *config);
    void *host_context;
    Shared *admission; /* of an Admission; NULL = everything is admitted; borrowed */
    StaySet *stay;     /* gets the places of new seeds; NULL = none is kept; borrowed */
    DedupSteps dedup;
    TrapYieldOptions traps;           /* fetches 0 = off */
    const IngestRendering *rendering; /* NULL: nothing is rendered; borrowed */
} IngestOptions;

HostLimits ingest_host_limits(const Config *config);
/* What the configuration says; gate, scorer and dedup steps are the caller's to set. */
IngestOptions ingest_options(const Config *config);

/* Ingest store: the tables and files that a batch of results is written to.
 *
 * What: handles that belong together. The main thread opens them (crawl/crawl_store.h), the ingest
 * thread writes through them.
 * Owns: nothing; a copy is as good as the original while the stores are open. */

typedef struct IngestStore {
    PageDB *db;
    Schedule *schedule;
    HostRows *hosts;
    BodyRows *bodies;      /* exact duplicates */
    NearRows near;         /* handles; the transaction is the batch's */
    MDB_dbi keys;          /* dedup keys: dedup.h; used when they are on */
    MDB_dbi crawl;         /* names -> values: totals, the end of the WARC files */
    ExternalRows external; /* links that lead out of scope; 0: nobody keeps them */
    HeldRows held;         /* URLs that a rule holds back; 0: nobody keeps them */
    SeedRows seeds;        /* which pages are seeds; 0: nobody keeps it */
    WaitRows waits;        /* which hosts wait for what; 0: nobody keeps it */
    GroupRows groups;      /* domains and addresses of hosts; 0: nobody counts them */
    FeedRows feeds;        /* of hosts; 0: nobody counts them */
    RevisitRows *revisits; /* NULL: schedule.mode = once */
    RenderTable *renders;  /* NULL: nothing is rendered */
    Archive *archive;      /* NULL: none is kept */
} IngestStore;

/* Ingest kept: the crawl's counters in its database, as of the last commit.
 *
 * What: records of the table "crawl", each under its name. The structs are only appended to, so
 * that a database of an older version opens with the newer counters at 0.
 * Threads: readers any; ingest_kept_write inside the batch's transaction. */

typedef enum IngestKept {
    KEPT_TOTALS,     /* CrawlTotals */
    KEPT_REVISITS,   /* RevisitTotals */
    KEPT_WALLS,      /* WallTotals */
    KEPT_CLUSTER,    /* ClusterTotals */
    KEPT_LOG_SERIAL, /* uint64_t: of the last batch that has lines in crawl.log; 0: none has */
    KEPT_RULES       /* uint64_t: fingerprint of the rules that all is known to follow */
} IngestKept;

/* Fills in the record that is meant; zeroes where none was kept. */
Result ingest_kept_read(MDB_txn *txn, MDB_dbi crawl, IngestKept what, void *record);
Result ingest_kept_write(MDB_txn *txn, MDB_dbi crawl, IngestKept what, const void *record);

typedef struct IngestSieve IngestSieve;     /* ingest_batch.h */
typedef struct Revisits Revisits;           /* ingest/revisit/revisits.h */
typedef struct IngestCluster IngestCluster; /* ingest_batch.h */

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
    Map *walled;       /* pages whose wall is known before their result; borrowed; NULL = none */
    PageWrite *writes; /* pages with an HTTP status */
    CrawledPage *crawled;
    PageLinks *links;
    Arena memory;       /* of what is the batch's, and of links as dedup_first spells them */
    DedupScratch dedup; /* of seeds, and of pages that are given up */
    size_t n_writes;
    ParsedPage **written; /* by write */
    size_t n_begun;       /* writes whose page was told of: the last one's links come now */
    uint64_t begun;       /* its index */
    ScorerLink estimated; /* the last link that was estimated, and */
    float estimate;       /* its score: links of one page are mostly alike */
    bool has_estimate;
    bool holds; /* changes of the schedule are kept for batch_let_go */
    ScheduleChange *held;
    size_t n_held;
    const ScheduleChange *moved; /* by a chore, which owns them; told to the distributor */
    size_t n_moved;
    ParsedPage **pages; /* borrowed */
    size_t n_pages;
    uint64_t *duplicate_of; /* per page: index, or PAGE_DB_NO_INDEX */
    uint64_t *near_of;      /* the same for pages whose text is nearly the same */
    Result result;          /* the first failure */
} Batch;

/* Borrows everything. *totals are the saved ones; the batch counts on from there. RESULT_MEMORY:
 * the batch is to be destroyed. */
Result batch_init(Batch *batch, const IngestOptions *options, const IngestStore *store,
                  CrawlLog *log, const CrawlTotals *totals, MDB_txn *txn, ParsedPage **pages,
                  size_t n_pages);
/* What a step has come to. false: it has failed, or one before it. */
static inline bool batch_note(Batch *batch, Result rc)
{
    batch->result = batch->result == RESULT_OK ? rc : batch->result;
    return batch->result == RESULT_OK;
}
/* The same of a call of PageDB that returned rc. */
bool batch_note_db(Batch *batch, int rc);
/* Moves a page from one level of the schedule to another, SCHEDULE_NO_LEVEL: it has none; at once,
 * or, while batch->holds, with the other changes of its host. Nobody reads the schedule until
 * batch_let_go. */
bool batch_schedule(Batch *batch, const PageRef *page, unsigned from, unsigned to);
bool batch_let_go(Batch *batch);
/* The host's record as of this batch, to be changed; NULL: batch->result says why. */
BatchHost *batch_host(Batch *batch, uint32_t id);
/* It has n more URLs in its schedule, the best at this level (SCHEDULE_NO_LEVEL: none), of which
 * the distributor is to hear. */
void batch_host_gets(BatchHost *host, uint64_t n, unsigned level);
/* It has its URLs again, and its visit state, if there is one, begins anew. */
void batch_host_returns(BatchHost *host, uint64_t n, unsigned level);
/* None of its URLs is to be fetched any more. */
void batch_host_clear(BatchHost *host);
/* Its name, terminated, into an empty buffer. RESULT_IO. */
Result batch_host_name(Batch *batch, uint32_t id, Buffer *name);
/* *first: the spelling that stands for a URL, which may be the URL; with options->dedup. */
Result batch_spell(Batch *batch, const char *url, const char **first);
/* The host of a URL; false: the database does not know it. */
bool batch_find_host(Batch *batch, const char *url, uint32_t *id);
/* The same of a group; only with IngestStore.groups. */
BatchGroup *batch_group(Batch *batch, uint64_t key);
/* A page as it is stored, without its URL. RESULT_DAMAGED: the database does not have it. */
Result batch_stored(const Batch *batch, uint64_t index, PageRef *page);
/* The result of a call of PageDB that returned rc. An error inside a callback takes precedence over
 * the error of PageDB. */
Result batch_result_of(const Batch *batch, int rc);
/* Writes host records and totals: the last thing before the commit. */
Result batch_finish(Batch *batch);
/* What the distributor must know about this batch. NULL when memory is short; the distributor then
 * finds the hosts by its walk. */
CommitNotice *batch_notice(const Batch *batch);
void batch_destroy(Batch *batch);

/* Ingest's cluster: which URLs belong to other agents, and what this batch has for them.
 *
 *   a new URL of a foreign host --> stub --> outbox (cluster/link/outbox.h)
 * ingest/page/ingest_new_url.h a block of another agent    --> page_db_discover_each
 * ingest/chore/inbox_chore.h
 *
 * What: the cluster table as it is committed here, the outbox, and the records of the blocks that
 * are being taken in. Without a `[cluster]` section there is none (Batch.cluster is NULL), and that
 * is all that is left of it.
 * Owns: the table, the draft of the outbox, the cache of slots.
 * Threads: ingest. */

/* Records that are being taken in, in order. Their URLs must not move in memory during that time.
 */
typedef struct Arrivals {
    const LinkRecord *records;
    size_t n;
    size_t next; /* those before it have been told of */
    Map *best;   /* by URL: the record with the least depth; NULL until it is asked for */
} Arrivals;

struct IngestCluster {
    uint16_t self;
    ClusterTable table; /* as of the last commit */
    SlotDuty duty;      /* likewise */
    SlotCache slots;
    Outbox outbox;
    OutboxDraft draft;
    MDB_dbi vias;
    ClusterTotals totals; /* as of the last commit */
    Arrivals arrivals;
    _Atomic uint64_t outbox_blocks; /* as of the last commit; any thread may read them */
    _Atomic uint64_t outbox_bytes;
    void *context;
    /* What the node is to hear of, after a commit; takes what the note owns. NULL: nobody hears. */
    void (*note)(void *context, NodeNote *note);
};

/* Opens the tables in a write transaction, and reads the totals. On failure it is to be destroyed
 * all the same. RESULT_MEMORY, RESULT_IO. */
Result ingest_cluster_init(IngestCluster *cluster, uint16_t self, const ClusterTable *table,
                           MDB_txn *txn, MDB_dbi crawl);
void ingest_cluster_destroy(IngestCluster *cluster);

void ingest_cluster_note(const IngestCluster *cluster, NodeNote note);

/* As of the last commit; any thread. */
static inline uint64_t ingest_cluster_outbox_blocks(const IngestCluster *cluster)
{
    return atomic_load(&cluster->outbox_blocks);
}

/* outbox_read in a transaction of its own. Any thread. RESULT_IO besides. */
Result ingest_cluster_read_outbox(const IngestCluster *cluster, PageDB *db, uint16_t to,
                                  uint64_t from, size_t most, Buffer *blocks, OutboxRange *range);

/* peer_mark_read in a transaction of its own. Any thread. RESULT_IO besides. */
Result ingest_cluster_mark(PageDB *db, MDB_dbi crawl, uint16_t agent, PeerMark *mark);

/* The slot of a URL, as the table has it. */
static inline ClusterSlot ingest_cluster_slot(IngestCluster *cluster, const char *url,
                                              size_t length)
{
    return cluster->table.slots[slot_cache_of_url(&cluster->slots, url, length)];
}
/* The agent that a URL belongs to. */
static inline uint16_t ingest_cluster_owner(IngestCluster *cluster, const char *url, size_t length)
{
    return ingest_cluster_slot(cluster, url, length).to;
}
/* Writes a table in a write transaction, with what follows from it for the duties. It decides from
 * the commit on. RESULT_MEMORY, RESULT_FULL, RESULT_IO. */
Result ingest_cluster_write_table(IngestCluster *cluster, MDB_txn *txn, MDB_dbi crawl,
                                  const ClusterTable *table);
/* The record that led to a new page; NULL when no records are being taken in. */
const LinkRecord *ingest_cluster_arrival(IngestCluster *cluster, const PageRef *page);
/* The best record of a page that was known; NULL. */
const LinkRecord *ingest_cluster_best(IngestCluster *cluster, const char *url, size_t length);
/* Begins to take records in. NULL and 0 end it. */
void ingest_cluster_arrive(IngestCluster *cluster, const LinkRecord *records, size_t n);

/* Called when the batch's transaction begins, before its commit, and after its commit or abort. */
Result ingest_cluster_begin(IngestCluster *cluster, Batch *batch);
void ingest_cluster_end(IngestCluster *cluster, const Batch *batch, bool committed);

/* Ingest's sieve: which pages' links wait for a merge instead of being looked up with their batch.
 *
 *   ingest_sieve_takes_later --yes--> page_db_write without links, ingest_sieve_add
 *        |                              --> batch_finish: sieve_save --> sieve_chore: sieve_merge
 *        '--no--> page_db_write with links
 *
 * What: links go through the sieve when the database is large and fetchers have enough to do
 * (frontier/sieve/sieve.h). So do, at any time, the links of a page that has more of them than a
 * transaction is to have (store.batch_links): new URLs change pages of the database all over it,
 * and a merge looks them up a piece at a time. While the sieve holds anything, a page that was
 * crawled before goes through it, too, so that its lists of links are written in the order of its
 * crawls.
 * Owns: nothing; the sieve is the main thread's.
 * Threads: ingest; flush may be set by any, followed by ingest_wake. */

struct IngestSieve {
    Sieve *sieve;
    void *context;
    bool (*hungry)(void *context);  /* fetchers could do more than is ready */
    MonoTime (*now)(void *context); /* NULL: mono_now */
    Stats *stats;                   /* of the last commit */
    atomic_bool flush;              /* anybody's wish: what it holds is looked up without delay */
};

/* Whether the links of a page are left to a merge. RESULT_DAMAGED. */
Result ingest_sieve_takes_later(Batch *batch, const ParsedPage *page, size_t n_links, bool *later);
/* Adds the links of a page that PageDB has just written to the sieve. write: its place in
 * Batch.writes. */
Result ingest_sieve_add(Batch *batch, size_t write, const PageRef *page);
/* Publishes the figures for the status log; call after a commit. */
void ingest_sieve_publish(const IngestSieve *sieve);
