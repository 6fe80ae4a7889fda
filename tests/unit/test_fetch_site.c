#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/base64.h"
#include "fetch/site/fetch_site.h"
#include "rules/site/site_book.h"
#include "unit.h"

/* ---- proxies ---- */

static void proxies_are_urls(void)
{
    static const char *const good[] = {"",
                                       "environment",
                                       "http://proxy.example:3128",
                                       "https://proxy.example",
                                       "socks5://[2001:db8::1]:1080",
                                       "SOCKS5H://10.0.0.1:1080/"};
    static const char *const bad[] = {
        "proxy.example:3128",  "ftp://proxy.example", "http://",          "http://:80",
        "http://a b:80",       "http://h:0",          "http://h:65536",   "http://h:8x",
        "http://h:",           "http://u:p@h:80",     "http://h:80/path", "socks4://h:1",
        "http://[2001:db8::1", "http://h:+8"};
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CU_ASSERT_EQUAL(proxy_check(good[i], &error), RESULT_OK);
    }
    CU_ASSERT_EQUAL(error.length, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        buffer_reset(&error);
        CU_ASSERT_EQUAL(proxy_check(bad[i], &error), RESULT_INVALID);
        CU_ASSERT_NOT_EQUAL(error.length, 0);
    }
    buffer_destroy(&error);
}

/* What is chosen for a host with the address 192.0.2.7. */
static const char *chosen(const char *proxy, const char *exceptions, const char *host, bool https)
{
    IpAddress address;
    CU_ASSERT_EQUAL_FATAL(ip_address_parse("192.0.2.7", 9, &address), RESULT_OK);
    ProxyTarget target = {.hostname = host, .https = https, .address = &address};
    const char *url = proxy_choose(proxy, exceptions, &target).url;
    return url == NULL ? "" : url;
}

static void exceptions_are_asked_directly(void)
{
    static const char *const matching[] = {"*",
                                           "www.example.org",
                                           "example.org",
                                           ".example.org",
                                           "*.Example.org",
                                           "x, example.org",
                                           "192.0.2.0/24",
                                           "192.0.2.7"};
    static const char *const others[] = {"",     "ample.org",    "w.example.org",
                                         "org.", "192.0.3.0/24", "2001:db8::/32"};
    for (size_t i = 0; i < sizeof matching / sizeof *matching; i++) {
        CU_ASSERT_STRING_EQUAL(chosen("http://p:1", matching[i], "www.example.org", false), "");
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CU_ASSERT_STRING_EQUAL(chosen("http://p:1", others[i], "www.example.org", false),
                               "http://p:1");
    }
}

static void the_environment_is_read_as_curl_reads_it(void)
{
    static const char *const names[] = {"http_proxy",  "https_proxy", "all_proxy", "no_proxy",
                                        "HTTPS_PROXY", "ALL_PROXY",   "NO_PROXY",  "HTTP_PROXY"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)unsetenv(names[i]);
    }
    CU_ASSERT_STRING_EQUAL(chosen("environment", "", "h", false), "");
    (void)setenv("HTTP_PROXY", "http://visitor:1", 1);
    CU_ASSERT_STRING_EQUAL(chosen("environment", "", "h", false), "");
    (void)setenv("http_proxy", "http://a:1", 1);
    (void)setenv("HTTPS_PROXY", "http://b:1", 1);
    (void)setenv("all_proxy", "http://c:1", 1);
    CU_ASSERT_STRING_EQUAL(chosen("environment", "", "h", false), "http://a:1");
    CU_ASSERT_STRING_EQUAL(chosen("environment", "", "h", true), "http://b:1");
    (void)setenv("https_proxy", "", 1);
    (void)unsetenv("HTTPS_PROXY");
    CU_ASSERT_STRING_EQUAL(chosen("environment", "", "h", true), "http://c:1");
    (void)setenv("NO_PROXY", "localhost,.example", 1);
    CU_ASSERT_STRING_EQUAL(chosen("environment", "", "h.example", true), "");
    CU_ASSERT_STRING_EQUAL(chosen("environment", "h", "h", true), "");
    CU_ASSERT_STRING_EQUAL(chosen("", "", "h", true), "");
    (void)unsetenv("NO_PROXY");
}

