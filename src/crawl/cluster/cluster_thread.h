/* Cluster thread: runs the node.
 *
 * What: takes the mail in turn, lets the node do what is due, and publishes its state and figures.
 * It ends when the node has left the cluster.
 * Threads: it is one. */
#ifndef CRAWL_CLUSTER_CLUSTER_THREAD_H
#define CRAWL_CLUSTER_CLUSTER_THREAD_H

#include "crawl/cluster/cluster_state.h"

/* argument: the ClusterPart. */
void *cluster_thread_run(void *argument);

#endif
