#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "base/core/clock.h"
#include "base/core/hash.h"
#include "parse/robots/robots.h"
#include "unit.h"

static Robots *parse(const char *body, const char *agent)
{
    Robots *robots = NULL;
    CU_ASSERT_EQUAL_FATAL(robots_parse(body, strlen(body), agent, &robots), RESULT_OK);
    return robots;
}

static bool allows(const char *body, const char *agent, const char *path)
{
    Robots *robots = parse(body, agent);
    bool allowed = robots_allows(robots, path, strlen(path), NULL);
    robots_delete(robots);
    return allowed;
}

static int64_t delay(const char *body, const char *agent)
{
    Robots *robots = parse(body, agent);
    int64_t ms = robots_crawl_delay_ms(robots);
    robots_delete(robots);
    return ms;
}

static void the_longest_match_decides(void)
{
    static const char file[] = "User-agent: *\n"
                               "Disallow: /\n"
                               "Allow: /shop\n"
                               "Disallow: /shop/cart\n"
                               "Allow: /shop/cart/help\n"
                               "Disallow: /*.pdf$\n";
    CU_ASSERT_FALSE(allows(file, "ragno", "/"));
    CU_ASSERT_FALSE(allows(file, "ragno", "/a"));
    CU_ASSERT_TRUE(allows(file, "ragno", "/shop"));
    CU_ASSERT_TRUE(allows(file, "ragno", "/shopping"));
    CU_ASSERT_FALSE(allows(file, "ragno", "/shop/cart?id=1"));
    CU_ASSERT_TRUE(allows(file, "ragno", "/shop/cart/help/x"));
    CU_ASSERT_FALSE(allows(file, "ragno", "/shop/a.pdf"));
    CU_ASSERT_TRUE(allows(file, "ragno", "/shop/a.pdf?x"));
    CU_ASSERT_TRUE(allows(file, "ragno", "/shop/cart/help.pdf"));
    CU_ASSERT_TRUE(allows("User-agent: *\nDisallow: /a\nAllow: /a\n", "x", "/a"));
    CU_ASSERT_TRUE(allows("User-agent: *\nAllow: /a\nDisallow: /a\n", "x", "/a"));
    CU_ASSERT_FALSE(
        allows("User-agent: *\nAllow: /aa\nDisallow: /a*\nDisallow: /*a\n", "x", "/ab"));
}

static void the_verdict_names_its_line(void)
{
    static const char file[] =
        "# none\r\nuser-agent: *\r\n\r\n  DISALLOW :  /x\x01y # why\r\nAllow: /z\r";
    Robots *robots = parse(file, "ragno");
    RobotsVerdict verdict;
    CU_ASSERT_FALSE(robots_allows(robots, "/x%01yz", 7, &verdict));
    CU_ASSERT_EQUAL(verdict.line, 4);
    CU_ASSERT_STRING_EQUAL(verdict.rule, "DISALLOW :  /x?y");
    CU_ASSERT_TRUE(robots_allows(robots, "/z", 2, &verdict));
    CU_ASSERT_EQUAL(verdict.line, 5);
    CU_ASSERT_TRUE(verdict.allowed);
    CU_ASSERT_TRUE(robots_allows(robots, "/", 1, &verdict));
    CU_ASSERT_EQUAL(verdict.line, 0);
    CU_ASSERT_PTR_NULL(verdict.rule);
    CU_ASSERT_TRUE(robots_bytes(robots) > 50 && robots_bytes(robots) < 2000);
    robots_delete(robots);
}

