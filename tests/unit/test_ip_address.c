#include <arpa/inet.h>
#include <string.h>

#include "parse/host/ip_address.h"
#include "unit.h"

static IpAddress parsed(const char *text)
{
    IpAddress address = {.v6 = false};
    CU_ASSERT_EQUAL(ip_address_parse(text, strlen(text), &address), RESULT_OK);
    return address;
}

static void text_and_back(void)
{
    static const char *const same[] = {"127.0.0.1", "255.255.255.255", "::1", "2001:db8::2:1",
                                       "fe80::1"};
    static const char *const bad[] = {"",        "1.2.3",  "1.2.3.4.5", "256.1.1.1", "[::1",
                                      "[1.2.3]", "::1::2", "example",   "1.2.3.4 ",  "[]"};
    char text[IP_ADDRESS_TEXT_BYTES];
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        IpAddress address = parsed(same[i]);
        CU_ASSERT_STRING_EQUAL(ip_address_format(&address, text), same[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        IpAddress address;
        CU_ASSERT_EQUAL(ip_address_parse(bad[i], strlen(bad[i]), &address), RESULT_INVALID);
    }
    IpAddress bracketed = parsed("[::1]");
    CU_ASSERT_STRING_EQUAL(ip_address_format(&bracketed, text), "::1");
}

static void a_mapped_address_is_the_ipv4_address(void)
{
    IpAddress v4 = parsed("10.1.2.3");
    IpAddress mapped = parsed("::ffff:10.1.2.3");
    CU_ASSERT_FALSE(mapped.v6);
    CU_ASSERT_EQUAL(ip_address_key(&v4).low, ip_address_key(&mapped).low);
    CU_ASSERT_EQUAL(ip_address_key(&v4).high, ip_address_key(&mapped).high);
    CU_ASSERT_TRUE(ip_address_is_special(&mapped));
}

static void sockets_give_their_address(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(0x01020304)}};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    struct sockaddr other = {.sa_family = AF_UNIX};
    IpAddress address;
    char text[IP_ADDRESS_TEXT_BYTES];
    CU_ASSERT_EQUAL(ip_address_of_socket((struct sockaddr *)&in, &address), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(ip_address_format(&address, text), "1.2.3.4");
    CU_ASSERT_EQUAL(ip_address_of_socket((struct sockaddr *)&in6, &address), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(ip_address_format(&address, text), "::1");
    CU_ASSERT_EQUAL(ip_address_of_socket(&other, &address), RESULT_INVALID);
}

/* First and last address of each special range, and their neighbours outside. */
static void special_ranges_are_refused_to_the_bit(void)
{
    static const char *const special[] = {"0.0.0.0",
                                          "0.255.255.255",
                                          "10.0.0.0",
                                          "10.255.255.255",
                                          "100.64.0.0",
                                          "100.127.255.255",
                                          "127.0.0.0",
                                          "127.255.255.255",
                                          "169.254.0.0",
                                          "169.254.255.255",
                                          "172.16.0.0",
                                          "172.31.255.255",
                                          "192.0.0.0",
                                          "192.0.0.255",
                                          "192.0.2.1",
                                          "192.168.0.0",
                                          "192.168.255.255",
                                          "198.18.0.0",
                                          "198.19.255.255",
                                          "198.51.100.7",
                                          "203.0.113.255",
                                          "224.0.0.1",
                                          "239.255.255.255",
                                          "240.0.0.1",
                                          "255.255.255.255",
                                          "::",
                                          "::1",
                                          "fe80::1",
                                          "fc00::1",
                                          "fdff::1",
                                          "ff02::1",
                                          "2001:db8::1",
                                          "2001::1",
                                          "2001:1ff::1",
                                          "3fff::1",
                                          "3fff:fff::1",
                                          "64:ff9b::7f00:1",
                                          "64:ff9b::a00:1",
                                          "64:ff9b:1::1",
                                          "2002:7f00:1::",
                                          "2002:c0a8:1::1",
                                          "::127.0.0.1",
                                          "::ffff:127.0.0.1",
                                          "100::1",
                                          "4000::1"};
    static const char *const plain[] = {
        "1.0.0.0",          "9.255.255.255",   "11.0.0.0",      "100.63.255.255",
        "100.128.0.0",      "126.255.255.255", "128.0.0.0",     "169.253.255.255",
        "169.255.0.0",      "172.15.255.255",  "172.32.0.0",    "192.0.1.0",
        "192.0.3.0",        "192.167.255.255", "192.169.0.0",   "198.17.255.255",
        "198.20.0.0",       "198.51.101.0",    "203.0.112.255", "223.255.255.255",
        "2001:200::1",      "2a00:1450::1",    "2001:db9::1",   "2600::1",
        "64:ff9b::808:808", "2002:808:808::",  "3fff:1000::1"};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        IpAddress address = parsed(special[i]);
        if (!ip_address_is_special(&address)) {
            CU_FAIL(special[i]);
            (void)fprintf(stderr, "not special: %s\n", special[i]);
        }
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        IpAddress address = parsed(plain[i]);
        if (ip_address_is_special(&address)) {
            CU_FAIL(plain[i]);
            (void)fprintf(stderr, "special: %s\n", plain[i]);
        }
    }
}

