/* Commit notice: what one commit changed, told to the distributor.
 *
 * What: the URLs that left the schedule, the hosts that got new ones, the hosts whose schedule was
 * cleared, and the URLs that changed their level.
 * Owns: its arrays. The ingest thread makes it (ingest/batch/ingest_batch.h), the distributor frees
 * it.
 * Threads: whoever holds it. */
#ifndef FRONTIER_DISTRIBUTOR_COMMIT_NOTICE_H
#define FRONTIER_DISTRIBUTOR_COMMIT_NOTICE_H

#include <stddef.h>
#include <stdint.h>

#include "frontier/visit/visit_state.h"
#include "store/schedule/schedule.h"

typedef struct CommitDone {
    uint64_t index;
    uint32_t host;
} CommitDone;

/* A host that got new URLs, or was brought back with those it had. */
typedef struct CommitHost {
    uint32_t host;
    uint8_t level; /* of the best of them */
    bool revived;
} CommitHost;

typedef struct CommitNotice {
    News news;        /* NEWS_COMMITTED */
    CommitDone *done; /* URLs that left the schedule */
    size_t n_done;
    CommitHost *hosts; /* hosts that got new URLs */
    size_t n_hosts;
    uint32_t *dropped; /* hosts that are full, dropped or parked */
    size_t n_dropped;
    ScheduleChange *moved; /* URLs that changed their level, grouped by host */
    size_t n_moved;
} CommitNotice;

/* NULL is allowed. */
void commit_notice_delete(CommitNotice *notice);

#endif
