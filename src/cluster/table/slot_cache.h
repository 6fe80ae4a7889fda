/* Slot cache: the slots of hosts that were asked for lately.
 *
 * What: a look-up in the public suffix list takes some hundred nanoseconds, and the links of a page
 * lead to few hosts, those of a block to many. Hosts are remembered by a 64-bit hash of their
 * names, under a seed of this process, so nobody outside can construct two names with one hash.
 * Threads: one. */
#ifndef CLUSTER_TABLE_SLOT_CACHE_H
#define CLUSTER_TABLE_SLOT_CACHE_H

#include <stdint.h>

#include "cluster/table/slots.h"

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