static void groups_of_one_agent_are_merged(void)
{
    static const char file[] =
        "User-agent: ragno\nDisallow: /a\n\nUser-agent: other\nDisallow: /b\n"
        "User-agent: *\nDisallow: /c\nUser-Agent: RAGNO/2.0 (hi)\n"
        "user-agent: third\n\nDisallow: /d\nSitemap: /s\nDisallow: /e\n";
    CU_ASSERT_FALSE(allows(file, "ragno", "/a"));
    CU_ASSERT_TRUE(allows(file, "ragno", "/b"));
    CU_ASSERT_TRUE(allows(file, "ragno", "/c"));
    CU_ASSERT_FALSE(allows(file, "Ragno", "/d"));
    CU_ASSERT_FALSE(allows(file, "ragno/0.1", "/e"));
    CU_ASSERT_FALSE(allows(file, "someone", "/c"));
    CU_ASSERT_TRUE(allows(file, "someone", "/d"));
    CU_ASSERT_TRUE(allows(file, "rag", "/a"));
    CU_ASSERT_TRUE(allows(file, "ragnobot", "/a"));
    CU_ASSERT_FALSE(allows(file, "", "/c"));
    /* A group without rules is a group: it allows everything. */
    CU_ASSERT_TRUE(allows("User-agent: *\nDisallow: /\n\nUser-agent: ragno\n", "ragno", "/x"));
    CU_ASSERT_TRUE(
        allows("User-agent: *\nDisallow: /\n\nUser-agent: ragno\nDisallow:\n", "ragno", "/x"));
    /* Rules before any User-agent line belong to nobody. */
    CU_ASSERT_TRUE(allows("Disallow: /\nUser-agent: *\nDisallow: /y\n", "ragno", "/x"));
    /* An unknown line does not end a group. */
    CU_ASSERT_FALSE(allows("User-agent: a\nFoo: b\nUser-agent: c\nDisallow: /\n", "a", "/x"));
}

