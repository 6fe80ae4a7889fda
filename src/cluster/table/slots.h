/* Slots: the 4096 parts into which the hosts of a crawl are divided among agents.
 *
 * What: the slot of a host is the top twelve bits of XXH64 of its registered domain
 * (parse/host/domain.h). For example, www.example.co.uk and shop.example.co.uk have the same slot.
 * So everything that is counted by domain stays inside one agent: limits, dedup keys, trap
 * patterns, and most shared addresses. An IP address is its own domain.
 * Threads: any; pure.
 * Invariant: agents with the same public suffix list agree about every slot. Agents compare
 * domain_list_sha1() before they work together (cluster_table.h). */
#ifndef CLUSTER_TABLE_SLOTS_H
#define CLUSTER_TABLE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOT_BITS  12u
#define SLOT_COUNT (1u << SLOT_BITS)

/* host: as in Url.href, without port. */
unsigned slot_of_host(const char *host, size_t length);
/* url: absolute and in the standard's form. Of one that is not http or https the slot is that of
 * the empty host. */
unsigned slot_of_url(const char *url, size_t length);

/* Slot cache: the slots of hosts that were asked for lately.
 *
 * What: a look-up in the public suffix list takes some hundred nanoseconds, and the links of a page
 * lead to few hosts, those of a block to many. Hosts are remembered by a 64-bit hash of their
 * names, under a seed of this process, so nobody outside can construct two names with one hash.
 * Threads: one. */

#define SLOT_CACHE_PLACES 16384u

typedef struct SlotCache {
    uint64_t seed;
    struct {
        uint64_t host; /* hash; 0: free */
        uint16_t slot;
    } places[SLOT_CACHE_PLACES];
} SlotCache;

void slot_cache_init(SlotCache *cache, uint64_t seed);
/* As slot_of_url. */
unsigned slot_cache_of_url(SlotCache *cache, const char *url, size_t length);

#endif
