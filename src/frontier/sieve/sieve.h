/* Sieve: which of the links found were never seen before, when there are too many to look up at
 * once.
 *
 *   results --sieve_add--> url cache, bucket files --sieve_save--> durable, and part of the commit
 *                                   |                              that holds the results
 *        a bucket is full, the frontier is hungry, or the oldest link is max_age old
 *                                   v
 *   sieve_merge, in pieces   1. bucket after bucket: look-up; new URLs: index, PageInfo, the sink
 *                               (host, level, schedule); known ones: a better path
 *                            2. page after page: its links, new or not, become its list
 *
 * What: collects links until looking all of them up in one sweep is cheap, on a DRUM whose
 * repository is PageDB's hash2idx. A batch of results (ingest/page/page_way.h) can look its links
 * up itself and commit pages and links together; nothing is simpler, and a small crawl never waits.
 * But every new URL changes a leaf of hash2idx, its host's record and its host's schedule. Once
 * these trees have many more leaves than a batch has links, each leaf is copied and written for one
 * URL. A generation of the sieve has millions of links. Its buckets are ranges of the domain hash,
 * so that a merge says everything that it has to say to one host, and to one leaf, at once.
 *
 * When to use it: the owner gives links to the sieve when the frontier is not hungry, so that
 * nobody misses the new URLs until the merge, and when the database is large enough (least_urls). A
 * link costs about a microsecond more through the sieve. What it saves grows with the trees, and
 * shrinks with the size of a batch. Measured in simulated crawls (11 links a page, of which one is
 * new; the database in the page cache):
 *   sim --urls 1000000 --hosts 50001 --addresses 15001 --batch-time 30000
 *       --sieve-from 50000     33 900 pages per CPU-second; --sieve 0: 33 500
 *   sim --urls 2000000 --hosts 100001 --addresses 30001 --batch-time 30000 --batch-pages 2048
 *       --sieve-from 200000    24 200; --sieve 0: 25 000, and a sixth more written
 * There both ways come out even, and the default begins where these crawls end. Both ways may
 * alternate, because what decides whether a URL is new is hash2idx alone.
 *
 * Memory: the URL cache, the arrays (buckets times array_bytes), and a merge: its fullest bucket,
 * and sixteen bytes for each link of the generation, twice. When the links are many these are in
 * files without a name, that is in the system's page cache.
 *
 * Owns: bucket files, URL cache and merge. PageDB is borrowed.
 *
 * Threads: ingest.
 *
 * Invariants:
 *  1. Exactly once. Links are durable (bucket file, checksums) before the transaction commits that
 *     takes their page out of the schedule. That transaction says up to where the bucket files
 *     count (sieve.h), so a crash between the two leaves a tail that the next start cuts off.
 *     A merge commits its progress with what it writes, and the next start goes on behind it.
 *  2. Order. Indices follow the order of first appearance within a bucket, that is within a domain;
 *     so does the schedule of a host. A page gets the links and the path that page_db_write would
 *     give it. Of a page that is crawled twice before its first links are merged, the list of the
 *     later crawl stays: while the sieve holds anything, a page that was crawled before must not be
 *     written past it.
 *  3. Pieces. The clock is looked at between two buckets, between some lists, and between some
 *     edges of the sort. So a bucket is full at sixteen thousand elements, whatever the memory.
 *
 * Errors: those of drum.h and page_merge.h. After one the transaction must be aborted and
 * sieve_settle called. Blocks of a bucket file that cannot be read are left out, counted and
 * logged. A page of which a link is lost gets no list; `ragno verify` tells such a page from one
 * whose links wait (sieve.h).
 *
 * Source: Lee and others, IRLbot, WWW 2008 (DRUM); BUbiNG's sieve. */
#pragma once

#include <lmdb.h>

#include "frontier/sieve/page_merge.h"
#include "frontier/sieve/sieve_edges.h"

/* Sieve state: what the last commit knows of the sieve.
 *
 * What: up to where the bucket files count, how far the merge is, and which lists of links are
 * written. A record of the table `crawl` under SIEVE_STATE_KEY, written with every commit that
 * changes it.
 * Errors: RESULT_DAMAGED; RESULT_VERSION: another version of ragno wrote it. */

#define SIEVE_STATE_KEY "sieve"

typedef struct SieveState {
    DrumPosition position; /* bucket files count up to here */
    DrumProgress progress;
    uint64_t lists; /* of the generation that is merged: lists of pages below are written */
} SieveState;

/* The state; zeroes when there is none. */
Result sieve_state_read(MDB_txn *txn, MDB_dbi crawl, SieveState *state);

/* Sieve merge: looks up the links of one generation, in pieces.
 *
 *   sieve_merge_begin --> sieve_merge_step, commit, sieve_merge_settle, again and again --> ended
 *
 * What: first the buckets, one after the other: each link becomes a new page, a better path or
 * nothing (page_merge.h), and an edge. Then the edges are sorted (sieve_edges.h), and page after
 * page gets its list of links. What was gathered of buckets that an earlier run merged is gathered
 * again, by look-ups.
 *
 * Owns: the edges. Drum, PageMerge, directory and state are the sieve's.
 * Threads: ingest. sieve_merge_step between page_merge_begin and page_merge_end.
 *
 * Invariants:
 *  1. Progress is committed by the transaction that holds what was written: after an aborted one
 *     the merge stands where it was (sieve_merge_settle).
 *  2. A page gets a list only when all of its links are there. */

