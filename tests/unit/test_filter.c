#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "parse/filter/filter.h"
#include "parse/filter/filter_atom.h"
#include "unit.h"

static Result read_hosts(void *context, const char *path, Buffer *out)
{
    if (strcmp(path, "hosts.txt") != 0) {
        return RESULT_IO;
    }
    return buffer_append_string(out, context);
}

/* Compiles what must be right. */
static Filter *compile(const char *text)
{
    static char hosts[] = "# comment\n\n a.test \nB.test.\nhttps://c.test/x\nb\xC3\xBC"
                          "cher.test\r\n";
    FilterOptions options = {
        .available = FILTER_HAS_ALL, .read_file = read_hosts, .context = hosts};
    Filter *filter = NULL;
    FilterError error;
    Result rc = filter_compile(&filter, text, strlen(text), &options, &error);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "%s: column %zu: %s\n", text, error.column, error.message);
    }
    CU_ASSERT_EQUAL_FATAL(rc, RESULT_OK);
    return filter;
}

static bool matches_input(const char *text, FilterInput *input, const char *url_text)
{
    Filter *filter = compile(text);
    FilterScratch *scratch = NULL;
    Url url;
    url_init(&url);
    CU_ASSERT_EQUAL_FATAL(filter_scratch_new(&scratch), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(url_parse(&url, NULL, url_text, strlen(url_text)), RESULT_OK);
    input->url = &url;
    bool value = filter_matches(filter, input, scratch);
    url_destroy(&url);
    filter_scratch_delete(scratch);
    filter_delete(filter);
    return value;
}

typedef struct Case {
    const char *filter;
    const char *url;
    bool expect;
} Case;

static void check_cases(const Case *cases, size_t n, const FilterInput *about)
{
    for (size_t i = 0; i < n; i++) {
        FilterInput input = *about;
        bool value = matches_input(cases[i].filter, &input, cases[i].url);
        if (value != cases[i].expect) {
            (void)fprintf(stderr, "%s on %s\n", cases[i].filter, cases[i].url);
        }
        CU_ASSERT_EQUAL(value, cases[i].expect);
    }
}

#define CHECK(cases, ...)                                                                          \
    check_cases(cases, sizeof(cases) / sizeof *(cases), &(FilterInput){__VA_ARGS__})

static void operators_bind_as_documented(void)
{
    static const Case cases[] = {
        {"true", "http://h/", true},
        {"FALSE", "http://h/", false},
        {"not true", "http://h/", false},
        {"not not true", "http://h/", true},
        {"!~\xC2\xAC true", "http://h/", false},
        {"(true)", "http://h/", true},
        {"not (not true)", "http://h/", true},
        {"not(false or false)", "http://h/", true},
        {"true or false and false", "http://h/", true},
        {"(true or false) and false", "http://h/", false},
        {"false and true or true", "http://h/", true},
        {"not false and false", "http://h/", false},
        {"not (false and false)", "http://h/", true},
        {"true and not false or false", "http://h/", true},
        {"false|true&false||true", "http://h/", true},
        {"true && true \xE2\x88\xA7 false", "http://h/", false},
        {"false \xE2\x88\xA8 true", "http://h/", true},
        {"NOT false AND true OR false", "http://h/", true},
        {"((((true))))and(((false)))", "http://h/", false},
        {"HostEquals(h)and not HostEquals(g)", "http://h/", true},
    };
    CHECK(cases, .url = NULL);
}

/* Random expressions against a recursive evaluation of the same tree. */
static bool grow_tree(uint64_t *state, unsigned depth, Buffer *out)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    unsigned choice = (unsigned)(*state >> 40) % (depth == 0 ? 2 : 6);
    bool left = false;
    bool right = false;
    switch (choice) {
    case 0:
        (void)buffer_append_string(out, "true");
        return true;
    case 1:
        (void)buffer_append_string(out, "HostEquals(none)");
        return false;
    case 2:
        (void)buffer_append_string(out, "not (");
        left = grow_tree(state, depth - 1, out);
        (void)buffer_append_string(out, ")");
        return !left;
    default:
        (void)buffer_append_string(out, "(");
        left = grow_tree(state, depth - 1, out);
        (void)buffer_append_string(out, choice == 3 ? ") and (" : ") | (");
        right = grow_tree(state, depth - 1, out);
        (void)buffer_append_string(out, ")");
        return choice == 3 ? left && right : left || right;
    }
}

