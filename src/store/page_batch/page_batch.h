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
#pragma once

#include "base/memory/arena.h"
#include "store/page_tables/page_key.h"

/* One page while a write transaction works on it: what is known of it, and what is to be written.
 *
 * What: batches (page_batch.h) and the merges of the sieve (page_merge.h) look pages up, change
 * their nodes in memory, and write the changed nodes back. This module is what both do with a node.
 * Owns: nothing; the URL is borrowed from whoever made the node.
 * Threads: the one with the write transaction.
 * Errors: LMDB codes and ENOMEM. */

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
    return page_key_domain(&node->key);
}

/* Makes this link the path to the node. */
void page_node_set_path(PageNode *node, const PageSource *from, uint8_t hop);
/* Fills in a node from its stored record. A path that was improved stays. */
void page_node_take(PageNode *node, const PageRecord *record);
/* The node as sinks see it. crawl may be NULL. */
PageRef page_node_ref(const PageNode *node, const PageCrawl *crawl);
/* Finds or adds the origin of a new node. */
int page_node_find_host(PageNode *node, PageDBStore *store, MDB_txn *txn, Arena *arena);
/* Appends the record of a new node; nodes in order of index. crawl: NULL, it was not crawled. */
void page_node_append(const PageNode *node, const PageCrawl *crawl, PagePackEditor *infos,
                      Buffer *scratch);
/* Rewrites the record of a known node. crawl: NULL, as it is stored. */
void page_node_rewrite(PageNode *node, const PageCrawl *crawl, PagePackEditor *infos,
                       Buffer *scratch);
/* What is stored of a known node. false: infos has failed. */
bool page_node_read(const PageNode *node, PagePackEditor *infos, MDB_val *value,
                    PageRecord *record);
/* Whether the entry of hash2idx must be written: the node is new, or its depth changed there. */
bool page_node_has_new_entry(const PageNode *node);
/* Writes that entry, in place of the old one. The cursor is of hash2idx. */
int page_node_store_entry(MDB_cursor *cursor, const PageNode *node);

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

/* What a reference says. */
typedef struct PageUse {
    const char *url;
    uint32_t length;
    bool cross; /* leaves the domain of the page it stands on */
} PageUse;

struct PageBatch {
    Arena arena;
    PageRefKey *refs;
    PageRefKey *sorted; /* scratch of the sort, and then of see_links */
    PageUse *uses;      /* by reference */
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
    Buffer scratch;
};

PageBatch *page_batch_new(void);
void page_batch_delete(PageBatch *batch);
/* Empties it; gives back memory beyond what ordinary batches need. */
void page_batch_reset(PageBatch *batch);

/* Adds a reference. 0 or ENOMEM; E2BIG when there are too many. */
int page_batch_add(PageBatch *batch, const char *url, const PageLinkKey *key);

/* Sorts, makes nodes, looks them up. An LMDB code or ENOMEM. */
int page_batch_resolve(PageBatch *batch, PageDBStore *store, MDB_txn *txn);

static inline PageNode *page_batch_node(PageBatch *batch, size_t ref)
{
    return &batch->nodes[batch->node_of[ref]];
}

/* A new crawl of the batch, or NULL. */
PageBatchCrawl *page_batch_add_crawl(PageBatch *batch, uint32_t node);
