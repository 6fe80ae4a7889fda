/* The crawler's side of PageDB: the sink's reports, host ids, states; and the printing of infos. */
#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "page_db_fixture.h"

typedef struct Seen {
    char text[2000]; /* what the sink was told, in order */
    PageDB *db;
    MDB_txn *txn;
} Seen;

static int note_discovered(void *context, const PageRef *page, PageState *state)
{
    Seen *seen = context;
    size_t used = strlen(seen->text);
    Buffer origin;
    buffer_init(&origin, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(state->level, PAGE_DB_NO_LEVEL);
    CU_ASSERT_EQUAL(page_db_host_origin(seen->db, seen->txn, page->host, &origin),
                    page_db_error_ok);
    (void)snprintf(seen->text + used, sizeof seen->text - used, "+%u %.*s %c%u from %d on %s\n",
                   (unsigned)page->index, (int)page->url_length, page->url, page->hop,
                   (unsigned)page->depth,
                   page->linked_from == PAGE_DB_NO_INDEX ? -1 : (int)page->linked_from,
                   buffer_string(&origin));
    buffer_destroy(&origin);
    state->level = (uint8_t)(page->index + 1);
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
    PageDB *db = page_db_fixture_open("pagedb4");
    Seen seen = {.db = db};
    PageSink sink = {.context = &seen, .discovered = note_discovered, .crawled = note_crawled};
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, false, &seen.txn), page_db_error_ok);
    LinkInfo seed = {.url = (char[]){"http://a.com/"}, .score = 1};
    CU_ASSERT_EQUAL(
        page_db_discover(db, seen.txn, &seed, (const uint8_t *)"M", 1, PAGE_DB_NO_INDEX, 0, &sink),
        page_db_error_ok);
    CrawledPage *first = page_db_fixture_page("http://a.com/", 100, 0.5F, 1);
    CrawledPage *second = page_db_fixture_page("https://b.com/x", 200, 0.5F, 1);
    CrawledPage *third = page_db_fixture_page("http://new.com/", 200, 0.5F, 1);
    CU_ASSERT_EQUAL(crawled_page_add_link(first, "https://b.com/x", 0), 0);
    CU_ASSERT_EQUAL(crawled_page_add_link(first, "http://a.com/", 0), 0);
    CU_ASSERT_EQUAL(crawled_page_add_link(second, "http://a.com/1", 0), 0);
    const PageWrite writes[] = {{.page = first,
                                 .link_hops = (const uint8_t *)"RL",
                                 .link_kinds = (const uint8_t *)"\x0f\x20",
                                 .status = 301,
                                 .flags = 5},
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
    uint8_t *kinds = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_get_link_kinds(db, seen.txn, 0, 2, &kinds), page_db_error_ok);
    CU_ASSERT_EQUAL(memcmp(kinds, "\x0f\x20", 2), 0); /* the link to another host first */
    free(kinds);
    CU_ASSERT_EQUAL(page_db_get_link_kinds(db, seen.txn, 1, 1, &kinds), page_db_error_ok);
    CU_ASSERT_PTR_NULL(kinds);
    CU_ASSERT_EQUAL(page_db_get_link_kinds(db, seen.txn, 2, 0, &kinds), page_db_error_ok);
    CU_ASSERT_PTR_NULL(kinds);
    PageRef page;
    CU_ASSERT_EQUAL(page_db_get(db, seen.txn, 4, &page, &url), page_db_error_no_page);
    uint64_t from = 0;
    uint8_t hop = 0;
    CU_ASSERT_EQUAL(page_db_get_way(db, seen.txn, 4, &from, &hop, NULL), page_db_error_no_page);
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

static int flag_discovered(void *context, const PageRef *page, PageState *state)
{
    (void)context;
    state->flags = page->url[page->url_length - 1] == 'f' ? 9 : 0;
    return 0;
}

static int note_improved(void *context, const PageRef *page)
{
    Seen *seen = context;
    size_t used = strlen(seen->text);
    (void)snprintf(seen->text + used, sizeof seen->text - used, "^%u %.*s %c%u flags %u\n",
                   (unsigned)page->index, (int)page->url_length, page->url, page->hop,
                   (unsigned)page->depth, page->flags);
    return 0;
}

static PageDiscovery found(const char *url, uint8_t hop, uint64_t depth)
{
    return (PageDiscovery){
        .url = url, .length = strlen(url), .score = 0.5f, .hop = hop, .depth = depth};
}

/* URLs that came from elsewhere, each with its own depth; a lesser one is told of. */
static void better_paths_are_told_with_the_flags_of_the_page(void)
{
    PageDB *db = page_db_fixture_open("pagedb5");
    Seen seen = {.db = db};
    PageSink sink = {.context = &seen, .discovered = flag_discovered, .improved = note_improved};
    const PageDiscovery first[] = {found("http://a.com/f", 'L', 7),
                                   found("http://b.com/", 'R', 300),
                                   found("http://a.com/f", 'R', 6)};
    const PageDiscovery second[] = {
        found("http://a.com/f", 'L', 7), found("http://a.com/f", 'E', 5),
        found("http://b.com/", 'L', 299), found("http://a.com/f", 'L', 4)};
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, false, &seen.txn), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_discover_each(db, seen.txn, first, 3, &sink), page_db_error_ok);
    /* It was told of as new, at depth 7. */
    CU_ASSERT_STRING_EQUAL(seen.text, "^0 http://a.com/f R6 flags 9\n");
    seen.text[0] = '\0';
    CU_ASSERT_EQUAL(page_db_discover_each(db, seen.txn, second, 4, &sink), page_db_error_ok);
    CU_ASSERT_STRING_EQUAL(seen.text, "^0 http://a.com/f L4 flags 9\n"
                                      "^1 http://b.com/ L299 flags 0\n");
    PageRef page;
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(page_db_get(db, seen.txn, 0, &page, &url), page_db_error_ok);
    CU_ASSERT_TRUE(page.depth == 4 && page.flags == 9 && page.linked_from == PAGE_DB_NO_INDEX);
    CU_ASSERT_EQUAL(page_db_set_flags(db, seen.txn, 0, 2), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_set_state(db, seen.txn, 0, 404, 3, 1), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_get(db, seen.txn, 0, &page, &url), page_db_error_ok);
    CU_ASSERT_TRUE(page.flags == 2 && page.status == 404 && page.level == 3 && page.hop == 'L');
    CU_ASSERT_EQUAL(page_db_set_flags(db, seen.txn, 2, 0), page_db_error_no_page);
    page_db_txn_abort(db, seen.txn);
    buffer_destroy(&url);
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

UNIT_MAIN("page_db_sink", {"the sink is told in order", the_sink_is_told_in_order},
          {"better paths are told with the flags of the page",
           better_paths_are_told_with_the_flags_of_the_page},
          {"infos are printed as documented", infos_are_printed_as_documented})
