/* A batch gives the database that its pages give one by one, record by record. */
#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "folder_fixture.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "store/pages/page_db.h"
#include "store/page_tables/page_store.h"

enum { MANY_LINKS = 100000, LONG_URL = 65536, N_PAGES = 60 };

static PageDB *open_fresh(const char *name)
{
    char path[FOLDER_BYTES];
    folder_name(path, name);
    PageDB *db = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, &(PageDBOptions){.no_sync = true}),
                          page_db_error_ok);
    page_db_set_persist(db, 0);
    return db;
}

static char *long_url(unsigned n)
{
    char *url = malloc(LONG_URL + 1);
    int head = snprintf(url, LONG_URL, "http://long%u.com/", n % 3);
    memset(url + head, 'a' + (int)(n % 26), LONG_URL - (size_t)head);
    url[LONG_URL] = '\0';
    url[LONG_URL - 1] = (char)('0' + n % 10);
    return url;
}

static void link_to(CrawledPage *cp, const char *url, float score)
{
    CU_ASSERT_EQUAL_FATAL(crawled_page_add_link(cp, url, score), 0);
}

/* Duplicates, self links, pages without links, recrawls within the batch, pages that are first
 * linked and then crawled and the other way round; one page with very many links, and very long
 * URLs. */
static CrawledPage *page_number(unsigned n)
{
    char url[64];
    (void)snprintf(url, sizeof url, "http://h%u.com/%u", n % 4, n % 37);
    char *longer = long_url(n);
    CrawledPage *cp = crawled_page_new(n % 11 == 5 ? longer : url);
    cp->time = 1000 + n;
    cp->score = (float)n;
    CU_ASSERT_EQUAL(crawled_page_set_hash64(cp, n / 40), 0);
    size_t n_links = n == 20 ? MANY_LINKS : n % 7 == 3 ? 0 : n % 9;
    for (unsigned i = 0; i < n_links; i++) {
        (void)snprintf(url, sizeof url, "http://h%u.com/%u", (unsigned)(hash_mix(i * n) % 5),
                       n_links > 100 ? i : (n * 3 + i) % 50);
        link_to(cp, i % 5 == 4 ? cp->url : url, (float)i);
        if (i % 3 == 2) {
            link_to(cp, url, 9);
        }
    }
    if (n % 8 == 1) {
        link_to(cp, longer, 1);
    }
    free(longer);
    return cp;
}

static bool same_bytes(const void *a, size_t n_a, const void *b, size_t n_b)
{
    return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a) == 0);
}

static unsigned differences(PageDB *a, PageDB *b)
{
    MDB_txn *ta = NULL, *tb = NULL;
    Buffer ua, ub;
    buffer_init(&ua, BUFFER_NO_LIMIT);
    buffer_init(&ub, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(a, true, &ta), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(b, true, &tb), page_db_error_ok);
    unsigned n = page_db_n_pages(a, ta) != page_db_n_pages(b, tb) ||
                 page_db_n_hosts(a, ta) != page_db_n_hosts(b, tb);
    for (uint64_t i = 0; i < page_db_n_pages(a, ta) && n == 0; i++) {
        PageRef ra, rb;
        uint64_t *la = NULL, *lb = NULL;
        size_t na = 0, nb = 0, da = 0, db = 0;
        CU_ASSERT_EQUAL(page_db_get(a, ta, i, &ra, &ua), page_db_error_ok);
        CU_ASSERT_EQUAL(page_db_get(b, tb, i, &rb, &ub), page_db_error_ok);
        CU_ASSERT_EQUAL(page_db_get_links(a, ta, i, &la, &na, &da), page_db_error_ok);
        CU_ASSERT_EQUAL(page_db_get_links(b, tb, i, &lb, &nb, &db), page_db_error_ok);
        bool same = same_bytes(ra.url, ra.url_length, rb.url, rb.url_length) &&
                    same_bytes(la, na * sizeof *la, lb, nb * sizeof *lb) && da == db;
        free(la);
        free(lb);
        ra.url = NULL;
        rb.url = NULL;
        n += !same || ra.index != rb.index || ra.hash != rb.hash || ra.host != rb.host ||
             ra.score != rb.score || ra.depth != rb.depth || ra.linked_from != rb.linked_from ||
             ra.n_crawls != rb.n_crawls || ra.hop != rb.hop || ra.level != rb.level ||
             ra.first_crawl != rb.first_crawl || ra.last_crawl != rb.last_crawl ||
             ra.n_changes != rb.n_changes || ra.content_hash64 != rb.content_hash64;
    }
    page_db_txn_abort(a, ta);
    page_db_txn_abort(b, tb);
    buffer_destroy(&ua);
    buffer_destroy(&ub);
    return n;
}

