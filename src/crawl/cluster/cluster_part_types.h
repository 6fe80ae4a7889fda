/* Cluster part, its types.
 *
 * What: the types that its parts share; cluster_part.h has the functions.
 * Owns: what each comment says.
 * Threads: as cluster_part.h says. */
#pragma once

#include "cluster/node/node.h"
#include "crawl/crawl_store.h"
#include "frontier/distributor/frontier.h"
#include "ingest/chore/scoring.h"

typedef struct ClusterSinks {
    void *context;
    void (*news)(void *context); /* state, verdict or limits have changed; any thread */
    /* So much of a limit may be used in all. */
    void (*granted)(void *context, LedgerUnit unit, uint64_t granted);
    /* How much of it is used, with what is in flight, and how much could be at once. */
    void (*account)(void *context, LedgerUnit unit, LedgerAccount *account);
} ClusterSinks;

/* What the frontier and ingest of this crawl are, once they are built. */
typedef struct ClusterBonds {
    Frontier *frontier;
    Ingest *ingest;
    Stats *stats;
} ClusterBonds;

typedef struct ClusterPart ClusterPart;

typedef struct ClusterFigures {
    NodeStats node;
    uint64_t outbox_blocks;
    uint64_t outbox_bytes;
    uint64_t inbox_bytes;
    uint16_t agent;
} ClusterFigures;
