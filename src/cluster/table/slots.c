#include "cluster/table/slots.h"

#include "base/core/hash.h"
#include "parse/host/domain.h"
#include "store/records/url_parts.h"

unsigned slot_of_host(const char *host, size_t length)
{
    Domain domain = domain_registered(host, length);
    return (unsigned)(hash_xxh64(domain.name, domain.length) >> (64 - SLOT_BITS));
}

unsigned slot_of_url(const char *url, size_t length)
{
    UrlParts parts;
    bool has_host = url_parts(url, length, &parts);
    return has_host ? slot_of_host(url + parts.host_start, parts.host_end - parts.host_start)
                    : slot_of_host("", 0);
}
