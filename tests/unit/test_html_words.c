/* Words in the values of attributes. */
#include <stdio.h>
#include <string.h>

#include "parse/html/html.h"
#include "parse/html/html_words.h"
#include "unit.h"

static HtmlSlice slice(const char *text)
{
    return (HtmlSlice){.bytes = text, .length = strlen(text)};
}

static void a_list_is_of_words_between_white_space(void)
{
    HtmlSlice list = slice(" a\tbc\n\f d\r");
    HtmlSlice word;
    static const char *const words[] = {"a", "bc", "d"};
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(html_next_word(&list, &word));
        CU_ASSERT_TRUE(word.length == strlen(words[i]) &&
                       memcmp(word.bytes, words[i], word.length) == 0);
    }
    CU_ASSERT_FALSE(html_next_word(&list, &word));
    CU_ASSERT_FALSE(html_next_word(&list, &word));
    CU_ASSERT_TRUE(html_has_word(slice("x Bc"), slice("Bc")));
    CU_ASSERT_FALSE(html_has_word(slice("x Bc"), slice("bc")));
    CU_ASSERT_FALSE(html_has_word(slice("xBc"), slice("Bc")));
    CU_ASSERT_TRUE(html_lists(slice("x Bc"), "bC"));
    CU_ASSERT_FALSE(html_lists(slice("x Bcd"), "bc"));
    CU_ASSERT_FALSE(html_lists(slice(""), "bc"));
}

static void a_rel_says_what_the_link_is(void)
{
    static const struct {
        const char *rel;
        const char *type;
        unsigned flags;
    } rows[] = {
        {"", "", 0},
        {"nofollow", "", LINK_NOFOLLOW},
        {"UGC Sponsored NoFollow", "", LINK_UGC | LINK_SPONSORED | LINK_NOFOLLOW},
        {"nofollowx", "", 0},
        {"canonical", "", LINK_CANONICAL | LINK_PAGE},
        {"next", "text/html; charset=x", LINK_PAGE},
        {"next", " Application/XHTML+xml ", LINK_PAGE},
        {"next", "application/json", 0},
        {"ai-txt", "", LINK_PAGE},
        {"stylesheet", "", LINK_REQUISITE},
        {"mask-icon", "", LINK_REQUISITE},
        {"alternate stylesheet", "", LINK_REQUISITE},
        {"alternate", "", LINK_PAGE},
        {"alternate", "application/rss+xml;x", LINK_TO_FEED},
        {"feed", "application/atom+xml", LINK_TO_FEED},
        {"alternate stylesheet", "application/atom+xml", LINK_REQUISITE},
        {"dns-prefetch", "", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned flags =
            html_link_flags(rows[i].rel, strlen(rows[i].rel), rows[i].type, strlen(rows[i].type));
        if (flags != rows[i].flags) {
            (void)fprintf(stderr, "'%s' '%s': %x\n", rows[i].rel, rows[i].type, flags);
            CU_FAIL("other flags");
        }
        HtmlSlice rel = slice(rows[i].rel);
        CU_ASSERT_EQUAL(html_rel_flags(&rel) & ~(unsigned)LINK_PAGE,
                        rows[i].flags & ~(unsigned)(LINK_PAGE | LINK_TO_FEED));
    }
}

static void a_refresh_may_have_a_url(void)
{
    static const struct {
        const char *content;
        const char *url; /* NULL: none */
    } rows[] = {{"5; url=x", "x"},     {"0;x", "x"},      {"1,URL = 'x y'z", "x y"},
                {"5", NULL},           {"5;", NULL},      {"5; url=", NULL},
                {"x; url=y", NULL},    {"", NULL},        {"0 url=a", "a"},
                {"0;url=\"a", "a"},    {".5;url=a", "a"}, {"-1;url=a", NULL},
                {"0;urlx=1", "urlx=1"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        HtmlSlice content = slice(rows[i].content);
        HtmlSlice url = {.length = 0};
        bool has = html_refresh_url(&content, &url);
        bool same = has ? rows[i].url != NULL && url.length == strlen(rows[i].url) &&
                              memcmp(url.bytes, rows[i].url, url.length) == 0
                        : rows[i].url == NULL;
        if (!same) {
            (void)fprintf(stderr, "'%s': '%.*s'\n", rows[i].content, (int)url.length, url.bytes);
            CU_FAIL("another URL");
        }
    }
}

UNIT_MAIN("html_words",
          {"a list is of words between white space", a_list_is_of_words_between_white_space},
          {"a rel says what the link is", a_rel_says_what_the_link_is},
          {"a refresh may have a URL", a_refresh_may_have_a_url})
