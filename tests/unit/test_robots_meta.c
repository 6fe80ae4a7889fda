#include <string.h>

#include "parse/html/html.h"
#include "parse/robots/robots_meta.h"
#include "unit.h"

static unsigned content(const char *text)
{
    return robots_meta_content(text, strlen(text));
}

static unsigned header(const char *text)
{
    return robots_meta_header(text, strlen(text), "ragno");
}

static void directives_become_flags(void)
{
    CU_ASSERT_EQUAL(content("NONE"), PAGE_NOINDEX | PAGE_NOFOLLOW);
    CU_ASSERT_EQUAL(content("all"), 0);
    CU_ASSERT_EQUAL(content(""), 0);
    CU_ASSERT_EQUAL(content("nOiNdEx,FOLLOW"), PAGE_NOINDEX);
    CU_ASSERT_EQUAL(content("index, nofollow"), PAGE_NOFOLLOW);
    CU_ASSERT_EQUAL(content("noindex nofollow;noarchive"),
                    PAGE_NOINDEX | PAGE_NOFOLLOW | PAGE_NOARCHIVE);
    CU_ASSERT_EQUAL(content(" ,, noindex\n"), PAGE_NOINDEX);
    CU_ASSERT_EQUAL(content("noindexed, xnofollow"), 0);
    CU_ASSERT_EQUAL(content("index, noindex"), PAGE_NOINDEX);
}

static void names_are_robots_or_ours(void)
{
    CU_ASSERT_TRUE(robots_meta_names("RoBoTs", 6, "ragno"));
    CU_ASSERT_TRUE(robots_meta_names(" robots ", 8, NULL));
    CU_ASSERT_TRUE(robots_meta_names("Ragno", 5, "ragno/1.0"));
    CU_ASSERT_FALSE(robots_meta_names("googlebot", 9, "ragno"));
    CU_ASSERT_FALSE(robots_meta_names("", 0, ""));
    CU_ASSERT_FALSE(robots_meta_names("robot", 5, NULL));
}

static void headers_may_speak_to_one_agent(void)
{
    CU_ASSERT_EQUAL(header("noindex, nofollow"), PAGE_NOINDEX | PAGE_NOFOLLOW);
    CU_ASSERT_EQUAL(header("googlebot: noindex, nofollow"), 0);
    CU_ASSERT_EQUAL(header("RAGNO: noindex"), PAGE_NOINDEX);
    CU_ASSERT_EQUAL(header("noarchive, googlebot: noindex, ragno : nofollow, noarchive"),
                    PAGE_NOFOLLOW | PAGE_NOARCHIVE);
    CU_ASSERT_EQUAL(header("otherbot: none, *: noindex"), PAGE_NOINDEX);
    CU_ASSERT_EQUAL(header("ragno:"), 0);
    CU_ASSERT_EQUAL(robots_meta_header("ragno: noindex", 14, NULL), 0);
}

static void values_and_dates_are_not_agents(void)
{
    CU_ASSERT_EQUAL(header("max-snippet: 5, noindex"), PAGE_NOINDEX);
    CU_ASSERT_EQUAL(header("unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow"), PAGE_NOFOLLOW);
    CU_ASSERT_EQUAL(header("unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT, nofollow"),
                    PAGE_NOFOLLOW);
    CU_ASSERT_EQUAL(header("max-image-preview:large,noindex"), PAGE_NOINDEX);
    CU_ASSERT_EQUAL(header("ragno: max-snippet: -1, noindex"), PAGE_NOINDEX);
}

static void a_page_may_say_until_when_it_is_there(void)
{
    static const struct {
        const char *text;
        int64_t unix_s;
    } contents[] = {{"unavailable_after: 2020-02-03", 1580688000},
                    {"noindex, unavailable_after:2020-02-03T00:00:10Z, noai", 1580688010},
                    {"Unavailable_After : 03 Feb 2020 00:00:00 GMT", 1580688000},
                    {"unavailable_after: Mon, 03 Feb 2020 00:00:00 GMT, noarchive", 1580688000},
                    {"unavailable_after: Monday, 03-Feb-20 00:00:00 GMT", 1580688000},
                    {"unavailable_after", 0},
                    {"unavailable_after: soon", 0},
                    {"unavailable_after:", 0},
                    {"noindex", 0}};
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        const char *text = contents[i].text;
        CU_ASSERT_EQUAL(robots_meta_end(text, strlen(text)), contents[i].unix_s);
        CU_ASSERT_EQUAL(robots_meta_header_end(text, strlen(text), "ragno"), contents[i].unix_s);
    }
    static const char others[] = "otherbot: unavailable_after: 2020-02-03";
    static const char ours[] = "otherbot: noindex, ragno: unavailable_after: 2020-02-03";
    CU_ASSERT_EQUAL(robots_meta_header_end(others, sizeof others - 1, "ragno"), 0);
    CU_ASSERT_EQUAL(robots_meta_header_end(ours, sizeof ours - 1, "ragno"), 1580688000);
}

UNIT_MAIN("robots_meta",
          {"a page may say until when it is there", a_page_may_say_until_when_it_is_there},
          {"directives become flags", directives_become_flags},
          {"names are robots or ours", names_are_robots_or_ours},
          {"headers may speak to one agent", headers_may_speak_to_one_agent},
          {"values and dates are not agents", values_and_dates_are_not_agents})
