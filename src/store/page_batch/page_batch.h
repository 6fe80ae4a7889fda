/* The URLs of one batch: each is looked up once, all of them in one sweep in order of their keys.
 *
 * What: a reference is one mention of a URL (a page, or a link on it); a node is a distinct URL.
 * The caller adds references in order of appearance. page_batch_resolve sorts them, makes a node of
 * each distinct URL and looks the nodes up in hash2idx. From then on page_batch_node tells which
 * node a reference means, and the caller works through the pages on the nodes alone. page_flush
 * writes the nodes back.
 * Owns: its arrays and its arena, which are reused from one transaction to the next. URLs are
 * borrowed until the next page_batch_reset.
 * Threads: the one with the write transaction.
 * Errors: LMDB codes, ENOMEM, E2BIG. */
#ifndef STORE_PAGE_BATCH_PAGE_BATCH_H
#define STORE_PAGE_BATCH_PAGE_BATCH_H

#include "base/memory/arena.h"
#include "store/page_batch/page_node.h"

#define PAGE_BATCH_MAX_REFS ((size_t)1 << 24) /* PAGE_DB_WRITE_MAX */

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

/* Adds a reference. from: the URL of the page it stands on, or NULL. 0 or ENOMEM; E2BIG when there
 * are too many. */
int page_batch_add(PageBatch *batch, const PageDBStore *store, const char *url, size_t length,
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

#endif
