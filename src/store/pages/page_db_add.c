/* The documented way in: page_db_add and its batch, on top of page_db_write. */
#include "store/pages/page_db.h"

#include <stdlib.h>
#include <string.h>

#include "store/page_tables/page_parts.h"
#include "store/pages/page_error.h"
#include "store/pages/page_heat.h"

/* Collects the PageInfoList. linked_from wants hashes where PageRef has indices; a page that is
 * discovered is always linked from the page that was crawled last. */
typedef struct Collector {
    PageDB *db;
    MDB_txn *txn;
    PageInfoList *list;
    uint64_t page_hash;                  /* of the page whose links are being seen */
    const CrawledPage *const *next_page; /* of the batch, to be reported as crawled */
} Collector;

static PageInfo *info_of(const PageRef *ref, const CrawledPage *page)
{
    size_t hash_length = page == NULL ? 0 : page->content_hash_length;
    PageInfo *pi = page_info_allocate(ref->url_length, hash_length);
    if (pi == NULL) {
        return NULL;
    }
    memcpy(pi->url, ref->url, ref->url_length);
    if (hash_length > 0) {
        memcpy(pi->content_hash, page->content_hash, hash_length);
    }
    pi->depth = ref->depth;
    pi->first_crawl = ref->first_crawl;
    pi->last_crawl = ref->last_crawl;
    pi->n_changes = ref->n_changes;
    pi->n_crawls = ref->n_crawls;
    pi->score = ref->score;
    return pi;
}

static int page_db_add_collect(Collector *c, PageInfo *pi, uint64_t hash)
{
    PageInfoList *list = pi == NULL ? NULL : page_info_list_cons(c->list, pi, hash);
    if (list == NULL) {
        page_info_delete(pi);
        return page_db_error_memory;
    }
    c->list = list;
    return page_db_error_ok;
}

static int collect_discovered(void *context, const PageRef *page, PageState *state)
{
    (void)state;
    Collector *c = context;
    PageInfo *pi = info_of(page, NULL);
    if (pi != NULL) {
        pi->linked_from = c->page_hash;
    }
    return page_db_add_collect(c, pi, page->hash);
}

static int collect_crawled(void *context, const PageRef *before, const PageRef *after,
                           uint8_t *level)
{
    (void)before;
    (void)level;
    Collector *c = context;
    c->page_hash = after->hash;
    return page_db_add_collect(c, info_of(after, *c->next_page++), after->hash);
}

/* What the sink cannot know: the hash of the page that a crawled page is linked from. */
static int page_db_add_complete(Collector *c)
{
    int rc = page_db_error_ok;
    for (PageInfoList *l = c->list; l != NULL && rc == page_db_error_ok; l = l->next) {
        if (l->page_info->n_crawls > 0) {
            rc = page_db_fail_find(c->db,
                                   page_parts_linked_from(c->db->store, c->txn, l->page_info->url,
                                                          &l->page_info->linked_from),
                                   "reading where a page was linked from");
        }
    }
    return rc;
}

static int try_batch(Collector *c, const CrawledPage *const *pages, const PageWrite *writes,
                     size_t n, bool wants_list)
{
    PageSink sink = {.context = c, .discovered = collect_discovered, .crawled = collect_crawled};
    c->next_page = pages;
    int rc = page_db_txn_begin(c->db, false, &c->txn);
    if (rc != page_db_error_ok) {
        return rc;
    }
    rc = page_db_write(c->db, c->txn, writes, n, wants_list ? &sink : NULL);
    if (rc == page_db_error_ok && wants_list) {
        rc = page_db_add_complete(c);
    }
    if (rc == page_db_error_ok) {
        return page_db_txn_commit(c->db, c->txn);
    }
    page_db_txn_abort(c->db, c->txn);
    return rc;
}

static bool map_is_small(PageDB *db)
{
    MDB_envinfo info;
    /* Counted as a reader, so that the map does not move. */
    inv_semaphore_inc(&db->txn_manager->txn_counter_read);
    int rc = mdb_env_info(db->store->env, &info);
    inv_semaphore_dec(&db->txn_manager->txn_counter_read);
    return rc == 0 && info.me_mapsize < PAGE_DB_DEFAULT_SIZE;
}

static bool are_pages(const CrawledPage *const *pages, size_t n)
{
    for (size_t i = 0; pages != NULL && i < n; i++) {
        if (pages[i] == NULL || pages[i]->url == NULL || pages[i]->links == NULL) {
            return false;
        }
    }
    return pages != NULL || n == 0;
}

PageDBError page_db_add_batch(PageDB *db, const CrawledPage *const *pages, size_t n_pages,
                              PageInfoList **page_info_list)
{
    if (page_info_list != NULL) {
        *page_info_list = NULL;
    }
    int checked = page_db_check(db, are_pages(pages, n_pages), "page_db_add");
    if (checked != page_db_error_ok) {
        return (PageDBError)checked;
    }
    PageWrite *writes = calloc(n_pages == 0 ? 1 : n_pages, sizeof *writes);
    if (writes == NULL) {
        return (PageDBError)page_db_fail(db, page_db_error_memory, "page_db_add: out of memory");
    }
    for (size_t i = 0; i < n_pages; i++) {
        writes[i].page = pages[i];
    }
    Collector c = {.db = db};
    int rc = page_db_error_ok;
    do {
        page_info_list_delete(c.list);
        c.list = NULL;
        if (rc == page_db_error_full && page_db_grow(db) != page_db_error_ok) {
            break;
        }
        rc = try_batch(&c, pages, writes, n_pages, page_info_list != NULL);
    } while (rc == page_db_error_full && map_is_small(db));
    free(writes);
    if (rc != page_db_error_ok) {
        page_info_list_delete(c.list);
        return (PageDBError)rc;
    }
    if (page_info_list != NULL) {
        *page_info_list = c.list;
    }
    page_db_heat(db, pages, n_pages);
    return page_db_error_ok;
}

PageDBError page_db_add(PageDB *db, const CrawledPage *page, PageInfoList **page_info_list)
{
    return page_db_add_batch(db, &page, 1, page_info_list);
}
