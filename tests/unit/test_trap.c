#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "parse/trap.h"
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

static uint64_t hash(const char *body)
{
    return trap_content_hash(body, strlen(body));
}

static void sessions_do_not_change_the_content_hash(void)
{
    CU_ASSERT_EQUAL(hash("<a href='?sid=0123abcd'>1"), hash("<a href='?sid=ffffffffffff9'>1"));
    CU_ASSERT_NOT_EQUAL(hash("<a href='?sid=0123abcd'>1"), hash("<a href='?sid=0123abcd'>2"));
    CU_ASSERT_NOT_EQUAL(hash("1234567"), hash("1234568"));
    CU_ASSERT_NOT_EQUAL(hash("deadbeef"), hash("feedbeef"));
    CU_ASSERT_NOT_EQUAL(hash("x12345678"), hash("x12345679"));
    CU_ASSERT_NOT_EQUAL(hash("12345678x"), hash("12345679x"));
    CU_ASSERT_NOT_EQUAL(hash(""), 0);
    CU_ASSERT_NOT_EQUAL(hash("12345678"), hash("12345679"));
    CU_ASSERT_EQUAL(hash("1234567a"), hash("1234567b"));
}

UNIT_MAIN("trap",
          {"sessions do not change the content hash", sessions_do_not_change_the_content_hash},
          {"tandem repeats are found", tandem_repeats_are_found},
          {"the search equals the definition", the_search_equals_the_definition},
          {"endless paths take little time", endless_paths_take_little_time},
          {"depth and parameters are counted", depth_and_parameters_are_counted},
          {"patterns generalise what generators vary", patterns_generalise_what_generators_vary})
