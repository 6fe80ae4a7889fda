#include "fetch/connect/connect_key.h"

#include <stdio.h>
#include <string.h>

#include "base/core/hash.h"

#define V4_OFFSET 12 /* of an IPv4 address in IpAddress.bytes */

void connect_key_format(uint32_t host, const IpAddress *address, uint16_t port,
                        char text[CONNECT_KEY_BYTES])
{
    uint64_t where = 0;
    if (address->v6) {
        where = hash_64(address->bytes, sizeof address->bytes, 0) | UINT64_C(1) << 63;
    } else {
        for (size_t i = V4_OFFSET; i < sizeof address->bytes; i++) {
            where = where << 8 | address->bytes[i];
        }
    }
    (void)snprintf(text, CONNECT_KEY_BYTES, "::[fc00:0:%x:%x:%x:%x:%x:%x]:%u", host >> 16,
                   host & 0xFFFFu, (unsigned)(where >> 48), (unsigned)(where >> 32) & 0xFFFFu,
                   (unsigned)(where >> 16) & 0xFFFFu, (unsigned)where & 0xFFFFu, port);
}

void connect_key_plain(const IpAddress *address, uint16_t port, char text[CONNECT_KEY_BYTES])
{
    char place[IP_ADDRESS_TEXT_BYTES];
    (void)ip_address_format(address, place);
    (void)snprintf(text, CONNECT_KEY_BYTES, address->v6 ? "::[%s]:%u" : "::%s:%u", place, port);
}

void connect_key_resolve(const IpAddress *address, struct curl_sockaddr *socket_address)
{
    struct sockaddr_in6 key;
    memcpy(&key, &socket_address->addr, sizeof key);
    if (address->v6) {
        memcpy(&key.sin6_addr, address->bytes, sizeof key.sin6_addr);
        memcpy(&socket_address->addr, &key, sizeof key);
        return;
    }
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = key.sin6_port};
    memcpy(&v4.sin_addr, address->bytes + V4_OFFSET, sizeof v4.sin_addr);
    socket_address->family = AF_INET;
    socket_address->addrlen = sizeof v4;
    memcpy(&socket_address->addr, &v4, sizeof v4);
}
