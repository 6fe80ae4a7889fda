/* page_db_confirm: a visit that found nothing new. */
#include <errno.h>

#include "store/format/page_record.h"
#include "store/page_tables/page_store.h"
#include "store/pages/page_error.h"

int page_db_confirm(PageDB *db, MDB_txn *txn, uint64_t index, double time)
{
    MDB_dbi crawls = db->store->tables.idx2crawl;
    MDB_val key = {sizeof index, &index};
    MDB_val value;
    PageCrawl crawl;
    Buffer bytes;
    error_clean(db->error);
    int rc = mdb_get(txn, crawls, &key, &value);
    if (rc == MDB_NOTFOUND) {
        return page_db_fail(db, page_db_error_no_page, "page_db_confirm: it was never crawled");
    }
    if (rc == 0 && !page_crawl_read(value.mv_data, value.mv_size, &crawl)) {
        rc = MDB_CORRUPTED;
    }
    if (rc != 0) {
        return page_db_fail_mdb(db, rc, "page_db_confirm");
    }
    crawl.n_crawls++;
    crawl.last_crawl = time;
    uint8_t head[PAGE_CRAWL_MAX_BYTES];
    size_t length = page_crawl_write(&crawl, head);
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    /* A copy: the hash points into the record that is being replaced. */
    if (buffer_append(&bytes, head, length) != RESULT_OK ||
        buffer_append(&bytes, crawl.hash, crawl.hash_length) != RESULT_OK) {
        rc = ENOMEM;
    } else {
        value = (MDB_val){bytes.length, bytes.data};
        rc = mdb_put(txn, crawls, &key, &value, 0);
    }
    buffer_destroy(&bytes);
    return page_db_fail_mdb(db, rc, "page_db_confirm");
}