static void only_one_kind_is_told_the_address(void)
{
    IpAddress address = {.v6 = false};
    ProxyTarget target = {.hostname = "h", .address = &address};
    CU_ASSERT_TRUE(proxy_choose("socks5://p:1", "", &target).wants_address);
    CU_ASSERT_FALSE(proxy_choose("socks5h://p:1", "", &target).wants_address);
    CU_ASSERT_FALSE(proxy_choose("http://p:1", "", &target).wants_address);
}

/* ---- credentials ---- */

static char path[] = "/tmp/ragno-credentials-XXXXXX";

static Result read_text(Credentials **credentials, const char *text, mode_t mode, Buffer *error)
{
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_TRUE(fputs(text, file) >= 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
    CU_ASSERT_EQUAL(chmod(path, mode), 0);
    return credentials_read(credentials, path, error);
}

/* All lines for a URL, joined by "|". */
static void expect_lines(const Credentials *credentials, const char *url, const char *expected)
{
    Buffer all;
    size_t place = 0;
    const char *line = NULL;
    buffer_init(&all, BUFFER_NO_LIMIT);
    while ((line = credentials_next(credentials, url, strlen(url), &place)) != NULL) {
        (void)buffer_printf(&all, "%s|", line);
    }
    CU_ASSERT_STRING_EQUAL(buffer_string(&all), expected);
    buffer_destroy(&all);
}

static void a_secret_goes_to_its_site_alone(void)
{
    Buffer error;
    Credentials *c = NULL;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(read_text(&c,
                                    "# remark\n\n a.example basic Aladdin:open sesame\n"
                                    "*.b.example:8443 bearer t0ken\r\n"
                                    "http://c.example header X-Key: 1 2\n"
                                    "https://[2001:db8::1]:443 header X-V6: yes\n"
                                    "proxy p.example:3128 me:secret\n",
                                    0600, &error),
                          RESULT_OK);
    expect_lines(c, "https://a.example/x", "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==|");
    expect_lines(c, "https://a.example:444/x",
                 "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==|");
    expect_lines(c, "http://a.example/x", "");
    expect_lines(c, "https://sub.a.example/x", "");
    expect_lines(c, "https://x.b.example:8443/", "Authorization: Bearer t0ken|");
    expect_lines(c, "https://x.b.example/", "");
    expect_lines(c, "https://b.example:8443/", "");
    expect_lines(c, "http://c.example/", "X-Key: 1 2|");
    expect_lines(c, "https://c.example/", "");
    expect_lines(c, "https://[2001:db8::1]/", "X-V6: yes|");
    CU_ASSERT_STRING_EQUAL(credentials_of_proxy(c, "http://P.example:3128/"), "me:secret");
    CU_ASSERT_PTR_NULL(credentials_of_proxy(c, "http://p.example:3129"));
    expect_lines(NULL, "https://a.example/x", "");
    credentials_delete(c);
    buffer_destroy(&error);
}

static void what_is_wrong_is_named(void)
{
    static const char *const bad[] = {"a.example\n",
                                      "a.example basic nocolon\n",
                                      "a.example bearer\n",
                                      "a.example header no header\n",
                                      "a.example secret x\n",
                                      "a.example/path basic a:b\n",
                                      "a.example:99999 basic a:b\n",
                                      "proxy p:1 nocolon\n"};
    Buffer error;
    Credentials *c = NULL;
    buffer_init(&error, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        buffer_reset(&error);
        CU_ASSERT_EQUAL(read_text(&c, bad[i], 0600, &error), RESULT_INVALID);
        CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "line 1: "));
        CU_ASSERT_PTR_NULL(strstr(buffer_string(&error), "nocolon"));
    }
    buffer_reset(&error);
    CU_ASSERT_EQUAL(read_text(&c, "", 0640, &error), RESULT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "has mode 0640"));
    CU_ASSERT_EQUAL(credentials_read(&c, "/nowhere/at/all", &error), RESULT_NOT_FOUND);
    buffer_destroy(&error);
}

