/* PageDB: the documented calls, on small databases. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/page_db.h"
#include "store/page_db_internal.h"

static const char *fresh_path(const char *name)
{
    static char path[300];
    const char *dir = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/ragno-%s-%ld", dir == NULL ? "/tmp" : dir, name,
                   (long)getpid());
    return path;
}

static PageDB *open_fresh(const char *name)
{
    PageDB *db = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, fresh_path(name), &(PageDBOptions){.no_sync = true}),
                          page_db_error_ok);
    page_db_set_persist(db, 0);
    return db;
}

static CrawledPage *page_of(const char *url, double time, float score, uint64_t hash)
{
    CrawledPage *cp = crawled_page_new(url);
    cp->time = time;
    cp->score = score;
    CU_ASSERT_EQUAL(crawled_page_set_hash64(cp, hash), 0);
    return cp;
}

static void add(PageDB *db, CrawledPage *cp)
{
    CU_ASSERT_EQUAL(page_db_add(db, cp, NULL), page_db_error_ok);
    crawled_page_delete(cp);
}

static PageInfo *info_of(PageDB *db, const char *url)
{
    PageInfo *pi = NULL;
    CU_ASSERT_EQUAL(page_db_get_info(db, page_db_hash(url), &pi), page_db_error_ok);
    return pi;
}

static void a_crawled_page_and_its_links_are_known(void)
{
    PageDB *db = open_fresh("pagedb1");
    CrawledPage *cp = page_of("http://a.com/", 100, 0.5F, 1);
    CU_ASSERT_EQUAL(crawled_page_add_link(cp, "http://a.com/1", 0.1F), 0);
    CU_ASSERT_EQUAL(crawled_page_add_link(cp, "http://b.com/?q", 0.2F), 0);
    CU_ASSERT_EQUAL(crawled_page_add_link(cp, "www.scheme-less.com", 0.3F), 0);
    CU_ASSERT_EQUAL(crawled_page_add_link(cp, "http://me:pw@b.com:81/x@y", 0.4F), 0);
    PageInfoList *list = NULL;
    CU_ASSERT_EQUAL(page_db_add(db, cp, &list), page_db_error_ok);
    crawled_page_delete(cp);
    const char *const newest_first[] = {"http://me:pw@b.com:81/x@y", "www.scheme-less.com",
                                        "http://b.com/?q", "http://a.com/1", "http://a.com/"};
    size_t n = 0;
    for (PageInfoList *l = list; l != NULL; l = l->next) {
        CU_ASSERT_STRING_EQUAL(l->page_info->url, newest_first[n]);
        CU_ASSERT_EQUAL(l->hash, page_db_hash(newest_first[n]));
        CU_ASSERT_EQUAL(l->page_info->linked_from, n == 4 ? 0 : page_db_hash("http://a.com/"));
        PageInfo *pi = info_of(db, newest_first[n]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(pi);
        CU_ASSERT_STRING_EQUAL(pi->url, l->page_info->url);
        CU_ASSERT_EQUAL(pi->linked_from, l->page_info->linked_from);
        CU_ASSERT_EQUAL(pi->depth, n == 4 ? 0 : 1);
        CU_ASSERT_EQUAL(pi->n_crawls, n == 4 ? 1 : 0);
        CU_ASSERT_EQUAL(pi->score, l->page_info->score);
        CU_ASSERT_EQUAL(pi->content_hash_length, n == 4 ? 8 : 0);
        uint64_t idx = 99;
        CU_ASSERT_EQUAL(page_db_get_idx(db, l->hash, &idx), page_db_error_ok);
        CU_ASSERT_EQUAL(idx, 4 - n);
        page_info_delete(pi);
        n++;
    }
    CU_ASSERT_EQUAL(n, 5);
    page_info_list_delete(list);
    page_info_list_delete(NULL);
    CU_ASSERT_PTR_NULL(info_of(db, "http://nowhere.com/"));
    uint64_t idx = 7;
    CU_ASSERT_EQUAL(page_db_get_idx(db, 12345, &idx), page_db_error_no_page);
    CU_ASSERT_EQUAL(idx, 0);
    CU_ASSERT_EQUAL(error_code(db->error), page_db_error_no_page);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    struct stat st;
    CU_ASSERT_NOT_EQUAL(stat(fresh_path("pagedb1"), &st), 0);
}

static void recrawls_count_changes(void)
{
    PageDB *db = open_fresh("pagedb2");
    add(db, page_of("http://a.com/", 100, 0.5F, 1));
    add(db, page_of("http://a.com/", 200, 0.6F, 1));
    add(db, page_of("http://a.com/", 300, 0.7F, 2));
    PageInfo *pi = info_of(db, "http://a.com/");
    CU_ASSERT_EQUAL(pi->n_crawls, 3);
    CU_ASSERT_EQUAL(pi->n_changes, 1);
    CU_ASSERT_EQUAL(pi->first_crawl, 100);
    CU_ASSERT_EQUAL(pi->last_crawl, 300);
    CU_ASSERT_EQUAL(pi->score, 0.7F);
    CU_ASSERT_DOUBLE_EQUAL(page_info_rate(pi), 0.01, 1e-6);
    page_info_delete(pi);
    /* Without a hash, and with one of another length: changes; and nothing crashes. */
    CrawledPage *cp = page_of("http://a.com/", 400, 0, 2);
    CU_ASSERT_EQUAL(crawled_page_set_hash(cp, NULL, 0), 0);
    add(db, cp);
    cp = page_of("http://a.com/", 500, 0, 2);
    CU_ASSERT_EQUAL(crawled_page_set_hash32(cp, 9), 0);
    add(db, cp);
    pi = info_of(db, "http://a.com/");
    CU_ASSERT_EQUAL(pi->n_crawls, 5);
    CU_ASSERT_EQUAL(pi->n_changes, 3);
    CU_ASSERT_EQUAL(pi->content_hash_length, 4);
    page_info_delete(pi);
    /* A page known as a link: its first crawl is no change. */
    cp = page_of("http://b.com/", 100, 0, 1);
    CU_ASSERT_EQUAL(crawled_page_add_link(cp, "http://b.com/1", 0.25F), 0);
    add(db, cp);
    add(db, page_of("http://b.com/1", 200, 0.75F, 1));
    pi = info_of(db, "http://b.com/1");
    CU_ASSERT_EQUAL(pi->n_crawls, 1);
    CU_ASSERT_EQUAL(pi->n_changes, 0);
    CU_ASSERT_EQUAL(pi->score, 0.75F);
    CU_ASSERT_EQUAL(pi->linked_from, page_db_hash("http://b.com/"));
    CU_ASSERT_EQUAL(page_info_rate(pi), -1);
    page_info_delete(pi);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static void a_database_comes_back(void)
{
    PageDB *db = open_fresh("pagedb3");
    page_db_set_persist(db, 1);
    add(db, page_of("http://a.com/", 100, 0.5F, 1));
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_open(&db, fresh_path("pagedb3"), &(PageDBOptions){.read_only = true}),
                    page_db_error_ok);
    PageInfo *pi = info_of(db, "http://a.com/");
    CU_ASSERT_PTR_NOT_NULL(pi);
    page_info_delete(pi);
    CrawledPage *cp = crawled_page_new("http://a.com/x");
    CU_ASSERT_EQUAL(page_db_add(db, cp, NULL), page_db_error_read_only);
    crawled_page_delete(cp);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_new(&db, fresh_path("pagedb3")), page_db_error_ok);
    page_db_set_persist(db, 0);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_delete(NULL), page_db_error_ok);
}