static void code_equals_the_tree(void)
{
    uint64_t state = 11;
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    for (int i = 0; i < 2000; i++) {
        buffer_reset(&text);
        bool expect = grow_tree(&state, 6, &text);
        FilterInput input = {.url = NULL};
        CU_ASSERT_EQUAL_FATAL(matches_input(buffer_string(&text), &input, "http://h/"), expect);
    }
    buffer_destroy(&text);
}

static void classic_expressions_mean_what_they_meant(void)
{
#define HOSTS                                                                                      \
    "HostEquals(www.dsi.unimi.it) or (HostEndsWith(.it) and not URLMatchesRegex(.*vigna.*))"
#define PATHS "PathEndsWithOneOf(html,htm,php) and not PathEndsWithOneOf(mahtml)"
#define MANUAL                                                                                     \
    "( SchemeEquals(http) or SchemeEquals(https) ) and HostEndsWithOneOf(.it\\,.fr) and not "      \
    "PathEndsWithOneOf(.pdf\\,.jpg\\,.css) and URLShorterThan(48) and "                            \
    "DuplicateSegmentsLessThan(3)"
    static const Case cases[] = {
        {HOSTS, "http://www.dsi.unimi.it/index.php", true},
        {HOSTS, "http://www.foo.it/index.php", true},
        {HOSTS, "http://www.vigna.foo.it/index.php", false},
        {HOSTS, "http://www.foo.com/index.php", false},
        {PATHS, "http://h/index.php", true},
        {PATHS, "http://h/index.mahtml", false},
        {PATHS, "http://h/index.PHP?sadmdsak", true},
        {PATHS, "http://h/a/b/c/index.jpg", false},
        {MANUAL, "https://a.it/x", true},
        {MANUAL, "https://a.it/x.JPG", false},
        {MANUAL, "https://a.de/x", false},
        {MANUAL, "https://a.fr/a/a/a", false},
        {MANUAL, "https://a.fr/0123456789012345678901234567890123456789", false},
        {"it.unimi.di.law.warc.filters.HostEquals( H )", "http://h/", true},
        {"URLEquals(HTTP://H:80/a/../b)", "http://h/b", true},
        {"URLEquals(http://h/b)", "http://h/c", false},
        {"URLMatchesRegex(.*//.*[0-9][0-9]?[0-9]?\\.[0-9]+.*)", "http://h/?ip=123.123", true},
        {"URLMatchesRegex(vigna)", "http://vigna/", false},
        {"URLContainsRegex(vigna)", "http://vigna/", true},
    };
    CHECK(cases, .url = NULL);
}

static void arguments_may_contain_anything(void)
{
    static const Case cases[] = {
        {"URLMatchesRegex(.*(a|b)c.*)", "http://h/bc", true},
        {"URLMatchesRegex(http://h/\\(\\d+\\))", "http://h/(12)", true},
        {"URLMatchesRegex(http://h/[(]x)", "http://h/(x", true},
        {"URLMatchesRegex(http://h/[])(]+)", "http://h/)(]", true},
        {"URLContainsRegex(\"[)(]\\d{1,2}\")", "http://h/)12", true},
        {"URLContainsRegex('[)]\\d')", "http://h/)1", true},
        {"URLContainsRegex(\"a\\\"b|[)]\\\\d\")", "http://h/)1", true},
        {"URLContainsRegex(\"[)]\\\\\\\\d\")", "http://h/)1", false},
        {"URLContainsOneOf(\"a,b\", c)", "http://h/a,b", true},
        {"URLContainsOneOf(\"a,b\", c)", "http://h/a", false},
        {"URLContainsOneOf( 'x)' , \"(y\" )", "http://h/(y", true},
        {"URLContainsOneOf(submit?\\,/wp-json/,xmlrpc.php)", "http://h/wp-json/", true},
        {"URLContainsRegex(.{3},x) or URLContainsRegex(,y)", "http://h/abc,x", true},
        {"URLContainsOneOf(\"\")", "http://h/", true},
    };
    CHECK(cases, .url = NULL);
}

static void what_is_quoted_comes_back(void)
{
    static const char text[] = "a\"b\\\"c\\\\\"')(,\\";
    static const char expression[] = "DigestEquals(\"a\\\"b\\\\\\\"c\\\\\\\\\\\"')(,\\\\\")";
    FilterInput input = {.digest = text};
    CU_ASSERT_TRUE(matches_input(expression, &input, "http://h/"));
}

