/* Lines of robots.txt: what parsers in use agree on, and any bytes beside a naive splitter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "parse/robots/robots_line.h"
#include "parse/robots/robots_types.h"
#include "unit.h"

#define SEED   20261128u
#define ROUNDS 4000u

static void each_line_says_what_parsers_agree_on(void)
{
    static const struct {
        const char *line;
        RobotsLineKind kind;
        const char *value;
    } rows[] = {
        {"Disallow: /x", ROBOTS_LINE_DISALLOW, "/x"},
        {" DISALLOW\t:\t/x y # z", ROBOTS_LINE_DISALLOW, "/x y"},
        {"Disallow:", ROBOTS_LINE_DISALLOW, ""},
        {"disallow /x", ROBOTS_LINE_DISALLOW, "/x"},
        {"disallow /x y", ROBOTS_LINE_OTHER, ""},
        {"disallow", ROBOTS_LINE_OTHER, ""},
        {"dissalow: /x:y", ROBOTS_LINE_DISALLOW, "/x:y"},
        {"Allow:/#x", ROBOTS_LINE_ALLOW, "/"},
        {"#Allow: /", ROBOTS_LINE_OTHER, ""},
        {": /x", ROBOTS_LINE_OTHER, "/x"},
        {":", ROBOTS_LINE_OTHER, ""},
        {"User Agent: a", ROBOTS_LINE_AGENT, "a"},
        {"User-Agents: a", ROBOTS_LINE_OTHER, "a"},
        {"Crawl-delay: 5", ROBOTS_LINE_DELAY, "5"},
        {"Request-rate: 1/5", ROBOTS_LINE_RATE, "1/5"},
        {"Visit-time: 0600-0845", ROBOTS_LINE_HOURS, "0600-0845"},
        {"Sitemap: http://a/s.xml", ROBOTS_LINE_SITEMAP, "http://a/s.xml"},
        {"https://a/SiteMap.xml", ROBOTS_LINE_SITEMAP, "https://a/SiteMap.xml"},
        {"https://a/page.xml", ROBOTS_LINE_OTHER, "//a/page.xml"},
        {"https://a/sitemap b", ROBOTS_LINE_OTHER, "//a/sitemap b"},
        {"Content-Signal: search=yes", ROBOTS_LINE_USAGE, "search=yes"},
        {"License: http://a/l", ROBOTS_LINE_LICENCE, "http://a/l"},
        {"LLMs: http://a/llms.txt", ROBOTS_LINE_FILE, "http://a/llms.txt"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        RobotsReader reader;
        RobotsLine line = {.kind = ROBOTS_LINE_OTHER};
        robots_reader_init(&reader, rows[i].line, strlen(rows[i].line));
        CU_ASSERT_TRUE(robots_reader_next(&reader, &line));
        if (line.kind != rows[i].kind || line.value_length != strlen(rows[i].value) ||
            memcmp(line.value, rows[i].value, line.value_length) != 0) {
            (void)fprintf(stderr, "'%s': %d '%.*s'\n", rows[i].line, (int)line.kind,
                          (int)line.value_length, line.value);
            CU_FAIL("another line");
        }
        CU_ASSERT_FALSE(robots_reader_next(&reader, &line));
    }
}

/* Where the naive splitter's next line ends; *next: behind its end. */
static size_t naive_end(const char *body, size_t at, size_t length, size_t *next)
{
    while (at < length && body[at] != '\n' && body[at] != '\r') {
        at++;
    }
    *next = at < length ? at + 1 : at;
    *next += at + 1 < length && body[at] == '\r' && body[at + 1] == '\n';
    return at;
}

static void lines_are_those_of_a_naive_splitter(void)
{
    static const char alphabet[] = "\r\n\r\n\r\n#: \t\0aD/x\xEF\xBB\xBF";
    Dice dice = {SEED};
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t length = dice_below(&dice, 60);
        char *body = malloc(length + (length == 0)); /* a read behind it is seen */
        for (size_t i = 0; i < length; i++) {
            body[i] = alphabet[dice_below(&dice, sizeof alphabet - 1)];
        }
        size_t at = 0;
        while (at < length && at < 3 && body[at] == "\xEF\xBB\xBF"[at]) {
            at++;
        }
        RobotsReader reader;
        RobotsLine line;
        unsigned number = 0;
        robots_reader_init(&reader, body, length);
        while (robots_reader_next(&reader, &line)) {
            size_t next = 0;
            size_t end = naive_end(body, at, length, &next);
            number++;
            bool fits = line.number == number && line.text >= body + at &&
                        line.text + line.text_length <= body + end && line.value >= body + at &&
                        line.value + line.value_length <= body + end &&
                        memchr(line.text, '#', line.text_length) == NULL;
            if (!fits) {
                (void)fprintf(stderr, "seed %u round %u line %u\n", SEED, round, number);
            }
            CU_ASSERT_TRUE(fits);
            at = next;
        }
        CU_ASSERT_EQUAL(at, length);
        free(body);
    }
}

static void a_line_that_crosses_the_bound_is_dropped(void)
{
    size_t length = ROBOTS_MAX_BYTES + 10;
    char *body = malloc(length);
    memset(body, 'x', length);
    RobotsReader reader;
    RobotsLine line;
    robots_reader_init(&reader, body, length);
    CU_ASSERT_FALSE(robots_reader_next(&reader, &line));
    body[100] = '\r';
    body[ROBOTS_MAX_BYTES - 1] = 'x';
    robots_reader_init(&reader, body, length);
    CU_ASSERT_TRUE(robots_reader_next(&reader, &line) && line.text_length == 100);
    CU_ASSERT_FALSE(robots_reader_next(&reader, &line));
    robots_reader_init(&reader, NULL, 0);
    CU_ASSERT_FALSE(robots_reader_next(&reader, &line));
    free(body);
}

static void an_agent_is_a_token_or_everybody(void)
{
    static const struct {
        const char *value;
        size_t token;
        bool any;
    } rows[] = {{"", 0, false},     {"*", 0, true},     {"* ", 0, true},
                {"*<x", 0, true},   {"*bot", 0, false}, {"Ragno_1-x/2", 9, false},
                {"a b", 1, false},  {"-", 1, false},    {"\xC3\xA9", 0, false},
                {"bot*", 3, false}, {"<*>", 0, false},  {"Z9.", 2, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = strlen(rows[i].value);
        CU_ASSERT_EQUAL(robots_token_length(rows[i].value, length), rows[i].token);
        CU_ASSERT_EQUAL(robots_is_any_agent(rows[i].value, length), rows[i].any);
    }
}

UNIT_MAIN("robots_line",
          {"each line says what parsers agree on", each_line_says_what_parsers_agree_on},
          {"lines are those of a naive splitter", lines_are_those_of_a_naive_splitter},
          {"a line that crosses the bound is dropped", a_line_that_crosses_the_bound_is_dropped},
          {"an agent is a token or everybody", an_agent_is_a_token_or_everybody})
