/* The distributor: maps hosts to visit states, gives them URLs from the schedule, sends them to be
 * resolved and on to the workbench, and forgets them when they have nothing to do.
 *
 *   schedule (disk) --> distributor --> resolver --> distributor --> todo thread (workbench)
 *        ^                   ^                                             |
 *        |                   '-------------- NEWS_EMPTY -------------------'
 *     ingest --- NEWS_COMMITTED --'
 *
 * Invariants:
 *  1. A page index is in `in_flight` from the moment it enters a window until its result is
 *     committed or its visit state is forgotten: nothing is handed out twice.
 *  2. A host (scheme and authority) has at most one visit state, a guest included.
 *  3. A visit state is forgotten only when it is IDLE, none of its URLs is uncommitted, and its
 * next fetch time has passed or is in the host's committed record (politeness survives nowhere
 * else). The latter is how hosts that must wait long make room for others when memory is short.
 *  4. One with askers serves them before it goes on an errand itself: nobody waits in a circle. A
 *     host that has a guest gets its own visit state, with the guest's times, once that is home.
 *  5. Windows hold the best URLs of their hosts. When a commit brings a better one, or moves one
 *     that is in a window, the visit state is recalled and reads its window anew, a smaller one.
 *  6. Hosts with work that are not in RAM are found again by a walk over the schedule's host table,
 *     best level first: memory is bounded by `memory_bytes`, whatever the size of the crawl. The
 *     hosts before the walk's place are in RAM, could not be loaded when it passed, or had their
 *     turn: whoever is better than those at its place and left on disk before it sets it back, and
 *     it begins anew now and then. No host is loaded while a better one is known to wait; equals
 *     take turns.
 *  7. Pages of a host that are stored, and its URLs that are in flight, are never more together
 *     than pages_per_host. A host that has no room for a URL gets a window when its results are
 *     committed: each of them may have brought no page.
 *
 * Steering. While somebody waits on disk the visit states in RAM are counted by the level of their
 * best URL, round and round (the hand of a clock, a few of them at each call). When memory is full,
 * the best who wait are set against the worst in RAM, and for each that is strictly better one of
 * the worst is evicted: recalled, and forgotten as any other (3), so that its times, rules and
 * failures survive; what is on disk is the truth, nothing has to be written back. Equals never
 * change places, a second sees no more evictions than a share of the hosts in RAM and, but for a
 * few, than a share of the results (a crawl gains nothing by better hosts that it cannot visit),
 * and none when the best of them already make up the required front. So scores that are all the
 * same evict nobody, and with scores what is fetched next is nearly the best of all hosts, not of
 * those that happened to come first. When there is room, better hosts are loaded in the same way
 * although the front is large enough. A weighted bias keeps its share of the hosts in RAM for
 * levels that are not the best: so many of these are not evicted, and loaded by turns.
 *
 * Owned by one thread; time is a parameter; what it cannot do itself goes through sinks. Source:
 * BUbiNG, class Distributor; DESIGN sections 2 and 3. */
#ifndef FRONTIER_DISTRIBUTOR_DISTRIBUTOR_H
#define FRONTIER_DISTRIBUTOR_DISTRIBUTOR_H

#include "base/core/clock.h"
#include "base/memory/heap.h"
#include "base/memory/map.h"
#include "base/core/result.h"
#include "frontier/distributor/commit_notice.h"
#include "frontier/visit/visit_state.h"
#include "store/tables/host_table.h"
#include "store/pages/page_db.h"
#include "store/tables/revisit_table.h"
#include "store/schedule/schedule.h"

typedef struct DistributorOptions {
    size_t memory_bytes;     /* for visit states, their windows and robots rules */
    uint32_t window_max;     /* URLs of one host held in RAM */
    uint64_t pages_per_host; /* windows hold no more than a host has left; 0 = no limit */
    int64_t host_delay_ms;
    const char *robots_agent; /* product token; borrowed */
    /* The delay of one host when it differs (site sections); may be NULL. */
    int64_t (*host_delay)(void *context, const char *hostname, int64_t standard_ms);
    void *context;
    LevelBias bias;               /* between the levels of one host */
    bool visits_full_hosts;       /* hosts at their limit of pages have visits that are due */
    const RevisitTable *revisits; /* validators of visited pages are read from it; NULL: none */
    MonoTime floor; /* no host is fetched from before it, plus its delay: a resumed crawl */
} DistributorOptions;