static void atoms_on_the_url(void)
{
    static const Case cases[] = {
        {"HostEqualsOneOf(a, B.Test)", "http://b.test/", true},
        {"HostEquals(b\xC3\xBC"
         "cher.de)",
         "http://xn--bcher-kva.de/", true},
        {"HostEndsWith(.\xD1\x80\xD1\x84)", "http://a.xn--p1ai/", true},
        {"HostEndsWith(est)", "http://b.test/", true},
        {"HostInDomain(example.org)", "http://a.example.org/", true},
        {"HostInDomain(example.org)", "http://anexample.org/", false},
        {"HostIsAddress()", "http://127.1/", true},
        {"HostIsAddress( )", "http://h/", false},
        {"RegisteredDomainIs(example.co.uk)", "http://a.b.example.co.uk/", true},
        {"RegisteredDomainIs(co.uk)", "http://a.b.example.co.uk/", false},
        {"PortIsOneOf(443, 8000-8999)", "https://h/", true},
        {"PortIsOneOf(443, 8000-8999)", "http://h:8080/", true},
        {"PortIsOneOf(443, 8000-8999)", "http://h/", false},
        {"PathStartsWithOneOf(/a, /b/)", "http://h/b/c", true},
        {"PathStartsWithOneOf(/a, /b/)", "http://h/b", false},
        {"PathDepthLessThan(2)", "http://h/b/", true},
        {"PathDepthLessThan(2)", "http://h/b/c", false},
        {"ExtensionIsOneOf(pdf, .JPG)", "http://h/x.y.jpg?z", true},
        {"ExtensionIsOneOf(pdf)", "http://h/x.pdf/y", false},
        {"ExtensionIsOneOf(org)", "http://x.org/", false},
        {"HasQuery()", "http://h/?a", true},
        {"HasQuery()", "http://h/?", false},
        {"QueryContainsOneOf(sid=)", "http://h/sid=?x", false},
        {"QueryContainsOneOf(sid=)", "http://h/?x&sid=1", true},
        {"HasParameter(a b, c)", "http://h/?x=1&a+b=2", true},
        {"HasParameter(a b, c)", "http://h/?%63", true},
        {"HasParameter(a b, c)", "http://h/?d=c&ca=1", false},
        {"ParameterIs(sort, asc, desc)", "http://h/?sort=desc", true},
        {"ParameterIs(sort, asc, desc)", "http://h/?sort=&desc=sort", false},
        {"ParametersLessThan(2)", "http://h/?a&&", true},
        {"ParametersLessThan(2)", "http://h/?a&b", false},
        {"HostInFile(hosts.txt)", "http://a.test/", true},
        {"HostInFile(hosts.txt)", "http://b.test./", true},
        {"HostInFile(hosts.txt)", "http://c.test/", true},
        {"HostInFile(hosts.txt)",
         "http://B\xC3\xBC"
         "cher.test/",
         true},
        {"HostInFile(hosts.txt)", "http://x.a.test/", false},
        {"DomainInFile(hosts.txt)", "http://x.a.test/", true},
        {"DomainInFile(hosts.txt)", "http://xa.test/", false},
    };
    CHECK(cases, .url = NULL);
}

static void atoms_on_the_link(void)
{
    static const Case cases[] = {
        {"SameHost()", "http://a.example.com/b", true},
        {"SameHost()", "http://b.example.com/", false},
        {"SameRegisteredDomain()", "http://b.example.com/", true},
        {"SameRegisteredDomain()", "http://example.org/", false},
        {"DepthAtMost(3)", "http://h/", true},
        {"DepthAtMost(2)", "http://h/", false},
    };
    Url source;
    url_init(&source);
    CU_ASSERT_EQUAL(url_parse(&source, NULL, "https://a.example.com:81/", 25), RESULT_OK);
    CHECK(cases, .source = &source, .has_depth = true, .depth = 3);
    url_destroy(&source);
}