static void lines_may_be_written_badly(void)
{
    CU_ASSERT_FALSE(allows("\xEF\xBB\xBFUser-agent: *\nDisallow: /\n", "a", "/x"));
    CU_ASSERT_FALSE(allows("\xEF\xBBUser-agent: *\nDisallow: /\n", "a", "/x"));
    CU_ASSERT_FALSE(allows("User-agent: *\rDisallow: /\r", "a", "/x"));
    CU_ASSERT_FALSE(allows("user-agent *\ndisallow /x", "a", "/x"));
    CU_ASSERT_TRUE(allows("user-agent *\ndisallow /x y", "a", "/x"));
    CU_ASSERT_FALSE(allows("useragent: *\ndissalow: /x", "a", "/x"));
    CU_ASSERT_TRUE(allows("useragents: *\ndisallow: /x", "a", "/x"));
    CU_ASSERT_TRUE(allows("User-agent: *\ndisallowed: /x", "a", "/x"));
    CU_ASSERT_FALSE(allows("User-agent:*#all\nDisallow:/x#y", "a", "/x"));
    CU_ASSERT_FALSE(allows("User-agent: * everybody\nDisallow:\t/x\t", "a", "/x"));
    CU_ASSERT_TRUE(allows("User-agent: *bot\nDisallow: /x", "a", "/x"));
    CU_ASSERT_TRUE(allows("User-agent: *\nDisallow: x", "a", "/x"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: *x", "a", "/yx"));
}

static void each_line_may_end_otherwise(void)
{
    static const char text[] =
        "user-agent: *\rdisallow: /a\n\rdisallow: /b\r\n\r\r\ndisallow: /c\r";
    static const char *const paths[] = {"/a", "/b", "/c"};
    static const unsigned lines[] = {2, 4, 7};
    Robots *robots = parse(text, "ragno");
    for (size_t i = 0; i < 3; i++) {
        RobotsVerdict verdict;
        CU_ASSERT_FALSE(robots_allows(robots, paths[i], 2, &verdict));
        CU_ASSERT_EQUAL(verdict.line, lines[i]);
    }
    robots_delete(robots);
}

/* Nothing of the groups for all is left, whichever group comes first. */
static void a_group_by_name_takes_the_place_of_the_others(void)
{
    static const char text[] =
        "sitemap: http://h/1\nuser-agent: *\ncrawl-delay: 9\ndisallow: /all\n"
        "user-agent: ragno\ndisallow: /own\nuser-agent: *\ndisallow: /more\n"
        "sitemap: http://h/2\n";
    Robots *robots = parse(text, "Ragno/1.0");
    CU_ASSERT_TRUE(robots_allows(robots, "/all", 4, NULL));
    CU_ASSERT_TRUE(robots_allows(robots, "/more", 5, NULL));
    CU_ASSERT_FALSE(robots_allows(robots, "/own", 4, NULL));
    CU_ASSERT_EQUAL(robots_crawl_delay_ms(robots), -1);
    CU_ASSERT_EQUAL(robots_n_sitemaps(robots), 2);
    robots_delete(robots);
}

static void escapes_are_compared_by_meaning(void)
{
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /%7ejoe", "a", "/~joe/x"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /~joe", "a", "/%7Ejoe/x"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /a%3cd", "a", "/a%3Cd"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /caf\xC3\xA9", "a", "/caf%c3%a9"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /caf%C3%A9", "a", "/caf\xC3\xA9"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /my file", "a", "/my%20file"));
    CU_ASSERT_TRUE(allows("User-agent: *\nDisallow: /a%2Fb", "a", "/a/b"));
    CU_ASSERT_TRUE(allows("User-agent: *\nDisallow: /a/b", "a", "/a%2Fb"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /a%2Ab", "a", "/a*b"));
    CU_ASSERT_TRUE(allows("User-agent: *\nDisallow: /a%2Ab", "a", "/axb"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /a%24", "a", "/a$b"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /a$b", "a", "/a$bc"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /100%\n", "a", "/100%"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /%zz\n", "a", "/%zz"));
}

static void wildcards_match_leftmost_and_anchors_hold(void)
{
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /*/b*c$", "a", "/x/y/bccc"));
    CU_ASSERT_TRUE(allows("User-agent: *\nDisallow: /*/b*c$", "a", "/x/y/bcd"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /*?*sort=", "a", "/x?a=1&sort=2"));
    CU_ASSERT_TRUE(allows("User-agent: *\nDisallow: /*?*sort=", "a", "/sort=?a=1"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /ab$", "a", "/ab"));
    CU_ASSERT_TRUE(allows("User-agent: *\nDisallow: /ab$", "a", "/abc"));
    CU_ASSERT_TRUE(allows("User-agent: *\nDisallow: /a*aa$", "a", "/aa"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /a*$", "a", "/axyz"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: *", "a", "/"));
    CU_ASSERT_TRUE(allows("User-agent: *\nDisallow: $", "a", "/"));
    CU_ASSERT_TRUE(allows("User-agent: *\nDisallow: /\nAllow: /$", "a", "/"));
    CU_ASSERT_FALSE(allows("User-agent: *\nDisallow: /\nAllow: /$", "a", "/x"));
    /* Trailing stars match nothing more but count as octets. */
    CU_ASSERT_FALSE(allows("User-agent: *\nAllow: /ab\nDisallow: /a***", "a", "/abc"));
    CU_ASSERT_TRUE(allows("User-agent: *\nAllow: /abcd\nDisallow: /a***", "a", "/abcd"));
}

static void the_index_page_stands_for_its_folder(void)
{
    static const char file[] = "User-agent: *\nAllow: /d/index.html\nDisallow: /\n";
    CU_ASSERT_TRUE(allows(file, "a", "/d/"));
    CU_ASSERT_TRUE(allows(file, "a", "/d/index.html"));
    CU_ASSERT_FALSE(allows(file, "a", "/d/x"));
    CU_ASSERT_FALSE(allows(file, "a", "/d/index.htm"));
}

static void robots_txt_itself_is_always_allowed(void)
{
    Robots *robots = NULL;
    static const char nothing[] = "User-agent: *\nDisallow: /\n";
    CU_ASSERT_EQUAL_FATAL(robots_parse(nothing, sizeof nothing - 1, "a", &robots), RESULT_OK);
    CU_ASSERT_TRUE(robots_allows(robots, "/robots.txt", 11, NULL));
    CU_ASSERT_FALSE(robots_allows(robots, "/robots.txt2", 12, NULL));
    CU_ASSERT_FALSE(robots_allows(robots, "", 0, NULL));
    CU_ASSERT_FALSE(robots_allows(robots, "/x", 2, NULL));
    robots_delete(robots);
    CU_ASSERT_EQUAL_FATAL(robots_allow_all(&robots), RESULT_OK);
    CU_ASSERT_TRUE(robots_allows(robots, "/x", 2, NULL));
    CU_ASSERT_EQUAL(robots_crawl_delay_ms(robots), -1);
    CU_ASSERT_EQUAL(robots_n_sitemaps(robots), 0);
    robots_delete(robots);
    robots_delete(NULL);
}

static void a_delay_belongs_to_the_agents_above_it(void)
{
    static const char file[] = "User-agent: a\nCrawl-delay: 2\nUser-agent: b\nDisallow: /x\n\n"
                               "User-agent: *\nCrawl-delay: 0.25\nDisallow: /y\n"
                               "User-agent: b\nUser-agent: c\nDisallow: /z\ncrawl-DELAY: 7 # s\n";
    CU_ASSERT_EQUAL(delay(file, "a"), 2000);
    CU_ASSERT_EQUAL(delay(file, "b"), 7000);
    CU_ASSERT_EQUAL(delay(file, "c"), 7000);
    CU_ASSERT_EQUAL(delay(file, "d"), 250);
    CU_ASSERT_FALSE(allows(file, "a", "/x"));
    CU_ASSERT_FALSE(allows(file, "b", "/x"));
    CU_ASSERT_TRUE(allows(file, "a", "/z"));
    CU_ASSERT_EQUAL(delay("User-agent: *\nCrawl-delay: soon\n", "a"), -1);
    CU_ASSERT_EQUAL(delay("User-agent: *\nCrawl-delay: -3\n", "a"), -1);
    CU_ASSERT_EQUAL(delay("User-agent: *\nCrawl-delay: .\n", "a"), -1);
    CU_ASSERT_EQUAL(delay("User-agent: *\nCrawl-delay: .5\n", "a"), 500);
    CU_ASSERT_EQUAL(delay("User-agent: *\nCrawl-delay: 1.2345678901234567890123\n", "a"), 1234);
    CU_ASSERT_EQUAL(delay("User-agent: *<br>\nCrawl-delay: 10<br>\n", "a"), 10000);
    CU_ASSERT_EQUAL(delay("User-agent: *\nCrawl-delay: 99999999999999999999999999\n", "a"),
                    ROBOTS_DELAY_MAX_MS);
    CU_ASSERT_EQUAL(delay("User-agent: *\nCrawl-delay: 3\nUser-agent: a\nDisallow:\n", "a"), -1);
    CU_ASSERT_EQUAL(delay("User-agent: *\nCrawl-delay: 3\nCrawl-delay: 1\n", "a"), 3000);
}

static void a_request_rate_is_the_delay_that_it_comes_to(void)
{
    static const struct {
        const char *value;
        int64_t ms;
    } rates[] = {
        {"1/5", 5000},
        {"10/1m", 6000},
        {"1/1H", 3600000},
        {"3/15 s", 5000},
        {" 1 / 10m 1300-1659", 600000},
        {"1/5<br>", 5000},
        {"3/1", 334}, /* rounded up: never faster than asked */
        {"0.5/1", 2000},
        {"5/0", 0},
        {"999999999999999999999/1", 1},
        {"1/999999999999999999999h", ROBOTS_DELAY_MAX_MS},
        {"0.001/999999999999999999999h", ROBOTS_DELAY_MAX_MS},
        {"0/5", -1},
        {"5", -1},
        {"5/", -1},
        {"/5", -1},
        {"9/banana", -1},
        {"-1/5", -1},
        {"", -1},
    };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        char file[128];
        (void)snprintf(file, sizeof file, "User-agent: *\nRequest-rate: %s\n", rates[i].value);
        CU_ASSERT_EQUAL(delay(file, "a"), rates[i].ms);
    }
    static const char both[] = "User-agent: a\nRequest-rate: 1/2\nCrawl-delay: 3\n"
                               "User-agent: b\nCrawl-delay: 3\nrequest-RATE: 1/4\nDisallow: /x\n";
    CU_ASSERT_EQUAL(delay(both, "a"), 3000);
    CU_ASSERT_EQUAL(delay(both, "b"), 4000);
    CU_ASSERT_FALSE(allows(both, "a", "/x"));
}

static void sitemaps_belong_to_the_file(void)
{
    Robots *robots = parse("Sitemap: http://h/1.xml\nUser-agent: x\nSitemap :http://h/2.xml#c\n"
                           "sitemap:\nUser-agent: ragno\nDisallow: /\nSite-map: /3.xml\n"
                           "SITEMAP: http://h/1.xml\nhttp://h/my-sitemap.xml\nhttp://h/else.xml\n",
                           "ragno");
    CU_ASSERT_EQUAL_FATAL(robots_n_sitemaps(robots), 4);
    CU_ASSERT_STRING_EQUAL(robots_sitemap(robots, 0), "http://h/1.xml");
    CU_ASSERT_STRING_EQUAL(robots_sitemap(robots, 1), "http://h/2.xml");
    CU_ASSERT_STRING_EQUAL(robots_sitemap(robots, 2), "/3.xml");
    CU_ASSERT_STRING_EQUAL(robots_sitemap(robots, 3), "http://h/my-sitemap.xml");
    CU_ASSERT_FALSE(robots_allows(robots, "/q", 2, NULL));
    robots_delete(robots);
}

static void what_lies_beyond_500_kib_is_not_read(void)
{
    Buffer b;
    buffer_init(&b, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&b, "User-agent: *\nDisallow: /early\n");
    while (b.length < ROBOTS_MAX_BYTES - 8) {
        (void)buffer_append_string(&b, "#\n");
    }
    (void)buffer_append_string(&b, "Disallow: /late\nDisallow: /later\n"); /* crosses the bound */
    Robots *robots = NULL;
    CU_ASSERT_EQUAL_FATAL(robots_parse(b.data, b.length, "ragno", &robots), RESULT_OK);
    CU_ASSERT_FALSE(robots_allows(robots, "/early", 6, NULL));
    CU_ASSERT_TRUE(robots_allows(robots, "/late", 5, NULL));
    CU_ASSERT_TRUE(robots_allows(robots, "/", 1, NULL));
    CU_ASSERT_TRUE(robots_allows(robots, "/later", 6, NULL));
    robots_delete(robots);
    CU_ASSERT_EQUAL_FATAL(robots_parse(NULL, 0, "ragno", &robots), RESULT_OK);
    CU_ASSERT_TRUE(robots_allows(robots, "/", 1, NULL));
    robots_delete(robots);
    buffer_destroy(&b);
}

static void long_paths_and_hostile_rules_cost_linear_time(void)
{
    Buffer file;
    Buffer path;
    buffer_init(&file, BUFFER_NO_LIMIT);
    buffer_init(&path, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&file, "User-agent: *\nDisallow: /");
    for (int i = 0; i < 20000; i++) {
        (void)buffer_append_string(&file, "*a*aab");
    }
    (void)buffer_append_string(&file, "$\nDisallow: /%C3%A9");
    (void)buffer_append_char(&path, '/');
    for (int i = 0; i < 100000; i++) {
        (void)buffer_append_string(&path, "aaaa\xC3\xA9");
    }
    Robots *robots = NULL;
    CU_ASSERT_EQUAL_FATAL(robots_parse(file.data, file.length, "ragno", &robots), RESULT_OK);
    int64_t start = cpu_thread_ns();
    CU_ASSERT_TRUE(robots_allows(robots, path.data, path.length, NULL));
    CU_ASSERT_TRUE(cpu_thread_ns() - start < INT64_C(2000000000));
    robots_delete(robots);
    buffer_destroy(&file);
    buffer_destroy(&path);
}

/* 500 kB of rules that begin alike and end in one of six ways, each after a run of a's. */
static Robots *costly_rules(size_t n, bool are_different)
{
    Buffer file;
    buffer_init(&file, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&file, "User-agent: *\n");
    for (size_t i = 0; i < n; i++) {
        (void)buffer_printf(&file, "Disallow: /ab*aa%c%05zx\n", (char)('b' + i % 6),
                            are_different ? i : 0);
    }
    Robots *robots = NULL;
    CU_ASSERT_EQUAL_FATAL(robots_parse(file.data, file.length, "ragno", &robots), RESULT_OK);
    buffer_destroy(&file);
    return robots;
}

/* A path of so many a's in which every pair of the rules occurs. */
static char *long_path(size_t n)
{
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&path, "/ab");
    while (path.length < n) {
        (void)buffer_append_char(&path, 'a');
    }
    for (int c = 'b'; c < 'h'; c++) {
        (void)buffer_printf(&path, "a%c0", c);
    }
    for (unsigned i = 0; i < 256; i++) {
        (void)buffer_printf(&path, "/%x/%x%x", i >> 4, i >> 4, i & 15);
    }
    return buffer_detach(&path);
}

