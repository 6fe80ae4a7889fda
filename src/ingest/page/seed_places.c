#include "ingest/page/seed_places.h"

#include <stdlib.h>

typedef struct Places {
    const IngestStore *store;
    StaySet *set;
    MDB_txn *txn;
    unsigned max_redirects;
    Buffer url;
} Places;

static Result page_at(Places *places, uint64_t index, PageRef *page)
{
    buffer_reset(&places->url);
    return page_db_get(places->store->db, places->txn, index, page, &places->url) == 0
               ? RESULT_OK
               : RESULT_DAMAGED;
}

/* The page that a redirect leads to; PAGE_DB_NO_INDEX: it is none. */
static Result target_of(Places *places, const PageRef *page, uint64_t *target)
{
    uint64_t *to = NULL;
    size_t n = 0;
    size_t n_diff = 0;
    *target = PAGE_DB_NO_INDEX;
    if (page->status < 300 || page->status >= 400) {
        return RESULT_OK;
    }
    if (page_db_get_links(places->store->db, places->txn, page->index, &to, &n, &n_diff) != 0) {
        return RESULT_DAMAGED;
    }
    *target = n > 0 ? to[0] : PAGE_DB_NO_INDEX;
    free(to);
    return RESULT_OK;
}

static Result seed_places_add_seed(void *context, const SeedEntry *seed)
{
    Places *places = context;
    PageRef page;
    uint64_t index = seed->index;
    Result rc = page_at(places, index, &page);
    if (rc == RESULT_OK) {
        rc = stay_set_add(places->set, page.url, page.url_length);
    }
    for (unsigned i = 0; rc == RESULT_OK && i <= places->max_redirects; i++) {
        rc = target_of(places, &page, &index);
        if (rc != RESULT_OK || index == PAGE_DB_NO_INDEX) {
            break;
        }
        rc = page_at(places, index, &page);
        if (rc == RESULT_OK) {
            rc = stay_set_follow(places->set, page.url, page.url_length);
        }
    }
    return rc == RESULT_INVALID ? RESULT_OK : rc;
}

Result seed_places_load(const IngestStore *store, StaySet *set, unsigned max_redirects)
{
    Places places = {.store = store, .set = set, .max_redirects = max_redirects};
    if (store->seeds == 0) {
        return RESULT_OK;
    }
    if (page_db_txn_begin(store->db, true, &places.txn) != 0) {
        return RESULT_IO;
    }
    buffer_init(&places.url, BUFFER_NO_LIMIT);
    Result rc = seed_rows_each(store->seeds, places.txn, seed_places_add_seed, &places);
    buffer_destroy(&places.url);
    page_db_txn_abort(store->db, places.txn);
    return rc;
}