/* ---- the book ---- */

static void add(Config *config, const char *pattern, const char *key, const char *value)
{
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(options_add_site(&config->options, pattern, key, value, "f:1", &error),
                    RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&error), "");
    buffer_destroy(&error);
}

static SiteBook *book_of(const Config *config)
{
    SiteBook *book = NULL;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(site_book_new(&book, config, &error), RESULT_OK);
    buffer_destroy(&error);
    return book;
}

static void the_last_section_that_matches_wins(void)
{
    Config config, of;
    CU_ASSERT_EQUAL_FATAL(config_init(&config), RESULT_OK);
    add(&config, "*.example.org", "host_delay", "1s");
    add(&config, "*.example.org", "max_body", "64Ki");
    add(&config, "www.*", "host_delay", "2s");
    add(&config, "WWW.example.org", "fetch.max_body", "8Ki");
    add(&config, "*.org", "headers", "X: 1");
    add(&config, "*.example.org", "host_delay", "3s");
    SiteBook *book = book_of(&config);
    config_destroy(&config); /* the book has its own */
    site_book_config(book, "www.example.org", &of);
    CU_ASSERT_EQUAL(of.politeness_host_delay, 3000);
    CU_ASSERT_EQUAL(of.fetch_max_body, 8192);
    CU_ASSERT_STRING_EQUAL(of.fetch_headers, "X: 1");
    site_book_config(book, "A.Example.ORG", &of);
    CU_ASSERT_EQUAL(of.politeness_host_delay, 3000);
    CU_ASSERT_EQUAL(of.fetch_max_body, 65536);
    site_book_config(book, "example.org", &of);
    CU_ASSERT_EQUAL(of.politeness_host_delay, 5000);
    CU_ASSERT_STRING_EQUAL(of.fetch_headers, "X: 1");
    site_book_config(book, "www.example.org.", &of); /* with the dot of the root: the same host */
    CU_ASSERT_EQUAL(of.politeness_host_delay, 3000);
    CU_ASSERT_EQUAL(of.fetch_max_body, 8192);
    site_book_config(book, "www.example.com", &of);
    CU_ASSERT_EQUAL(of.politeness_host_delay, 2000);
    CU_ASSERT_STRING_EQUAL(of.fetch_headers, "");
    site_book_delete(book);
}

/* Against the plain way: all sections, one by one. */
static void the_index_finds_what_a_walk_finds(void)
{
    static const char *const patterns[] = {"a.b.c", "*.b.c", "*.c", "a.*", "*", "?.b.c", "*b*"};
    static const char *const hosts[] = {"a.b.c", "b.c",   "x.b.c", "c",      "a.c",
                                        "q.r.c", "[::1]", "b",     "a.b.c.", "."};
    enum { PATTERNS = sizeof patterns / sizeof *patterns, HOSTS = sizeof hosts / sizeof *hosts };
    for (unsigned first = 0; first < PATTERNS; first++) {
        Config config, of;
        char number[16];
        CU_ASSERT_EQUAL_FATAL(config_init(&config), RESULT_OK);
        for (unsigned i = 0; i < 40; i++) { /* more than an array of matches holds */
            (void)snprintf(number, sizeof number, "%us", i + 1);
            add(&config, patterns[(first + i * (first + 1)) % PATTERNS], "host_delay", number);
        }
        SiteBook *book = book_of(&config);
        for (unsigned h = 0; h < HOSTS; h++) {
            Config one_by_one;
            site_values_of(&config, hosts[h], &one_by_one);
            site_book_config(book, hosts[h], &of);
            CU_ASSERT_EQUAL(of.politeness_host_delay, one_by_one.politeness_host_delay);
        }
        site_book_delete(book);
        config_destroy(&config);
    }
}

