#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "dice.h"
#include "parse/trap/trap_content.h"
#include "unit.h"

static uint64_t hash_at(const char *address, const char *body)
{
    Url url;
    url_init(&url);
    CU_ASSERT_EQUAL_FATAL(url_parse(&url, NULL, address, strlen(address)), RESULT_OK);
    uint64_t hash = trap_content_hash(&url, body, strlen(body));
    url_destroy(&url);
    return hash;
}

/* Whether the two bodies are one and the same to a page of this URL. */
static bool alike(const char *address, const char *a, const char *b)
{
    return hash_at(address, a) == hash_at(address, b);
}

static void sessions_are_left_out(void)
{
    const char *h = "http://h/s?q";
    CU_ASSERT_TRUE(alike(h, "<a href='/b?sid=0123abcd'>1", "<a href='/b?sid=ffffffffffff9'>1"));
    CU_ASSERT_TRUE(alike(h, "sid rqcv9vk1o4h8mt2m0v2t8jj5k6", "sid 7m0v2t8jj5k6rqcv9vk1o4h8mt"));
    CU_ASSERT_TRUE(alike(h, "1234567a", "1234567b"));
    CU_ASSERT_FALSE(alike(h, "<a href='/b?sid=0123abcd'>1", "<a href='/b?sid=0123abcd'>7"));
    CU_ASSERT_FALSE(alike(h, "1234567", "1234568"));
    CU_ASSERT_FALSE(alike(h, "deadbeef", "feedbeef"));
    CU_ASSERT_FALSE(alike(h, "x12345678", "x12345679"));
    CU_ASSERT_FALSE(alike(h, "12345678x", "12345679x"));
    CU_ASSERT_FALSE(alike(h, "photo20240317000001", "photo20240317000002"));
    CU_ASSERT_NOT_EQUAL(hash_at(h, ""), 0);
}

static void links_to_the_page_itself_are_left_out(void)
{
    static const char *const own[] = {"?a=1&f1=2", "/shop/list?a=3", "list?a=4#x",
                                      "http://h/shop/list?b", "//h/shop/list?sort=up"};
    static const char *const others[] = {"/shop/list2?a=1", "/list?a=1", "item?a=1",
                                         "/shop/?list",     "lis?t",     "#list",
                                         "/shop/list/5"};
    const char *h = "http://h/shop/list?a=1";
    char a[100];
    char b[100];
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        (void)snprintf(a, sizeof a, "<p><a class=x href=\"%s\">more</a>", own[i]);
        CU_ASSERT_TRUE(alike(h, a, "<p><a class=x href=\"?\">more</a>"));
        (void)snprintf(b, sizeof b, "<p><img class=x src=\"%s\">more</a>", own[i]);
        CU_ASSERT_FALSE(alike(h, b, "<p><img class=x src=\"?\">more</a>"));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        (void)snprintf(a, sizeof a, "<a href='%s'>more</a>", others[i]);
        CU_ASSERT_FALSE(alike(h, a, "<a href='?'>more</a>"));
    }
    CU_ASSERT_TRUE(alike(h, "<form action=?x=1 m=1>", "<form action=?y m=1>"));
    CU_ASSERT_TRUE(alike(h, "<A HREF = '?x=1'>", "<A HREF = '?y'>"));
    CU_ASSERT_FALSE(alike(h, "<a data='?x=1'>", "<a data='?y'>"));
    CU_ASSERT_FALSE(alike(h, "href='?x=1'", "href='?y'"));     /* no tag */
    CU_ASSERT_FALSE(alike(h, "<a href='?x=1", "<a href='?y")); /* the quote is missing */
}

static void a_path_with_numbers_has_neighbours(void)
{
    const char *h = "http://h/cal/2031/05/";
    CU_ASSERT_TRUE(alike(h, "<a href='/cal/2031/06/'>", "<a href='/cal/2032/01/'>"));
    CU_ASSERT_TRUE(alike(h, "<a href='/cal/2031/06/17'>", "<a href='/cal/2031/06/18'>"));
    CU_ASSERT_TRUE(alike(h, "<a href='../x'>", "<a href='../x'>"));
    CU_ASSERT_FALSE(alike(h, "<a href='/cal/2031/06/a'>", "<a href='/cal/2031/06/b'>"));
    CU_ASSERT_FALSE(alike(h, "<a href='/files/2031/06'>", "<a href='/files/2031/07'>"));
    CU_ASSERT_FALSE(alike(h, "<a href='/cal/2031/05/1.pdf'>", "<a href='/cal/2031/05/2.pdf'>"));
}

