/* PageDB: the documented calls, on small databases. */
#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "page_db_fixture.h"
#include "store/page_tables/page_store.h"

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
    PageDB *db = page_db_fixture_open("pagedb1");
    CrawledPage *cp = page_db_fixture_page("http://a.com/", 100, 0.5F, 1);
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
    CU_ASSERT_NOT_EQUAL(stat(page_db_fixture_path("pagedb1"), &st), 0);
}

static void recrawls_count_changes(void)
{
    PageDB *db = page_db_fixture_open("pagedb2");
    add(db, page_db_fixture_page("http://a.com/", 100, 0.5F, 1));
    add(db, page_db_fixture_page("http://a.com/", 200, 0.6F, 1));
    add(db, page_db_fixture_page("http://a.com/", 300, 0.7F, 2));
    PageInfo *pi = info_of(db, "http://a.com/");
    CU_ASSERT_EQUAL(pi->n_crawls, 3);
    CU_ASSERT_EQUAL(pi->n_changes, 1);
    CU_ASSERT_EQUAL(pi->first_crawl, 100);
    CU_ASSERT_EQUAL(pi->last_crawl, 300);
    CU_ASSERT_EQUAL(pi->score, 0.7F);
    CU_ASSERT_DOUBLE_EQUAL(page_info_rate(pi), 0.01, 1e-6);
    page_info_delete(pi);
    /* Without a hash, and with one of another length: changes; and nothing crashes. */
    CrawledPage *cp = page_db_fixture_page("http://a.com/", 400, 0, 2);
    CU_ASSERT_EQUAL(crawled_page_set_hash(cp, NULL, 0), 0);
    add(db, cp);
    cp = page_db_fixture_page("http://a.com/", 500, 0, 2);
    CU_ASSERT_EQUAL(crawled_page_set_hash32(cp, 9), 0);
    add(db, cp);
    pi = info_of(db, "http://a.com/");
    CU_ASSERT_EQUAL(pi->n_crawls, 5);
    CU_ASSERT_EQUAL(pi->n_changes, 3);
    CU_ASSERT_EQUAL(pi->content_hash_length, 4);
    page_info_delete(pi);
    /* A page known as a link: its first crawl is no change. */
    cp = page_db_fixture_page("http://b.com/", 100, 0, 1);
    CU_ASSERT_EQUAL(crawled_page_add_link(cp, "http://b.com/1", 0.25F), 0);
    add(db, cp);
    add(db, page_db_fixture_page("http://b.com/1", 200, 0.75F, 1));
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
    PageDB *db = page_db_fixture_open("pagedb3");
    page_db_set_persist(db, 1);
    add(db, page_db_fixture_page("http://a.com/", 100, 0.5F, 1));
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT_EQUAL(
        page_db_open(&db, page_db_fixture_path("pagedb3"), &(PageDBOptions){.read_only = true}),
        page_db_error_ok);
    PageInfo *pi = info_of(db, "http://a.com/");
    CU_ASSERT_PTR_NOT_NULL(pi);
    page_info_delete(pi);
    CrawledPage *cp = crawled_page_new("http://a.com/x");
    CU_ASSERT_EQUAL(page_db_add(db, cp, NULL), page_db_error_read_only);
    crawled_page_delete(cp);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_new(&db, page_db_fixture_path("pagedb3")), page_db_error_ok);
    page_db_set_persist(db, 0);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_delete(NULL), page_db_error_ok);
}

static void write_file(const char *name, const char *bytes, size_t length)
{
    char path[400];
    (void)snprintf(path, sizeof path, "%s/%s", page_db_fixture_path("pagedb4"), name);
    FILE *file = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, length, file), length);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* What a crash, or a power cut, leaves of a creation. */
