#include <string.h>

#include "parse/host/domain.h"
#include "unit.h"

static void registered_domains_follow_the_list(void)
{
    static const char *const pairs[][2] = {
        {"www.example.com", "example.com"},
        {"example.com", "example.com"},
        {"a.b.example.co.uk", "example.co.uk"},
        {"co.uk", "co.uk"},
        {"com", "com"},
        {"localhost", "localhost"},
        {"www.example.com.", "example.com"},
        {"user.github.io", "user.github.io"},
        {"a.user.github.io", "user.github.io"},
        {"www.city.kawasaki.jp", "city.kawasaki.jp"},
        {"a.b.c.kawasaki.jp", "b.c.kawasaki.jp"},
        {"www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"},
        {"a.b.unlisted-tld", "b.unlisted-tld"},
        {"192.168.10.1", "192.168.10.1"},
        {"[2001:db8::1]", "[2001:db8::1]"},
        {"", ""},
        {".", ""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        Domain domain = domain_registered(pairs[i][0], strlen(pairs[i][0]));
        bool right = domain.length == strlen(pairs[i][1]) &&
                     memcmp(domain.name, pairs[i][1], domain.length) == 0;
        if (!right) {
            (void)fprintf(stderr, "%s: %.*s\n", pairs[i][0], (int)domain.length, domain.name);
        }
        CU_ASSERT(right);
    }
    Domain nothing = domain_registered(NULL, 0);
    CU_ASSERT_EQUAL(nothing.length, 0);
}

static void hosts_too_long_for_dns_are_their_own(void)
{
    char host[400];
    memset(host, 'a', sizeof host);
    memcpy(host + sizeof host - 12, ".example.com", 12);
    CU_ASSERT_EQUAL(domain_registered(host, sizeof host).length, sizeof host);
    CU_ASSERT_EQUAL(domain_registered(host + 150, 250).length, 11);
}

static void addresses_are_known(void)
{
    CU_ASSERT_TRUE(domain_is_address("1.2.3.4", 7));
    CU_ASSERT_TRUE(domain_is_address("[::1]", 5));
    CU_ASSERT_FALSE(domain_is_address("1.2.3.a4", 8));
    CU_ASSERT_FALSE(domain_is_address("a4", 2));
    CU_ASSERT_FALSE(domain_is_address("", 0));
}

static void domains_contain_at_label_boundaries(void)
{
    CU_ASSERT_TRUE(domain_contains("b.c", 3, "b.c", 3));
    CU_ASSERT_TRUE(domain_contains("b.c", 3, "a.b.c", 5));
    CU_ASSERT_TRUE(domain_contains("b.c", 3, "a.b.c.", 6));
    CU_ASSERT_FALSE(domain_contains("b.c", 3, "ab.c", 4));
    CU_ASSERT_FALSE(domain_contains("a.b.c", 5, "b.c", 3));
    CU_ASSERT_FALSE(domain_contains("", 0, "b.c", 3));
}

static void a_url_has_the_domain_of_its_host(void)
{
    Url url;
    url_init(&url);
    const char *text = "http://u:p@www.Example.org:81/x";
    CU_ASSERT_EQUAL(url_parse(&url, NULL, text, strlen(text)), RESULT_OK);
    Domain domain = domain_of_url(&url);
    CU_ASSERT_EQUAL(domain.length, 11);
    CU_ASSERT_NSTRING_EQUAL(domain.name, "example.org", 11);
    url_destroy(&url);
}

UNIT_MAIN("domain", {"registered domains follow the list", registered_domains_follow_the_list},
          {"hosts too long for DNS are their own", hosts_too_long_for_dns_are_their_own},
          {"addresses are known", addresses_are_known},
          {"domains contain at label boundaries", domains_contain_at_label_boundaries},
          {"a URL has the domain of its host", a_url_has_the_domain_of_its_host})
