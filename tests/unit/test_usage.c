#include <stdio.h>
#include <string.h>

#include "parse/robots/robots.h"
#include "parse/usage/usage.h"
#include "unit.h"

static void expect(Usage usage, const char *denied, const char *allowed)
{
    Buffer text;
    buffer_init(&text, 256);
    CU_ASSERT_EQUAL(usage_print(usage.denied, &text), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&text), denied);
    buffer_reset(&text);
    CU_ASSERT_EQUAL(usage_print(usage.allowed, &text), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&text), allowed);
    buffer_destroy(&text);
}

static Usage dictionary(const char *text)
{
    return usage_of_dictionary(text, strlen(text));
}

/* Each usage by itself, denied and allowed, and none of the others. */
static void terms_tell_both_sides(void)
{
    for (unsigned denied = 0; denied <= USAGE_ALL; denied++) {
        unsigned allowed = (denied * 7u + 3u) & USAGE_ALL & ~denied;
        Buffer text = {.limit = USAGE_TERMS_BYTES};
        Usage usage = {.denied = (uint8_t)denied, .allowed = (uint8_t)allowed};
        CU_ASSERT_EQUAL(usage_print_terms(usage, &text), RESULT_OK);
        CU_ASSERT_EQUAL(usage_terms_allowed(buffer_string(&text)), allowed);
        CU_ASSERT_EQUAL(dictionary(buffer_string(&text)).denied & denied, denied);
        buffer_destroy(&text);
    }
    Buffer text = {.limit = USAGE_TERMS_BYTES};
    CU_ASSERT_EQUAL(usage_print_terms((Usage){.denied = USAGE_TDM, .allowed = USAGE_SEARCH}, &text),
                    RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&text), "search=y, tdm=n");
    buffer_destroy(&text);
    unsigned bits = 0;
    Buffer error = {.limit = 256};
    CU_ASSERT_EQUAL(usage_list_parse(" tdm, train,search", &bits, &error), RESULT_OK);
    CU_ASSERT_EQUAL(bits, USAGE_TDM | USAGE_TRAIN_AI | USAGE_SEARCH);
    CU_ASSERT_EQUAL(usage_list_parse("tdm, lunch", &bits, &error), RESULT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "'lunch': expected a usage"));
    buffer_destroy(&error);
}

static void dictionaries_deny_and_allow(void)
{
    expect(dictionary("train-ai=n, search=y"), "train-ai", "search");
    expect(dictionary("search=yes,ai-train=no , ai-input=no"), "train-ai+ai-input", "search");
    expect(dictionary("TRAIN-AI = N;exp=1"), "train-ai", "-");
    expect(dictionary("tdm=n"), "train-ai+tdm", "-");
    expect(dictionary("bots=n, search=y"), "train-ai+ai-input+search+tdm+image-ai", "-");
    expect(dictionary("train-ai=?0, search=?1"), "train-ai", "search");
    expect(dictionary("train-ai, =n, new-thing=n, train-ai=maybe,,"), "-", "-");
    expect(dictionary("search=yes, use=reference"), "train-ai+image-ai", "search");
    expect(dictionary("search=yes,use=Immediate"), "train-ai+search+tdm+image-ai", "-");
    expect(dictionary("ai-train=no, use=full"), "train-ai", "ai-input+search");
    expect(dictionary("use=none, use"), "-", "-");
    expect(dictionary(""), "-", "-");
}

static Usage header(const char *fields)
{
    char text[512];
    HttpHeader parsed;
    (void)snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\n%s\r\n", fields);
    CU_ASSERT_EQUAL_FATAL(http_header_parse(&parsed, text, strlen(text)), RESULT_OK);
    return usage_of_header(&parsed, NULL);
}

