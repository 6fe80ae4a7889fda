#include "parse/host/ip_address.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/ascii.h"
#include "base/memory/array.h"

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

IpAddress ip_address_v4(const struct in_addr *address)
{
    IpAddress out = {.v6 = false};
    memcpy(out.bytes, mapped_prefix, sizeof mapped_prefix);
    memcpy(out.bytes + 12, address, 4);
    return out;
}

IpAddress ip_address_v6(const struct in6_addr *address)
{
    IpAddress out = {.v6 = true};
    memcpy(out.bytes, address, 16);
    out.v6 = memcmp(out.bytes, mapped_prefix, sizeof mapped_prefix) != 0;
    return out;
}

Result ip_address_of_socket(const struct sockaddr *address, IpAddress *out)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        *out = ip_address_v4(&in.sin_addr);
        return RESULT_OK;
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, address, sizeof in6);
        *out = ip_address_v6(&in6.sin6_addr);
        return RESULT_OK;
    }
    return RESULT_INVALID;
}

socklen_t ip_address_to_socket(const IpAddress *address, uint16_t port,
                               struct sockaddr_storage *out)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    memcpy(&v6.sin6_addr, address->bytes, sizeof v6.sin6_addr);
    memcpy(&v4.sin_addr, address->bytes + sizeof mapped_prefix, sizeof v4.sin_addr);
    memset(out, 0, sizeof *out);
    socklen_t length = address->v6 ? sizeof v6 : sizeof v4;
    memcpy(out, address->v6 ? (const void *)&v6 : (const void *)&v4, length);
    return length;
}

Result ip_address_parse(const char *text, size_t length, IpAddress *out)
{
    char copy[IP_ADDRESS_TEXT_BYTES + 2];
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    if (length == 0 || length >= sizeof copy) {
        return RESULT_INVALID;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, copy, &v4) == 1) {
        *out = ip_address_v4(&v4);
        return RESULT_OK;
    }
    if (inet_pton(AF_INET6, copy, &v6) == 1) {
        *out = ip_address_v6(&v6);
        return RESULT_OK;
    }
    return RESULT_INVALID;
}

char *ip_address_format(const IpAddress *address, char text[IP_ADDRESS_TEXT_BYTES])
{
    if (address->v6) {
        if (inet_ntop(AF_INET6, address->bytes, text, IP_ADDRESS_TEXT_BYTES) == NULL) {
            text[0] = '\0';
        }
        return text;
    }
    char *p = text;
    for (size_t i = 12; i < 16; i++) {
        unsigned byte = address->bytes[i];
        if (byte >= 100) {
            *p++ = (char)('0' + byte / 100);
        }
        if (byte >= 10) {
            *p++ = (char)('0' + byte / 10 % 10);
        }
        *p++ = (char)('0' + byte % 10);
        *p++ = i < 15 ? '.' : '\0';
    }
    return text;
}

MapKey ip_address_key(const IpAddress *address)
{
    MapKey key;
    memcpy(&key.high, address->bytes, 8);
    memcpy(&key.low, address->bytes + 8, 8);
    return key;
}

static bool ip_address_within(const IpAddress *address, const uint8_t *prefix, unsigned bits)
{
    unsigned whole = bits / 8;
    if (memcmp(address->bytes, prefix, whole) != 0) {
        return false;
    }
    unsigned rest = bits % 8;
    unsigned mask = (0xff00u >> rest) & 0xff;
    return rest == 0 || (address->bytes[whole] & mask) == (prefix[whole] & mask);
}

