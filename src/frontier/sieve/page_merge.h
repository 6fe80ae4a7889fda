/* Page merge: PageDB's side of a merge of the sieve.
 *
 *   sieve.c --elements--> Drum --find, put--> page_merge_repository: hash2idx
 *        ^                       |
 *        |                       '--unique, duplicate--> sieve --page_merge_new_page--> idx2info
 *        '-- the edges of a page --page_merge_put_links--> links  page_merge_seen --> idx2info
 *
 * What: links that are looked up in one sweep become pages, better paths and edges. The repository
 * of the Drum is hash2idx itself, so that the keys exist once. A key is domain hash, URL hash and
 * fingerprint, thirteen bytes that sort as hash2idx does; its value is the page's index and its
 * depth as the entry has it. Within a bucket, keys are looked up and put in ascending order, so
 * that each leaf of the tree is read once and changed once.
 *
 * A merge writes what page_db_write would have written for the same links in the same order, with
 * one difference: new pages get their indices in order of appearance within a bucket, not over all
 * buckets. Buckets are ranges of the domain hash, so the order is kept within a domain, which is
 * what the schedule of a host is about.
 *
 * Owns: its cursors and editors. Database and transaction are borrowed.
 *
 * Threads: the one that has the write transaction.
 *
 * Invariants:
 *  1. Between page_merge_begin and page_merge_end nobody else writes PageDB's tables in the
 *     transaction; the sink may write others.
 *  2. Within a bucket all finds come before all puts, these before all events (drum.h), and
 *     page_merge_flush behind them.
 *
 * Errors: after one the transaction must be aborted. */
#pragma once

#include "store/drum/drum.h"
#include "store/page_batch/page_batch.h"
#include "store/pages/page_db.h"

#define PAGE_MERGE_KEY_BYTES   13u
#define PAGE_MERGE_VALUE_BYTES 9u

typedef struct PageMerge PageMerge;

void page_merge_key(const PageKey *key, uint8_t bytes[PAGE_MERGE_KEY_BYTES]);
PageKey page_merge_read_key(const uint8_t bytes[PAGE_MERGE_KEY_BYTES]);

/* What the value of a key says. */
typedef struct PageMergeValue {
    uint64_t index;
    uint8_t depth; /* PAGE_MAX_DEPTH8: that or more */
} PageMergeValue;
PageMergeValue page_merge_read_value(DrumBytes value);

/* NULL without memory. */
PageMerge *page_merge_new(PageDB *db);
void page_merge_delete(PageMerge *merge); /* NULL is allowed */
/* For drum_open; progress is what the owner's last commit says. For merging in steps. */
DrumRepository *page_merge_repository(PageMerge *merge, DrumProgress progress);
/* DrumOptions.assign, its context is the PageMerge: the next index. given: one byte, the depth that
 * the entry gets. */
Result page_merge_assign(void *context, const DrumKey *key, DrumBytes given, void *value);

/* Opens the tables in a transaction. With read_only, the repository can only find keys. sink may be
 * NULL. All of these functions return RESULT_FULL, RESULT_IO, RESULT_DAMAGED or RESULT_MEMORY when
 * they fail. */
Result page_merge_begin(PageMerge *merge, MDB_txn *txn, bool read_only, const PageSink *sink);
/* Writes what is left and closes the tables, in any case. rc is the result of what came before;
 * returns it, or the error of closing. */
Result page_merge_end(PageMerge *merge, Result rc);

typedef struct PageMergeLink {
    PageSource from; /* from.depth: of what it links to */
    float score;
    uint8_t hop;
    const char *url;
    size_t length;
} PageMergeLink;

/* Writes the page of a key that was new, and tells the sink about it. Call in order of index.
 * RESULT_CLOSED: the sink stopped the merge. */
Result page_merge_new_page(PageMerge *merge, const PageKey *key, PageMergeValue value,
                           const PageMergeLink *link);
/* For a key that was known, or that is new in this bucket: replaces the path of its page if this
 * link gives a better one. */
Result page_merge_seen(PageMerge *merge, const PageKey *key, PageMergeValue value,
                       const PageMergeLink *link);
/* Writes the better paths; call after each bucket. */
Result page_merge_flush(PageMerge *merge);

/* Writes the list of links of a page. The first n_diff links lead to other hosts; both parts get
 * sorted. Call in ascending order of pages. kinds: `to` has the form of page_links_encode with
 * kinds. */
Result page_merge_put_links(PageMerge *merge, uint64_t index, uint64_t *to, size_t n_diff, size_t n,
                            bool kinds);