typedef struct DistributorSinks {
    void *context;
    /* Takes a RESOLVING visit state; it comes back with NEWS_RESOLVED. */
    void (*resolve)(void *context, VisitState *visit_state);
    /* Takes a visit state that has an address and URLs. */
    void (*ready)(void *context, VisitState *visit_state);
    /* Takes the message VisitDistribution.recall: a visit state that waits for its turn is to come
     * home. Answered by distributor_recalled, in any case and after that. */
    void (*recall)(void *context, VisitState *visit_state);
    /* The host cannot be resolved and is given up: its schedule must be cleared. */
    void (*drop)(void *context, const VisitState *visit_state, FetchClass why);
    /* The host could not be resolved and is tried again after wait_ms. */
    void (*unresolved)(void *context, const VisitState *visit_state, int64_t wait_ms);
    /* The database cannot be read, which no waiting mends: nothing is read from now on. Once; may
     * be NULL. */
    void (*failed)(void *context);
} DistributorSinks;

typedef struct Distributor {
    DistributorOptions options;
    const PolitenessOptions *politeness; /* borrowed */
    DistributorSinks sinks;
    PageDB *db;
    Schedule *schedule;
    HostTable *host_table;
    Map visit_states; /* by host id */
    Map guests;       /* by hash of the origin: visit states of hosts that PageDB does not know */
    Map in_flight;    /* by page index */
    Heap purge;       /* idle visit states by when they may be forgotten */

    ScheduleHostCursor cursor;    /* the walk's place */
    MonoTime next_walk;           /* the walk over hosts starts again not before */
    MonoTime walk_again;          /* it looks at the better levels again, then */
    ScheduleHostCursor walk_back; /* goes on here; not started: nowhere */
    bool loaded_in_walk;
    unsigned waiting_level; /* of the best host known to wait; SCHEDULE_NO_LEVEL: none does */

    MonoTime next_steer; /* a look at memory, and the walk when the front is large enough */
    MonoTime last_steer;
    size_t hand;                            /* its place in visit_states */
    size_t loaded_at[SCHEDULE_MAX_LEVELS];  /* visit states with URLs, by level: the last round */
    size_t counted_at[SCHEDULE_MAX_LEVELS]; /* this round so far */
    size_t n_to_evict;
    unsigned evict_from;     /* their level, or worse */
    MonoTime evicted_until;  /* never before a second ago: each eviction moves it on */
    int64_t exchange_credit; /* thousandths of evictions that are earned */
    uint64_t results;        /* committed since the last look */
    size_t looks;            /* of the hand, that results have earned */
    size_t n_leaving;        /* evicted, and not forgotten yet */
    uint64_t evictions;      /* since the start */
    bool wants_lower;        /* with a weighted bias: hosts of lower levels wait for their turns */
    uint32_t lower_places[SCHEDULE_MAX_LEVELS]; /* the last of them that was loaded, by level */

    size_t memory; /* bytes of all visit states, as of when they were last here */
    size_t n_resolving;
    size_t n_away;    /* queued or acquired */
    size_t n_asking;  /* on an errand */
    uint64_t births;  /* of visit states */
    uint64_t tickets; /* turns of lower levels in windows, for the bias */
    WallTime wall;    /* as of this call */
    bool failed;      /* the database could not be read */
    Buffer text;      /* scratch */
} Distributor;

Result distributor_init(Distributor *distributor, const DistributorOptions *options,
                        const PolitenessOptions *politeness, const DistributorSinks *sinks,
                        PageDB *db, Schedule *schedule, HostTable *host_table);
/* Frees every visit state that is at home; those away must have come back. */
void distributor_destroy(Distributor *distributor);

/* A visit state comes home: NEWS_RESOLVED, NEWS_EMPTY or NEWS_ANSWERED. */
void distributor_receive(Distributor *distributor, VisitState *visit_state, MonoTime now,
                         WallTime wall);
void distributor_committed(Distributor *distributor, const CommitNotice *notice, MonoTime now,
                           WallTime wall);
/* A recall has been read: wherever the visit state was, it is not there any more, or comes home by
 * itself. */
void distributor_recalled(Distributor *distributor, VisitState *visit_state);
/* Loads hosts until the front (entries ready elsewhere, plus what is being resolved) is required;
 * forgets idle visit states. Returns when it wants to be called again at the latest. */
MonoTime distributor_work(Distributor *distributor, size_t front, size_t required, MonoTime now,
                          WallTime wall);
/* Forgets a visit state without further ado, for shutting down. */
void distributor_forget(Distributor *distributor, VisitState *visit_state);

#endif
