/* Node stats: the figures of a node.
 *
 * What: plain values for status.log and `ragno cluster status`. */
#ifndef CLUSTER_NODE_NODE_STATS_H
#define CLUSTER_NODE_NODE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct NodeStats {
    bool up;
    bool confirmed; /* the table, lately */
    uint64_t epoch;
    size_t held; /* leases */
    size_t wanted;
    size_t arbitrated; /* addresses that this node decides about */
    size_t lease_bytes;
    uint64_t lease_messages;
    uint64_t granted; /* by this node */
    uint64_t expired;
    size_t in_flight; /* messages of blocks */
    size_t agents_away;
    size_t agents_awaited; /* by the ledger of limits */
    uint64_t sent;
    uint64_t repeated;
    uint64_t bytes_sent; /* of blocks, before they are packed */
    uint64_t refused;    /* blocks of others, and ours by others */
} NodeStats;
#endif
