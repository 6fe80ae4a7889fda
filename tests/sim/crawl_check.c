#include <inttypes.h>
#include <stdio.h>

#include "store/pages/page_db_read.h"
#include "crawl.h"
#include "store/tables/host_rows.h"

/* One page of the database: known to the audit, and it has a reason. */
static void check_page(Crawl *crawl, MDB_txn *txn, const PageRef *ref, const Buffer *url)
{
    WorldPage page;
    int64_t now = crawl->now.ns / 1000000;
    if (!world_locate(crawl->world, url->data, url->length, &page) ||
        !audit_is_known(crawl->audit, page)) {
        audit_violation(crawl->audit, "a page nobody has told of", page, now);
        return;
    }
    HostRecord record;
    (void)host_rows_get(crawl->store.hosts, txn, ref->host, &record);
    bool done = audit_is_done(crawl->audit, page);
    if (!done && !host_is_aside(&record)) {
        audit_violation(crawl->audit, "a URL without a reason", page, now);
    }
    if (done && ref->status == 0) {
        audit_violation(crawl->audit, "a URL whose result is not in the database", page, now);
    }
}

void crawl_check_end(Crawl *crawl)
{
    MDB_txn *txn = NULL;
    Buffer url;
    PageRef ref;
    WorldPage nowhere = {0, 0};
    if (page_db_txn_begin(crawl->store.db, true, &txn) != 0) {
        crawl->broken = true;
        return;
    }
    buffer_init(&url, BUFFER_NO_LIMIT);
    uint64_t n = page_db_n_pages(crawl->store.db, txn);
    if (n != crawl->audit->known) {
        audit_violation(crawl->audit, "pages known to the database and to the books differ",
                        nowhere, crawl->now.ns / 1000000);
        (void)fprintf(stderr, "sim: database %" PRIu64 ", books %" PRIu64 "\n", n,
                      crawl->audit->known);
    }
    for (uint64_t i = 0; i < n; i++) {
        if (page_db_get(crawl->store.db, txn, i, &ref, &url) != 0) {
            audit_violation(crawl->audit, "a page that cannot be read", nowhere, 0);
        } else {
            check_page(crawl, txn, &ref, &url);
        }
    }
    buffer_destroy(&url);
    page_db_txn_abort(crawl->store.db, txn);
}