static void decisions_cost_what_is_allowed_and_no_more(void)
{
    Robots *robots = costly_rules(20000, true);
    CU_ASSERT_EQUAL(robots_n_shortened(robots), 20000 - ROBOTS_WILD_MAX);
    char *path = long_path(2000);
    RobotsAllowance allowance = ROBOTS_NEW_ALLOWANCE;
    RobotsVerdict verdict;
    int64_t n = 1000;
    for (int64_t i = 0; i < n; i++) {
        int64_t before = allowance.spent;
        CU_ASSERT_FALSE(robots_decide(robots, path, strlen(path), &allowance, &verdict));
        CU_ASSERT_TRUE(verdict.undecided);
        CU_ASSERT_TRUE(verdict.line > 0);
        CU_ASSERT_TRUE(allowance.spent - before <=
                       ROBOTS_DECISION_STEPS + ROBOTS_WILD_MAX +
                           ROBOTS_FREE_STEPS_PER_BYTE * (int64_t)strlen(path));
    }
    CU_ASSERT_TRUE(allowance.spent <=
                   ROBOTS_SAVED_STEPS + n * (ROBOTS_EARNED_STEPS + ROBOTS_WILD_MAX +
                                             ROBOTS_FREE_STEPS_PER_BYTE * (int64_t)strlen(path)));
    /* Paths that only begin like the rules, and others, are decided still. */
    CU_ASSERT_TRUE(robots_decide(robots, "/b/other", 8, &allowance, &verdict));
    CU_ASSERT_FALSE(verdict.undecided);
    CU_ASSERT_FALSE(robots_decide(robots, "/abc", 4, &allowance, &verdict)); /* shortened */
    CU_ASSERT_TRUE(verdict.undecided);
    free(path);
    robots_delete(robots);
}

