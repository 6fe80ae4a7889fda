#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/connect/connect_key.h"
#include "unit.h"

static IpAddress address_of(const char *text)
{
    IpAddress address;
    CU_ASSERT_EQUAL_FATAL(ip_address_parse(text, strlen(text), &address), RESULT_OK);
    return address;
}

static void format(uint32_t host, const char *address, uint16_t port, char key[CONNECT_KEY_BYTES])
{
    IpAddress ip = address_of(address);
    connect_key_format(host, &ip, port, key);
}

static void one_host_address_and_port_have_one_key(void)
{
    static const struct {
        uint32_t host;
        const char *address;
        uint16_t port;
    } asked[] = {{7, "127.0.0.1", 80},       {8, "127.0.0.1", 80}, {7, "127.0.0.2", 80},
                 {7, "127.0.0.1", 81},       {7, "1.2.3.4", 80},   {UINT32_MAX, "127.0.0.1", 80},
                 {0x10007, "127.0.0.1", 80}, {7, "::1", 80},       {7, "::2", 80}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        for (size_t k = 0; k < sizeof asked / sizeof *asked; k++) {
            char a[CONNECT_KEY_BYTES];
            char b[CONNECT_KEY_BYTES];
            format(asked[i].host, asked[i].address, asked[i].port, a);
            format(asked[k].host, asked[k].address, asked[k].port, b);
            CU_ASSERT_EQUAL(strcmp(a, b) == 0, i == k);
        }
    }
}

static void a_key_is_an_address_that_nobody_has(void)
{
    char key[CONNECT_KEY_BYTES];
    format(0xABC0001, "127.0.16.255", 65535, key);
    CU_ASSERT_STRING_EQUAL(key, "::[fc00:0:abc:1:0:0:7f00:10ff]:65535");
    format(UINT32_MAX, "255.255.255.255", 1, key);
    CU_ASSERT_STRING_EQUAL(key, "::[fc00:0:ffff:ffff:0:0:ffff:ffff]:1");
}

/* What libcurl makes of the key's "[...]:PORT". */
static void take_for_address(const char *key, struct sockaddr_in6 *out)
{
    char text[CONNECT_KEY_BYTES];
    (void)snprintf(text, sizeof text, "%s", key + strlen("::["));
    char *end = strchr(text, ']');
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    *end = '\0';
    *out = (struct sockaddr_in6){.sin6_family = AF_INET6};
    CU_ASSERT_EQUAL(inet_pton(AF_INET6, text, &out->sin6_addr), 1);
    out->sin6_port = htons((uint16_t)strtoul(end + 2, NULL, 10));
}

static void the_address_takes_the_place_of_the_key(void)
{
    static const char *const addresses[] = {"127.1.2.3", "2001:db8::17"};
    for (size_t i = 0; i < 2; i++) {
        union { /* as large as libcurl's */
            struct curl_sockaddr socket_address;
            char bytes[sizeof(struct curl_sockaddr) + sizeof(struct sockaddr_storage)];
        } room;
        struct sockaddr_in6 key_address;
        char key[CONNECT_KEY_BYTES];
        char text[IP_ADDRESS_TEXT_BYTES];
        IpAddress ip = address_of(addresses[i]);
        connect_key_format(77, &ip, 8080, key);
        take_for_address(key, &key_address);
        memset(&room, 0, sizeof room);
        room.socket_address.family = AF_INET6;
        room.socket_address.addrlen = sizeof key_address;
        memcpy(room.bytes + offsetof(struct curl_sockaddr, addr), &key_address, sizeof key_address);
        connect_key_resolve(&ip, &room.socket_address);
        struct sockaddr_storage real;
        memcpy(&real, room.bytes + offsetof(struct curl_sockaddr, addr), sizeof key_address);
        IpAddress found;
        CU_ASSERT_EQUAL(ip_address_of_socket((struct sockaddr *)&real, &found), RESULT_OK);
        CU_ASSERT_STRING_EQUAL(ip_address_format(&found, text), addresses[i]);
        CU_ASSERT_EQUAL(room.socket_address.family, i == 0 ? AF_INET : AF_INET6);
        CU_ASSERT_EQUAL(room.socket_address.addrlen,
                        i == 0 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
        CU_ASSERT_EQUAL(((struct sockaddr_in *)&real)->sin_port, htons(8080));
    }
}

UNIT_MAIN("connect_key",
          {"a key is an address that nobody has", a_key_is_an_address_that_nobody_has},
          {"one host, address and port have one key", one_host_address_and_port_have_one_key},
          {"the address takes the place of the key", the_address_takes_the_place_of_the_key})
