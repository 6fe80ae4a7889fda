#include "fetch/connect/connect_key.h"

#include <stdio.h>
#include <string.h>

#include "base/core/hash.h"

#define V4_OFFSET 12 /* of an IPv4 address in IpAddress.bytes */

/* Writes a mark and a number of 16 bits; snprintf would cost more than the rest of a request's
 * setup. Its end. */
static char *connect_key_put(char *to, char mark, unsigned number, unsigned base)
{
    char digits[5];
    size_t n = 0;
    do {
        digits[n++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    *to++ = mark;
    while (n > 0) {
        *to++ = digits[--n];
    }
    return to;
}

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
    static const char start[] = "::[fc00:0";
    char *end = text + sizeof start - 1;
    memcpy(text, start, sizeof start - 1);
    end = connect_key_put(end, ':', host >> 16, 16);
    end = connect_key_put(end, ':', host & 0xFFFFu, 16);
    for (unsigned shift = 64; shift > 0; shift -= 16) {
        end = connect_key_put(end, ':', (unsigned)(where >> (shift - 16)) & 0xFFFFu, 16);
    }
    *end++ = ']';
    *connect_key_put(end, ':', port, 10) = '\0';
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
    struct sockaddr_storage to;
    memcpy(&key, &socket_address->addr, sizeof key);
    socket_address->addrlen = ip_address_to_socket(address, ntohs(key.sin6_port), &to);
    socket_address->family = to.ss_family;
    memcpy(&socket_address->addr, &to, socket_address->addrlen);
}