static bool same_info(const PageInfo *a, const PageInfo *b)
{
    return strcmp(a->url, b->url) == 0 && a->linked_from == b->linked_from &&
           a->depth == b->depth && a->n_crawls == b->n_crawls && a->n_changes == b->n_changes &&
           a->first_crawl == b->first_crawl && a->last_crawl == b->last_crawl &&
           a->score == b->score &&
           same_bytes(a->content_hash, a->content_hash_length, b->content_hash,
                      b->content_hash_length);
}

static void a_batch_equals_its_pages_one_by_one(void)
{
    PageDB *single = open_fresh("single"), *batch = open_fresh("batch");
    CrawledPage *pages[N_PAGES];
    PageInfoList *all = NULL, *list = NULL;
    for (unsigned n = 0; n < N_PAGES; n++) {
        pages[n] = page_number(n);
        CU_ASSERT_EQUAL(page_db_add(single, pages[n], &list), page_db_error_ok);
        PageInfoList *end = list;
        while (end->next != NULL) {
            end = end->next;
        }
        end->next = all;
        all = list;
    }
    CU_ASSERT_EQUAL(page_db_add_batch(batch, (const CrawledPage *const *)pages, N_PAGES, &list),
                    page_db_error_ok);
    CU_ASSERT_EQUAL(differences(single, batch), 0);
    PageInfoList *x = all, *y = list;
    while (x != NULL && y != NULL && x->hash == y->hash && same_info(x->page_info, y->page_info)) {
        x = x->next;
        y = y->next;
    }
    CU_ASSERT_PTR_NULL(x);
    CU_ASSERT_PTR_NULL(y);
    page_info_list_delete(all);
    page_info_list_delete(list);
    /* All again: everything is known now, and changes nothing but the crawls. */
    CU_ASSERT_EQUAL(page_db_add_batch(batch, (const CrawledPage *const *)pages, N_PAGES, NULL),
                    page_db_error_ok);
    for (unsigned n = 0; n < N_PAGES; n++) {
        CU_ASSERT_EQUAL(page_db_add(single, pages[n], NULL), page_db_error_ok);
        crawled_page_delete(pages[n]);
    }
    CU_ASSERT_EQUAL(differences(single, batch), 0);
    CU_ASSERT_EQUAL(page_db_add_batch(batch, NULL, 0, &list), page_db_error_ok);
    CU_ASSERT_PTR_NULL(list);
    CU_ASSERT_EQUAL(page_db_delete(single), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_delete(batch), page_db_error_ok);
}

