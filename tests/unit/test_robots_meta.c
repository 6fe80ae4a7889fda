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

UNIT_MAIN("robots_meta", {"directives become flags", directives_become_flags},
          {"names are robots or ours", names_are_robots_or_ours},
          {"headers may speak to one agent", headers_may_speak_to_one_agent},
          {"values and dates are not agents", values_and_dates_are_not_agents})
