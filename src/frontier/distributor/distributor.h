/* Distributor: decides which hosts are in memory, and with which of their URLs.
 *
 *   schedule (disk) --> distributor --> resolver --> distributor --> todo thread (workbench)
 *        ^                   ^                                             |
 *        |                   '-------------- NEWS_EMPTY -------------------'
 *     ingest --- NEWS_COMMITTED --'
 *
 * What: maps hosts to visit states, gives them URLs from the schedule
 * (frontier/host/visit_window.h), sends them to be resolved and on to the workbench
 * (frontier/host/visit_dispatch.h), and forgets them when they have nothing to do (distributor.h).
 * Hosts that wait on disk are found by a walk over the schedule (host_walk.h); when memory is full,
 * the worst in memory make room for better ones (steering.h).
 *
 * Owns: every visit state that is at home.
 * Threads: one, the distributor's. Time is a parameter; what the distributor cannot do itself goes
 * through its sinks.
 *
 * Invariants:
 *  1. A page index is in `in_flight` from the moment it enters a window until its result is
 *     committed or its visit state is forgotten: nothing is handed out twice.
 *  2. A host (scheme and authority) has at most one visit state, its guest included.
 *  3. A visit state is forgotten only when it is IDLE, none of its URLs is uncommitted, and its
 *     next fetch time has passed or is in the host's committed record: politeness survives nowhere
 *     else. Because of the latter, hosts that must wait long can make room when memory is short.
 *  4. A visit state with askers serves them before it goes on an errand itself: nobody waits in a
 *     circle. A host that has a guest gets its own visit state, with the guest's times, once the
 *     guest is home.
 *  5. A window holds the best URLs of its host. When a commit brings a better URL, or moves one
 *     that is in a window, the visit state is recalled and reads its window anew, a smaller one.
 *  6. Memory is bounded by `memory_bytes`, whatever the size of the crawl.
 *  7. Pages of a host that are stored and its URLs that are in flight are never more together than
 *     pages_per_host. A host that has no room for a URL gets a window when its results are
 *     committed: each of them may have brought no page.
 *
 * Source: BUbiNG, class Distributor. */
#pragma once

#include "frontier/host/distributor_state.h"

/* Commit notice: what one commit changed, told to the distributor.
 *
 * What: the URLs that left the schedule, the hosts that got new ones, the hosts whose schedule was
 * cleared, and the URLs that changed their level.
 * Owns: its arrays. The ingest thread makes it (ingest/batch/ingest_batch.h), the distributor frees
 * it.
 * Threads: whoever holds it. */

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

Result distributor_init(Distributor *distributor, const DistributorOptions *options,
                        const PolitenessOptions *politeness, const DistributorSinks *sinks,
                        PageDB *db, Schedule *schedule, HostRows *host_rows);
/* Frees every visit state that is at home; those away must have come back. */
void distributor_destroy(Distributor *distributor);

/* A visit state comes home: NEWS_RESOLVED, NEWS_EMPTY or NEWS_ANSWERED. */
void distributor_receive(Distributor *distributor, VisitState *visit_state, MonoTime now,
                         WallTime wall);
/* Takes over what a commit has changed. The notice stays the caller's. */
void distributor_committed(Distributor *distributor, const CommitNotice *notice, MonoTime now,
                           WallTime wall);
/* What came of DistributorSinks.ask; takes the answer. */
void distributor_told(Distributor *distributor, uint32_t host, ErrandOutcome outcome,
                      ErrandAnswer *answer, MonoTime now, WallTime wall);
/* Another agent asks: an asker with errands.ticket and robots.target, which it takes. Answered by
 * DistributorSinks.tell. */
void distributor_asked(Distributor *distributor, VisitState *asker, MonoTime now, WallTime wall);
/* The configuration has changed: hosts that wait get their new delay at once. */
void distributor_replan(Distributor *distributor, const DistributorChange *change, MonoTime now);
/* The todo thread has read a recall: the visit state has left its workbench entry, or was not there
 * and comes home by itself. */
void distributor_recalled(Distributor *distributor, VisitState *visit_state);
/* Loads hosts until front (workbench entries with work, plus visit states on their way there) has
 * reached required, and forgets idle visit states. Returns the time by which it must be called
 * again. */
MonoTime distributor_work(Distributor *distributor, size_t front, size_t required, MonoTime now,
                          WallTime wall);
