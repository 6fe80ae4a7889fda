/* Slots of hosts that were asked for lately: the public suffix list costs some hundred nanoseconds,
 * and the links of a page lead to few hosts.
 *
 * Hosts are remembered by 64 bits of their names' hash, under a seed of this process: nobody
 * outside can make two of them one. Belongs to one thread. */
#ifndef CLUSTER_TABLE_SLOT_CACHE_H
#define CLUSTER_TABLE_SLOT_CACHE_H

#include <stdint.h>

#include "cluster/table/slots.h"

#define SLOT_CACHE_PLACES 4096u

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
