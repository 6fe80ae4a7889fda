#include <stdio.h>
#include <string.h>

#include "parse/cookie/cookie_jar.h"
#include "unit.h"

static CookiePlace at(const char *host, const char *path, bool https, int64_t now_s)
{
    return (CookiePlace){.host = host,
                         .host_length = strlen(host),
                         .path = path,
                         .path_length = strlen(path),
                         .https = https,
                         .now_s = now_s};
}

static bool take(CookieJar *jar, const char *value, const char *path, bool https)
{
    CookiePlace place = at("www.a.test", path, https, 1000);
    return cookie_jar_take(jar, value, strlen(value), &place);
}

static void expect(const CookieJar *jar, const char *path, bool https, int64_t now_s,
                   const char *expected)
{
    Buffer text;
    CookiePlace place = at("www.a.test", path, https, now_s);
    buffer_init(&text, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(cookie_jar_write(jar, &place, &text), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&text), expected);
    buffer_destroy(&text);
}

static void cookies_come_back(void)
{
    CookieJar *jar = cookie_jar_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(jar);
    expect(NULL, "/", false, 0, "");
    CU_ASSERT_TRUE(take(jar, "a=1", "/", false));
    CU_ASSERT_TRUE(take(jar, " b = two words ; HttpOnly; SameSite=Lax", "/", false));
    CU_ASSERT_TRUE(take(jar, "empty=", "/", false));
    expect(jar, "/x?y", false, 2000, "a=1; b=two words; empty=");
    CU_ASSERT_FALSE(take(jar, "a=1", "/", false)); /* nothing new */
    CU_ASSERT_TRUE(take(jar, "a=2", "/", false));
    expect(jar, "", false, 2000, "b=two words; empty=; a=2");
    CU_ASSERT_FALSE(take(jar, "a=; Max-Age=0", "/", false));
    CU_ASSERT_FALSE(take(jar, "b=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "/", false));
    expect(jar, "/", false, 2000, "empty=");
    CU_ASSERT_EQUAL(cookie_jar_count(jar), 1);
    cookie_jar_delete(jar);
}

static void paths_schemes_and_times_count(void)
{
    CookieJar *jar = cookie_jar_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(jar);
    CU_ASSERT_TRUE(take(jar, "folder=1", "/a/b?c/d", false));
    CU_ASSERT_TRUE(take(jar, "deep=1; path=/a/b", "/", false));
    CU_ASSERT_TRUE(take(jar, "later=1; Path=/; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
                        "/", false));
    CU_ASSERT_TRUE(take(jar, "safe=1; Path=/; Secure", "/", true));
    expect(jar, "/", false, 1009, "later=1");
    expect(jar, "/", false, 1010, "");
    expect(jar, "/", true, 1010, "safe=1");
    expect(jar, "/a/b", false, 1010, "folder=1; deep=1");
    expect(jar, "/a/bc", false, 1010, "folder=1");
    expect(jar, "/a/b/c", false, 1010, "folder=1; deep=1");
    expect(jar, "/ab", false, 1010, "");
    cookie_jar_delete(jar);
}

static void what_is_not_its_own_is_refused(void)
{
    static const char *const bad[] = {"",
                                      "=x",
                                      ";a=b",
                                      "a=b; Domain=b.test",
                                      "a=b; Domain=w.a.test",
                                      "a=b; Secure",
                                      "__Secure-a=1",
                                      "__Host-a=1; Path=/",
                                      "a=b; Domain=ww.a.test",
                                      "a=\x01"};
    CookieJar *jar = cookie_jar_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(jar);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_FALSE(take(jar, bad[i], "/", false));
    }
    CU_ASSERT_FALSE(take(jar, "__Host-a=1; Secure; Path=/x", "/", true));
    CU_ASSERT_FALSE(take(jar, "__Host-a=1; Secure; Path=/; Domain=www.a.test", "/", true));
    CU_ASSERT_EQUAL(cookie_jar_count(jar), 0);
    CU_ASSERT_TRUE(take(jar, "__Host-a=1; Secure; Path=/", "/", true));
    CU_ASSERT_TRUE(take(jar, "c=1; Domain=.A.test", "/", true));
    cookie_jar_delete(jar);
}

static void a_jar_is_bounded(void)
{
    CookieJar *jar = cookie_jar_new();
    char text[5000];
    CU_ASSERT_PTR_NOT_NULL_FATAL(jar);
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(text, sizeof text, "n%u=%0*d", i, (int)(i % 3000), 1);
        (void)take(jar, text, "/", false);
        CU_ASSERT_TRUE_FATAL(cookie_jar_count(jar) <= COOKIE_JAR_MOST);
        CU_ASSERT_TRUE_FATAL(cookie_jar_bytes(jar) <= 2 * COOKIE_JAR_BYTES);
    }
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[1] = '=';
    CU_ASSERT_FALSE(take(jar, text, "/", false)); /* one alone may not fill it */
    cookie_jar_delete(jar);
}

UNIT_MAIN("cookie jar", {"cookies come back", cookies_come_back},
          {"paths, schemes and times count", paths_schemes_and_times_count},
          {"what is not its own is refused", what_is_not_its_own_is_refused},
          {"a jar is bounded", a_jar_is_bounded})
