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
#ifndef STORE_PAGE_BATCH_H
#define STORE_PAGE_BATCH_H

#include "base/arena.h"
#include "store/page_db_internal.h"
#include "store/page_record.h"

#define PAGE_BATCH_MAX_REFS ((size_t)1 << 24)
#define PAGE_BATCH_NO_CRAWL UINT32_MAX

/* What is known of one distinct URL, and what is to be written. */
typedef struct PageNode {
    const char *url;
    size_t length;
    PageKey key;
    uint64_t index;       /* PAGE_DB_NO_INDEX until a new URL gets one */
    uint64_t depth;       /* lower bound PAGE_MAX_DEPTH8 while !loaded */
    uint64_t linked_from; /* valid when loaded, fresh or moved */
    uint64_t linked_hash; /* likewise */
    uint32_t host;        /* valid when loaded or fresh */
    uint32_t crawl;       /* number of its PageBatchCrawl, or PAGE_BATCH_NO_CRAWL */
    float score;
    int32_t status;
    uint8_t level;
    uint8_t tries;
    uint8_t hop;
    uint8_t flags;
    uint8_t stored_depth; /* in its entry of hash2idx */
    bool known;           /* it was in the database before the batch */
    bool loaded;          /* its record was read */
    bool moved;           /* linked_from, depth and hop were improved */
    bool was_crawled;     /* crawled before the batch; valid when loaded */
} PageNode;

/* A page that is crawled in the batch. */
typedef struct PageBatchCrawl {
    uint32_t node;
    PageCrawl crawl;      /* its hash is in the arena or borrowed from the caller's page */
    const uint8_t *links; /* list, in the arena */
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

/* Writes the entries of new and improved nodes. An LMDB code. */
int page_batch_store_keys(PageBatch *batch, PageDBStore *store, MDB_txn *txn);

#endif