static void a_creation_that_was_cut_short_is_done_again(void)
{
    PageDB *db = NULL;
    static const char half[3000] = {1, 2, 3};
    CU_ASSERT_EQUAL_FATAL(mkdir(page_db_fixture_path("pagedb4"), 0755), 0);
    write_file("data.mdb", half, 0);
    write_file("data.mdb.new", half, sizeof half);
    CU_ASSERT_EQUAL_FATAL(page_db_new(&db, page_db_fixture_path("pagedb4")), page_db_error_ok);
    page_db_set_persist(db, 0);
    add(db, page_db_fixture_page("http://a.com/", 100, 0.5F, 1));
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT_NOT_EQUAL(access(page_db_fixture_path("pagedb4"), F_OK), 0);
    /* What is no beginning is never replaced. */
    CU_ASSERT_EQUAL_FATAL(mkdir(page_db_fixture_path("pagedb4"), 0755), 0);
    write_file("data.mdb", half, sizeof half);
    CU_ASSERT_EQUAL(page_db_new(&db, page_db_fixture_path("pagedb4")), page_db_error_damaged);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    char path[400];
    (void)snprintf(path, sizeof path, "%s/data.mdb", page_db_fixture_path("pagedb4"));
    struct stat st;
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_size, (off_t)sizeof half);
    folder_remove(page_db_fixture_path("pagedb4"));
}

/* What a dump prints; the caller frees it. */
static char *dump_of(PageDB *db, PageDBError (*dump)(PageDB *, FILE *))
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(dump(db, out), page_db_error_ok);
    (void)fclose(out);
    return text;
}

static void dumps_have_a_line_for_each_page_and_link(void)
{
    PageDB *db = page_db_fixture_open("dumps");
    CrawledPage *cp = page_db_fixture_page("http://a.com/", 100, 0.5F, 1);
    CU_ASSERT_EQUAL(crawled_page_add_link(cp, "http://a.com/1", 0.25F), 0);
    CU_ASSERT_EQUAL(crawled_page_add_link(cp, "http://b.com/", 0.125F), 0);
    add(db, cp);
    char *text = dump_of(db, page_db_info_dump);
    size_t lines = 0;
    for (const char *c = text; *c != '\0'; c++) {
        lines += *c == '\n';
    }
    CU_ASSERT_EQUAL(lines, 3);
    char line[200];
    (void)snprintf(line, sizeof line, "%016llx 0 http://a.com/ 100.000 100.000 0 1 0 0.5\n",
                   (unsigned long long)page_db_hash("http://a.com/"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, line));
    (void)snprintf(line, sizeof line, "%016llx 2 http://b.com/ 0.000 0.000 0 0 1 0.125\n",
                   (unsigned long long)page_db_hash("http://b.com/"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, line));
    free(text);
    text = dump_of(db, page_db_links_dump);
    CU_ASSERT_STRING_EQUAL(text, "0 2\n0 1\n"); /* links that leave the domain come first */
    free(text);
    FILE *full = fopen("/dev/full", "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(full);
    CU_ASSERT_EQUAL(page_db_links_dump(db, full), page_db_error_invalid_path);
    (void)fclose(full);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static void a_crawled_page_holds_copies(void)
{
    char url[] = "http://a.com/1";
    char hash[16] = "sixteen bytes...";
    CrawledPage *cp = crawled_page_new("http://a.com/");
    CU_ASSERT_EQUAL(crawled_page_n_links(cp), 0);
    for (int i = 0; i < 25; i++) { /* more than there is room for at first */
        url[13] = (char)('a' + i);
        CU_ASSERT_EQUAL(crawled_page_add_link(cp, url, (float)i), 0);
    }
    CU_ASSERT_EQUAL(crawled_page_n_links(cp), 25);
    CU_ASSERT_STRING_EQUAL(crawled_page_get_link(cp, 0)->url, "http://a.com/a");
    CU_ASSERT_STRING_EQUAL(crawled_page_get_link(cp, 24)->url, "http://a.com/y");
    CU_ASSERT_EQUAL(crawled_page_get_link(cp, 24)->score, 24);
    CU_ASSERT_EQUAL(crawled_page_set_hash128(cp, hash), 0);
    memset(hash, 0, sizeof hash);
    CU_ASSERT_EQUAL(cp->content_hash_length, 16);
    CU_ASSERT_EQUAL(memcmp(cp->content_hash, "sixteen bytes...", 16), 0);
    crawled_page_delete(cp);
}

UNIT_MAIN("page_db",
          {"dumps have a line for each page and link", dumps_have_a_line_for_each_page_and_link},
          {"a crawled page holds copies", a_crawled_page_holds_copies},
          {"a creation that was cut short is done again",
           a_creation_that_was_cut_short_is_done_again},
          {"a crawled page and its links are known", a_crawled_page_and_its_links_are_known},
          {"recrawls count changes", recrawls_count_changes},
          {"a database comes back", a_database_comes_back})