static void a_file_that_rests_may_cost_again(void)
{
    Robots *robots = costly_rules(4000, true);
    char *path = long_path(200);
    RobotsAllowance allowance = {.steps = 0};
    RobotsVerdict verdict;
    CU_ASSERT_FALSE(robots_decide(robots, path, strlen(path), &allowance, &verdict));
    CU_ASSERT_TRUE(verdict.undecided);
    for (int i = 0; i < 100; i++) { /* cheap ones earn */
        CU_ASSERT_TRUE(robots_decide(robots, "/b", 2, &allowance, &verdict));
    }
    CU_ASSERT_EQUAL(allowance.steps, ROBOTS_SAVED_STEPS);
    CU_ASSERT_FALSE(robots_decide(robots, "/abaab00000", 11, &allowance, &verdict));
    CU_ASSERT_FALSE(verdict.undecided);
    CU_ASSERT_TRUE(robots_decide(robots, "/abaab", 6, &allowance, &verdict));
    free(path);
    robots_delete(robots);
}

static void the_same_rule_again_is_one_rule(void)
{
    Robots *robots = costly_rules(24000, false); /* six of them differ */
    char *path = long_path(2000);
    RobotsAllowance allowance = ROBOTS_NEW_ALLOWANCE;
    RobotsVerdict verdict;
    CU_ASSERT_EQUAL(robots_n_shortened(robots), 0);
    for (int i = 0; i < 1000; i++) {
        CU_ASSERT_TRUE(robots_decide(robots, path, strlen(path), &allowance, &verdict));
        CU_ASSERT_FALSE(verdict.undecided);
    }
    CU_ASSERT_FALSE(robots_decide(robots, "/abaac00000", 11, &allowance, &verdict));
    CU_ASSERT_EQUAL(verdict.line, 3); /* the first of those that say so */
    free(path);
    robots_delete(robots);
    CU_ASSERT_TRUE(
        allows("User-agent: *\nDisallow: /a*b\nAllow: /a*b\nDisallow: /a*b$\n", "x", "/ab/"));
    CU_ASSERT_FALSE(
        allows("User-agent: *\nDisallow: /a*b\nAllow: /a*b\nDisallow: /a*b$\n", "x", "/ab"));
}

