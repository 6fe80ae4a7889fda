/* Cluster answers: what this agent tells others of its pages (NodePageQuestion).
 *
 * What: the sentences of `ragno why`, and the way by which a page was found. The rules are not
 * judged, and of the logs only the last mebibyte is read, so that an answer takes milliseconds: the
 * thread has leases to look after.
 * Threads: cluster. */
#ifndef CRAWL_CLUSTER_CLUSTER_ANSWERS_H
#define CRAWL_CLUSTER_CLUSTER_ANSWERS_H

#include "crawl/cluster/cluster_state.h"

/* NodeSinks.page; context: the ClusterPart. */
void cluster_answers_page(void *context, WireReader *question, WireWriter *answer);

#endif
