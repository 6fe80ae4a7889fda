#include "cluster/table/slots.h"

#include <string.h>

#include "base/core/hash.h"
#include "parse/host/domain.h"
#include "store/records/url_parts.h"

/* ---- Slot cache ---- */

void slot_cache_init(SlotCache *cache, uint64_t seed)
{
    memset(cache, 0, sizeof *cache);
    cache->seed = seed;
}

unsigned slot_cache_of_url(SlotCache *cache, const char *url, size_t length)
{
    UrlParts parts;
    if (!url_parts(url, length, &parts)) {
        return slot_of_host("", 0);
    }
    const char *host = url + parts.host_start;
    size_t host_length = parts.host_end - parts.host_start;
    uint64_t hash = hash_64(host, host_length, cache->seed) | 1;
    size_t place = hash >> 32 & (SLOT_CACHE_PLACES - 1);
    if (cache->places[place].host != hash) {
        cache->places[place].host = hash;
        cache->places[place].slot = (uint16_t)slot_of_host(host, host_length);
    }
    return cache->places[place].slot;
}

/* ---- Slots ---- */

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