static void months_and_numbers_of_the_url_are_left_out_of_the_text(void)
{
    const char *h = "http://h/cal?month=5&year=2031";
    CU_ASSERT_TRUE(alike(h, "<h1>May 2031</h1>", "<h1>June 2032</h1>"));
    CU_ASSERT_TRUE(alike(h, "SEP 2031", "december 2030"));
    CU_ASSERT_FALSE(alike(h, "May 2031", "May 2033"));
    CU_ASSERT_FALSE(alike(h, "Mayor 2031", "Junior 2031"));
    CU_ASSERT_FALSE(alike(h, "<img src=may.gif>", "<img src=june.gif>"));
    CU_ASSERT_FALSE(alike(h, "<img src=5.gif>", "<img src=6.gif>"));
    CU_ASSERT_TRUE(alike("http://h/c?m=2", "1<td>20<td>21<td>22", "2<td>20<td>21<td>22"));
    CU_ASSERT_FALSE(alike("http://h/c?q", "<td>10<td>12", "<td>10<td>13"));
    CU_ASSERT_FALSE(alike("http://h/c?q", "<td>10<td>11", "<td>20<td>21"));
    CU_ASSERT_FALSE(alike("http://h/c?q=5", "1234567890", "1234567891"));
}

static bool is_due(const char *address)
{
    Url url;
    url_init(&url);
    CU_ASSERT_EQUAL_FATAL(url_parse(&url, NULL, address, strlen(address)), RESULT_OK);
    bool due = trap_content_is_due(&url);
    url_destroy(&url);
    return due;
}

static void plain_urls_need_no_hash(void)
{
    CU_ASSERT_FALSE(is_due("http://h/"));
    CU_ASSERT_FALSE(is_due("http://h/item/12345.html"));
    CU_ASSERT_FALSE(is_due("http://h/d3/p248.html"));
    CU_ASSERT_FALSE(is_due("http://h/erlang/lib/stdlib-4.2/doc/html/lists.html"));
    CU_ASSERT_FALSE(is_due("http://h/releases/1.5.4.html"));
    CU_ASSERT_FALSE(is_due("http://h/v1.2.3"));
    CU_ASSERT_TRUE(is_due("http://h/stdlib-4.2/page/7"));
    CU_ASSERT_TRUE(is_due("http://h/day/2031.05.01"));
    CU_ASSERT_TRUE(is_due("http://h/day/1.5.2031"));
    CU_ASSERT_TRUE(is_due("http://h/1.5./7"));
    CU_ASSERT_TRUE(is_due("http://h/item?id"));
    CU_ASSERT_TRUE(is_due("http://h/2031/05"));
    CU_ASSERT_TRUE(is_due("http://h/s/0123abcd/item"));
}

/* Each body ends where its memory does. */
static void any_bytes_have_a_hash(void)
{
    static const char *const pieces[] = {
        "<a ", "href", "=",   "'",    "\"", ">",  "/cal/2031/05", "?", "May", "12", "12abcdef",
        " ",   "<",    "://", "\xff", "-",  "//", "action",       "1", "cal", "a.b"};
    Dice dice = {.state = 7};
    for (int round = 0; round < 20000; round++) {
        char text[256];
        size_t n = 0;
        for (uint64_t i = dice_below(&dice, 16); i > 0; i--) {
            const char *piece = pieces[dice_below(&dice, sizeof pieces / sizeof *pieces)];
            memcpy(text + n, piece, strlen(piece));
            n += strlen(piece);
        }
        char *body = malloc(n == 0 ? 1 : n);
        memcpy(body, text, n);
        Url url;
        url_init(&url);
        CU_ASSERT_EQUAL(url_parse(&url, NULL, "http://h/cal/2031/05?x=1", 24), RESULT_OK);
        CU_ASSERT_NOT_EQUAL(trap_content_hash(&url, body, n), 0);
        url_destroy(&url);
        free(body);
    }
}

static void no_body_takes_long(void)
{
    static const char *const pieces[] = {"<a href=",  "href=",     "href='", "<a href=\"/cal/",
                                         "12abcdef-", "aaaaaaaa-", "<a =",   "1 ",
                                         "href=\""};
    const size_t size = (size_t)2 << 20;
    char *body = malloc(size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(body);
    Url url;
    url_init(&url);
    CU_ASSERT_EQUAL(url_parse(&url, NULL, "http://h/cal/2031/05?x=1", 24), RESULT_OK);
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
        size_t length = strlen(pieces[k]);
        for (size_t i = 0; i < size; i++) {
            body[i] = pieces[k][i % length];
        }
        memcpy(body, "<a ", 3);
        int64_t start = cpu_thread_ns();
        (void)trap_content_hash(&url, body, size);
        CU_ASSERT(cpu_thread_ns() - start < INT64_C(1000000000));
    }
    url_destroy(&url);
    free(body);
}

UNIT_MAIN("trap_content", {"sessions are left out", sessions_are_left_out},
          {"links to the page itself are left out", links_to_the_page_itself_are_left_out},
          {"a path with numbers has neighbours", a_path_with_numbers_has_neighbours},
          {"months and numbers of the URL are left out of the text",
           months_and_numbers_of_the_url_are_left_out_of_the_text},
          {"any bytes have a hash", any_bytes_have_a_hash},
          {"no body takes long", no_body_takes_long},
          {"plain URLs need no hash", plain_urls_need_no_hash})