static void atoms_on_the_response(void)
{
    static const Case cases[] = {
        {"IsHttpResponse()", "http://h/", true},
        {"StatusCategory(4)", "http://h/", true},
        {"StatusCategory(2)", "http://h/", false},
        {"StatusIsOneOf(200, 400-403)", "http://h/", false},
        {"StatusIsOneOf(200, 400-404)", "http://h/", true},
        {"ContentTypeStartsWith(text/)", "http://h/", true},
        {"ContentTypeStartsWith(html)", "http://h/", false},
        {"MIMEIsOneOf(image/*, text/html)", "http://h/", true},
        {"MIMEIsOneOf(text/*)", "http://h/", true},
        {"MIMEIsOneOf(text)", "http://h/", false},
        {"SizeLessThan(1Ki)", "http://h/", true},
        {"SizeLessThan(9)", "http://h/", false},
        {"IsProbablyBinary()", "http://h/", true},
        {"ResponseMatches(a.*c)", "http://h/", false},
        {"ResponseMatches(a.*)", "http://h/", true},
        {"ResponseContainsRegex(\\x00d)", "http://h/", true},
        {"DigestEquals(sha1:ABCD)", "http://h/", true},
        {"DigestEquals(abce)", "http://h/", false},
    };
    static const char body[] = "ab\0\0c\0d..";
    CHECK(cases, .status = 404, .content_type = "Text/HTML; charset=x", .has_body = true,
          .body = body, .body_length = 9, .digest = "bubing:abcd");
}

static void what_is_absent_is_false(void)
{
    static const char *const atoms[] = {"SameHost()",
                                        "SameRegisteredDomain()",
                                        "DepthAtMost(9)",
                                        "IsHttpResponse()",
                                        "StatusIsOneOf(0-999)",
                                        "StatusCategory(0)",
                                        "MIMEIsOneOf(a/*)",
                                        "ContentTypeStartsWith(t)",
                                        "SizeLessThan(9G)",
                                        "IsProbablyBinary()",
                                        "ResponseContainsRegex(.*)",
                                        "ResponseMatches(.*)",
                                        "DigestEquals(0)",
                                        "HasQuery()",
                                        "ExtensionIsOneOf(x)"};
    for (size_t i = 0; i < sizeof atoms / sizeof *atoms; i++) {
        FilterInput input = {.url = NULL};
        CU_ASSERT_FALSE(matches_input(atoms[i], &input, "http://h/"));
    }
}

static void errors_say_where_and_what(void)
{
    static const struct {
        const char *text;
        size_t column;
        const char *message; /* a part of it */
        const char *hint;
    } cases[] = {
        {"", 1, "expected an atom", ""},
        {"true and", 9, "not the end", ""},
        {"true true", 6, "expected 'and', 'or' or the end, not 'true'", ""},
        {"and true", 1, "not 'and'", ""},
        {"(true", 1, "never closed", ""},
        {"(true or (false)", 1, "never closed", ""},
        {"true)", 5, "closes nothing", ""},
        {"()", 2, "expected an atom", ""},
        {"HostEqual(a)", 1, "unknown atom 'HostEqual'", "did you mean HostEquals?"},
        {"true or hostequals(a)", 9, "unknown atom", "did you mean HostEquals?"},
        {"Nonsense(a)", 1, "unknown atom", ""},
        {"\xE2\x88\xA7", 1, "not '\xE2\x88\xA7'", ""},
        {"true \xE2\x88\xA7 \xC3\xA9", 8, "not '\xC3\xA9'", ""},
        {"HostEquals", 11, "expected '(' after HostEquals, not the end", ""},
        {"HostEquals a", 12, "expected '('", ""},
        {"HostEquals()", 12, "expected a host name", ""},
        {"usage(\"trian\")", 7, "expected a usage (train-ai,", ""},
        {"not UsageDenied(search, nothing)", 25, "expected a usage (train-ai,", ""},
        {"HostEquals(a", 11, "never closed", ""},
        {"HostEquals(\"a)", 12, "quote is never closed", ""},
        {"HostEquals(\"a\" b)", 16, "expected ')'", ""},
        {"HostEquals(a b)", 12, "expected a host name", ""},
        {"HostEqualsOneOf(a,,b)", 19, "expected host names", ""},
        {"HostEqualsOneOf(a,)", 19, "expected host names", ""},
        {"SameHost(a)", 10, "takes no arguments", ""},
        {"URLShorterThan(x)", 16, "expected a number", ""},
        {"URLShorterThan(12x)", 16, "expected a number", ""},
        {"DuplicateSegmentsLessThan(1)", 27, "at least 2", ""},
        {"SizeLessThan(1X)", 14, "expected a size", ""},
        {"StatusIsOneOf(300-200)", 15, "range", ""},
        {"ParameterIs(a)", 14, "a value", ""},
        {"URLEquals(mailto:x)", 11, "http", ""},
        {"URLMatchesRegex(a(b)", 16, "never closed", ""},
        {"URLMatchesRegex(\"a(b\")", 21, "regular expression: missing closing", ""},
        {"URLMatchesRegex(*a)", 17, "regular expression: quantifier", ""},
        {"HostInFile(none.txt)", 12, "none.txt: ", ""},
    };
    FilterOptions options = {.available = FILTER_HAS_ALL, .read_file = read_hosts};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Filter *filter = NULL;
        FilterError error;
        Result rc = filter_compile(&filter, cases[i].text, strlen(cases[i].text), &options, &error);
        bool right = rc != RESULT_OK && filter == NULL && error.column == cases[i].column &&
                     strstr(error.message, cases[i].message) != NULL &&
                     strcmp(error.hint, cases[i].hint) == 0;
        if (!right) {
            (void)fprintf(stderr, "%s: column %zu: %s (%s)\n", cases[i].text, error.column,
                          error.message, error.hint);
        }
        CU_ASSERT(right);
    }
}

