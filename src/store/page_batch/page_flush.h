/* Writing the nodes of a batch to the tables.
 *
 * What: the last step of a batch. Each table is written once, in order of its keys, so that every
 * page of LMDB's trees is changed once: hash2idx, idx2info, then idx2crawl and links.
 * Owns: nothing. It uses the batch's arrays of references as scratch, so these are gone afterwards.
 * Threads: the one with the write transaction.
 * Errors: LMDB codes, ENOMEM, PAGE_FLUSH_STOPPED; the transaction must then be aborted. */
#ifndef STORE_PAGE_BATCH_PAGE_FLUSH_H
#define STORE_PAGE_BATCH_PAGE_FLUSH_H

#include "store/page_batch/page_batch.h"

typedef struct PageFlush {
    PageBatch *batch;
    PageDBStore *store;
    MDB_txn *txn;
    MDB_cursor *crawls;   /* of idx2crawl */
    const PageSink *sink; /* is told of better paths; NULL: nobody */
    int sink_code;        /* what the sink stopped it with */
} PageFlush;

/* PAGE_FLUSH_STOPPED: the sink did, sink_code says how. */
#define PAGE_FLUSH_STOPPED (-1)
int page_flush(PageFlush *flush);

#endif