static void a_fetch_has_its_values(void)
{
    Config config;
    Config of;
    FetchSite site;
    CU_ASSERT_EQUAL_FATAL(config_init(&config), RESULT_OK);
    add(&config, "h", "obey", "no");
    add(&config, "h", "proxy", "socks5h://p:1");
    add(&config, "h", "adaptive_factor", "2.5");
    SiteBook *book = book_of(&config);
    CU_ASSERT_FALSE(site_book_has_limits(book));
    site_book_delete(book);
    add(&config, "h", "pages_per_host", "7");
    book = book_of(&config);
    site_book_fetch_site(book, "h", &site);
    CU_ASSERT_TRUE(site.ignores_robots);
    CU_ASSERT_STRING_EQUAL(site.proxy, "socks5h://p:1");
    CU_ASSERT_EQUAL(site.politeness.adaptive_factor, 2.5);
    CU_ASSERT_EQUAL(site.politeness.rules[FETCH_DNS].retries, 3);
    site_book_fetch_site(book, "other", &site);
    CU_ASSERT_FALSE(site.ignores_robots);
    CU_ASSERT_STRING_EQUAL(site.proxy, "");
    site_book_config(book, "h", &of);
    CU_ASSERT_EQUAL(of.limits_pages_per_host, 7);
    CU_ASSERT_TRUE(site_book_has_limits(book));
    site_book_delete(book);
    config_destroy(&config);
}

/* ---- base64 ---- */

static void base64_is_read_as_it_is_written(void)
{
    static const char *const pairs[][2] = {
        {"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
        {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xfb\xff", "+/8="}};
    Buffer text, bytes;
    buffer_init(&text, BUFFER_NO_LIMIT);
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *from = pairs[i][0];
        buffer_reset(&text);
        buffer_reset(&bytes);
        CU_ASSERT_EQUAL(base64_append(&text, from, strlen(from), BASE64_STANDARD), RESULT_OK);
        CU_ASSERT_STRING_EQUAL(buffer_string(&text), pairs[i][1]);
        CU_ASSERT_EQUAL(base64_read(&bytes, buffer_string(&text), text.length, BASE64_STANDARD),
                        RESULT_OK);
        CU_ASSERT_STRING_EQUAL(buffer_string(&bytes), from);
    }
    buffer_reset(&text);
    CU_ASSERT_EQUAL(base64_append(&text, "\xfb\xff", 2, BASE64_URL), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&text), "-_8");
    CU_ASSERT_EQUAL(base64_read(&bytes, "Zm9vY", 5, BASE64_STANDARD), RESULT_INVALID);
    CU_ASSERT_EQUAL(base64_read(&bytes, "Zm9-", 4, BASE64_STANDARD), RESULT_INVALID);
    buffer_destroy(&text);
    buffer_destroy(&bytes);
}

static void remove_file(void)
{
    (void)unlink(path);
}

static void a_file_can_be_made(void)
{
    int fd = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    (void)close(fd);
    (void)atexit(remove_file);
}

UNIT_MAIN("fetch site", {"a file can be made", a_file_can_be_made},
          {"proxies are URLs", proxies_are_urls},
          {"exceptions are asked directly", exceptions_are_asked_directly},
          {"the environment is read as curl reads it", the_environment_is_read_as_curl_reads_it},
          {"only one kind of proxy is told the address", only_one_kind_is_told_the_address},
          {"a secret goes to its site alone", a_secret_goes_to_its_site_alone},
          {"what is wrong in a file of credentials is named", what_is_wrong_is_named},
          {"the last section that matches wins", the_last_section_that_matches_wins},
          {"the index finds what a walk finds", the_index_finds_what_a_walk_finds},
          {"a fetch has its values", a_fetch_has_its_values},
          {"base64 is read as it is written", base64_is_read_as_it_is_written})
