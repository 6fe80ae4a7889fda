/* Cluster state: what cluster_part.h is made of.
 *
 * What: the parts of a ClusterPart, and the state that it tells the main thread.
 * Owns: see cluster_part.h.
 * Threads: as the comments say; the mutex guards the text, the figures and changes of the state. */
#ifndef CRAWL_CLUSTER_CLUSTER_STATE_H
#define CRAWL_CLUSTER_CLUSTER_STATE_H

#include <stdatomic.h>

#include "base/thread/thread.h"
#include "cluster/mass/mass.h"
#include "crawl/cluster/cluster_mail.h"
#include "crawl/cluster/cluster_options.h"
#include "crawl/cluster/cluster_part_types.h"
#include "ingest/chore/acks_chore.h"
#include "ingest/chore/inbox_chore.h"
#include "ingest/chore/table_chore.h"
#include "ingest/move/moves_chore.h"

struct ClusterPart {
    const Config *config;
    CrawlStore *store; /* borrowed */
    ClusterSinks sinks;
    ClusterBonds bonds; /* from cluster_part_begin on */
    ClusterNames names;
    Buffer settings;
    ClusterMail mail;
    TransportNats *nats;
    Node *node; /* the cluster thread's, as are the next four */
    ClusterTable joined;
    uint64_t used[LEDGER_UNITS];
    int64_t asleep_ns;
    MonoTime next_figures;
    Thread thread;
    bool opened; /* what follows is there; the main thread's word */
    Inbox inbox;
    IngestCluster ingest;
    InboxChore *inbox_chore;
    AcksChore acks;
    TableChore table;
    MovesChore moves;
    Mass *mass; /* NULL: no scores are exchanged */
    PageRankOutside outside;
    _Atomic int state;   /* ClusterState */
    _Atomic int verdict; /* EndVerdict */
    atomic_bool quiet;
    atomic_bool settled;
    atomic_bool tail;
    atomic_bool full;
    atomic_bool leaving;
    _Atomic(const char *) limit; /* what bounds the crawl here */
    _Atomic uint64_t arrived;    /* blocks of others */
    _Atomic uint64_t rate;       /* this agent's share of fetch.rate */
    Mutex mutex;                 /* RANK_TABLE */
    char text[600];
    ClusterFigures figures;
};

/* Any thread. */
void cluster_state_set(ClusterPart *part, ClusterState state, const char *text);
ClusterState cluster_state_get(ClusterPart *part);
/* Whether nothing is left here, and what is elsewhere is known there. Any thread. */
bool cluster_state_is_idle(ClusterPart *part);

#endif
