#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "parse/trap/trap.h"
#include "unit.h"

static bool repeats(const char *path, unsigned times)
{
    return trap_repeats(path, strlen(path), times);
}

static void tandem_repeats_are_found(void)
{
    static const char *const with[] = {
        "/x/x/x",        "/p/x/x/x/q",   "/a/b/a/b/a/b",         "/z/a/b/a/b/a/b/y",
        "/b/a/b/a/b/a/", "/x/y/x/y/y/y", "/a/b/c/a/b/c/a/b/c/d", "/foo/bar/foo/bar/foo/bar"};
    static const char *const without[] = {"/",        "/x",           "/x/x",      "/x/x/",
                                          "/x/x/y/x", "/a/b/a/b/a/c", "/xxx/xx/x", "/a/b/a/b/b/a/"};
    for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
        CU_ASSERT_TRUE(repeats(with[i], 3));
    }
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        CU_ASSERT_FALSE(repeats(without[i], 3));
    }
    CU_ASSERT_TRUE(repeats("/x/x", 2));
    CU_ASSERT_FALSE(repeats("/x/x/x", 4));
    CU_ASSERT_FALSE(repeats("/x/x/x", 1));
    CU_ASSERT_TRUE(repeats("//", 2) == false);
    CU_ASSERT_TRUE(repeats("///", 2));
}

/* Compares with the definition on random paths over few segments. */
static void the_search_equals_the_definition(void)
{
    uint64_t state = 3;
    for (int round = 0; round < 20000; round++) {
        char path[64];
        size_t n = 0;
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t bits = state >> 16;
        size_t segments = 1 + bits % 24;
        bits /= 24;
        char letters[32];
        for (size_t i = 0; i < segments; i++) {
            letters[i] = (char)('a' + (bits & 1));
            bits >>= 1;
            path[n++] = '/';
            path[n++] = letters[i];
        }
        for (unsigned times = 2; times <= 4; times++) {
            bool expect = false;
            for (size_t p = 1; p * times <= segments; p++) {
                for (size_t start = 0; start + p * times <= segments; start++) {
                    expect = expect ||
                             memcmp(letters + start, letters + start + p, p * (times - 1)) == 0;
                }
            }
            CU_ASSERT_EQUAL_FATAL(trap_repeats(path, n, times), expect);
        }
    }
}

static void endless_paths_take_little_time(void)
{
    const size_t n = 1000000;
    char *path = malloc(n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    for (size_t i = 0; i < n; i++) {
        path[i] = i % 2 == 0 ? '/' : __builtin_parityll(i / 2) != 0 ? 'b' : 'a';
    }
    int64_t start = cpu_thread_ns();
    for (int i = 0; i < 100; i++) {
        CU_ASSERT_FALSE(trap_repeats(path, n, 3)); /* the Thue-Morse word has no cubes */
    }
    CU_ASSERT(cpu_thread_ns() - start < INT64_C(2000000000));
    free(path);
}

static void depth_and_parameters_are_counted(void)
{
    CU_ASSERT_EQUAL(trap_path_depth("/", 1), 0);
    CU_ASSERT_EQUAL(trap_path_depth("/a/b/", 5), 2);
    CU_ASSERT_EQUAL(trap_path_depth("/a//b", 5), 2);
    CU_ASSERT_EQUAL(trap_parameters("", 0), 0);
    CU_ASSERT_EQUAL(trap_parameters("a=1&&b&", 7), 2);
}

static void patterns_generalise_what_generators_vary(void)
{
    static const char *const pairs[][2] = {
        {"http://h2/a/2024/03/17/x-12.html", "http://h2/a/0/0/0/x-0.html"},
        {"http://h/?page=3&sort=asc&page=4&", "http://h/?page=&sort="},
        {"http://h/?b&a=1", "http://h/?a=&b="},
        {"http://h/?", "http://h/"},
        {"http://h/i/550e8400-e29b-41d4-a716-446655440000/v", "http://h/i/x/v"},
        {"http://h/9f86d081884c7d65.js", "http://h/x.js"},
        {"http://h/deadbeef/accede", "http://h/deadbeef/accede"},
        {"http://h/facade2000s/x", "http://h/facade0s/x"},
        {"http://h/a%20b%C3%A9", "http://h/a%20b%C3%A9"},
        {"http://h/?f[12]=x&f[7]=y", "http://h/?f[0]="},
        {"http://h:8080/12345678", "http://h:8080/0"},
    };
    Url url;
    Buffer out;
    url_init(&url);
    buffer_init(&out, 1000);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        buffer_reset(&out);
        CU_ASSERT_EQUAL(url_parse(&url, NULL, pairs[i][0], strlen(pairs[i][0])), RESULT_OK);
        CU_ASSERT_EQUAL(trap_pattern(&url, &out), RESULT_OK);
        CU_ASSERT_STRING_EQUAL(buffer_string(&out), pairs[i][1]);
    }
    buffer_destroy(&out);
    buffer_init(&out, 12);
    (void)buffer_append_string(&out, "kept");
    CU_ASSERT_EQUAL(trap_pattern(&url, &out), RESULT_LIMIT);
    CU_ASSERT_STRING_EQUAL(buffer_string(&out), "kept");
    buffer_destroy(&out);
    url_destroy(&url);
}

