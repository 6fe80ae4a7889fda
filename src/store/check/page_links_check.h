/* Whether the link lists of a database can be read, and taking out those that cannot: for `ragno
 * verify` and its repair.
 *
 * What: LMDB keeps no checksums, so what is looked for is what the format does not allow
 * (page_links.h): records that end early; pages out of order, or that do not exist, or were
 * never crawled; lists that cannot be decoded; links to pages that do not exist; kinds that do not
 * fit. It takes one sweep over the table.
 * Owns: nothing.
 * Threads: the one that has the transaction.
 * Errors: RESULT_MEMORY; RESULT_DAMAGED when the table itself cannot be walked; RESULT_FULL. */
#pragma once

#include "store/pages/page_db.h"

typedef struct PageLinksCheck {
    const uint8_t *crawled; /* one bit per page: it may have a list */
    uint64_t n_pages;
    uint8_t *listed;   /* one bit per page, zeroed by the caller: set for those with a sound list */
    uint64_t n_broken; /* records with something that cannot be read */
} PageLinksCheck;

/* Reads all lists. mend: in a write transaction; broken records are deleted, with all lists in
 * them. */
Result page_links_check(PageDB *db, MDB_txn *txn, PageLinksCheck *check, bool mend);

/* Entries of hash2idx: as many as pages in a sound database. */
Result page_keys_count(PageDB *db, MDB_txn *txn, uint64_t *n);
