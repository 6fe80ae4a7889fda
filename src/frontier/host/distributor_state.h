/* Distributor state: everything that the distributor knows.
 *
 * What: the maps of visit states, the URLs in flight, the place of the walk, the books of steering,
 * and the sinks for what the distributor cannot do itself. The modules of this room work on one
 * visit state of it, those of frontier/distributor on all of them.
 *
 * Owns: every visit state that is at home, and the maps. Database, schedule and host table are
 * borrowed.
 * Threads: one, the distributor's. Time is a parameter. */
#pragma once

#include "base/thread/distribution.h"
#include "frontier/visit/visit_state.h"
#include "parse/host/port_set.h"
#include "store/pages/page_db.h"
#include "store/tables/host_rows.h"
#include "store/tables/revisit_rows.h"

#define VISIT_FAR_MS 60000 /* a host that must be left alone for longer stays on disk */

typedef struct DistributorOptions {
    size_t memory_bytes;     /* for visit states, their windows and robots rules */
    uint32_t window_max;     /* URLs of one host held in RAM */
    uint64_t pages_per_host; /* windows hold no more than a host has left; 0 = no limit */
    /* The same for one host (site sections); NULL: pages_per_host is for all. */
    uint64_t (*host_pages)(void *context, const char *hostname);
    int64_t host_delay_ms;
    const char *robots_agent; /* product token; borrowed */
    RslUser licence_user;     /* for whom licences are read */
    const PortSet *ports;     /* hosts on other ports are given up; NULL: bad ones; borrowed */
    /* The delay of one host when it differs (site sections); may be NULL. */
    int64_t (*host_delay)(void *context, const char *hostname, int64_t standard_ms);
    void *context;
    LevelBias bias;              /* between the levels of one host */
    bool visits_full_hosts;      /* hosts at their limit of pages have visits that are due */
    const RevisitRows *revisits; /* validators of visited pages are read from it; NULL: none */
    int64_t robots_expiry_ms;    /* rules are good for no longer; 0 = as long as they say */
    MonoTime floor; /* no host is fetched from before it, plus its delay: a resumed crawl */
} DistributorOptions;

/* What may change while the crawl runs. */
typedef struct DistributorChange {
    size_t memory_bytes;
    int64_t robots_expiry_ms;
    PolitenessOptions politeness;
} DistributorChange;

/* What concerns other agents of a cluster. */
typedef struct DistributorPeers {
    void *context;
    /* A host of CommitNotice.dropped is not in memory, or not any more, and none of its results is
     * uncommitted. May be NULL. */
    void (*left)(void *context, uint32_t host);
    /* Asks the owner of another host for the URL that the host's robots.txt redirects to; answered
     * by distributor_told. NULL: all hosts are this agent's. */
    void (*ask)(void *context, uint32_t host, const char *url);
    /* What came of another agent's question, which it takes. */
    void (*tell)(void *context, uint64_t ticket, ErrandAnswer *answer);
} DistributorPeers;

typedef struct DistributorSinks {
    void *context;
    /* Takes a RESOLVING visit state; it comes back with NEWS_RESOLVED. */
    void (*resolve)(void *context, VisitState *visit_state);
    /* The host cannot be resolved, or nothing may be connected to at its port, and it is given up.
     */
    void (*drop)(void *context, const VisitState *visit_state, FetchClass why);
    /* The host has no address, or its robots.txt is out of reach: it is tried again after wait_ms.
     */
    void (*unresolved)(void *context, const VisitState *visit_state, FetchClass why,
                       int64_t wait_ms);
    /* The host has an address for the first time, and its record will say so; NULL: no record does,
     * and all hosts count as if they had one. */
    void (*placed)(void *context, const VisitState *visit_state);
    DistributorPeers peers;
    /* The database cannot be read, which no waiting mends: nothing is read from now on. Once; may
     * be NULL. */
    void (*failed)(void *context, Result why);
    /* Of the todo thread. */
    void *todo;
    /* Takes a visit state that has an address and URLs. */
    void (*ready)(void *todo, VisitState *visit_state);
    /* Takes the message VisitDistribution.recall: a visit state that waits for its turn is to come
     * home. Answered by distributor_recalled, in any case and after that. */
    void (*recall)(void *todo, VisitState *visit_state);
} DistributorSinks;

/* The walk over the hosts that wait on disk. */
typedef struct HostWalk {
    ScheduleHostCursor cursor; /* its place */
    ScheduleHostCursor back;   /* it goes on here after a look at better levels; not started:
                                  nowhere */
    MonoTime next;             /* it starts again not before */
    MonoTime again;            /* it looks at the better levels again, then */
    bool loaded;               /* it has loaded a host since it started */
    size_t n_passed;           /* and hosts that it did not load */
    bool cut;                  /* it has read enough in one transaction, and goes on at once */
    unsigned waiting_level;    /* of the best host known to wait; SCHEDULE_NO_LEVEL: none does */
} HostWalk;

#define STEERING_DUES 16384u

/* Whether a host on disk might be loaded, when its record was last read. */
typedef struct SteeringDue {
    uint32_t host;
    uint32_t until : 30; /* the look at memory that reads it again; 0: never read */
    uint32_t due : 2;    /* VisitDue */
} SteeringDue;

