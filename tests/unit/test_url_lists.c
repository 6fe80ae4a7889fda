/* Domain sets beside a list that is searched from end to end, and expressions with a bound. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "dice.h"
#include "rules/scope/url_lists.h"
#include "unit.h"

#define SEED    20261128u
#define NAMES   12
#define ROUNDS  200
#define LOOKS   50
#define NAME_AT 64

/* One to four labels of one letter or two. */
static void draw_name(Dice *dice, char name[NAME_AT])
{
    static const char *const labels[] = {"a", "b", "ab", "org", "B"};
    size_t n = 1 + dice_below(dice, 4);
    for (size_t at = 0, i = 0; i < n; i++) {
        at += (size_t)snprintf(name + at, NAME_AT - at, "%s%s", i > 0 ? "." : "",
                               labels[dice_below(dice, sizeof labels / sizeof *labels)]);
    }
}

static bool covers(const char *name, const char *host)
{
    size_t n = strlen(name);
    size_t length = strlen(host);
    return length >= n && strcasecmp(host + length - n, name) == 0 &&
           (length == n || host[length - n - 1] == '.');
}

static void a_set_covers_what_a_search_of_the_list_finds(void)
{
    Dice dice = {SEED};
    for (unsigned round = 0; round < ROUNDS; round++) {
        DomainSet set = {.n = 0};
        char names[NAMES][NAME_AT];
        size_t n = dice_below(&dice, NAMES);
        for (size_t i = 0; i < n; i++) {
            draw_name(&dice, names[i]);
            CU_ASSERT_EQUAL_FATAL(domain_set_add(&set, names[i], strlen(names[i])), RESULT_OK);
        }
        for (unsigned look = 0; look < LOOKS; look++) {
            char host[NAME_AT];
            draw_name(&dice, host);
            for (char *c = host; *c != '\0'; c++) {
                *c |= 0x20 * (*c == 'B'); /* hosts of URLs are in lower case */
            }
            size_t longest = 0;
            for (size_t i = 0; i < n; i++) {
                size_t length = strlen(names[i]);
                longest = covers(names[i], host) && length > longest ? length : longest;
            }
            const char *found = domain_set_find(&set, host, strlen(host));
            bool agrees =
                found == NULL ? longest == 0 : strlen(found) == longest && covers(found, host);
            if (!agrees) {
                (void)fprintf(stderr, "seed %u round %u: %s\n", SEED, round, host);
            }
            CU_ASSERT_TRUE(agrees);
        }
        domain_set_destroy(&set);
    }
}

static bool list_has(const char *list, const char *host)
{
    DomainSet set = {.n = 0};
    CU_ASSERT_EQUAL_FATAL(domain_set_parse(&set, list), RESULT_OK);
    bool has = domain_set_find(&set, host, strlen(host)) != NULL;
    domain_set_destroy(&set);
    return has;
}

static void a_list_is_of_words(void)
{
    static const struct {
        const char *list;
        const char *host;
        bool has;
    } rows[] = {
        {"", "a.org", false},
        {" , ,\t", "a.org", false},
        {"a.org,b.org", "b.org", true},
        {" a.org\t b.org ,", "x.b.org", true},
        {"..a.org", "a.org", true},
        {"...", "a.org", false},
        {"...", "", false},
        {"a.org", "", false},
        {"a.org", ".", false},
        {"a.org", ".a.org", true},
        {"A.ORG", "a.org", true},
        {"127.0.0.1", "127.0.0.1", true},
        {"[::1]", "[::1]", true},
        /* The dot of the root says the same host: a link with it must not get around the list. */
        {"a.org", "a.org.", true},
        {"a.org", "x.a.org.", true},
        {"a.org", "ba.org.", false},
        {"a.org.", "a.org", true},
        {"a.org.", "x.a.org.", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (list_has(rows[i].list, rows[i].host) != rows[i].has) {
            (void)fprintf(stderr, "'%s' of '%s'\n", rows[i].host, rows[i].list);
            CU_FAIL("another answer");
        }
    }
}

static void an_expression_is_found_or_runs_into_its_bound(void)
{
    Buffer error = {.limit = 1000};
    UrlRegex *regex = NULL;
    CU_ASSERT_EQUAL(url_regex_compile("", "x", &regex, &error), RESULT_OK);
    CU_ASSERT_PTR_NULL(regex);
    url_regex_delete(regex);
    CU_ASSERT_EQUAL(url_regex_compile("ab(", "scope.x", &regex, &error), RESULT_INVALID);
    CU_ASSERT_PTR_NULL(regex);
    CU_ASSERT_EQUAL(strncmp(buffer_string(&error), "scope.x: column 4: ", 19), 0);
    CU_ASSERT_EQUAL_FATAL(url_regex_compile("b/$", "x", &regex, &error), RESULT_OK);
    CU_ASSERT_TRUE(url_regex_find(regex, "http://b/x", 9, false)); /* of its length, not its NUL */
    CU_ASSERT_FALSE(url_regex_find(regex, "http://b/x", 10, true));
    url_regex_delete(regex);
    CU_ASSERT_EQUAL_FATAL(url_regex_compile("^(a+)+$", "x", &regex, &error), RESULT_OK);
    static const char hostile[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!";
    CU_ASSERT_TRUE(url_regex_find(regex, hostile, sizeof hostile - 1, true));
    CU_ASSERT_FALSE(url_regex_find(regex, hostile, sizeof hostile - 1, false));
    url_regex_delete(regex);
    buffer_destroy(&error);
}

UNIT_MAIN("url_lists",
          {"a set covers what a search of the list finds",
           a_set_covers_what_a_search_of_the_list_finds},
          {"a list is of words", a_list_is_of_words},
          {"an expression is found or runs into its bound",
           an_expression_is_found_or_runs_into_its_bound})
