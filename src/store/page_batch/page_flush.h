/* Writing the nodes of a batch to the tables.
 *
 * What: the last step of a batch. Each table is written once, in order of its keys, so that every
 * page of LMDB's trees is changed once: hash2idx, idx2info, then idx2crawl and links.
 * Owns: nothing. It uses the batch's arrays of references as scratch, so these are gone afterwards.
 * Threads: the one with the write transaction.
 * Errors: LMDB codes and ENOMEM; the transaction must then be aborted. */
#ifndef STORE_PAGE_BATCH_PAGE_FLUSH_H
#define STORE_PAGE_BATCH_PAGE_FLUSH_H

#include "store/page_batch/page_batch.h"

/* crawls: a cursor of idx2crawl. */
int page_flush(PageBatch *batch, PageDBStore *store, MDB_txn *txn, MDB_cursor *crawls);

#endif
