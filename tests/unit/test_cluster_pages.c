/* How a page was come by, in one database: its trail, printed in the order of the crawl. */
#include <string.h>

#include "command/cluster/cluster_pages.h"
#include "page_db_fixture.h"

static PageDB *chain(unsigned n)
{
    PageDB *db = page_db_fixture_open("cluster-pages");
    for (unsigned i = 0; i < n; i++) {
        char url[64];
        char to[64];
        (void)snprintf(url, sizeof url, "http://a.example/%u", i);
        (void)snprintf(to, sizeof to, "http://a.example/%u", i + 1);
        CrawledPage *page = page_db_fixture_page(url, 1, 0, i);
        CU_ASSERT_EQUAL(crawled_page_add_link(page, to, 0.5F), 0);
        CU_ASSERT_EQUAL(page_db_add(db, page, NULL), page_db_error_ok);
        crawled_page_delete(page);
    }
    return db;
}

static void a_trail_leads_from_a_page_to_one_that_was_given(void)
{
    PageDB *db = chain(3);
    ClusterPages pages;
    CU_ASSERT_EQUAL_FATAL(cluster_pages_open(&pages, "nowhere", db), RESULT_OK);
    CU_ASSERT_FALSE(pages.is_agent);
    uint16_t owner = 0;
    CU_ASSERT_FALSE(cluster_pages_is_foreign(&pages, "http://a.example/", &owner));
    MDB_txn *txn = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, true, &txn), page_db_error_ok);
    PageTrail trail = {.urls = {.limit = BUFFER_NO_LIMIT}};
    CU_ASSERT_EQUAL(cluster_pages_trail(&pages, db, txn, 2, &trail), RESULT_OK);
    CU_ASSERT_EQUAL(trail.n, 3);
    CU_ASSERT_FALSE(trail.is_cut);
    CU_ASSERT_STRING_EQUAL(trail.urls.data, "http://a.example/2");
    char text[256] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    page_trail_print(&trail, out);
    (void)fclose(out);
    CU_ASSERT_STRING_EQUAL(text, "http://a.example/0\nhttp://a.example/1\nhttp://a.example/2\n");
    CU_ASSERT_EQUAL(cluster_pages_follow(&pages, &trail), RESULT_OK); /* nothing is missing */
    page_trail_destroy(&trail);
    PageTrail none = {.urls = {.limit = BUFFER_NO_LIMIT}};
    CU_ASSERT_EQUAL(cluster_pages_trail(&pages, db, txn, 99, &none), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(none.n, 0);
    page_trail_destroy(&none);
    page_db_txn_abort(db, txn);
    CU_ASSERT_STRING_EQUAL(cluster_pages_problem(&pages), "");
    cluster_pages_close(&pages);
    page_db_delete(db);
}

static void one_that_is_cut_says_who_knows_the_rest(void)
{
    PageTrail trail = {
        .urls = {.limit = BUFFER_NO_LIMIT}, .n = 2, .is_cut = true, .agent = 3, .index = 77};
    CU_ASSERT_EQUAL(buffer_append(&trail.urls, "http://b/\0http://a/", 20), RESULT_OK);
    char text[256] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    page_trail_print(&trail, out);
    (void)fclose(out);
    CU_ASSERT_STRING_EQUAL(text, "agent 3 page 77\nhttp://a/\nhttp://b/\n");
    page_trail_destroy(&trail);
}

static void without_a_configuration_nobody_is_asked(void)
{
    PageDB *db = chain(1);
    ClusterPages pages;
    CU_ASSERT_EQUAL_FATAL(cluster_pages_open(&pages, "/nowhere", db), RESULT_OK);
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    int status = 0;
    CU_ASSERT_NOT_EQUAL(cluster_pages_why(&pages, 1, "http://a/", false, &text, &status),
                        RESULT_OK);
    CU_ASSERT_STRING_EQUAL(cluster_pages_problem(&pages), "/nowhere/config.ini: not found");
    CU_ASSERT_EQUAL(text.length, 0);
    buffer_destroy(&text);
    cluster_pages_close(&pages);
    page_db_delete(db);
}

UNIT_MAIN("cluster_pages",
          {"a trail leads from a page to one that was given",
           a_trail_leads_from_a_page_to_one_that_was_given},
          {"one that is cut says who knows the rest", one_that_is_cut_says_who_knows_the_rest},
          {"without a configuration nobody is asked", without_a_configuration_nobody_is_asked})
