/* IP addresses of both families: text, comparison, and which of them a crawler has no business
 * with.
 *
 * What: special addresses are the IANA special-purpose registries: loopback, private, link-local,
 * shared, documentation, multicast, reserved, and IPv6 forms that carry an IPv4 address inside.
 * Threads: pure functions.
 * Source: RFC 6890 and successors. */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/memory/buffer.h"
#include "base/memory/map.h"

typedef struct IpAddress {
    uint8_t bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
    bool v6;
} IpAddress;

#define IP_ADDRESS_TEXT_BYTES 46

typedef struct IpRange {
    IpAddress first;
    unsigned prefix; /* bits, of 128 */
} IpRange;

typedef struct IpRanges {
    IpRange *ranges;
    size_t n_ranges;
} IpRanges;

IpAddress ip_address_v4(const struct in_addr *address);
IpAddress ip_address_v6(const struct in6_addr *address); /* mapped IPv4 becomes IPv4 */
/* RESULT_INVALID: not an address of family AF_INET or AF_INET6. */
Result ip_address_of_socket(const struct sockaddr *address, IpAddress *out);
/* The bytes of *out that are used. */
socklen_t ip_address_to_socket(const IpAddress *address, uint16_t port,
                               struct sockaddr_storage *out);
/* "127.0.0.1", "::1", "[::1]". RESULT_INVALID. */
Result ip_address_parse(const char *text, size_t length, IpAddress *out);
char *ip_address_format(const IpAddress *address, char text[IP_ADDRESS_TEXT_BYTES]);
MapKey ip_address_key(const IpAddress *address);

/* 127.0.0.0/8 or ::1. */
bool ip_address_is_loopback(const IpAddress *address);
/* True for every address that is not plain public unicast. */
bool ip_address_is_special(const IpAddress *address);

/* "127.0.0.0/8", "::1". RESULT_INVALID. */
Result ip_range_parse(const char *text, size_t length, IpRange *range);
/* "127.0.0.0/8, ::1": a list of addresses and prefixes. RESULT_INVALID: error names the item. */
Result ip_ranges_parse(IpRanges *ranges, const char *list, Buffer *error);
void ip_ranges_destroy(IpRanges *ranges);
bool ip_ranges_contain(const IpRanges *ranges, const IpAddress *address);

/* Which addresses may be connected to. */
typedef struct IpPolicy {
    IpRanges denied;    /* that may not, whatever else is said */
    IpRanges allowed;   /* special addresses that may */
    bool loopback_only; /* nothing but loopback may, and only if allowed */
} IpPolicy;

bool ip_policy_allows(const IpPolicy *policy, const IpAddress *address);