static void hooks_refuse_what_they_cannot_know(void)
{
    FilterOptions options = {.available = FILTER_HAS_SOURCE};
    Filter *filter = NULL;
    FilterError error;
    CU_ASSERT_EQUAL(
        filter_compile(&filter, "SameHost() and StatusCategory(2)", 32, &options, &error),
        RESULT_INVALID);
    CU_ASSERT_EQUAL(error.column, 16);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "needs a response"));
    CU_ASSERT_EQUAL(filter_compile(&filter, "HostInFile(hosts.txt)", 21, &options, &error),
                    RESULT_INVALID);
    CU_ASSERT_EQUAL(filter_compile(&filter, "SameHost()", 10, &options, &error), RESULT_OK);
    filter_delete(filter);
}

static void bad_host_files_name_the_line(void)
{
    static char hosts[] = "a.test\n\nb c\n";
    FilterOptions options = {.available = 0, .read_file = read_hosts, .context = hosts};
    Filter *filter = NULL;
    FilterError error;
    CU_ASSERT_EQUAL(filter_compile(&filter, "HostInFile(hosts.txt)", 21, &options, &error),
                    RESULT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "hosts.txt:3"));
}

static void explanations_name_the_atoms_that_decided(void)
{
    Filter *filter = compile("HostEquals( a ) or not HasQuery() and TRUE or SameHost()");
    FilterScratch *scratch = NULL;
    Url url;
    Buffer reason;
    bool value = false;
    url_init(&url);
    buffer_init(&reason, 200);
    CU_ASSERT_EQUAL_FATAL(filter_scratch_new(&scratch), RESULT_OK);
    CU_ASSERT_EQUAL(url_parse(&url, NULL, "http://h/", 9), RESULT_OK);
    FilterInput input = {.url = &url};
    CU_ASSERT_EQUAL(filter_explain(filter, &input, scratch, &value, &reason), RESULT_OK);
    CU_ASSERT_TRUE(value);
    CU_ASSERT_STRING_EQUAL(buffer_string(&reason), "HostEquals( a ) false, HasQuery() false");
    buffer_destroy(&reason);
    url_destroy(&url);
    filter_scratch_delete(scratch);
    filter_delete(filter);
}

static void runaway_expressions_are_given_up(void)
{
    Filter *filter = compile("URLMatchesRegex(http://h/(a+)+[xy]) or HostEquals(h)");
    FilterScratch *scratch = NULL;
    Url url;
    char text[2000];
    memset(text, 'a', sizeof text);
    memcpy(text, "http://h/", 9);
    url_init(&url);
    CU_ASSERT_EQUAL_FATAL(filter_scratch_new(&scratch), RESULT_OK);
    CU_ASSERT_EQUAL(url_parse(&url, NULL, text, sizeof text), RESULT_OK);
    FilterInput input = {.url = &url};
    int64_t start = cpu_thread_ns();
    CU_ASSERT_TRUE(filter_matches(filter, &input, scratch));
    CU_ASSERT(cpu_thread_ns() - start < INT64_C(3000000000));
    CU_ASSERT_EQUAL(filter_scratch_given_up(scratch), 1);
    CU_ASSERT_EQUAL(url_parse(&url, NULL, "http://h/aaax", 13), RESULT_OK);
    CU_ASSERT_TRUE(filter_matches(filter, &input, scratch));
    CU_ASSERT_EQUAL(filter_scratch_given_up(scratch), 1);
    url_destroy(&url);
    filter_scratch_delete(scratch);
    filter_delete(filter);
}

