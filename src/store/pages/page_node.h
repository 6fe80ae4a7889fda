/* One page while it is worked on inside a write transaction: what is known of it, and what is to be
 * written. Batches (page_batch.h) and the sieve's merges (page_merge.h) work on nodes; here is what
 * both do with them. */
#ifndef STORE_PAGES_PAGE_NODE_H
#define STORE_PAGES_PAGE_NODE_H

#include "base/memory/arena.h"
#include "store/pages/page_db_internal.h"
#include "store/records/page_packs.h"
#include "store/pages/page_record.h"

#define PAGE_NODE_NO_CRAWL UINT32_MAX

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
    uint32_t crawl;       /* number of its PageBatchCrawl, or PAGE_NODE_NO_CRAWL */
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

/* Where links are read from. */
typedef struct PageSource {
    uint64_t index; /* PAGE_DB_NO_INDEX = none */
    uint64_t hash;  /* 0 = none */
    uint64_t depth; /* of what it links to */
} PageSource;

static inline uint32_t page_node_domain(const PageNode *node)
{
    return (uint32_t)(node->key.hash >> 32);
}

/* The path to the node leads over this link from now on. */
void page_node_set_path(PageNode *node, const PageSource *from, uint8_t hop);
/* Takes over what is stored; a path that was improved stays. */
void page_node_take(PageNode *node, const PageRecord *record);
/* What the sinks are told; crawl may be NULL. */
PageRef page_node_ref(const PageNode *node, const PageCrawl *crawl);
/* Finds or adds the origin of a new node. An LMDB code or ENOMEM, as all of these. */
int page_node_find_host(PageNode *node, PageDBStore *store, MDB_txn *txn, Arena *arena);
/* Appends the record of a new node; nodes in order of index. */
int page_node_append(const PageNode *node, PagePackEditor *infos, Buffer *scratch);
/* Rewrites the record of a known node. */
int page_node_rewrite(PageNode *node, PagePackEditor *infos, Buffer *scratch);
/* Saves how many pages there are. */
int page_store_n_pages(PageDBStore *store, MDB_txn *txn, uint64_t n_pages);

#endif
