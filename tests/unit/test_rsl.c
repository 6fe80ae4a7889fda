/* RSL licence files: what they permit and deny, for whom, and what becomes of bad ones. */
#include <stdio.h>
#include <string.h>

#include "parse/robots/robots.h"
#include "parse/usage/rsl.h"
#include "unit.h"

#define ROBOTS "User-agent: *\nLicense: /licence.xml\n"
#define ORIGIN "https://www.example.org"
#define NS     "<rsl xmlns=\"https://rslstandard.org/rsl\">"
/* One content with one licence. */
#define ONE(inside)       NS "<content url=\"/\"><license>" inside "</license></content></rsl>"
#define PERMITS(tokens)   "<permits type=\"usage\">" tokens "</permits>"
#define PROHIBITS(tokens) "<prohibits type=\"usage\">" tokens "</prohibits>"
#define FOR(what, who)    "<" what " type=\"user\">" who "</" what ">"

static Robots *with_licence(const char *file, RslUser user, Result expected)
{
    Robots *robots = NULL;
    RslReader reader = {.origin = ORIGIN, .user = user};
    CU_ASSERT_EQUAL_FATAL(robots_parse(ROBOTS, strlen(ROBOTS), "ragno", &robots), RESULT_OK);
    CU_ASSERT_EQUAL(robots_add_licence(robots, USAGE_IN_LICENCE, file, strlen(file), &reader),
                    expected);
    return robots;
}

static void expect(const Robots *robots, const char *path, const char *denied, const char *allowed)
{
    Buffer text = {.limit = 256};
    Usage usage = robots_usage(robots, path, strlen(path), NULL);
    CU_ASSERT_EQUAL(usage_print(usage.denied, &text), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&text), denied);
    buffer_reset(&text);
    CU_ASSERT_EQUAL(usage_print(usage.allowed, &text), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&text), allowed);
    buffer_destroy(&text);
}

static void says(const char *file, RslUser user, const char *denied, const char *allowed)
{
    Robots *robots = with_licence(file, user, RESULT_OK);
    expect(robots, "/", denied, allowed);
    robots_delete(robots);
}

#define ALL "train-ai+ai-input+search+tdm+image-ai"

static void permits_leave_open_what_they_list(void)
{
    says(ONE(PERMITS("search ai-input")), RSL_USER_UNKNOWN, "train-ai+tdm+image-ai",
         "ai-input+search");
    says(ONE(PERMITS("all")), RSL_USER_UNKNOWN, "-", ALL);
    says(ONE(PERMITS("ai-all")), RSL_USER_UNKNOWN, "search+tdm", "train-ai+ai-input+image-ai");
    says(ONE(PERMITS("train-ai, Search")), RSL_USER_UNKNOWN, "ai-input+tdm",
         "train-ai+search+image-ai");
    says(ONE(PERMITS("something-new")), RSL_USER_UNKNOWN, ALL, "-");
}

static void prohibits_close_what_they_list(void)
{
    says(ONE(PROHIBITS("ai-train")), RSL_USER_UNKNOWN, "train-ai+image-ai", "-");
    says(ONE(PROHIBITS("ai-all")), RSL_USER_UNKNOWN, "train-ai+ai-input+image-ai", "-");
    says(ONE(PERMITS("all") PROHIBITS("search")), RSL_USER_UNKNOWN, "search",
         "train-ai+ai-input+tdm+image-ai");
    says(ONE(PROHIBITS("ai-index")), RSL_USER_UNKNOWN, "ai-input", "-");
    says(ONE(PROHIBITS("ai-index") PERMITS("all")), RSL_USER_UNKNOWN, "-", ALL);
    says(ONE(PROHIBITS("something-new")), RSL_USER_UNKNOWN, "-", "-");
    says(ONE(""), RSL_USER_UNKNOWN, "-", "-");
}

static void one_open_licence_is_enough(void)
{
    static const char file[] =
        NS "<content url=\"/\"><license>" PERMITS("search") "</license><license>" PERMITS(
            "ai-train") "<payment type=\"crawl\"><amount currency=\"USD\">1</amount></payment>"
                        "</license></content></rsl>";
    says(file, RSL_USER_UNKNOWN, "train-ai+ai-input+tdm+image-ai", "search");
}

