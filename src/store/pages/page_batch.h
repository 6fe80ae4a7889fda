/* The URLs of one batch: each looked up once, all of them in one sweep in order of hash.
 *
 * A reference is one mention of a URL (a page, or a link on it), a node is a distinct URL.
 * References are added in order of appearance, then page_batch_resolve sorts them, makes the nodes
 * and looks them up in hash2idx; afterwards page_batch_node tells which node a reference means, and
 * the caller works through the pages in order on the nodes alone. page_batch_store_keys writes
 * hash2idx.
 *
 * Belongs to the write transaction, and is reused from one to the next. URLs are borrowed until the
 * next page_batch_reset. */
#ifndef STORE_PAGES_PAGE_BATCH_H
#define STORE_PAGES_PAGE_BATCH_H

#include "base/memory/arena.h"
#include "store/pages/page_node.h"

#define PAGE_BATCH_MAX_REFS ((size_t)1 << 24)

/* A page that is crawled in the batch. */
typedef struct PageBatchCrawl {
    uint32_t node;
    PageCrawl crawl;      /* its hash is in the arena or borrowed from the caller's page */
    const uint8_t *links; /* list, in the arena; NULL: stays as it is */
    size_t links_length;
} PageBatchCrawl;

typedef struct PageRefKey {
    uint64_t hash;
    uint64_t print_ref; /* fingerprint 40 bits, reference 24 bits */
} PageRefKey;

struct PageBatch {
    Arena arena;
    PageRefKey *refs;
    PageRefKey *sorted; /* scratch of the sort */
    const char **urls;  /* by reference */
    uint32_t *lengths;  /* by reference */
    uint8_t *cross;     /* by reference: leaves the domain of the page it stands on */
    uint32_t *node_of;  /* by reference */
    size_t n_refs;
    size_t m_refs;
    PageNode *nodes; /* ascending by key */
    size_t n_nodes;
    size_t m_nodes;
    uint32_t *fresh; /* new nodes in order of index */
    size_t n_fresh;
    PageBatchCrawl *crawls; /* in order of appearance */
    size_t n_crawls;
    size_t m_crawls;
    uint64_t *targets; /* scratch: the links of one page */
    size_t m_targets;
    Buffer scratch;
};

PageBatch *page_batch_new(void);
void page_batch_delete(PageBatch *batch);
/* Empties it; gives back memory beyond what ordinary batches need. */
void page_batch_reset(PageBatch *batch);

/* The page that links are read from: what makes the keys of same-host links cheap. */
typedef struct PageOrigin {
    const char *url;
    size_t prefix_length; /* "http://host:port", 0 when it has none */
    size_t host_start;
    size_t host_end;
    uint32_t domain_hash;
} PageOrigin;
void page_origin_of(const char *url, size_t length, PageOrigin *origin);

/* The key of a URL that stands on a page (from, or NULL), and whether it leaves that page's domain.
 */
void page_key_of_link(const PageDB *db, const char *url, size_t length, const PageOrigin *from,
                      PageKey *key, bool *cross);

/* Adds a reference. from: the URL of the page it stands on, or NULL. 0 or ENOMEM; E2BIG when there
 * are too many. */
int page_batch_add(PageBatch *batch, const PageDB *db, const char *url, size_t length,
                   const PageOrigin *from);

/* Sorts, makes nodes, looks them up. An LMDB code or ENOMEM. */
int page_batch_resolve(PageBatch *batch, PageDBStore *store, MDB_txn *txn);

static inline PageNode *page_batch_node(PageBatch *batch, size_t ref)
{
    return &batch->nodes[batch->node_of[ref]];
}

/* A new crawl of the batch, or NULL. */
PageBatchCrawl *page_batch_add_crawl(PageBatch *batch, uint32_t node);
/* Room for n links of one page. */
int page_batch_reserve_targets(PageBatch *batch, size_t n);

/* hash2idx read in order: keys are looked up ascending, and page after page of entries is read only
 * once. Writing to hash2idx ends a sweep: page_sweep_restart. */
typedef struct PageSweep {
    MDB_cursor *cursor; /* of hash2idx; the caller's */
    uint32_t domain;
    const uint8_t *entries; /* of that domain, as they lie in the database, ascending */
    size_t n;
    bool ended; /* the domain has none behind them */
} PageSweep;

static inline void page_sweep_restart(PageSweep *sweep)
{
    *sweep = (PageSweep){.cursor = sweep->cursor};
}
/* An LMDB code; *found tells whether there is an entry. */
int page_sweep_find(PageSweep *sweep, const PageKey *key, PageEntry *entry, bool *found);

/* Writes the entry of a new node, or of a known one whose depth changed. An LMDB code. */
int page_batch_store_key(MDB_cursor *cursor, const PageNode *node);
/* Writes the entries of new and improved nodes. An LMDB code. */
int page_batch_store_keys(PageBatch *batch, PageDBStore *store, MDB_txn *txn);

#endif
