/* Agents of one crawl in virtual time: each is an agent (agent.h) of real parts with a database of
 * its own, over a transport that misbehaves (transport_sim.h), in one simulated web (world.h).
 * Agents die and start again, are cut off, and the server is away or forgets; slots move, agents
 * come and are drained. One auditor (audit.h) watches all of them: never two requests in flight to
 * an address or a host, never one too soon, no page twice but for what was in flight at a kill;
 * at the end none is missing, none is at two agents, and no limit is exceeded. */
#ifndef TESTS_SIM_CLUSTER_SIM_H
#define TESTS_SIM_CLUSTER_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLUSTER_SIM_AGENTS 1000u
#define CLUSTER_SIM_ADDED  8u /* that may come while the crawl runs */

typedef struct ClusterSimOptions {
    unsigned agents;
    unsigned urls;
    unsigned hosts;
    unsigned addresses;
    unsigned host_urls; /* of one host at most */
    unsigned lost;      /* of a thousand messages */
    unsigned kills;     /* of agents */
    unsigned cuts;      /* of agents from the server */
    unsigned downs;     /* of the server; every third time it forgets everything */
    unsigned moves;     /* an operator's commands: move, drain, add */
    unsigned stops;     /* of agents, by an operator, who starts them again */
    unsigned returns;   /* of a backup of an agent's directory in its place */
    unsigned stills;    /* of machines: a pause that no clock of the machine shows */
    unsigned fails;     /* of commits */
    unsigned machines;  /* kills after which the directory is on another machine */
    unsigned stale_ms;  /* a look at the bucket may be out of date by so much; 0: none is */
    unsigned strays;    /* kills after which an agent comes with other settings */
    unsigned orders;    /* to pause all agents, and to go on */
    unsigned limit;     /* pages of all together; 0 = none */
    unsigned trouble_s; /* in which all of that happens */
    bool most;          /* it ends when most pages were answered: for figures of many agents */
    bool even;          /* addresses have as many hosts each, so that agents have as much to do */
    unsigned batch_ms;
    size_t memory_bytes; /* of all frontiers together */
    uint64_t seed;
    const char *directory; /* of the databases; NULL: one is made and removed */
} ClusterSimOptions;

/* Prints its figures. The exit status: 0 when no promise was broken and it ended. */
int cluster_sim_run(const ClusterSimOptions *options);

#endif