static void offers_are_not_taken(void)
{
    says(ONE(PERMITS("all") "<payment type=\"free\"/>"), RSL_USER_UNKNOWN, "-", ALL);
    says(ONE(PERMITS("all") "<payment type=\"attribution\"/>"), RSL_USER_UNKNOWN, ALL, "-");
    says(ONE(PERMITS("all") "<payment/>"), RSL_USER_UNKNOWN, ALL, "-");
    says(ONE(PERMITS("all") "<reporting type=\"audit\" profile=\"https://p.example/a\"/>"),
         RSL_USER_UNKNOWN, ALL, "-");
    says(NS "<content url=\"/\" server=\"https://l.example\"><license>" PERMITS(
             "all") "</license></content></rsl>",
         RSL_USER_UNKNOWN, ALL, "-");
    says(NS "<content url=\"/\" encrypted=\"true\"/></rsl>", RSL_USER_UNKNOWN, ALL, "-");
    says(NS "<content url=\"/\"><terms>x</terms></content></rsl>", RSL_USER_UNKNOWN, "-", "-");
}

static void conditions_are_for_those_who_fulfil_them(void)
{
    static const char some[] = ONE(PERMITS("search") FOR("permits", "education personal"));
    static const char but[] = ONE(PERMITS("search") FOR("prohibits", "commercial"));
    static const char rest[] = "train-ai+ai-input+tdm+image-ai";
    says(some, RSL_USER_EDUCATION, rest, "search");
    says(some, RSL_USER_COMMERCIAL, ALL, "-");
    says(some, RSL_USER_UNKNOWN, ALL, "-");
    says(but, RSL_USER_EDUCATION, rest, "search");
    says(but, RSL_USER_COMMERCIAL, ALL, "-");
    says(but, RSL_USER_UNKNOWN, ALL, "-");
    says(ONE(PERMITS("search") "<permits type=\"geo\">DE</permits>"), RSL_USER_EDUCATION, ALL, "-");
}

static void the_longest_url_decides(void)
{
    static const char file[] =
        "<r:rsl xmlns:r=\"https://rslstandard.org/rsl\"><r:content url=\"/\"><r:license>"
        "<r:prohibits type=\"usage\">ai-train</r:prohibits></r:license></r:content>"
        "<r:content url=\"https://WWW.example.org/news/*.html$\"><r:license>"
        "<r:permits type=\"usage\">all</r:permits></r:license></r:content>"
        "<r:content url=\"https://other.example/\"><r:license>"
        "<r:prohibits type=\"usage\">all</r:prohibits></r:license></r:content>"
        "<content xmlns=\"http://www.w3.org/2005/Atom\" url=\"/news/x.html\">x</content></r:rsl>";
    Robots *robots = with_licence(file, RSL_USER_UNKNOWN, RESULT_OK);
    expect(robots, "/a", "train-ai+image-ai", "-");
    expect(robots, "/news/x.html", "-", ALL);
    expect(robots, "/news/x.html?y", "train-ai+image-ai", "-");
    robots_delete(robots);
}

static void an_unclear_url_denies_everywhere_and_allows_nothing(void)
{
    static const char *const urls[] = {"", "news/", "https://*.example.org/", "*"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        char file[512];
        (void)snprintf(
            file, sizeof file,
            NS "<content url=\"%s\"><license>" PERMITS("search") "</license></content></rsl>",
            urls[i]);
        Robots *robots = with_licence(file, RSL_USER_UNKNOWN, RESULT_OK);
        expect(robots, "/x", "train-ai+ai-input+tdm+image-ai", "-");
        robots_delete(robots);
    }
}

static void what_is_not_read_to_its_end_permits_nothing(void)
{
    static const char *const bad[] = {
        "",
        "nothing",
        "<html><body/></html>",
        NS "<content url=\"/\"><license>" PERMITS("all") "</license></content>",
        NS "<content url=\"/\"><license>" PERMITS("all &x;") "</license></content></rsl>",
        "<!DOCTYPE rsl [<!ENTITY x \"all\">]>" ONE(PERMITS("&x;"))};
    UsageStatement list[2];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        UsageLedger ledger = {.list = list, .max = 2};
        Robots *robots = with_licence(bad[i], RSL_USER_UNKNOWN, RESULT_INVALID);
        expect(robots, "/", ALL, "-");
        (void)robots_usage(robots, "/", 1, &ledger);
        CU_ASSERT_EQUAL_FATAL(ledger.n, 1);
        CU_ASSERT_EQUAL(list[0].line, 0);
        CU_ASSERT_STRING_EQUAL(list[0].text, "/licence.xml");
        robots_delete(robots);
    }
    Robots *robots = NULL;
    CU_ASSERT_EQUAL_FATAL(robots_parse(ROBOTS, strlen(ROBOTS), "ragno", &robots), RESULT_OK);
    expect(robots, "/", ALL, "-"); /* it has not come yet */
    robots_delete(robots);
}

