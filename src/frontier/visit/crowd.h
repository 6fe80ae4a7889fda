/* Crowd: how many connections hosts of each standing have, and how many addresses wait for one.
 *
 * What: the todo thread publishes it, fetching threads and the status log read it. The figures may
 * be of slightly different instants.
 * Owns: nothing.
 * Threads: todo publishes; any thread reads. */
#ifndef FRONTIER_VISIT_CROWD_H
#define FRONTIER_VISIT_CROWD_H

#include <stdatomic.h>

#include "frontier/visit/workbench.h"

typedef struct Crowd {
    atomic_size_t active[STANDINGS];
    atomic_size_t waiting[STANDINGS];
    atomic_size_t ill;
} Crowd;

typedef struct CrowdCounts {
    size_t active[STANDINGS];  /* visit states at the fetchers, as which they count */
    size_t waiting[STANDINGS]; /* addresses that are due, and wait for a connection */
    size_t ill;                /* visit states that were ILL when they were acquired */
} CrowdCounts;

/* connections: that there are in all. */
void crowd_publish(Crowd *crowd, const Workbench *workbench, size_t connections);
CrowdCounts crowd_counts(const Crowd *crowd);

#endif
