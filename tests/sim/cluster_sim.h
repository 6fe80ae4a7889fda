/* Agents of one crawl in virtual time: each has a real node (cluster/node/node.h) over a transport
 * that misbehaves (transport_sim.h), and a crawl in small: URLs that it knows and has fetched, an
 * outbox, commits, transfers. Agents die and start again, are cut off, and the server is away or
 * forgets. An auditor watches all of them: never two requests in flight to an address or a host,
 * never one too soon, no page at two agents, none missing at the end, no limit exceeded. */
#ifndef TESTS_SIM_CLUSTER_SIM_H
#define TESTS_SIM_CLUSTER_SIM_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ClusterMutation {
    MUTATION_NONE,
    MUTATION_FLOOR, /* a new arbiter grants at once */
    MUTATION_LEASE  /* a lease is shorter than its fetches */
} ClusterMutation;

typedef struct ClusterSimOptions {
    unsigned agents;
    unsigned urls;
    unsigned hosts;
    unsigned addresses;
    unsigned lost;  /* of a thousand messages */
    unsigned kills; /* of agents */
    unsigned cuts;  /* of agents from the server */
    unsigned downs; /* of the server; every third time it forgets everything */
    unsigned limit; /* pages of all together; 0 = none */
    uint64_t seed;
    ClusterMutation mutation;
} ClusterSimOptions;

/* Prints its figures. The exit status: 0 when no promise was broken and it ended. */
int cluster_sim_run(const ClusterSimOptions *options);

#endif