static void headers_add_up(void)
{
    expect(header("Content-Usage: train-ai=n\r\nContent-Usage: search=n\r\n"), "train-ai+search",
           "-");
    expect(header("content-signal: ai-input=no\r\n"), "ai-input", "-");
    expect(header("TDM-Reservation: 1\r\nTDM-Policy: https://a.test/p\r\n"), "train-ai+tdm", "-");
    expect(header("TDM-Reservation: 0\r\n"), "-", "tdm");
    expect(header("X-Robots-Tag: noindex, noai\r\nX-Robots-Tag: noimageai\r\n"),
           "train-ai+ai-input+image-ai", "-");
    expect(header("Content-Type: text/html\r\n"), "-", "-");
}

static Usage html(const char *text)
{
    return usage_of_html(text, strlen(text), NULL);
}

static void pages_speak_through_meta_elements(void)
{
    expect(html("<html><META content='noai, noimageai' name=robots>"), "train-ai+ai-input+image-ai",
           "-");
    expect(html("<meta name=\"tdm-reservation\" content=\"1\"/><p>"), "train-ai+tdm", "-");
    expect(html("<meta http-equiv=Content-Usage content=\"search=n\">"), "search", "-");
    expect(html("<meta name=\" robots \" content=noai>"), "train-ai+ai-input", "-");
    expect(html("<metadata name=robots content=noai>"), "-", "-");
    expect(html("<meta name=description content=noai><p>noai"), "-", "-");
    expect(html("<meta name=robots content=\"noai"), "-", "-"); /* nobody knows its end */
    expect(html("<meta name=robots content"), "-", "-");
}

/* A byte of zero ends nothing and loops nowhere. */
static void zero_bytes_do_no_harm(void)
{
    static const char page[] = "<meta \0 name=robots\0 content=noai>";
    Usage usage = usage_of_html(page, sizeof page - 1, NULL);
    CU_ASSERT_TRUE(usage.denied <= USAGE_ALL);
    CU_ASSERT_EQUAL(usage_of_robots_words("noai\0noimageai", 14).denied & USAGE_IMAGE_AI, 0);
}

static void expect_robots(const char *text, const char *path, const char *denied,
                          const char *allowed)
{
    Robots *robots = NULL;
    CU_ASSERT_EQUAL_FATAL(robots_parse(text, strlen(text), "ragno", &robots), RESULT_OK);
    expect(robots_usage(robots, path, strlen(path), NULL), denied, allowed);
    robots_delete(robots);
}

static void the_longest_path_of_robots_decides(void)
{
    static const char text[] = "User-agent: *\nContent-Usage: train-ai=n\n"
                               "Content-Usage: /open/ train-ai=y, search=y\n"
                               "Content-Usage: /open/closed train-ai=n\n"
                               "Content-Signal: search=yes\nAllow: /\n";
    expect_robots(text, "/", "train-ai", "search");
    expect_robots(text, "/open/x", "-", "train-ai+search");
    expect_robots(text, "/open/closed?x", "train-ai", "-");
}

static void only_our_group_speaks(void)
{
    static const char text[] = "User-agent: other\nContent-Usage: search=n\n\n"
                               "User-agent: ragno\nDisallow: /x\nContent-Signal: ai-train=no\n\n"
                               "User-agent: *\nContent-Usage: tdm=n\n";
    expect_robots(text, "/", "train-ai", "-");
    expect_robots("", "/", "-", "-");
}

static void what_is_denied_anywhere_is_not_allowed(void)
{
    static const char text[] = "User-agent: *\nContent-Usage: /a train-ai=y, search=y\n"
                               "Content-Signal: /a ai-train=no\n";
    Usage yes = dictionary("train-ai=y, tdm=y");
    Usage no = dictionary("tdm=n");
    expect(dictionary("search=n, search=y"), "search", "-");
    expect(dictionary("search=y, search=n"), "search", "-");
    expect(header("TDM-Reservation: 0\r\nContent-Usage: bots=n, search=y\r\n"),
           "train-ai+ai-input+search+tdm+image-ai", "-");
    expect(usage_join(yes, no), "train-ai+tdm", "-");
    expect(usage_join(no, yes), "train-ai+tdm", "-");
    expect(usage_join(usage_join(no, (Usage){0}), yes), "train-ai+tdm", "-");
    expect_robots(text, "/a/b", "train-ai", "search");
}