static void too_many_statements_permit_nothing(void)
{
    Buffer file = {.limit = BUFFER_NO_LIMIT};
    (void)buffer_append_string(&file, NS);
    for (unsigned i = 0; i <= ROBOTS_MAX_USAGES; i++) {
        (void)buffer_printf(
            &file, "<content url=\"/%u\"><license>" PERMITS("all") "</license></content>", i);
    }
    (void)buffer_append_string(&file, "</rsl>");
    Robots *robots = with_licence(buffer_string(&file), RSL_USER_UNKNOWN, RESULT_LIMIT);
    expect(robots, "/1", ALL, "-");
    robots_delete(robots);
    buffer_destroy(&file);
}

static void the_words_are_the_elements(void)
{
    UsageStatement list[1];
    UsageLedger ledger = {.list = list, .max = 1};
    Robots *robots = with_licence(
        NS "\n<content url=\"/\">\n<license>\n" PERMITS(
            "ai-input\n search") "<payment type=\"crawl\"> <amount currency=\"USD\">0.01</amount>"
                                 "<custom>https://buy.example/</custom></payment></license>"
                                 "</content></rsl>",
        RSL_USER_UNKNOWN, RESULT_OK);
    (void)robots_usage(robots, "/", 1, &ledger);
    CU_ASSERT_EQUAL_FATAL(ledger.n, 1);
    CU_ASSERT_EQUAL(list[0].line, 2);
    CU_ASSERT_STRING_EQUAL(list[0].text,
                           "content url=/ ; license ; permits type=usage ai-input search; "
                           "payment type=crawl ; amount currency=USD 0.01; custom "
                           "https://buy.example/");
    robots_delete(robots);
}

static void licence_of(const char *text, const char *expected)
{
    Robots *robots = NULL;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    CU_ASSERT_EQUAL_FATAL(robots_parse(text, strlen(text), "ragno", &robots), RESULT_OK);
    (void)robots_licence_url(robots, USAGE_IN_LICENCE, ORIGIN, &url);
    CU_ASSERT_STRING_EQUAL(buffer_string(&url), expected);
    robots_delete(robots);
    buffer_destroy(&url);
}

static void our_group_names_the_licence_first(void)
{
    licence_of("License: https://l.example/a.xml\nUser-agent: *\nAllow: /\n",
               "https://l.example/a.xml");
    licence_of("User-agent: *\nAllow: /\n\nlicense: /a.xml # x\n", ORIGIN "/a.xml");
    licence_of("License: /a.xml\nUser-agent: ragno\nLicense: /b.xml\nUser-agent: *\n"
               "Disallow: /\nLicense: /c.xml\n",
               ORIGIN "/b.xml");
    licence_of("User-agent: *\nLicense: /c.xml\nDisallow: /x\nUser-agent: ragno\nDisallow: /y\n",
               ORIGIN "/c.xml");
    licence_of("User-agent: other\nLicense: /c.xml\nDisallow: /x\n", "");
    licence_of("License: mailto:x@example.org\nUser-agent: *\nDisallow: /x\n", "");
    licence_of("User-agent: *\nLicense:\nDisallow: /x\n", "");
    licence_of("License: https://me:word@l.example/a.xml\n", "https://l.example/a.xml");
}

/* robots.txt names n licences; the first permits all for a longer path than the others, which
 * prohibit search: what all of them deny at that path once all that have a place are read. */
static unsigned several_licences_deny(const char *lines, size_t n)
{
    static const char open[] = "<rsl><content url='/a/b'><license><permits type='usage'>all"
                               "</permits></license></content></rsl>";
    static const char closed[] = "<rsl><content url='/'><license><prohibits type='usage'>search"
                                 "</prohibits></license></content></rsl>";
    RslReader reader = {.origin = ORIGIN};
    Robots *robots = NULL;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    CU_ASSERT_EQUAL_FATAL(robots_parse(lines, strlen(lines), "ragno", &robots), RESULT_OK);
    for (UsagePlace i = USAGE_IN_LICENCE; i < USAGE_PLACES; i++) {
        const char *text = i == USAGE_IN_LICENCE ? open : closed;
        buffer_reset(&url);
        bool is_there = i < USAGE_IN_LICENCE + n;
        CU_ASSERT_EQUAL(robots_usage(robots, "/a/b", 4, NULL).denied == USAGE_ALL,
                        is_there || n > USAGE_PLACES - USAGE_IN_LICENCE);
        CU_ASSERT_EQUAL(robots_licence_url(robots, i, ORIGIN, &url),
                        is_there ? RESULT_OK : RESULT_NOT_FOUND);
        if (is_there) {
            CU_ASSERT_EQUAL(robots_add_licence(robots, i, text, strlen(text), &reader), RESULT_OK);
        }
    }
    unsigned denied = robots_usage(robots, "/a/b", 4, NULL).denied;
    robots_delete(robots);
    buffer_destroy(&url);
    return denied;
}