static bool contains(const IpRanges *ranges, const char *text)
{
    IpAddress address = parsed(text);
    return ip_ranges_contain(ranges, &address);
}

static void ranges_are_lists_of_prefixes(void)
{
    IpRanges ranges;
    Buffer error;
    buffer_init(&error, 1000);
    CU_ASSERT_EQUAL(
        ip_ranges_parse(&ranges, " 127.0.0.0/8,::1 ,, 10.0.0.4/31\t2001:db8::/33", &error),
        RESULT_OK);
    CU_ASSERT_EQUAL(ranges.n_ranges, 4);
    CU_ASSERT_TRUE(contains(&ranges, "127.255.0.1"));
    CU_ASSERT_FALSE(contains(&ranges, "128.0.0.1"));
    CU_ASSERT_TRUE(contains(&ranges, "::1"));
    CU_ASSERT_FALSE(contains(&ranges, "::2"));
    CU_ASSERT_TRUE(contains(&ranges, "10.0.0.5"));
    CU_ASSERT_FALSE(contains(&ranges, "10.0.0.6"));
    CU_ASSERT_TRUE(contains(&ranges, "2001:db8:7fff::"));
    CU_ASSERT_FALSE(contains(&ranges, "2001:db8:8000::"));
    ip_ranges_destroy(&ranges);
    CU_ASSERT_EQUAL(ip_ranges_parse(&ranges, "", &error), RESULT_OK);
    CU_ASSERT_EQUAL(ranges.n_ranges, 0);
    ip_ranges_destroy(&ranges);
    static const char *const bad[] = {"127.0.0.0/33", "::/129", "1.2.3.4/",
                                      "1.2.3.4/x",    "x",      "1.2.3.4, nonsense",
                                      "1.2.3.4/-1",   "/8",     "1.2.3.4/0000000008"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        buffer_reset(&error);
        CU_ASSERT_EQUAL(ip_ranges_parse(&ranges, bad[i], &error), RESULT_INVALID);
        CU_ASSERT_TRUE(error.length > 0);
        CU_ASSERT_EQUAL(ranges.n_ranges, 0);
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "1.2.3.4/0000000008"));
    buffer_destroy(&error);
}

static bool allowed(const IpPolicy *policy, const char *text)
{
    IpAddress address = parsed(text);
    return ip_policy_allows(policy, &address);
}

static void the_policy_allows_public_addresses_and_what_is_listed(void)
{
    IpPolicy policy = {.loopback_only = false};
    Buffer error;
    buffer_init(&error, 1000);
    CU_ASSERT_EQUAL(ip_ranges_parse(&policy.allowed, "127.0.0.0/8, 10.0.0.0/8, 8.8.8.8", &error),
                    RESULT_OK);
    CU_ASSERT_TRUE(allowed(&policy, "8.8.8.8"));
    CU_ASSERT_TRUE(allowed(&policy, "9.9.9.9"));
    CU_ASSERT_TRUE(allowed(&policy, "127.1.1.1"));
    CU_ASSERT_TRUE(allowed(&policy, "10.0.0.1"));
    CU_ASSERT_FALSE(allowed(&policy, "192.168.0.1"));
    CU_ASSERT_FALSE(allowed(&policy, "::1"));
    policy.loopback_only = true;
    CU_ASSERT_FALSE(allowed(&policy, "8.8.8.8"));
    CU_ASSERT_FALSE(allowed(&policy, "9.9.9.9"));
    CU_ASSERT_FALSE(allowed(&policy, "10.0.0.1"));
    CU_ASSERT_TRUE(allowed(&policy, "127.1.1.1"));
    CU_ASSERT_FALSE(allowed(&policy, "::1"));
    ip_ranges_destroy(&policy.allowed);
    CU_ASSERT_FALSE(allowed(&policy, "127.1.1.1"));
    buffer_destroy(&error);
}

UNIT_MAIN("ip_address", {"text and back", text_and_back},
          {"a mapped address is the IPv4 address", a_mapped_address_is_the_ipv4_address},
          {"sockets give their address", sockets_give_their_address},
          {"special ranges are refused to the bit", special_ranges_are_refused_to_the_bit},
          {"ranges are lists of prefixes", ranges_are_lists_of_prefixes},
          {"the policy allows public addresses and what is listed",
           the_policy_allows_public_addresses_and_what_is_listed})
