/* Writing a batch: crawled pages, pages whose links are read again, and URLs found elsewhere.
 *
 * What: four steps. All URLs of the batch are looked up (page_batch.h). The pages are worked
 * through in order, on the nodes in memory only, exactly as if each page were written alone; the
 * sink is told what was discovered and what was crawled. New pages get their indices. Then the
 * tables are written one after the other (page_writer.h).
 * Owns: nothing; the batch is the store's, and is empty before and after.
 * Threads: the one with the write transaction.
 * Errors: LMDB codes, ENOMEM, E2BIG; PAGE_WRITER_STOPPED when the sink returned something other
 * than 0, which is then in sink_code. What comes behind the first of them does nothing, and
 * page_writer_end returns it; then the transaction must be aborted. */
#pragma once

#include "store/page_batch/page_batch.h"

#define PAGE_WRITER_STOPPED (-1)

typedef struct PageWriter {
    PageDBStore *store;
    PageBatch *batch;
    MDB_txn *txn;
    const PageSink *sink;
    uint64_t n_pages;
    int code;      /* of the first failure */
    int sink_code; /* what the sink stopped the batch with */
} PageWriter;

/* end must be called in any case. sink may be NULL. */
void page_writer_begin(PageWriter *writer, PageDBStore *store, MDB_txn *txn, const PageSink *sink);
int page_writer_end(PageWriter *writer);

/* One of these between begin and end. page_db_write, page_db_relink, page_db_discover and
 * page_db_discover_each say what each does. relink: MDB_NOTFOUND when the page was never crawled,
 * and nothing was written. */
void page_writer_write(PageWriter *writer, const PageWrite *pages, size_t n);
void page_writer_relink(PageWriter *writer, const PageWrite *page);
void page_writer_discover(PageWriter *writer, const LinkInfo *urls, const uint8_t *hops, size_t n,
                          uint64_t from_index, uint64_t depth);
void page_writer_discover_each(PageWriter *writer, const PageDiscovery *found, size_t n);