static void an_allow_rule_that_is_not_decided_does_not_allow(void)
{
    Buffer file;
    buffer_init(&file, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&file, "User-agent: *\nDisallow: /ab\n");
    for (unsigned i = 0; i < 3000; i++) {
        (void)buffer_printf(&file, "Allow: /ab*aaa%04x\n", i);
    }
    Robots *robots = parse(buffer_string(&file), "ragno");
    char *path = long_path(2000);
    RobotsVerdict verdict;
    CU_ASSERT_FALSE(robots_allows(robots, path, strlen(path), &verdict));
    CU_ASSERT_TRUE(verdict.undecided);
    CU_ASSERT_EQUAL(verdict.line, 2);
    CU_ASSERT_TRUE(robots_allows(robots, "/abaaa0001", 10, &verdict));
    CU_ASSERT_FALSE(verdict.undecided);
    free(path);
    robots_delete(robots);
    buffer_destroy(&file);
}

static void many_exact_paths_cost_little(void)
{
    Buffer file;
    buffer_init(&file, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&file, "User-agent: *\n");
    for (unsigned i = 0; i < 20000; i++) {
        (void)buffer_printf(&file, "%s: /page/%u$\n", i % 3 == 0 ? "Allow" : "Disallow", i);
    }
    (void)buffer_append_string(&file, "Allow: /page/1$\nDisallow: /page/12000\n");
    Robots *robots = parse(buffer_string(&file), "ragno");
    RobotsAllowance allowance = {.steps = 0};
    RobotsVerdict verdict;
    CU_ASSERT_EQUAL(robots_n_shortened(robots), 0);
    CU_ASSERT_FALSE(robots_decide(robots, "/page/19999", 11, &allowance, &verdict));
    CU_ASSERT_EQUAL(verdict.line, 20001);
    CU_ASSERT_TRUE(robots_decide(robots, "/page/199990", 12, &allowance, &verdict));
    CU_ASSERT_TRUE(robots_decide(robots, "/page/1", 7, &allowance, &verdict)); /* Allow wins */
    CU_ASSERT_TRUE(robots_decide(robots, "/page/12000", 11, &allowance, &verdict));
    CU_ASSERT_FALSE(robots_decide(robots, "/page/120001", 12, &allowance, &verdict));
    CU_ASSERT_TRUE(allowance.spent < 100);
    robots_delete(robots);
    buffer_destroy(&file);
}

