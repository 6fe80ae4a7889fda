#include "fetch/dns/dns_record.h"

#include <string.h>

#include "base/core/hash.h"
#include "parse/host/ip_address.h"

static const char *dot_behind(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && name[n - 1] == '.' ? "" : ".";
}

static Result append_alias(Buffer *out, const struct ares_addrinfo_cname *alias)
{
    return buffer_printf(out, "%s%s\t%d\tIN\tCNAME\t%s%s\n", alias->alias, dot_behind(alias->alias),
                         alias->ttl, alias->name, dot_behind(alias->name));
}

Result dns_record_format(Buffer *out, const char *hostname, const struct ares_addrinfo *answer,
                         WallTime asked)
{
    char text[CLOCK_TEXT_BYTES];
    const char *owner = hostname; /* of the addresses: where the aliases lead */
    Result rc = buffer_printf(out, "%.14s\n", wall_format_compact(asked, text));
    for (const struct ares_addrinfo_cname *alias = answer->cnames; alias != NULL && rc == RESULT_OK;
         alias = alias->next) {
        if (alias->alias != NULL && alias->name != NULL) {
            rc = append_alias(out, alias);
            owner = alias->name;
        }
    }
    for (const struct ares_addrinfo_node *node = answer->nodes; node != NULL && rc == RESULT_OK;
         node = node->ai_next) {
        IpAddress address;
        char ip[IP_ADDRESS_TEXT_BYTES];
        if (ip_address_of_socket(node->ai_addr, &address) == RESULT_OK) {
            rc =
                buffer_printf(out, "%s%s\t%d\tIN\t%s\t%s\n", owner, dot_behind(owner), node->ai_ttl,
                              address.v6 ? "AAAA" : "A", ip_address_format(&address, ip));
        }
    }
    return rc;
}

uint64_t dns_record_fingerprint(const struct ares_addrinfo *answer)
{
    uint64_t sum = 1;
    for (const struct ares_addrinfo_cname *alias = answer->cnames; alias != NULL;
         alias = alias->next) {
        sum += alias->name == NULL ? 0 : hash_64(alias->name, strlen(alias->name), 1);
    }
    for (const struct ares_addrinfo_node *node = answer->nodes; node != NULL;
         node = node->ai_next) {
        IpAddress address;
        if (ip_address_of_socket(node->ai_addr, &address) == RESULT_OK) {
            MapKey key = ip_address_key(&address);
            sum += hash_mix(key.high) ^ hash_mix(key.low + 1);
        }
    }
    return sum == 0 ? 1 : sum;
}