/* The page whose link led to the URL that the sink is being told of. */
typedef struct SieveSource {
    size_t n_links;
    float score;
} SieveSource;

typedef struct SieveMerge {
    Drum *drum; /* borrowed, as what follows */
    PageMerge *pages;
    const char *directory;
    SieveState *state;
    DrumMerge *drum_merge; /* NULL: none is under way */
    SieveEdges edges;
    size_t n_edges;        /* committed */
    uint32_t edge_buckets; /* whose edges are there */
    uint32_t edge_buckets_committed;
    bool sorting;
    bool sorted;
    SieveSort sort;
    uint64_t *targets;
    size_t position; /* of the next list */
    size_t position_committed;
    bool finished; /* everything is written: waits for its commit */
    bool replaying;
    SieveSource source;
    uint64_t lost; /* links */
} SieveMerge;

/* Sieve walk: which pages' links wait in the bucket files, and are all there.
 *
 * What: for `ragno verify`. A page that was crawled and has no list of links is one whose links are
 * lost, or still in the sieve; this tells them apart. Reads only, without an open sieve.
 * Errors: those of drum_walk. */

/* Sets the bits of the pages whose links wait in the bucket files and are all there (n_pages bits,
 * zeroed by the caller). Reads only; recovery as drum_walk. */
Result sieve_walk(const char *directory, const SieveState *state, uint8_t *pages, uint64_t n_pages,
                  DrumRecovery *recovery);
/* Shows the URL of every link that waits and has one (the others are known). */
typedef void (*SieveUrlVisit)(void *context, const char *url, size_t length);
Result sieve_walk_urls(const char *directory, const SieveState *state, SieveUrlVisit visit,
                       void *context);

typedef struct Sieve Sieve;

typedef struct SieveOptions {
    const char *directory; /* of the bucket files; created if missing; copied */
    PageDB *db;
    MDB_dbi crawl;       /* the table that holds SieveState */
    size_t memory_bytes; /* for all: at least SIEVE_LEAST_MEMORY */
    int64_t max_age_ms;  /* of a link before it is merged */
    uint64_t
        least_urls;   /* known ones, before links go through the sieve; 0: always, hungry or not */
    unsigned buckets; /* 0: SIEVE_BUCKETS */
} SieveOptions;

#define SIEVE_LEAST_MEMORY ((size_t)1 << 20)
#define SIEVE_BUCKETS      256u
#define SIEVE_DIRECTORY    "sieve"

/* Opens what an earlier run left and cuts off what was not committed. txn: any. RESULT_LOCKED,
 * RESULT_INVALID: an option. */
Result sieve_open(Sieve **sieve, const SieveOptions *options, MDB_txn *txn);
/* What was committed stays for the next start. NULL is allowed. */
void sieve_close(Sieve *sieve);

/* Whether links should go through the sieve now. */
bool sieve_is_due_for(const Sieve *sieve, uint64_t known_urls, bool hungry);

typedef struct SievePage {
    uint64_t index;
    uint64_t hash;
    uint64_t depth;
    const char *url;
    const LinkInfo *links;
    const PageLinkKey *keys; /* NULL = they are made here */
    const uint8_t *hops;     /* NULL = 'L' */
    const uint8_t *kinds;    /* as PageWrite.link_kinds */
    size_t n_links;
    float score; /* of the page itself, for who estimates what it links to */
} SievePage;

/* How many links of a page the sieve has. A page whose transaction failed is added again, and
 * continues from here. */
typedef struct SieveTicket {
    uint32_t number; /* 0: nothing yet */
    size_t n_links;
} SieveTicket;

/* Adds the links of a page; a page without links is added, too, and gets an empty list. now counts
 * for max_age_ms. */
Result sieve_add(Sieve *sieve, const SievePage *page, SieveTicket *ticket, MonoTime now);
/* Makes the added links durable and writes the state. Call before the commit that follows sieve_add
 * or sieve_merge. Does nothing when nothing changed. */
Result sieve_save(Sieve *sieve, MDB_txn *txn);
/* Says whether the transaction of sieve_save or sieve_merge was committed or aborted. */
void sieve_settle(Sieve *sieve, bool committed);

/* When the sieve should merge: a time in the past means now, MONO_NEVER means that it holds no
 * links. */
MonoTime sieve_due(const Sieve *sieve, bool hungry);
/* Whether it holds links that were not merged. */
bool sieve_holds(const Sieve *sieve);
/* Does one piece of a merge, until soon after `until`; then call sieve_save, commit, and call
 * sieve_settle. When no merge is under way, one begins with the links collected so far. */
Result sieve_merge(Sieve *sieve, MDB_txn *txn, const PageSink *sink, MonoTime until);

/* The page whose link led to the URL that the sink is being told of. */
SieveSource sieve_source(const Sieve *sieve);

typedef struct SieveStats {
    uint64_t pending; /* links not looked up yet */
    uint64_t merges;  /* generations */
    uint64_t lost;    /* links that could not be read */
    uint64_t cache_hits;
    uint64_t cache_misses;
} SieveStats;
void sieve_stats(const Sieve *sieve, SieveStats *stats);
