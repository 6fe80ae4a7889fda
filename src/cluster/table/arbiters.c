#include "cluster/table/arbiters.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"

Result arbiters_of_table(Arbiters *arbiters, const ClusterTable *table)
{
    *arbiters = (Arbiters){.n = 0};
    bool *named = calloc(table->n_agents + 1u, sizeof *named);
    arbiters->agents = calloc(table->n_agents + 1u, sizeof *arbiters->agents);
    if (named == NULL || arbiters->agents == NULL) {
        free(named);
        arbiters_destroy(arbiters);
        return RESULT_MEMORY;
    }
    for (unsigned slot = 0; slot < SLOT_COUNT && table->n_agents > 0; slot++) {
        named[table->slots[slot].from] = true;
        named[table->slots[slot].to] = true;
    }
    for (uint32_t i = 0; i < table->n_agents; i++) {
        if (named[i]) {
            arbiters->agents[arbiters->n++] = (uint16_t)i;
        }
    }
    free(named);
    return RESULT_OK;
}

void arbiters_destroy(Arbiters *arbiters)
{
    free(arbiters->agents);
    *arbiters = (Arbiters){.n = 0};
}

bool arbiters_equal(const Arbiters *a, const Arbiters *b)
{
    return a->n == b->n &&
           (a->n == 0 || memcmp(a->agents, b->agents, a->n * sizeof *a->agents) == 0);
}

bool arbiters_have(const Arbiters *arbiters, uint16_t agent)
{
    for (size_t i = 0; i < arbiters->n; i++) {
        if (arbiters->agents[i] == agent) {
            return true;
        }
    }
    return false;
}

uint16_t arbiters_find(const Arbiters *arbiters, const IpAddress *address)
{
    MapKey key = ip_address_key(address);
    uint64_t place = hash_mix(key.high + hash_mix(key.low));
    uint16_t best = CLUSTER_NOBODY;
    uint64_t highest = 0;
    for (size_t i = 0; i < arbiters->n; i++) {
        uint64_t luck = hash_mix(place + hash_mix(arbiters->agents[i] + UINT64_C(1)));
        if (best == CLUSTER_NOBODY || luck > highest) {
            best = arbiters->agents[i];
            highest = luck;
        }
    }
    return best;
}