static void a_page_without_links_abroad_streams_none(void)
{
    PageDB *db = open_fresh("onlydiff");
    const char *const links[][2] = {
        {"http://a.com/1", "http://a.com/2"},     {"http://a.com/1", "http://b.com/1"},
        {"http://a.com/1", "https://a.com:81/3"}, {"http://b.com/1", "http://b.com/2"},
        {"http://b.com/1", "http://a.com/2"},     {"http://c.com/1", "http://c.com/2"}};
    size_t n_links = sizeof links / sizeof *links;
    for (size_t i = 0; i < n_links;) {
        CrawledPage *cp = crawled_page_new(links[i][0]);
        size_t k = i;
        for (; k < n_links && strcmp(links[k][0], links[i][0]) == 0; k++) {
            link_to(cp, links[k][1], 0);
        }
        CU_ASSERT_EQUAL(page_db_add(db, cp, NULL), page_db_error_ok);
        crawled_page_delete(cp);
        i = k;
    }
    PageDBLinkStream *stream = NULL;
    CU_ASSERT_EQUAL(page_db_link_stream_new(&stream, db), page_db_error_ok);
    CU_ASSERT_EQUAL(stream->only_diff_domain, 1);
    CU_ASSERT_EQUAL(stream->state, stream_state_init);
    Link link;
    CU_ASSERT_EQUAL(page_db_link_stream_next(stream, &link), stream_state_next);
    CU_ASSERT(link.from == 0 && link.to == 2);
    CU_ASSERT_EQUAL(page_db_link_stream_next(stream, &link), stream_state_next);
    CU_ASSERT(link.from == 2 && link.to == 1);
    CU_ASSERT_EQUAL(page_db_link_stream_next(stream, &link), stream_state_end);
    CU_ASSERT_EQUAL(page_db_link_stream_reset(stream), stream_state_init);
    stream->only_diff_domain = 0;
    size_t n = 0;
    while (page_db_link_stream_next(stream, &link) == stream_state_next) {
        n++;
    }
    CU_ASSERT_EQUAL(n, n_links);
    page_db_link_stream_delete(stream);
    page_db_link_stream_delete(NULL);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

/* Bytes of mapped files that are resident. */
static size_t resident_files(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    size_t size = 0;
    size_t resident = 0;
    size_t mapped = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fscanf(file, "%zu %zu %zu", &size, &resident, &mapped), 3);
    (void)fclose(file);
    return mapped * (size_t)sysconf(_SC_PAGESIZE);
}

/* Looks up every URL of a page in one transaction; the most bytes that were mapped meanwhile. */
static size_t look_up_all(PageDB *db, unsigned n)
{
    MDB_txn *txn = NULL;
    size_t most = 0;
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, true, &txn), page_db_error_ok);
    for (unsigned i = 0; i < n; i++) {
        char url[64];
        uint64_t index = 0;
        int length = snprintf(url, sizeof url, "http://example%u.com/%u", i % 1000, i);
        CU_ASSERT_EQUAL(page_db_find(db, txn, url, (size_t)length, &index), page_db_error_ok);
        CU_ASSERT_EQUAL(page_db_get_way(db, txn, index, &index, &(uint8_t){0}, NULL),
                        page_db_error_ok);
        if (i % 32 == 0) {
            size_t mapped = resident_files();
            most = mapped > most ? mapped : most;
        }
    }
    page_db_txn_abort(db, txn);
    return most;
}

static void a_bound_on_the_map_holds_within_a_transaction(void)
{
    enum { URLS = 200000, BOUND = 1 << 20 };
    PageDB *db = open_fresh("bound");
    CrawledPage *cp = crawled_page_new("http://example.com/");
    for (unsigned i = 0; i < URLS; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://example%u.com/%u", i % 1000, i);
        CU_ASSERT_EQUAL_FATAL(crawled_page_add_link(cp, url, 0), 0);
    }
    CU_ASSERT_EQUAL_FATAL(page_db_add(db, cp, NULL), page_db_error_ok);
    crawled_page_delete(cp);
    size_t unbound = look_up_all(db, URLS);
    page_db_set_map_memory(db, BOUND);
    uint64_t drops = page_db_check_residence(db);
    CU_ASSERT_EQUAL(drops, 1);
    size_t bound = look_up_all(db, URLS);
    CU_ASSERT(page_db_check_residence(db) > drops + 2);
    CU_ASSERT(bound + 2 * (size_t)BOUND < unbound);
    page_db_delete(db);
}

UNIT_MAIN("page_db_batch",
          {"a bound on the map holds within a transaction",
           a_bound_on_the_map_holds_within_a_transaction},
          {"a batch equals its pages one by one", a_batch_equals_its_pages_one_by_one},
          {"a page without links abroad streams none", a_page_without_links_abroad_streams_none})