static void depth_and_length_cost_no_stack(void)
{
    const size_t n = 200000;
    char *text = malloc(2 * n + 100);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, '(', n);
    memcpy(text + n, "true", 4);
    memset(text + n + 4, ')', n);
    text[2 * n + 4] = '\0';
    FilterInput input = {.url = NULL};
    CU_ASSERT_TRUE(matches_input(text, &input, "http://h/"));
    memset(text, '!', n);
    memcpy(text + n, "true", 5);
    CU_ASSERT_TRUE(matches_input(text, &input, "http://h/"));
    Buffer list;
    buffer_init(&list, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&list, "HostEqualsOneOf(h0");
    for (unsigned i = 1; i < 50000; i++) {
        (void)buffer_printf(&list, ",h%u", i);
    }
    (void)buffer_append_string(&list, ")");
    CU_ASSERT_TRUE(matches_input(buffer_string(&list), &input, "http://h49999/"));
    CU_ASSERT_FALSE(matches_input(buffer_string(&list), &input, "http://h50000/"));
    buffer_destroy(&list);
    free(text);
}

static void a_million_hosts_are_found_by_hash(void)
{
    const unsigned n = 1000000;
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    for (unsigned i = 0; i < n; i++) {
        (void)buffer_printf(&text, "host%u.example%u.test\n", i, i % 977);
    }
    Map set;
    map_init(&set);
    size_t line = 0;
    int64_t start = cpu_thread_ns();
    CU_ASSERT_EQUAL_FATAL(filter_set_read(&set, text.data, text.length, &line), RESULT_OK);
    size_t found = 0;
    size_t wrong = 0;
    for (unsigned i = 0; i < n; i += 7) {
        char host[64];
        int length = snprintf(host, sizeof host, "host%u.example%u.test", i, i % 977);
        found += filter_set_contains(&set, host, (size_t)length);
        length = snprintf(host, sizeof host, "host%u.example%u.test", i, i % 977 + 1);
        wrong += filter_set_contains(&set, host, (size_t)length);
    }
    CU_ASSERT_EQUAL(found, (n + 6) / 7);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(cpu_thread_ns() - start < INT64_C(10000000000));
    map_destroy(&set);
    buffer_destroy(&text);
}

static void *evaluate_many(void *argument)
{
    const Filter *filter = argument;
    FilterScratch *scratch = NULL;
    Url url;
    url_init(&url);
    size_t wrong = filter_scratch_new(&scratch) != RESULT_OK;
    for (int i = 0; wrong == 0 && i < 2000; i++) {
        char text[64];
        int n = snprintf(text, sizeof text, "http://h%d.test/%d", i % 3, i);
        wrong += url_parse(&url, NULL, text, (size_t)n) != RESULT_OK;
        FilterInput input = {.url = &url};
        wrong += filter_matches(filter, &input, scratch) != (i % 3 == 1 && i % 10 == 7);
    }
    url_destroy(&url);
    filter_scratch_delete(scratch);
    return wrong == 0 ? NULL : argument;
}

static void threads_share_a_filter(void)
{
    Filter *filter = compile("HostEquals(h1.test) and URLContainsRegex(7$)");
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, evaluate_many, filter), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        void *failed = NULL;
        CU_ASSERT_EQUAL(pthread_join(threads[i], &failed), 0);
        CU_ASSERT_PTR_NULL(failed);
    }
    filter_delete(filter);
}

UNIT_MAIN("filter", {"operators bind as documented", operators_bind_as_documented},
          {"code equals the tree", code_equals_the_tree},
          {"classic expressions mean what they meant", classic_expressions_mean_what_they_meant},
          {"arguments may contain anything", arguments_may_contain_anything},
          {"what is quoted comes back", what_is_quoted_comes_back},
          {"atoms on the URL", atoms_on_the_url}, {"atoms on the link", atoms_on_the_link},
          {"atoms on the response", atoms_on_the_response},
          {"what is absent is false", what_is_absent_is_false},
          {"errors say where and what", errors_say_where_and_what},
          {"hooks refuse what they cannot know", hooks_refuse_what_they_cannot_know},
          {"bad host files name the line", bad_host_files_name_the_line},
          {"explanations name the atoms that decided", explanations_name_the_atoms_that_decided},
          {"runaway expressions are given up", runaway_expressions_are_given_up},
          {"depth and length cost no stack", depth_and_length_cost_no_stack},
          {"a million hosts are found by hash", a_million_hosts_are_found_by_hash},
          {"threads share a filter", threads_share_a_filter})