static void paths_are_those_of_robots_rules(void)
{
    static const char text[] = "User-agent: *\nContent-Usage: /a*z train-ai=n\n"
                               "Content-Usage: /b*z$ search=y\nContent-Usage: /b* search=n\n"
                               "Content-Usage: /%7ec tdm=n\n";
    expect_robots(text, "/ab", "-", "-");
    expect_robots(text, "/abz", "train-ai", "-");
    expect_robots(text, "/bz", "-", "search");
    expect_robots(text, "/bzz?", "search", "-");
    expect_robots(text, "/~c", "train-ai+tdm", "-");
    expect_robots(text, "/%7Ec", "train-ai+tdm", "-");
}

/* What would take too long to match is taken for a match by what denies alone. */
static void a_costly_pattern_denies_and_allows_nothing(void)
{
    Buffer text, path;
    Robots *robots = NULL;
    buffer_init(&text, BUFFER_NO_LIMIT);
    buffer_init(&path, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(buffer_append_char(&path, '/'), RESULT_OK);
    for (unsigned i = 0; i < 60000; i++) {
        (void)buffer_append_char(&path, 'a');
    }
    (void)buffer_append_string(&path, "zy");
    for (unsigned n = 0; n <= 10; n += 10) {
        buffer_reset(&text);
        (void)buffer_append_string(&text, "User-agent: *\n");
        for (unsigned i = 0; i < n; i++) {
            (void)buffer_printf(&text, "Content-Usage: /*q%u tdm=n\n", i);
        }
        (void)buffer_append_string(&text, "Content-Usage: /*aaazy search=y\n");
        CU_ASSERT_EQUAL_FATAL(robots_parse(text.data, text.length, "ragno", &robots), RESULT_OK);
        Usage usage = robots_usage(robots, path.data, path.length, NULL);
        CU_ASSERT_EQUAL(usage.denied, n == 0 ? 0 : USAGE_TDM | USAGE_TRAIN_AI);
        CU_ASSERT_EQUAL(usage.allowed, n == 0 ? USAGE_SEARCH : 0);
        robots_delete(robots);
    }
    buffer_destroy(&text);
    buffer_destroy(&path);
}

static void a_ledger_has_the_sentences(void)
{
    static const char fields[] =
        "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Usage: train-ai=n\r\n\r\n";
    static const char page[] = "<title>t</title><meta name=robots content=noai><meta name=x>";
    static const char rules[] = "User-agent: *\nContent-Usage: /a search=n # no\n";
    UsageStatement list[3];
    UsageLedger ledger = {.list = list, .max = 3};
    HttpHeader parsed;
    Robots *robots = NULL;
    CU_ASSERT_EQUAL_FATAL(http_header_parse(&parsed, fields, strlen(fields)), RESULT_OK);
    (void)usage_of_header(&parsed, &ledger);
    (void)usage_of_html(page, strlen(page), &ledger);
    CU_ASSERT_EQUAL_FATAL(robots_parse(rules, strlen(rules), "ragno", &robots), RESULT_OK);
    (void)robots_usage(robots, "/a", 2, &ledger);
    CU_ASSERT_EQUAL_FATAL(ledger.n, 3);
    static const char *const words[] = {"Content-Usage: train-ai=n",
                                        "<meta name=robots content=noai>",
                                        "Content-Usage: /a search=n"};
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(list[i].length, strlen(words[i]));
        CU_ASSERT_EQUAL(memcmp(list[i].text, words[i], strlen(words[i])), 0);
    }
    CU_ASSERT_EQUAL(list[2].line, 2);
    CU_ASSERT_FALSE(ledger.is_cut);
    (void)robots_usage(robots, "/a", 2, &ledger);
    CU_ASSERT_TRUE(ledger.is_cut);
    robots_delete(robots);
}

