#include <string.h>

#include "parse/url/url_key.h"
#include "unit.h"
#include "parse/url/url.h"

static void check(const UrlKeyOptions *options, const char *text, const char *expect)
{
    Url url;
    Buffer key;
    url_init(&url);
    buffer_init(&key, 1000);
    CU_ASSERT_EQUAL(url_parse(&url, NULL, text, strlen(text)), RESULT_OK);
    CU_ASSERT_EQUAL(url_key(&url, options, &key), RESULT_OK);
    if (strcmp(buffer_string(&key), expect) != 0) {
        (void)fprintf(stderr, "%s: %s\n", text, buffer_string(&key));
    }
    CU_ASSERT_STRING_EQUAL(buffer_string(&key), expect);
    buffer_destroy(&key);
    url_destroy(&url);
}

#define SESSION "0123456789abcdef01"

static void by_default_only_escapes_are_normalised(void)
{
    check(NULL, "http://u@h:81/a%2fb%41%7e%5F%2d%zz?%3d%30#x", "http://u@h:81/a%2FbA~_-%zz?%3D0");
    check(NULL, "http://h/index.html?b&a&utm_source=x&sid=" SESSION,
          "http://h/index.html?b&a&utm_source=x&sid=" SESSION);
    check(NULL, "http://h/?", "http://h/?");
    check(NULL, "http://h/%C3%a9%0a%25", "http://h/%C3%A9%0A%25");
}

static void sessions_are_cut_when_asked_for(void)
{
    static const UrlKeyOptions options = {.session_ids = true};
    check(&options, "http://h/a;jsessionid=" SESSION "?x=1", "http://h/a?x=1");
    check(&options, "http://h/a;v=1?x=1", "http://h/a;v=1?x=1");
    check(&options, "http://h/a?x=1&PHPSESSID=" SESSION "&y", "http://h/a?x=1&y");
    check(&options, "http://h/a?sid=" SESSION, "http://h/a");
    check(&options, "http://h/a?sid=5&s=words-and-words", "http://h/a?sid=5&s=words-and-words");
    check(&options, "http://h/a?x=" SESSION, "http://h/a?x=" SESSION);
}

static void tracking_is_cut_when_asked_for(void)
{
    static const UrlKeyOptions options = {.tracking = true};
    check(&options, "http://h/?utm_source=a&id=7&UTM_medium=b&gclid=z", "http://h/?id=7");
    check(&options, "http://h/?fbclid=1", "http://h/");
    check(&options, "http://h/?utm_&gclid2=1", "http://h/?utm_&gclid2=1");
}

static void index_pages_are_cut_when_asked_for(void)
{
    static const UrlKeyOptions options = {.index_pages = true};
    check(&options, "http://h/a/Index.HTML", "http://h/a/");
    check(&options, "http://h/default.asp?x", "http://h/?x");
    check(&options, "http://h/a/reindex.html", "http://h/a/reindex.html");
    check(&options, "http://h/index.html/", "http://h/index.html/");
}

static void queries_are_sorted_when_asked_for(void)
{
    static const UrlKeyOptions options = {.sorted_query = true};
    check(&options, "http://h/?b=1&a=2&b=0&ab&", "http://h/?&a=2&ab&b=1&b=0");
    check(&options, "http://h/?%62=1&a", "http://h/?a&b=1");
}

static void what_does_not_fit_leaves_nothing(void)
{
    Url url;
    Buffer key;
    url_init(&url);
    buffer_init(&key, 20);
    CU_ASSERT_EQUAL(url_parse(&url, NULL, "http://h/0123456789", 19), RESULT_OK);
    (void)buffer_append_string(&key, "kept");
    CU_ASSERT_EQUAL(url_key(&url, NULL, &key), RESULT_LIMIT);
    CU_ASSERT_STRING_EQUAL(buffer_string(&key), "kept");
    buffer_destroy(&key);
    url_destroy(&url);
}

UNIT_MAIN("url_key",
          {"by default only escapes are normalised", by_default_only_escapes_are_normalised},
          {"sessions are cut when asked for", sessions_are_cut_when_asked_for},
          {"tracking is cut when asked for", tracking_is_cut_when_asked_for},
          {"index pages are cut when asked for", index_pages_are_cut_when_asked_for},
          {"queries are sorted when asked for", queries_are_sorted_when_asked_for},
          {"what does not fit leaves nothing", what_does_not_fit_leaves_nothing})
