/* Whether the link lists of a database can be read, and taking out those that cannot: for `ragno
 * verify` and its repair.
 *
 * What: LMDB keeps no checksums, so what is looked for is what the format does not allow
 * (page_links_table.h): records that end early; pages out of order, or that do not exist, or were
 * never crawled; lists that cannot be decoded; links to pages that do not exist; kinds that do not
 * fit. It takes one sweep over the table.
 * Owns: nothing.
 * Threads: the one that has the transaction.
 * Errors: RESULT_MEMORY; RESULT_DAMAGED when the table itself cannot be walked; RESULT_FULL. */
#ifndef STORE_CHECK_PAGE_LINKS_CHECK_H
#define STORE_CHECK_PAGE_LINKS_CHECK_H

#include "store/pages/page_db.h"

typedef struct PageLinksCheck {
    const uint8_t *crawled; /* one bit per page: it may have a list */
    uint64_t n_pages;
    uint8_t *listed;   /* one bit per page, zeroed by the caller: set for those with a sound list */
    uint64_t n_broken; /* records with something that cannot be read */
} PageLinksCheck;

/* Reads all lists. */
Result page_links_check(PageDB *db, MDB_txn *txn, PageLinksCheck *check);
/* The same in a write transaction; of broken records only the sound lists stay. */
Result page_links_mend(PageDB *db, MDB_txn *txn, PageLinksCheck *check);

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
