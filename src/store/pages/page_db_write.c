/* Writing: batches of crawled pages, lists of links, URLs that were found. */
#include "store/page_batch/page_writer.h"
#include "store/pages/page_db.h"
#include "store/pages/page_error.h"

/* Ends a write and translates its code. */
static int end_write(PageDB *db, PageWriter *writer, int rc, const char *what)
{
    page_writer_end(writer);
    if (rc == PAGE_WRITER_STOPPED) {
        return page_db_fail(db, writer->sink_code, what);
    }
    return page_db_fail_mdb(db, rc, what);
}

int page_db_write(PageDB *db, MDB_txn *txn, const PageWrite *pages, size_t n, const PageSink *sink)
{
    error_clean(db->error);
    PageWriter writer;
    int rc = page_writer_begin(&writer, db->store, txn, sink);
    if (rc == 0) {
        rc = page_writer_write(&writer, pages, n);
    }
    return end_write(db, &writer, rc, "page_db_write");
}

int page_db_relink(PageDB *db, MDB_txn *txn, const PageWrite *page, const PageSink *sink)
{
    error_clean(db->error);
    PageWriter writer;
    int rc = page_writer_begin(&writer, db->store, txn, sink);
    if (rc == 0) {
        rc = page_writer_relink(&writer, page);
    }
    if (rc == MDB_NOTFOUND) {
        page_writer_end(&writer);
        return page_db_fail(db, page_db_error_no_page, "page_db_relink");
    }
    return end_write(db, &writer, rc, "page_db_relink");
}

int page_db_discover(PageDB *db, MDB_txn *txn, const LinkInfo *urls, const uint8_t *hops, size_t n,
                     uint64_t from_index, uint64_t depth, const PageSink *sink)
{
    error_clean(db->error);
    PageWriter writer;
    int rc = page_writer_begin(&writer, db->store, txn, sink);
    if (rc == 0) {
        rc = page_writer_discover(&writer, urls, hops, n, from_index, depth);
    }
    return end_write(db, &writer, rc, "page_db_discover");
}

int page_db_discover_each(PageDB *db, MDB_txn *txn, const PageDiscovery *found, size_t n,
                          const PageSink *sink)
{
    error_clean(db->error);
    PageWriter writer;
    int rc = page_writer_begin(&writer, db->store, txn, sink);
    if (rc == 0) {
        rc = page_writer_discover_each(&writer, found, n);
    }
    return end_write(db, &writer, rc, "page_db_discover_each");
}
