/* Pages as a crawler hands them in. */
#include <stdlib.h>
#include <string.h>

#include "alloc_fixture.h"
#include "store/records/crawled_page.h"
#include "unit.h"

#define LINKS 100u

static void a_page_keeps_copies_of_what_it_is_given(void)
{
    char url[] = "http://a.test/";
    char hash[] = "0123456789abcdef";
    CrawledPage *page = crawled_page_new(url);
    CU_ASSERT_PTR_NOT_NULL_FATAL(page);
    CU_ASSERT_TRUE(page->time > 1.6e9);
    for (unsigned i = 0; i < LINKS; i++) {
        url[7] = (char)('a' + i % 26);
        CU_ASSERT_EQUAL_FATAL(crawled_page_add_link(page, url, (float)i), 0);
        CU_ASSERT_TRUE(page->links->n_links <= page->links->m_links);
    }
    CU_ASSERT_EQUAL(crawled_page_n_links(page), LINKS);
    for (unsigned i = 0; i < LINKS; i++) {
        const LinkInfo *link = crawled_page_get_link(page, i);
        CU_ASSERT_TRUE(link->url[7] == (char)('a' + i % 26) && link->score == (float)i);
    }
    CU_ASSERT_PTR_NULL(crawled_page_get_link(page, LINKS));
    CU_ASSERT_STRING_EQUAL(page->url, "http://a.test/");
    CU_ASSERT_EQUAL(crawled_page_set_hash128(page, hash), 0);
    hash[0] = 'x';
    CU_ASSERT_EQUAL(page->content_hash_length, 16);
    CU_ASSERT_EQUAL(memcmp(page->content_hash, "0123456789abcdef", 16), 0);
    CU_ASSERT_EQUAL(crawled_page_set_hash(page, page->content_hash + 4, 8), 0); /* of its own */
    CU_ASSERT_EQUAL(memcmp(page->content_hash, "456789ab", 8), 0);
    crawled_page_delete(page);
}

static void a_number_is_a_hash_of_its_bytes(void)
{
    CrawledPage *page = crawled_page_new("x");
    uint64_t wide = UINT64_C(0x0102030405060708);
    uint32_t narrow = 0xA0B0C0D0u;
    CU_ASSERT_EQUAL(crawled_page_set_hash64(page, wide), 0);
    CU_ASSERT_TRUE(page->content_hash_length == 8 && memcmp(page->content_hash, &wide, 8) == 0);
    CU_ASSERT_EQUAL(crawled_page_set_hash32(page, narrow), 0);
    CU_ASSERT_TRUE(page->content_hash_length == 4 && memcmp(page->content_hash, &narrow, 4) == 0);
    CU_ASSERT_EQUAL(crawled_page_set_hash(page, NULL, 1), -1);
    CU_ASSERT_EQUAL(page->content_hash_length, 4); /* nothing has changed */
    CU_ASSERT_EQUAL(crawled_page_set_hash(page, NULL, 0), 0);
    CU_ASSERT_PTR_NULL(page->content_hash);
    crawled_page_delete(page);
}

static void null_is_answered(void)
{
    CU_ASSERT_PTR_NULL(crawled_page_new(NULL));
    CU_ASSERT_EQUAL(crawled_page_add_link(NULL, "x", 1), -1);
    CU_ASSERT_PTR_NULL(crawled_page_get_link(NULL, 0));
    CU_ASSERT_EQUAL(crawled_page_n_links(NULL), 0);
    CU_ASSERT_EQUAL(crawled_page_set_hash(NULL, "x", 1), -1);
    crawled_page_delete(NULL);
    CrawledPage *page = crawled_page_new("x");
    CU_ASSERT_EQUAL(crawled_page_add_link(page, NULL, 1), -1);
    crawled_page_delete(page);
}

static void without_memory_a_page_is_as_before(void)
{
#ifdef ALLOC_CAN_FAIL
    for (long n = 1; n <= 4; n++) {
        alloc_fail_at = n;
        CU_ASSERT_PTR_NULL(crawled_page_new("x"));
        alloc_fail_at = 0;
    }
    CrawledPage *page = crawled_page_new("x");
    size_t n = 0;
    for (unsigned i = 0; i < LINKS; i++) {
        alloc_fail_at = i % 3;
        bool is_added = crawled_page_add_link(page, "y", 1) == 0;
        alloc_fail_at = 0;
        n += is_added;
        CU_ASSERT_EQUAL(crawled_page_n_links(page), n);
    }
    CU_ASSERT_TRUE(n > LINKS / 3 && n < LINKS);
    CU_ASSERT_EQUAL(crawled_page_set_hash32(page, 1), 0);
    alloc_fail_at = 1;
    CU_ASSERT_EQUAL(crawled_page_set_hash64(page, 2), -1);
    alloc_fail_at = 0;
    CU_ASSERT_EQUAL(page->content_hash_length, 4);
    crawled_page_delete(page);
#endif
}

UNIT_MAIN("crawled_page",
          {"a page keeps copies of what it is given", a_page_keeps_copies_of_what_it_is_given},
          {"a number is a hash of its bytes", a_number_is_a_hash_of_its_bytes},
          {"NULL is answered", null_is_answered},
          {"without memory a page is as before", without_memory_a_page_is_as_before})
