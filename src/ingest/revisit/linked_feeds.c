#include "ingest/revisit/linked_feeds.h"

#include <string.h>

#include "base/core/hash.h"
#include "parse/html/html.h"

static Result linked_feeds_is_admitted(Batch *batch, const ParsedPage *page, const char *url,
                                       bool *admitted)
{
    uint64_t feed = hash_64(url, strlen(url), 0);
    return feed_table_admit(batch->store->feeds, batch->txn, page->fetch->host.id, feed,
                            (size_t)batch->limits.feeds_per_host, admitted);
}

Result linked_feeds_drop(Batch *batch, ParsedPage *page)
{
    size_t kept = 0;
    Result rc = RESULT_OK;
    if (batch->store->feeds == NULL || page->links.kinds == NULL) {
        return RESULT_OK;
    }
    for (size_t i = 0; i < page->links.n; i++) {
        bool admitted = true;
        const char *url = page->links.list[i].url;
        if (rc == RESULT_OK && link_kind_of_byte(page->links.kinds[i]) == LINK_FEED) {
            rc = linked_feeds_is_admitted(batch, page, url, &admitted);
        }
        if (!admitted) {
            batch->totals.refused[REFUSED_FEEDS]++;
            crawl_log_skipped(batch->log, url, strlen(url), refusal_status(REFUSED_FEEDS),
                              "limits.feeds_per_host", -1, page->fetch->request.url);
            continue;
        }
        if (kept < i) {
            parsed_page_move_link(page, kept, i);
        }
        kept++;
    }
    page->links.n = kept;
    return rc;
}
