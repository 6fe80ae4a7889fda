/* Arbiters: which agent decides about an address (cluster/lease/lease_arbiter.h).
 *
 * What: the arbiters are the agents that a cluster table names as owners. The arbiter of an address
 * is the agent with the highest hash of (address, agent), which is called rendezvous hashing. So an
 * agent that comes or goes changes the arbiter of its own share of the addresses and of no others.
 * Owns: the list of agents.
 * Threads: an object belongs to its caller; pure.
 * Source: Thaler, Ravishankar 1998; MANY-MACHINES 5. */
#ifndef CLUSTER_TABLE_ARBITERS_H
#define CLUSTER_TABLE_ARBITERS_H

#include "cluster/table/cluster_table.h"
#include "parse/host/ip_address.h"

typedef struct Arbiters {
    uint16_t *agents; /* ascending; owned */
    size_t n;
} Arbiters;

/* The arbiters of a table. RESULT_MEMORY: *arbiters is empty. */
Result arbiters_of_table(Arbiters *arbiters, const ClusterTable *table);
void arbiters_destroy(Arbiters *arbiters);
bool arbiters_equal(const Arbiters *a, const Arbiters *b);
bool arbiters_have(const Arbiters *arbiters, uint16_t agent);
/* CLUSTER_NOBODY when there are none. O(arbiters). */
uint16_t arbiters_find(const Arbiters *arbiters, const IpAddress *address);

#endif