static void of_several_licences_the_strictest_holds(void)
{
    static const char four[] =
        "License: /1.xml\nLicense: /2.xml\nLicense: /3.xml\nLicense: /4.xml\n";
    static const char five[] =
        "License: /1.xml\nLicense: /2.xml\nLicense: /3.xml\nLicense: /4.xml\n"
        "License: /5.xml\nLicense: /6.xml\n";
    CU_ASSERT_EQUAL(several_licences_deny("License: /1.xml\nLicense: /1.xml\n", 1), 0);
    CU_ASSERT_EQUAL(several_licences_deny("License: /1.xml\nLicense: /2.xml\n", 2), USAGE_SEARCH);
    CU_ASSERT_EQUAL(several_licences_deny(four, 4), USAGE_SEARCH);
    CU_ASSERT_EQUAL(several_licences_deny(five, 5), USAGE_ALL); /* one is not asked for */
}

/* "path denied/allowed @line" of each content, joined by blanks; 9: the sink refuses. */
static Result tell_content(void *context, const char *path, size_t length,
                           const UsageStatement *statement)
{
    CU_ASSERT_TRUE(statement->length <= RSL_WORDS_BYTES);
    Result rc = buffer_printf(context, "%.*s %u/%u @%u;", (int)length, path,
                              statement->usage.denied, statement->usage.allowed, statement->line);
    return statement->line == 9 ? RESULT_FULL : rc;
}

static void each_content_of_ours_is_one_statement(void)
{
    static const struct {
        const char *file;
        Result result;
        const char *told;
    } rows[] = {
        {NS "\n<content url='/a'><license/></content>\n<content url='" ORIGIN
            "/b?c#d'><license/></content></rsl>",
         RESULT_OK, "/a 0/0 @2;/b?c#d 0/0 @3;"},
        {NS "<content url='https://other.example/'><license/></content></rsl>", RESULT_OK, ""},
        {NS "<content url='HTTP://WWW.Example.Org'><license/></content></rsl>", RESULT_OK,
         " 0/0 @1;"},
        {NS "<content url='/'/></rsl>", RESULT_OK, ""},
        {NS "<content url='/' server='https://s'/></rsl>", RESULT_OK, "/ 31/0 @1;"},
        {NS "<content url='x'><license>" PERMITS("search") "</license></content></rsl>", RESULT_OK,
         " 27/0 @1;"},
        {NS "<content url='/'><license/></content>", RESULT_INVALID, "/ 0/0 @1;"},
        {NS "\n\n\n\n\n\n\n\n<content url='/'><license/></content></rsl>", RESULT_FULL,
         "/ 0/0 @9;"},
        {"<rss><channel/></rss>", RESULT_INVALID, ""},
        {"<!DOCTYPE rsl>" NS "</rsl>", RESULT_INVALID, ""},
        {"", RESULT_INVALID, ""}};
    RslReader reader = {.origin = ORIGIN, .user = RSL_USER_UNKNOWN};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Buffer told = {.limit = 4096};
        CU_ASSERT_EQUAL(rsl_read(rows[i].file, strlen(rows[i].file), &reader, tell_content, &told),
                        rows[i].result);
        CU_ASSERT_STRING_EQUAL(buffer_string(&told), rows[i].told);
        buffer_destroy(&told);
    }
}

UNIT_MAIN("rsl", {"each content of ours is one statement", each_content_of_ours_is_one_statement},
          {"permits leave open what they list", permits_leave_open_what_they_list},
          {"prohibits close what they list", prohibits_close_what_they_list},
          {"one open licence is enough", one_open_licence_is_enough},
          {"offers are not taken", offers_are_not_taken},
          {"conditions are for those who fulfil them", conditions_are_for_those_who_fulfil_them},
          {"the longest url decides", the_longest_url_decides},
          {"an unclear url denies everywhere and allows nothing",
           an_unclear_url_denies_everywhere_and_allows_nothing},
          {"what is not read to its end permits nothing",
           what_is_not_read_to_its_end_permits_nothing},
          {"too many statements permit nothing", too_many_statements_permit_nothing},
          {"the words are the elements", the_words_are_the_elements},
          {"of several licences the strictest holds", of_several_licences_the_strictest_holds},
          {"our group names the licence first", our_group_names_the_licence_first})