static size_t identifier(const char *text)
{
    return trap_identifier(text, text, text + strlen(text));
}

static void identifiers_are_told_from_words_and_numbers(void)
{
    CU_ASSERT_EQUAL(identifier("0123abcd/"), 8);
    CU_ASSERT_EQUAL(identifier("550e8400-e29b-41d4-a716-446655440000/v"), 36);
    CU_ASSERT_EQUAL(identifier("550e8400-e29b-41d4-a716-4466554400001"), 8);
    CU_ASSERT_EQUAL(identifier("rqcv9vk1o4h8mt2m0v2t8jj5k6"), 26);
    static const char *const words[] = {"deadbeef",  "12345678",          "0123abc",
                                        "0123abcdz", "2024march17monday", "photo20240317000001",
                                        "",          "/0123abcd"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        CU_ASSERT_EQUAL(identifier(words[i]), 0);
    }
    const char *text = "x0123abcd";
    CU_ASSERT_EQUAL(trap_identifier(text, text + 1, text + 9), 0); /* inside a word */
}

static void a_set_of_patterns_is_asked_with_urls(void)
{
    static const char *const urls[] = {"http://h/a?x=1", "http://h/b/7", "http://g/a?x=1",
                                       "http://h/c"};
    Url url;
    Buffer text;
    TrapSet *set = NULL;
    url_init(&url);
    buffer_init(&text, 1000);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(url_parse(&url, NULL, urls[i], strlen(urls[i])), RESULT_OK);
        CU_ASSERT_FALSE(trap_set_has(set, &url, &text));
        buffer_reset(&text);
        CU_ASSERT_EQUAL(trap_pattern(&url, &text), RESULT_OK);
        TrapSet *more = trap_set_with(set, hash_128(text.data, text.length));
        trap_set_delete(set);
        set = more;
        CU_ASSERT_EQUAL(trap_set_count(set), i + 1);
        for (size_t k = 0; k <= i; k++) {
            CU_ASSERT_EQUAL(url_parse(&url, NULL, urls[k], strlen(urls[k])), RESULT_OK);
            CU_ASSERT_TRUE(trap_set_has(set, &url, &text));
        }
    }
    CU_ASSERT_EQUAL(url_parse(&url, NULL, "http://h/b/8", 12), RESULT_OK);
    CU_ASSERT_TRUE(trap_set_has(set, &url, &text));
    trap_set_delete(set);
    buffer_destroy(&text);
    url_destroy(&url);
}

UNIT_MAIN("trap",
          {"identifiers are told from words and numbers",
           identifiers_are_told_from_words_and_numbers},
          {"a set of patterns is asked with URLs", a_set_of_patterns_is_asked_with_urls},
          {"tandem repeats are found", tandem_repeats_are_found},
          {"the search equals the definition", the_search_equals_the_definition},
          {"endless paths take little time", endless_paths_take_little_time},
          {"depth and parameters are counted", depth_and_parameters_are_counted},
          {"patterns generalise what generators vary", patterns_generalise_what_generators_vary})
