/* One page, put together from the tables: record, crawls and origin.
 *
 * What: idx2info and origins each hold a part of a page. PageParts points to both as they lie in
 * the transaction; the other functions make of them what callers ask for.
 * Owns: nothing; the parts are valid until the transaction writes or ends.
 * Threads: the one whose transaction it is.
 * Errors: LMDB codes and ENOMEM; MDB_NOTFOUND when there is no such page, MDB_CORRUPTED when its
 * parts do not fit together. */
#pragma once

#include "store/page_tables/page_reader.h"
#include "store/records/page_info.h"

typedef struct PageParts {
    PageRecord record;
    PageCrawl crawl; /* zero when never crawled */
    MDB_val origin;
} PageParts;

/* reader: whose caches to use, or NULL. domain: the page's own domain hash, 0 = unknown; without it
 * record.linked_hash is not to be trusted. */
int page_parts_read(PageDBStore *store, MDB_txn *txn, PageReader *reader, uint32_t domain,
                    uint64_t index, PageParts *parts);
/* A PageInfo on the heap, of a page whose hash and index are known; reader may be NULL. */
int page_parts_info(PageDBStore *store, MDB_txn *txn, PageReader *reader, uint64_t hash,
                    uint64_t index, PageInfo **pi);
/* The same of the page with a hash, as it is in the reader's snapshot. *pi is NULL when there was
 * no such page then, which is no error. */
int page_parts_find_info(PageDBStore *store, PageReader *reader, uint64_t hash, PageInfo **pi);
/* The hash of the page of an index; 0 for PAGE_DB_NO_INDEX. */
int page_parts_hash(PageDBStore *store, MDB_txn *txn, uint64_t index, uint64_t *hash);
/* The hash of the page that the page of a URL is linked from; 0 when it is linked from none. */
int page_parts_linked_from(PageDBStore *store, MDB_txn *txn, const char *url, uint64_t *hash);
