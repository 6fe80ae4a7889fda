/* Crowd: how many connections hosts of each standing have, and how many addresses wait for one.
 *
 * What: the todo thread publishes it, fetching threads and the status log read it. The figures may
 * be of slightly different instants. Fetching threads tell here whose standing has risen.
 * Owns: nothing.
 * Threads: todo publishes; any thread reads. */
#ifndef FRONTIER_VISIT_CROWD_H
#define FRONTIER_VISIT_CROWD_H

#include <stdatomic.h>

#include "frontier/visit/workbench.h"

typedef struct Crowd {
    atomic_size_t active[STANDINGS];
    atomic_size_t waiting[STANDINGS];
    atomic_size_t risen; /* connections of new hosts that have become those of proven ones */
} Crowd;

typedef struct CrowdCounts {
    size_t active[STANDINGS];  /* visit states at the fetchers */
    size_t waiting[STANDINGS]; /* addresses that are due, and wait for a connection */
} CrowdCounts;

/* connections: that there are in all. */
void crowd_publish(Crowd *crowd, const Workbench *workbench, size_t connections);
/* A host that is being fetched from has become a proven one. Whether the todo thread is to look at
 * once, since new ones wait. */
bool crowd_rise(Crowd *crowd);
/* The same for the todo thread, after crowd_publish: some have risen since it took them, and new
 * ones wait. */
bool crowd_has_risen(const Crowd *crowd);
/* Counts those that have risen. By the todo thread, before it takes visit states back. */
void crowd_settle(Crowd *crowd, Workbench *workbench);
CrowdCounts crowd_counts(const Crowd *crowd);

#endif
