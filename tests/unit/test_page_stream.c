/* Streams over a PageDB: all pages by hash, all links, and what is added behind the last one. */
#include <string.h>

#include "page_db_fixture.h"
#include "store/pages/page_stream.h"

#define PAGES 40u

static void add(PageDB *db, unsigned i)
{
    char url[64];
    char to[64];
    (void)snprintf(url, sizeof url, "http://h%u.example/%u", i % 7, i);
    (void)snprintf(to, sizeof to, "http://h%u.example/%u", (i + 1) % 7, i + 1);
    CrawledPage *page = page_db_fixture_page(url, 1, 0, i);
    CU_ASSERT_EQUAL(crawled_page_add_link(page, to, 0.5F), 0);
    CU_ASSERT_EQUAL(page_db_add(db, page, NULL), page_db_error_ok);
    crawled_page_delete(page);
}

static PageDB *database(unsigned n)
{
    PageDB *db = page_db_fixture_open("page-stream");
    for (unsigned i = 0; i < n; i++) {
        add(db, i);
    }
    return db;
}

static void of_an_empty_database_there_is_nothing(void)
{
    PageDB *db = database(0);
    HashIdxStream *indices = NULL;
    HashInfoStream *infos = NULL;
    PageDBLinkStream *links = NULL;
    uint64_t hash = 0;
    size_t index = 0;
    PageInfo *info = NULL;
    Link link;
    CU_ASSERT_EQUAL_FATAL(hashidx_stream_new(&indices, db), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(hashinfo_stream_new(&infos, db), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(page_db_link_stream_new(&links, db), page_db_error_ok);
    CU_ASSERT_EQUAL(hashidx_stream_next(indices, &hash, &index), stream_state_end);
    CU_ASSERT_EQUAL(hashinfo_stream_next(infos, &hash, &info), stream_state_end);
    CU_ASSERT_EQUAL(page_db_link_stream_next(links, &link), stream_state_end);
    CU_ASSERT_EQUAL(hashidx_stream_next(indices, &hash, &index), stream_state_end); /* stays so */
    hashidx_stream_delete(indices);
    hashinfo_stream_delete(infos);
    page_db_link_stream_delete(links);
    hashidx_stream_delete(NULL);
    hashinfo_stream_delete(NULL);
    page_db_delete(db);
}

static void every_page_comes_once_in_the_order_of_its_hash(void)
{
    PageDB *db = database(PAGES);
    HashIdxStream *indices = NULL;
    HashInfoStream *infos = NULL;
    CU_ASSERT_EQUAL_FATAL(hashidx_stream_new(&indices, db), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(hashinfo_stream_new(&infos, db), page_db_error_ok);
    bool seen[PAGES + 1] = {false};
    uint64_t hash = 0;
    uint64_t print = 0;
    uint64_t before = 0;
    size_t index = 0;
    size_t n = 0;
    while (hashidx_stream_next_key(indices, &hash, &print, &index) == stream_state_next) {
        uint64_t of_info = 0;
        PageInfo *info = NULL;
        CU_ASSERT_TRUE(n == 0 || hash > before);
        CU_ASSERT_TRUE_FATAL(index <= PAGES && !seen[index]);
        CU_ASSERT_EQUAL_FATAL(hashinfo_stream_next(infos, &of_info, &info), stream_state_next);
        CU_ASSERT_EQUAL(of_info, hash); /* both go the same way */
        CU_ASSERT_EQUAL(page_db_hash(info->url), hash);
        page_info_delete(info);
        seen[index] = true;
        before = hash;
        n++;
    }
    CU_ASSERT_EQUAL(n, PAGES + 1); /* the last link leads to one that was not crawled */
    hashidx_stream_delete(indices);
    hashinfo_stream_delete(infos);
    page_db_delete(db);
}

static void links_come_by_their_page_and_what_is_added_behind_is_seen(void)
{
    PageDB *db = database(PAGES);
    PageDBLinkStream *links = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_link_stream_new(&links, db), page_db_error_ok);
    uint64_t from = 0;
    const uint64_t *to = NULL;
    size_t n = 0;
    size_t pages = 0;
    Link link;
    CU_ASSERT_EQUAL(page_db_link_stream_next(links, &link), stream_state_next);
    CU_ASSERT_TRUE(link.from == 0 && link.to == 1);
    while (page_db_link_stream_next_page(links, &from, &to, &n) == stream_state_next) {
        CU_ASSERT_TRUE(n == 1 && *to == from + 1);
        pages++;
        if (pages == 5) {
            add(db, PAGES);
        }
    }
    CU_ASSERT_EQUAL(pages, PAGES);
    CU_ASSERT_EQUAL(page_db_link_stream_reset(links), stream_state_init);
    size_t all = 0;
    while (page_db_link_stream_next(links, &link) == stream_state_next) {
        CU_ASSERT_EQUAL(link.to, link.from + 1);
        all++;
    }
    CU_ASSERT_EQUAL(all, PAGES + 1);
    page_db_link_stream_delete(links);
    page_db_delete(db);
}

UNIT_MAIN("page_stream",
          {"of an empty database there is nothing", of_an_empty_database_there_is_nothing},
          {"every page comes once in the order of its hash",
           every_page_comes_once_in_the_order_of_its_hash},
          {"links come by their page and what is added behind is seen",
           links_come_by_their_page_and_what_is_added_behind_is_seen})