bool ip_address_is_loopback(const IpAddress *address)
{
    static const uint8_t v6[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    return address->v6 ? memcmp(address->bytes, v6, sizeof v6) == 0 : address->bytes[12] == 127;
}

/* RFC 6890, RFC 6598, RFC 5737, RFC 2544, RFC 1112 and 5771. */
static const struct {
    uint8_t prefix[4];
    uint8_t bits;
} special_v4[] = {
    {{0, 0, 0, 0}, 8},      {{10, 0, 0, 0}, 8},     {{100, 64, 0, 0}, 10}, {{127, 0, 0, 0}, 8},
    {{169, 254, 0, 0}, 16}, {{172, 16, 0, 0}, 12},  {{192, 0, 0, 0}, 24},  {{192, 0, 2, 0}, 24},
    {{192, 88, 99, 0}, 24}, {{192, 168, 0, 0}, 16}, {{198, 18, 0, 0}, 15}, {{198, 51, 100, 0}, 24},
    {{203, 0, 113, 0}, 24}, {{224, 0, 0, 0}, 3},
};

static bool special_v4_bytes(const uint8_t *bytes)
{
    IpAddress address = {.v6 = false};
    memcpy(address.bytes, bytes, 4);
    for (size_t i = 0; i < sizeof special_v4 / sizeof *special_v4; i++) {
        if (ip_address_within(&address, special_v4[i].prefix, special_v4[i].bits)) {
            return true;
        }
    }
    return false;
}

bool ip_address_is_special(const IpAddress *address)
{
    static const uint8_t global[2] = {0x20, 0x00};                /* 2000::/3 is what is public */
    static const uint8_t protocols[4] = {0x20, 0x01, 0x00, 0x00}; /* 2001::/23, with Teredo */
    static const uint8_t documentation[4] = {0x20, 0x01, 0x0d, 0xb8};
    static const uint8_t documentation_2[4] = {0x3f, 0xff, 0x00, 0x00};
    static const uint8_t six_to_four[2] = {0x20, 0x02};
    static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};
    if (!address->v6) {
        return special_v4_bytes(address->bytes + 12);
    }
    if (ip_address_within(address, nat64, 96)) {
        return special_v4_bytes(address->bytes + 12);
    }
    if (ip_address_within(address, six_to_four, 16)) {
        return special_v4_bytes(address->bytes + 2);
    }
    return !ip_address_within(address, global, 3) || ip_address_within(address, protocols, 23) ||
           ip_address_within(address, documentation, 32) ||
           ip_address_within(address, documentation_2, 20);
}

Result ip_range_parse(const char *text, size_t length, IpRange *range)
{
    const char *slash = memchr(text, '/', length);
    size_t address_length = slash == NULL ? length : (size_t)(slash - text);
    Result rc = ip_address_parse(text, address_length, &range->first);
    if (rc != RESULT_OK) {
        return rc;
    }
    unsigned most = range->first.v6 ? 128 : 32;
    unsigned long bits = most;
    if (slash != NULL) {
        char *end = NULL;
        char digits[8];
        size_t n = length - address_length - 1;
        if (n == 0 || n >= sizeof digits) {
            return RESULT_INVALID;
        }
        memcpy(digits, slash + 1, n);
        digits[n] = '\0';
        bits = strtoul(digits, &end, 10);
        if (*end != '\0' || bits > most) {
            return RESULT_INVALID;
        }
    }
    range->prefix = (unsigned)bits + (range->first.v6 ? 0 : 96);
    return RESULT_OK;
}

Result ip_ranges_parse(IpRanges *ranges, const char *list, Buffer *error)
{
    *ranges = (IpRanges){.ranges = NULL, .n_ranges = 0};
    for (size_t length = 0; ascii_next_word(&list, &length, ", \t");) {
        IpRange range = {.prefix = 0};
        Result rc = ip_range_parse(list, length, &range);
        if (rc != RESULT_OK) {
            (void)buffer_printf(error, "'%.*s' is not an address or prefix such as 127.0.0.0/8",
                                (int)length, list);
        } else {
            rc = array_add(&ranges->ranges, &ranges->n_ranges, sizeof range, &range);
        }
        if (rc != RESULT_OK) {
            ip_ranges_destroy(ranges);
            return rc;
        }
    }
    return RESULT_OK;
}

void ip_ranges_destroy(IpRanges *ranges)
{
    free(ranges->ranges);
    *ranges = (IpRanges){.ranges = NULL, .n_ranges = 0};
}

bool ip_ranges_contain(const IpRanges *ranges, const IpAddress *address)
{
    for (size_t i = 0; i < ranges->n_ranges; i++) {
        if (ip_address_within(address, ranges->ranges[i].first.bytes, ranges->ranges[i].prefix)) {
            return true;
        }
    }
    return false;
}

bool ip_policy_allows(const IpPolicy *policy, const IpAddress *address)
{
    if (ip_ranges_contain(&policy->denied, address)) {
        return false;
    }
    if (ip_ranges_contain(&policy->allowed, address)) {
        return !policy->loopback_only || ip_address_is_loopback(address);
    }
    return !policy->loopback_only && !ip_address_is_special(address);
}
