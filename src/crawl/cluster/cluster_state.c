#include "crawl/cluster/cluster_state.h"

#include <stdio.h>
#include <string.h>

void cluster_state_set(ClusterPart *part, ClusterState state, const char *text)
{
    mutex_lock(&part->mutex);
    bool changed = (int)state != atomic_load(&part->state) || strcmp(text, part->text) != 0;
    atomic_store(&part->state, (int)state);
    (void)snprintf(part->text, sizeof part->text, "%s", text);
    mutex_unlock(&part->mutex);
    if (changed) {
        part->sinks.news(part->sinks.context);
    }
}

ClusterState cluster_state_get(ClusterPart *part)
{
    return (ClusterState)atomic_load(&part->state);
}

/* Nothing is left here, and what is elsewhere is known there (invariant 1). Ingest's word is read
 * last: it is set before what it speaks of changes. */
bool cluster_state_is_idle(ClusterPart *part)
{
    const ClusterBonds *bonds = &part->bonds;
    bool empty = inbox_is_empty(&part->inbox) && ingest_waiting(bonds->ingest) == 0 &&
                 ingest_cluster_outbox_blocks(&part->ingest) == 0;
    bool done = stats_get(&bonds->stats->urls_queued) == 0 && atomic_load(&part->settled);
    bool idle = done && atomic_load(&part->quiet);
    return empty && (idle || atomic_load(&part->tail)); /* what waits at a tail is never quiet */
}