/* ---- against a naive model ---- */

static bool naive_matches(const char *pattern, const char *path)
{
    if (*pattern == '\0') {
        return true;
    }
    if (pattern[0] == '$' && pattern[1] == '\0') {
        return *path == '\0';
    }
    if (*pattern == '*') {
        return naive_matches(pattern + 1, path) ||
               (*path != '\0' && naive_matches(pattern, path + 1));
    }
    return *path == *pattern && naive_matches(pattern + 1, path + 1);
}

static uint64_t next_random(uint64_t *state)
{
    return hash_mix(*state += UINT64_C(0x9E3779B97F4A7C15));
}

static void random_word(uint64_t *state, const char *letters, char *word, size_t max)
{
    size_t n = next_random(state) % max;
    size_t n_letters = strlen(letters);
    word[0] = '/';
    for (size_t i = 1; i <= n; i++) {
        word[i] = letters[next_random(state) % n_letters];
    }
    word[n + 1] = '\0';
}

static void verdicts_equal_a_naive_matcher(void)
{
    uint64_t state = 42;
    for (int round = 0; round < 3000; round++) {
        char rules[12][16];
        bool is_allow[12];
        size_t n_rules = 1 + next_random(&state) % 12;
        Buffer file;
        buffer_init(&file, 4096);
        (void)buffer_append_string(&file, "User-agent: *\n");
        for (size_t i = 0; i < n_rules; i++) {
            random_word(&state, round % 2 ? "ab/" : "ab/*$", rules[i], 8);
            is_allow[i] = next_random(&state) % 2;
            if (strchr(rules[i], '$') != NULL && strchr(rules[i], '$')[1] != '\0') {
                *strchr(rules[i], '$') = '\0'; /* the model knows '$' at the end only */
            }
            (void)buffer_printf(&file, "%s: %s\n", is_allow[i] ? "Allow" : "Disallow", rules[i]);
        }
        Robots *robots = parse(buffer_string(&file), "ragno");
        for (int k = 0; k < 20; k++) {
            char path[16];
            random_word(&state, "ab/", path, 10);
            size_t best = 0;
            bool expected = true;
            for (size_t i = 0; i < n_rules; i++) {
                size_t n = strlen(rules[i]);
                if (naive_matches(rules[i], path) && (n > best || (n == best && is_allow[i]))) {
                    best = n;
                    expected = is_allow[i];
                }
            }
            if (robots_allows(robots, path, strlen(path), NULL) != expected) {
                CU_FAIL("differs from the model");
                (void)fprintf(stderr, "%s\n%s\n", buffer_string(&file), path);
            }
        }
        robots_delete(robots);
        buffer_destroy(&file);
    }
}