#define EVERYTHING "train-ai+ai-input+search+tdm+image-ai"

static void offers_deny_and_are_not_taken(void)
{
    expect(header("WWW-Authenticate: License error=\"invalid_request\"\r\n"), EVERYTHING, "-");
    expect(header("WWW-Authenticate: Licensee x\r\n"), "-", "-");
    expect(header("WWW-Authenticate: Basic realm=\"License\"\r\n"), "-", "-");
    expect(header("Crawler-Price: USD 0.01\r\nContent-Usage: search=y\r\n"), EVERYTHING, "-");
}

static void a_licence_of_a_page_alone_permits_nothing(void)
{
    static const struct {
        const char *text;
        bool names;
    } pages[] = {
        {"<LINK href=/l.xml rel=license type='application/rsl+xml' />", true},
        {"<link rel=license href=\"https://creativecommons.org/licenses/by/4.0/\">", false},
        {"<link rel=alternate type=\"application/rsl+xml\" href=x>", false},
        {"<a rel=license type=\"application/rsl+xml\" href=x>", false}};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        expect(usage_settle(html(pages[i].text)), pages[i].names ? EVERYTHING : "-", "-");
    }
    Usage named = header("Link: </l.xml>; rel=\"license\"; type=\"application/rsl+xml\"\r\n");
    Robots *robots = NULL;
    CU_ASSERT_EQUAL_FATAL(robots_parse("License: /l.xml\n", 16, "ragno", &robots), RESULT_OK);
    RslReader reader = {.origin = "https://h.example"};
    CU_ASSERT_EQUAL(robots_add_licence(robots, USAGE_IN_LICENCE, "<rsl/>", 6, &reader), RESULT_OK);
    expect(usage_settle(named), EVERYTHING, "-");
    expect(usage_settle(usage_join(named, robots_usage(robots, "/", 1, NULL))), "-", "-");
    robots_delete(robots);
}

static void rules_name_usages_and_actions(void)
{
    UsageRules rules;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(
        usage_rules_parse("train-ai no-store, tdm\tno-fetch,search label", &rules, &error),
        RESULT_OK);
    CU_ASSERT_EQUAL(rules.no_store, USAGE_TRAIN_AI);
    CU_ASSERT_EQUAL(rules.no_fetch, USAGE_TDM);
    CU_ASSERT_EQUAL(usage_rules_parse("", &rules, &error), RESULT_OK);
    CU_ASSERT_EQUAL(rules.no_store | rules.no_fetch, 0);
    CU_ASSERT_EQUAL(usage_rules_parse("train-ai", &rules, &error), RESULT_INVALID);
    CU_ASSERT_EQUAL(usage_rules_parse("everything no-fetch", &rules, &error), RESULT_INVALID);
    CU_ASSERT_EQUAL(usage_rules_parse("tdm ignore", &rules, &error), RESULT_INVALID);
    buffer_destroy(&error);
}

UNIT_MAIN("usage", {"dictionaries deny and allow", dictionaries_deny_and_allow},
          {"headers add up", headers_add_up}, {"terms tell both sides", terms_tell_both_sides},
          {"pages speak through meta elements", pages_speak_through_meta_elements},
          {"zero bytes do no harm", zero_bytes_do_no_harm},
          {"the longest path of robots.txt decides", the_longest_path_of_robots_decides},
          {"only our group speaks", only_our_group_speaks},
          {"paths are those of robots rules", paths_are_those_of_robots_rules},
          {"a costly pattern denies, and allows nothing",
           a_costly_pattern_denies_and_allows_nothing},
          {"a ledger has the sentences", a_ledger_has_the_sentences},
          {"offers deny, and are not taken", offers_deny_and_are_not_taken},
          {"a licence of a page alone permits nothing", a_licence_of_a_page_alone_permits_nothing},
          {"what is denied anywhere is not allowed", what_is_denied_anywhere_is_not_allowed},
          {"rules name usages and actions", rules_name_usages_and_actions})
