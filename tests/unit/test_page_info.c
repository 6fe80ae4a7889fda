/* What PageDB hands out about a page: its memory, its line of text, its rate of changes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fixture.h"
#include "store/records/page_info.h"
#include "unit.h"

#define LONG_URL 5000u

static PageInfo *page_new(const char *url, size_t hash_length)
{
    PageInfo *page = page_info_allocate(strlen(url), hash_length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(page);
    memcpy(page->url, url, strlen(url));
    return page;
}

static void a_new_one_is_empty_with_room_for_url_and_hash(void)
{
    PageInfo *page = page_info_allocate(3, 8);
    CU_ASSERT_PTR_NOT_NULL_FATAL(page);
    memcpy(page->url, "abc", 3);
    memset(page->content_hash, 'h', 8);
    CU_ASSERT_STRING_EQUAL(page->url, "abc");
    CU_ASSERT_EQUAL(page->content_hash_length, 8);
    CU_ASSERT_TRUE(page->n_crawls == 0 && page->n_changes == 0 && page->depth == 0 &&
                   page->linked_from == 0 && page->score == 0 && page->first_crawl == 0);
    page_info_delete(page);
    page = page_info_allocate(0, 0);
    CU_ASSERT_STRING_EQUAL(page->url, "");
    CU_ASSERT_PTR_NULL(page->content_hash);
    free(page->content_hash);
    page->url = strdup("another"); /* a user's, on the heap by itself */
    page->content_hash = strdup("hash");
    page_info_delete(page);
    page_info_delete(NULL);
}

static void a_line_has_fixed_width_but_for_its_url(void)
{
    static const double bad[] = {-1e11, 2.55e11, 1e12, HUGE_VAL, -HUGE_VAL, NAN};
    char out[PAGE_INFO_PRINT_BYTES];
    char url[LONG_URL + 1];
    (void)setenv("TZ", "UTC", 1);
    PageInfo *page = page_new("http://a.test/", 0);
    page->first_crawl = 0;
    page->last_crawl = 1e9;
    page->n_crawls = 12;
    page->n_changes = UINT64_MAX;
    int n = page_info_print(page, out);
    CU_ASSERT_STRING_EQUAL(out, "Thu Jan  1 00:00:00 1970 Sun Sep  9 01:46:40 2001 1.20e+01 "
                                "1.84e+19 http://a.test/");
    CU_ASSERT_EQUAL(n, (int)strlen(out));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        page->last_crawl = bad[i];
        CU_ASSERT_EQUAL(page_info_print(page, out), -1);
        page->last_crawl = 0;
        page->first_crawl = bad[i];
        CU_ASSERT_EQUAL(page_info_print(page, out), -1);
        page->first_crawl = 0;
    }
    page_info_delete(page);
    memset(url, 'x', LONG_URL);
    url[LONG_URL] = '\0';
    page = page_new(url, 0);
    page->first_crawl = page->last_crawl = 2.4e11; /* the greatest year has four digits */
    n = page_info_print(page, out);
    CU_ASSERT_TRUE(n > 511 && n < PAGE_INFO_PRINT_BYTES && n == (int)strlen(out));
    CU_ASSERT_EQUAL(strspn(out + n - 511, "x"), 511);
    CU_ASSERT_EQUAL(out[n - 512], ' ');
    page_info_delete(page);
}

static void a_rate_counts_a_change_that_is_to_come(void)
{
    static const struct {
        double first, last;
        uint64_t n_crawls, n_changes;
        float rate;
    } cases[] = {{0, 0, 0, 0, -1},     {5, 5, 1, 0, -1},     {5, 4, 2, 0, -1},
                 {10, 20, 0, 0, -1},   {10, 20, 2, 0, 0.1f}, {10, 20, 9, 4, 0.5f},
                 {NAN, 20, 2, 0, -1},  {10, NAN, 2, 0, -1},  {10, HUGE_VAL, 2, 0, -1},
                 {0, 1e9, 2, 0, 1e-9f}};
    PageInfo *page = page_new("x", 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        page->first_crawl = cases[i].first;
        page->last_crawl = cases[i].last;
        page->n_crawls = cases[i].n_crawls;
        page->n_changes = cases[i].n_changes;
        CU_ASSERT_EQUAL(page_info_rate(page), cases[i].rate);
    }
    page_info_delete(page);
}

static void a_seed_is_told_by_its_name(void)
{
    static const char *const urls[] = {"_seed_", "_seed_1", "_seed", "_Seed_1", "", "x_seed_"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        PageInfo *page = page_new(urls[i], 0);
        CU_ASSERT_EQUAL(page_info_is_seed(page), i < 2);
        page_info_delete(page);
    }
}

static void a_list_owns_its_infos_and_without_memory_nothing_changes_hands(void)
{
    PageInfo *first = page_new("first", 0);
    PageInfo *second = page_new("second", 0);
    PageInfoList *list = page_info_list_new(first, 1);
#ifdef ALLOC_CAN_FAIL
    alloc_fail_at = 1;
    CU_ASSERT_PTR_NULL(page_info_list_cons(list, second, 2));
    alloc_fail_at = 1;
    CU_ASSERT_PTR_NULL(page_info_allocate(3, 3));
    alloc_fail_at = 0;
#endif
    PageInfoList *longer = page_info_list_cons(list, second, 2);
    CU_ASSERT_PTR_NOT_NULL_FATAL(longer);
    CU_ASSERT_TRUE(longer->page_info == second && longer->hash == 2 && longer->next == list);
    CU_ASSERT_TRUE(list->page_info == first && list->hash == 1 && list->next == NULL);
    page_info_list_delete(longer);
    page_info_list_delete(NULL);
}

UNIT_MAIN("page_info",
          {"a new one is empty, with room for URL and hash",
           a_new_one_is_empty_with_room_for_url_and_hash},
          {"a line has fixed width but for its URL", a_line_has_fixed_width_but_for_its_url},
          {"a rate counts a change that is to come", a_rate_counts_a_change_that_is_to_come},
          {"a seed is told by its name", a_seed_is_told_by_its_name},
          {"a list owns its infos, and without memory nothing changes hands",
           a_list_owns_its_infos_and_without_memory_nothing_changes_hands})