/* Which hosts are worth their memory. */
typedef struct Steering {
    MonoTime next; /* a look at memory, and the walk when the front is large enough */
    MonoTime last;
    size_t hand;                            /* its place in visit_states */
    size_t loaded_at[SCHEDULE_MAX_LEVELS];  /* visit states with URLs, by level: the last round */
    size_t counted_at[SCHEDULE_MAX_LEVELS]; /* this round so far */
    size_t n_to_evict;
    unsigned evict_from;     /* their level, or worse */
    MonoTime evicted_until;  /* never before a second ago: each eviction moves it on */
    int64_t exchange_credit; /* thousandths of evictions that are earned */
    uint64_t results;        /* committed since the last look */
    size_t reads;            /* of records of hosts on disk, in this look */
    size_t remembered;       /* and answers without reading */
    SteeringDue *dues;       /* STEERING_DUES, by host; owned */
    uint32_t n_looks;        /* at memory */
    size_t looks;            /* of the hand, that results have earned */
    size_t n_leaving;        /* evicted, and not forgotten yet */
    uint64_t evictions;      /* since the start */
    bool wants_lower;        /* with a weighted bias: hosts of lower levels wait for their turns */
    uint32_t lower_places[SCHEDULE_MAX_LEVELS]; /* the last of them that was loaded, by level */
} Steering;

#define NAME_SHARE   8u    /* of the memory: an eighth is for hosts without an address */
#define NAME_SOURCES 1024u /* counted; 0 is none */

/* By whom names come: a page, and a registered domain, as hashes. */
typedef enum NameKind { NAME_OF_PAGE, NAME_OF_DOMAIN, NAME_KINDS } NameKind;

/* The hosts in memory that have no address yet, and those on disk that wait to be asked for
 * (frontier/distributor/distributor.c). */
typedef struct NameRoom {
    size_t bytes; /* of their visit states */
    size_t count;
    uint32_t held[NAME_KINDS][NAME_SOURCES]; /* of them, by source */
    size_t n_sources[NAME_KINDS];            /* that hold any */
    bool waits;                              /* some wait on disk */
    ScheduleHostCursor front;                /* all before it had their turn */
    ScheduleHostCursor scout;                /* and before it those whose source has one */
    MonoTime next;                           /* look */
    uint64_t left_out;                       /* times that a new host had to wait on disk */
} NameRoom;

typedef struct Distributor {
    DistributorOptions options;
    PolitenessOptions politeness;
    DistributorSinks sinks;
    PageDB *db;
    Schedule *schedule;
    HostRows *host_rows;
    Map visit_states; /* by host id */
    Map guests;       /* by hash of the origin: visit states of hosts that PageDB does not know */
    Map questions;    /* by ticket: askers that stand for another agent's host */
    Map in_flight;    /* by page index */
    Heap purge;       /* idle visit states by when they may be forgotten */
    HostWalk walk;
    Steering steering;
    NameRoom names;
    Distribution queues; /* VisitDistribution.uncommitted, where it is not 0 */
    size_t memory;       /* bytes of all visit states, as of when they were last here */
    size_t n_resolving;
    size_t n_away;          /* queued or acquired */
    size_t n_asking;        /* on an errand, questions of other agents included */
    uint64_t births;        /* of visit states */
    uint64_t tickets;       /* turns of lower levels in windows, for the bias */
    int64_t clock_start_ms; /* wall time since which the clock has not been set back */
    WallTime wall;          /* as of this call */
    bool failed;            /* the database could not be read */
    Buffer text;            /* scratch */
} Distributor;

#define CLOCK_STEP_US INT64_C(1000000) /* backwards by less is no step */

/* Takes over the time of this turn. */
static inline void distributor_take_wall(Distributor *distributor, WallTime wall)
{
    if (distributor->clock_start_ms == 0 || wall.us < distributor->wall.us - CLOCK_STEP_US) {
        distributor->clock_start_ms = wall.us / 1000;
    }
    distributor->wall = wall;
}

/* The number of URLs that are taken from the schedule for the visit state, and not committed. */
static inline void distributor_set_uncommitted(Distributor *distributor, VisitState *visit_state,
                                               uint64_t n)
{
    distribution_move(&distributor->queues, visit_state->distributor.uncommitted, n);
    visit_state->distributor.uncommitted = n;
}

/* The memory that only hosts without an address may have. */
static inline size_t distributor_names_most(const Distributor *distributor)
{
    return distributor->sinks.placed == NULL ? 0 : distributor->options.memory_bytes / NAME_SHARE;
}

/* What the others have, and may have. */
static inline size_t distributor_memory(const Distributor *distributor)
{
    return distributor->memory - distributor->names.bytes;
}

static inline size_t distributor_memory_most(const Distributor *distributor)
{
    return distributor->options.memory_bytes - distributor_names_most(distributor);
}

/* Visit states on their way to the front. A name may lead nowhere: it does not count. */
static inline size_t distributor_arriving(const Distributor *distributor)
{
    size_t names = distributor->names.count;
    return distributor->n_resolving > names ? distributor->n_resolving - names : 0;
}

/* How long the host is still left alone, in ms; 0 or less: it is not. */
static inline int64_t distributor_wait_ms(const Distributor *distributor, const HostRecord *record)
{
    int64_t now_ms = distributor->wall.us / 1000;
    return host_not_before_ms(record, now_ms, distributor->clock_start_ms) - now_ms;
}

/* Disk read: the distributor's read transactions, and the end of them.
 *
 * What: every read of the distributor goes through a read transaction of its own. An error that no
 * waiting mends (a damaged file, a failing disk) ends all reading: the sink `failed` is told once,
 * and Distributor.failed stays set.
 * Threads: distributor. */

/* Begins a read transaction. NULL when that fails; the log says why. */
MDB_txn *disk_read_begin(Distributor *distributor);
/* Notes the result of a read. Returns rc. */
Result disk_read_note(Distributor *distributor, Result rc);
