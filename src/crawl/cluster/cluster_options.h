/* Cluster options: the [cluster] section as options of the node and its transport.
 *
 * What: pure translation, and what an agent is called: by name for people, by machine and directory
 * for the proof that two processes cannot run at once (membership.h).
 * Threads: main. */
#pragma once

#include "cluster/node/node.h"
#include "cluster/transport/transport_nats.h"
#include "rules/config.h"

typedef struct ClusterNames {
    char machine[MEMBER_TEXT_BYTES];
    char name[MEMBER_TEXT_BYTES];
} ClusterNames;

void cluster_names_of(const char *directory, ClusterNames *names);
/* Borrows from the configuration and the names; what is in the directory is left empty. */
NodeOptions cluster_node_options(const Config *config, const ClusterNames *names);
TransportNatsOptions cluster_nats_options(const Config *config, const char *name);
/* A random number. */
uint64_t cluster_luck(void);