typedef struct Seen {
    char text[2000]; /* what the sink was told, in order */
    PageDB *db;
    MDB_txn *txn;
} Seen;

static int note_discovered(void *context, const PageRef *page, uint8_t *level)
{
    Seen *seen = context;
    size_t used = strlen(seen->text);
    Buffer origin;
    buffer_init(&origin, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(*level, PAGE_DB_NO_LEVEL);
    CU_ASSERT_EQUAL(page_db_host_origin(seen->db, seen->txn, page->host, &origin),
                    page_db_error_ok);
    (void)snprintf(seen->text + used, sizeof seen->text - used, "+%u %.*s %c%u from %d on %s\n",
                   (unsigned)page->index, (int)page->url_length, page->url, page->hop,
                   (unsigned)page->depth,
                   page->linked_from == PAGE_DB_NO_INDEX ? -1 : (int)page->linked_from,
                   buffer_string(&origin));
    buffer_destroy(&origin);
    *level = (uint8_t)(page->index + 1);
    return 0;
}

static int note_crawled(void *context, const PageRef *before, const PageRef *after, uint8_t *level)
{
    Seen *seen = context;
    size_t used = strlen(seen->text);
    CU_ASSERT_EQUAL(*level, PAGE_DB_NO_LEVEL);
    CU_ASSERT_EQUAL(before->index, after->index);
    CU_ASSERT_EQUAL(after->n_crawls, before->n_crawls + 1);
    (void)snprintf(seen->text + used, sizeof seen->text - used, "*%u %.*s level %u status %d>%d\n",
                   (unsigned)after->index, (int)after->url_length, after->url,
                   (unsigned)before->level, (int)before->status, (int)after->status);
    *level = after->status == 500 ? 7 : PAGE_DB_NO_LEVEL;
    return 0;
}

static void the_sink_is_told_in_order(void)
{
    PageDB *db = open_fresh("pagedb4");
    Seen seen = {.db = db};
    PageSink sink = {.context = &seen, .discovered = note_discovered, .crawled = note_crawled};
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, false, &seen.txn), page_db_error_ok);
    LinkInfo seed = {.url = (char[]){"http://a.com/"}, .score = 1};
    CU_ASSERT_EQUAL(
        page_db_discover(db, seen.txn, &seed, (const uint8_t *)"M", 1, PAGE_DB_NO_INDEX, 0, &sink),
        page_db_error_ok);
    CrawledPage *first = page_of("http://a.com/", 100, 0.5F, 1);
    CrawledPage *second = page_of("https://b.com/x", 200, 0.5F, 1);
    CrawledPage *third = page_of("http://new.com/", 200, 0.5F, 1);
    CU_ASSERT_EQUAL(crawled_page_add_link(first, "https://b.com/x", 0), 0);
    CU_ASSERT_EQUAL(crawled_page_add_link(first, "http://a.com/", 0), 0);
    CU_ASSERT_EQUAL(crawled_page_add_link(second, "http://a.com/1", 0), 0);
    const PageWrite writes[] = {
        {.page = first, .link_hops = (const uint8_t *)"RL", .status = 301, .flags = 5},
        {.page = second, .status = 500},
        {.page = third, .status = 200}};
    CU_ASSERT_EQUAL(page_db_write(db, seen.txn, writes, 3, &sink), page_db_error_ok);
    CU_ASSERT_STRING_EQUAL(seen.text, "+0 http://a.com/ M0 from -1 on http://a.com\n"
                                      "*0 http://a.com/ level 1 status 0>301\n"
                                      "+1 https://b.com/x R1 from 0 on https://b.com\n"
                                      "*1 https://b.com/x level 2 status 0>500\n"
                                      "+2 http://a.com/1 L2 from 1 on http://a.com\n"
                                      "*3 http://new.com/ level 255 status 0>200\n");
    const uint8_t levels[] = {255, 7, 3, 255};
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    for (uint64_t i = 0; i < 4; i++) {
        PageRef page;
        CU_ASSERT_EQUAL(page_db_get(db, seen.txn, i, &page, &url), page_db_error_ok);
        CU_ASSERT_EQUAL(page.level, levels[i]);
        CU_ASSERT_EQUAL(page.flags, i == 0 ? 5 : 0);
    }
    PageRef page;
    CU_ASSERT_EQUAL(page_db_get(db, seen.txn, 4, &page, &url), page_db_error_no_page);
    uint32_t host = 9;
    CU_ASSERT_EQUAL(page_db_n_hosts(db, seen.txn), 3);
    CU_ASSERT_EQUAL(page_db_host_find(db, seen.txn, "https://b.com", 13, &host), 0);
    CU_ASSERT_EQUAL(host, 1);
    CU_ASSERT_EQUAL(page_db_host_find(db, seen.txn, "http://b.com", 12, &host),
                    page_db_error_no_page);
    CU_ASSERT_EQUAL(page_db_host_add(db, seen.txn, "http://b.com", 12, &host), 0);
    CU_ASSERT_EQUAL(host, 3);
    page_db_txn_abort(db, seen.txn);
    /* All of it is gone, and ids are given again. */
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, false, &seen.txn), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_n_pages(db, seen.txn), 0);
    CU_ASSERT_EQUAL(page_db_host_add(db, seen.txn, "http://other.com", 16, &host), 0);
    CU_ASSERT_EQUAL(host, 0);
    CU_ASSERT_EQUAL(page_db_host_add(db, seen.txn, "http://a.com", 12, &host), 0);
    CU_ASSERT_EQUAL(host, 1);
    page_db_txn_abort(db, seen.txn);
    buffer_destroy(&url);
    crawled_page_delete(first);
    crawled_page_delete(second);
    crawled_page_delete(third);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static void infos_are_printed_as_documented(void)
{
    char url[600], out[PAGE_INFO_PRINT_BYTES];
    memset(url, 'u', sizeof url);
    url[sizeof url - 1] = '\0';
    PageInfo pi = {.url = url, .first_crawl = 0, .last_crawl = 1e9, .n_crawls = 12, .n_changes = 1};
    CU_ASSERT_EQUAL(page_info_print(&pi, out), 24 + 1 + 24 + 1 + 8 + 1 + 8 + 1 + 511);
    CU_ASSERT_EQUAL(memcmp(out + 50, "1.20e+01 1.00e+00 uuu", 21), 0);
    CU_ASSERT_EQUAL(strlen(out), 579);
    pi.last_crawl = 1e300;
    CU_ASSERT_EQUAL(page_info_print(&pi, out), -1);
    CU_ASSERT(!page_info_is_seed(&pi));
    pi.url = (char[]){"_seed_0"};
    CU_ASSERT(page_info_is_seed(&pi));
    PageInfoList *list = page_info_list_new(page_info_allocate(3, 0), 1);
    list = page_info_list_cons(list, page_info_allocate(0, 5), 2);
    CU_ASSERT_EQUAL(list->hash, 2);
    CU_ASSERT_EQUAL(list->next->hash, 1);
    page_info_list_delete(list);
}

UNIT_MAIN("page_db",
          {"a crawled page and its links are known", a_crawled_page_and_its_links_are_known},
          {"recrawls count changes", recrawls_count_changes},
          {"a database comes back", a_database_comes_back},
          {"the sink is told in order", the_sink_is_told_in_order},
          {"infos are printed as documented", infos_are_printed_as_documented})