UNIT_MAIN("robots", {"the longest match decides", the_longest_match_decides},
          {"the verdict names its line", the_verdict_names_its_line},
          {"groups of one agent are merged", groups_of_one_agent_are_merged},
          {"lines may be written badly", lines_may_be_written_badly},
          {"each line may end otherwise", each_line_may_end_otherwise},
          {"a group by name takes the place of the others",
           a_group_by_name_takes_the_place_of_the_others},
          {"escapes are compared by meaning", escapes_are_compared_by_meaning},
          {"wildcards match leftmost and anchors hold", wildcards_match_leftmost_and_anchors_hold},
          {"the index page stands for its folder", the_index_page_stands_for_its_folder},
          {"robots.txt itself is always allowed", robots_txt_itself_is_always_allowed},
          {"a delay belongs to the agents above it", a_delay_belongs_to_the_agents_above_it},
          {"a Request-rate is the delay that it comes to",
           a_request_rate_is_the_delay_that_it_comes_to},
          {"sitemaps belong to the file", sitemaps_belong_to_the_file},
          {"what lies beyond 500 KiB is not read", what_lies_beyond_500_kib_is_not_read},
          {"long paths and hostile rules cost linear time",
           long_paths_and_hostile_rules_cost_linear_time},
          {"decisions cost what is allowed and no more",
           decisions_cost_what_is_allowed_and_no_more},
          {"a file that rests may cost again", a_file_that_rests_may_cost_again},
          {"the same rule again is one rule", the_same_rule_again_is_one_rule},
          {"an Allow rule that is not decided does not allow",
           an_allow_rule_that_is_not_decided_does_not_allow},
          {"many exact paths cost little", many_exact_paths_cost_little},
          {"verdicts equal a naive matcher", verdicts_equal_a_naive_matcher})
