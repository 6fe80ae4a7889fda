#include "fetch/dns/dns_answer.h"

#include <string.h>

#include "fetch/dns/dns_record.h"

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static bool preferred(const ResolverOptions *options, const IpAddress *address)
{
    bool want_v6 = options->family == RESOLVER_IPV6_FIRST || options->family == RESOLVER_IPV6_ONLY;
    return address->v6 == want_v6;
}

int64_t dns_answer_collect(const ResolverOptions *options, Name *name,
                           const struct ares_addrinfo *answer, size_t *special)
{
    int64_t ttl_ms = INT64_MAX;
    for (int pass = 0; pass < 2; pass++) {
        for (const struct ares_addrinfo_node *node = answer->nodes; node != NULL;
             node = node->ai_next) {
            IpAddress address;
            if (name->n_addresses == NAME_ADDRESSES_MAX ||
                ip_address_of_socket(node->ai_addr, &address) != RESULT_OK ||
                preferred(options, &address) != (pass == 0)) {
                continue;
            }
            if (!ip_policy_allows(options->policy, &address)) {
                (*special)++;
                continue;
            }
            name->addresses[name->n_addresses++] = address;
            int64_t ms = (int64_t)node->ai_ttl * 1000;
            ttl_ms = ms < ttl_ms ? ms : ttl_ms;
        }
    }
    return clamp(ttl_ms, options->ttl_min_ms, options->ttl_max_ms);
}

void dns_answer_tell(const ResolverOptions *options, Name *name, const struct ares_addrinfo *answer)
{
    uint64_t fingerprint = dns_record_fingerprint(answer);
    if (options->heard == NULL || answer->nodes == NULL || fingerprint == name->heard) {
        return;
    }
    Buffer records;
    buffer_init(&records, BUFFER_NO_LIMIT);
    WallTime asked = {wall_now().us - mono_ms_between(name->asked, mono_now()) * 1000};
    if (dns_record_format(&records, name->hostname, answer, asked) == RESULT_OK) {
        options->heard(options->heard_context, name->hostname, asked, &records);
        name->heard = fingerprint;
    }
    buffer_destroy(&records);
}

/* "localhost" and what is below it are this machine, whatever name servers say (RFC 6761 6.3). */
static bool is_localhost(const char *hostname)
{
    static const char name[] = "localhost";
    size_t length = strlen(hostname);
    size_t n = sizeof name - 1;
    return length >= n && strcmp(hostname + length - n, name) == 0 &&
           (length == n || hostname[length - n - 1] == '.');
}

bool dns_answer_literal(const char *hostname, IpAddress *address)
{
    const char *text = is_localhost(hostname) ? "127.0.0.1" : hostname;
    return ip_address_parse(text, strlen(text), address) == RESULT_OK;
}
