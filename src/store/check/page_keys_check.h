/* Whether the tables by which pages and hosts are found say what the records say, and completing
 * them: for `ragno verify` and its repair.
 *
 *   hash2idx     URL -> index      follows from idx2info and origins: each record has its URL
 *   origin2host  origin -> host    follows from origins
 *
 * What: what is missing is added. What leads to no page, or to a page that has an entry of its own,
 * is taken out. Where entry and record of a page contradict each other either may be the damaged
 * one, so nothing is changed. The string of a host is trusted when one of its pages is found by its
 * URL, which is made of it. Bits are one for each page.
 * Owns: nothing; the bits are the caller's.
 * Threads: the one that has the transaction.
 * Errors: RESULT_MEMORY, RESULT_FULL, RESULT_IO, RESULT_DAMAGED; a write transaction must then be
 * aborted. */
#ifndef STORE_CHECK_PAGE_KEYS_CHECK_H
#define STORE_CHECK_PAGE_KEYS_CHECK_H

#include "store/pages/page_db.h"

typedef struct PageKeysCheck {
    uint64_t n_pages;
    uint8_t *found; /* pages that are found by their URLs; the caller's */
    uint8_t *named; /* pages that some entry leads to; zeroed by the caller */
    uint64_t n_keys;
    uint64_t n_added;
    uint64_t n_removed;
} PageKeysCheck;

/* Whether a page is found by its URL; false also when its record cannot be read. url: scratch. */
bool page_keys_has(PageDB *db, MDB_txn *txn, uint64_t index, PageRef *page, Buffer *url,
                   bool *readable);
/* Sets n_keys: equal to page_db_n_pages in a sound database. */
Result page_keys_count(PageDB *db, MDB_txn *txn, PageKeysCheck *check);
/* Completes hash2idx. found is set for all pages; sets named as it was before, n_added, n_removed.
 */
Result page_keys_mend(PageDB *db, MDB_txn *txn, PageKeysCheck *check);
/* Completes origin2host by one host. */
Result page_keys_mend_host(PageDB *db, MDB_txn *txn, uint32_t host);

#endif
