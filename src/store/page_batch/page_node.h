/* One page while a write transaction works on it: what is known of it, and what is to be written.
 *
 * What: batches (page_batch.h) and the merges of the sieve (page_merge.h) look pages up, change
 * their nodes in memory, and write the changed nodes back. This module is what both do with a node.
 * Owns: nothing; the URL is borrowed from whoever made the node.
 * Threads: the one with the write transaction.
 * Errors: LMDB codes and ENOMEM. */
#ifndef STORE_PAGE_BATCH_PAGE_NODE_H
#define STORE_PAGE_BATCH_PAGE_NODE_H

#include "base/memory/arena.h"
#include "store/format/page_packs.h"
#include "store/format/page_record.h"
#include "store/page_tables/page_key.h"
#include "store/records/page_ref.h"

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
int page_node_append(const PageNode *node, const PageCrawl *crawl, PagePackEditor *infos,
                     Buffer *scratch);
/* Rewrites the record of a known node. crawl: NULL, as it is stored. */
int page_node_rewrite(PageNode *node, const PageCrawl *crawl, PagePackEditor *infos,
                      Buffer *scratch);
/* Whether the entry of hash2idx must be written: the node is new, or its depth changed there. */
bool page_node_has_new_entry(const PageNode *node);
/* Writes that entry, in place of the old one. The cursor is of hash2idx. */
int page_node_store_entry(MDB_cursor *cursor, const PageNode *node);

#endif
