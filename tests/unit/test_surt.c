#include <string.h>

#include "store/cdxj/surt.h"
#include "unit.h"

static void expect(const char *url, const char *key)
{
    Buffer out;
    buffer_init(&out, 1000);
    CU_ASSERT_EQUAL(surt_append(&out, url, strlen(url)), RESULT_OK);
    if (strcmp(buffer_string(&out), key) != 0) {
        (void)fprintf(stderr, "%s: %s, not %s\n", url, buffer_string(&out), key);
    }
    CU_ASSERT_STRING_EQUAL(buffer_string(&out), key);
    buffer_destroy(&out);
}

static void hosts_are_turned_round(void)
{
    expect("http://docs.example.org/", "org,example,docs)/");
    expect("https://WWW.Example.org", "org,example)/");
    expect("http://www7.example.org/", "org,example)/");
    expect("http://wwwx.example.org/", "org,example,wwwx)/");
    expect("http://localhost/", "localhost)/");
    expect("http://user:pw@example.org/", "org,example)/");
    expect("http://192.0.2.1/", "1,2,0,192)/");
    expect("http://[2001:db8::1]/", "2001:db8::1)/");
    expect("http://[2001:db8::1]:81/", "2001:db8::1:81)/");
}

static void default_ports_go_others_stay(void)
{
    expect("http://example.org:80/", "org,example)/");
    expect("https://example.org:443/", "org,example)/");
    expect("http://example.org:443/", "org,example:443)/");
    expect("http://example.org:8080/x", "org,example:8080)/x");
}

static void paths_are_made_one_of_many(void)
{
    expect("http://example.org/Dir/", "org,example)/dir");
    expect("http://example.org/a//b///c", "org,example)/a/b/c");
    expect("http://example.org/a/./b/../c", "org,example)/a/c");
    expect("http://example.org/a/..", "org,example)/");
    expect("http://example.org/a#top", "org,example)/a");
    expect("http://example.org/%7Ejoe/%41", "org,example)/~joe/a");
    expect("http://example.org/a%2525b", "org,example)/a%25b");
    expect("http://example.org/100%", "org,example)/100%25");
    expect("http://example.org/%C3%A9%20x", "org,example)/%c3%a9%20x");
    expect("http://example.org/a%00b", "org,example)/a%00b");
}

static void arguments_are_sorted(void)
{
    expect("http://example.org/?", "org,example)/");
    expect("http://example.org?b=1", "org,example)/?b=1");
    expect("http://example.org/s?b=2&a=1", "org,example)/s?a=1&b=2");
    expect("http://example.org/s?a=2&b&a=1", "org,example)/s?a=1&a=2&b");
    expect("http://example.org/s?ab=1&a=2", "org,example)/s?a=2&ab=1");
    expect("http://example.org/s?a=&a", "org,example)/s?a&a=");
    expect("http://example.org/s?Q=X+Y", "org,example)/s?q=x+y");
    expect("http://example.org/s?a=1&", "org,example)/s?&a=1");
}

static void session_ids_are_dropped(void)
{
    static const char id[] = "0123456789abcdefghijklmnopqrstuv";
    char url[256];
    (void)snprintf(url, sizeof url, "http://example.org/x?PHPSESSID=%s&b=1", id);
    expect(url, "org,example)/x?b=1");
    (void)snprintf(url, sizeof url, "http://example.org/x?jsessionid=%s", id);
    expect(url, "org,example)/x");
    (void)snprintf(url, sizeof url, "http://example.org/x?sid=%s0", id);
    expect(url, "org,example)/x?sid=0123456789abcdefghijklmnopqrstuv0");
    expect("http://example.org/x?CFID=11&CFTOKEN=22&z=3", "org,example)/x?z=3");
    expect("http://example.org/x?ASPSESSIONIDabcdefgh=abcdefghijklmnopqrstuvwx&z=3",
           "org,example)/x?z=3");
    expect("http://example.org/x?ASPSESSIONIDabcdefg1=abcdefghijklmnopqrstuvwx",
           "org,example)/x?aspsessionidabcdefg1=abcdefghijklmnopqrstuvwx");
    expect("http://example.org/x?ASPSESSIONIDabcdefgh=abcdefghijklmnopqrstuvw1",
           "org,example)/x?aspsessionidabcdefgh=abcdefghijklmnopqrstuvw1");
    expect("http://example.org/(S(0123456789abcdefghijklmn))/p.aspx", "org,example)/p.aspx");
    expect("http://example.org/(0123456789abcdefghijklmn)/p.aspx", "org,example)/p.aspx");
    expect("http://example.org/(0123456789abcdefghijklmn)/p.html",
           "org,example)/(0123456789abcdefghijklmn)/p.html");
}

static void other_schemes_are_copied(void)
{
    expect("dns:example.org", "dns:example.org");
    expect("urn:a b", "urn:a%20b");
    expect("http://", "http://");
}

static void long_chains_of_escapes_take_linear_time(void)
{
    enum { N = 400000 };
    Buffer url;
    Buffer key;
    buffer_init(&url, BUFFER_NO_LIMIT);
    buffer_init(&key, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(buffer_append_string(&url, "http://example.org/%"), RESULT_OK);
    for (unsigned i = 0; i < N; i++) {
        CU_ASSERT_EQUAL(buffer_append_string(&url, "25"), RESULT_OK);
    }
    CU_ASSERT_EQUAL(surt_append(&key, url.data, url.length), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&key), "org,example)/%25");
    buffer_reset(&url);
    buffer_reset(&key);
    CU_ASSERT_EQUAL(buffer_append_string(&url, "http://example.org/?"), RESULT_OK);
    for (unsigned i = 0; i < N; i++) {
        CU_ASSERT_EQUAL(buffer_append_string(&url, "cfid="), RESULT_OK);
    }
    CU_ASSERT_EQUAL(surt_append(&key, url.data, url.length), RESULT_OK);
    buffer_reset(&url);
    buffer_reset(&key);
    CU_ASSERT_EQUAL(buffer_append_string(&url, "http://example.org/"), RESULT_OK);
    for (unsigned i = 0; i < N / 10; i++) {
        CU_ASSERT_EQUAL(buffer_append_string(&url, "(0123456789abcdefghijklmn)/"), RESULT_OK);
    }
    CU_ASSERT_EQUAL(surt_append(&key, url.data, url.length), RESULT_OK);
    CU_ASSERT_EQUAL(key.length, url.length - 7);
    buffer_destroy(&url);
    buffer_destroy(&key);
}

UNIT_MAIN("surt", {"hosts are turned round", hosts_are_turned_round},
          {"default ports go, others stay", default_ports_go_others_stay},
          {"paths are made one of many", paths_are_made_one_of_many},
          {"arguments are sorted", arguments_are_sorted},
          {"session ids are dropped", session_ids_are_dropped},
          {"other schemes are copied", other_schemes_are_copied},
          {"long chains of escapes take linear time", long_chains_of_escapes_take_linear_time})
