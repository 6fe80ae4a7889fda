/* Cluster wait: until this agent has joined its cluster.
 *
 * What: nothing can be fetched before: which hosts are ours, what the crawl's settings are, and
 * whether this directory may run at all is known afterwards. An operator hears what it waits for,
 * and may end it by a signal.
 * Threads: main. */
#ifndef CRAWL_CLUSTER_CLUSTER_WAIT_H
#define CRAWL_CLUSTER_CLUSTER_WAIT_H

#include "crawl/cluster/cluster_part.h"

/* signals: signalfd; news: the eventfd that ClusterSinks.news rings. RESULT_OK: joined.
 * RESULT_CLOSED: a signal came. RESULT_LOCKED: refused; error has the sentence. */
Result cluster_wait(ClusterPart *part, int signals, int news, Buffer *error);

#endif
