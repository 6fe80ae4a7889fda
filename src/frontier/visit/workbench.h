/* Workbench: visit states grouped by IP address, in the order in which they may be fetched from.
 *
 * What: a visit state whose name is resolved is in the entry of its address. Among the entries that
 * are due, those of the best level go first, and of these the one that has been due longest. So
 * whenever a fetch can begin, it is of the best URL in memory that may be fetched now. A bias can
 * give other levels a share of the turns (store/schedule/level_bias.h). Hosts that are new, fail or
 * are slow have a bounded share of the connections (visit_state.h); one whose share is used up
 * waits, and the others go on, those of its address, too.
 *
 * Owns: the entries. Visit states are the todo thread's while they are queued here.
 * Threads: todo. Every time is a parameter.
 *
 * Invariants:
 *  1. A visit state is in its entry's queue if and only if it is not acquired and has something to
 *     fetch.
 *  2. An entry is on the workbench if and only if it is not acquired and its queue is not empty.
 *  3. An entry's time is the later of its own next fetch and the earliest next fetch of its visit
 *     states. The entry is waiting while that time is in the future and due afterwards. A due entry
 *     stands, for each standing, at the best level of its visit states whose time has come, and
 *     offers that one.
 *  4. While an entry is acquired, none of its visit states is acquired: there are never two fetches
 *     in flight to one address.
 *  5. An entry without visit states is forgotten only after its next fetch time has passed.
 *  6. With leases (WorkbenchLeases) an entry is due only while it has one, and is acquired only
 *     before its end, which goes with the visit state (VisitPoliteness.fetch_before).
 *
 * Source: BUbiNG, classes Workbench and WorkbenchEntry; Mercator's back queues. */
#pragma once

#include <stdatomic.h>

#include "frontier/visit/visit_state.h"
#include "store/schedule/schedule.h"

/* Due entries: the workbench's entries that may be fetched from now, in the order of their turns.
 *
 * What: an entry offers the best visit state of each standing that it has (visit_state.h), so it
 * has up to one place for each standing. Of the standings that are open the best level goes first,
 * or the one whose turn it is (LevelBias); within it the entry that has been due longest, whatever
 * its standing.
 *
 * Owns: its heaps; entries are the workbench's.
 * Threads: todo. */

/* A member of the entry. */
typedef struct DuePlace {
    HeapNode node;
    uint8_t level; /* in which heap */
} DuePlace;

typedef struct DueEntries {
    Heap at[STANDINGS][SCHEDULE_MAX_LEVELS]; /* by time */
    uint64_t levels[STANDINGS];              /* bit l: at[.][l] is not empty */
    size_t count[STANDINGS];
    LevelBias bias;
    uint64_t ticket;  /* turns so far, for the bias */
    uint64_t n_added; /* equals go in this order */
} DueEntries;

/* Workbench entry: one IP address and the visit states that are fetched from it.
 *
 * What: its visit states wait until their time has come, and are ready then, by standing
 * (visit_state.h): the best level first, then the one that has been ready longest.
 *
 * Owns: its heaps. Visit states are the todo thread's while they are queued here.
 * Threads: todo. Every time is a parameter.
 * Source: BUbiNG, class WorkbenchEntry. */

/* Of an address that agents on other machines may fetch from, too: it is fetched from only before
 * the end of a lease.
 *
 *            something is due: want          granted
 *   NO_LEASE -----------------------> WANTED --------> HELD
 *      ^                                |               |  its end, or others wait and nothing is
 *      '------------- release ----------'---------------'  due: release, once nothing is in flight
 */
typedef enum EntryLeaseState { NO_LEASE, LEASE_IS_WANTED, LEASE_IS_HELD } EntryLeaseState;

typedef struct EntryLease {
    EntryLeaseState state;
    uint64_t ticket; /* of the want: news of an earlier one come too late */
    MonoTime end;    /* no fetch begins behind it */
    MonoTime kept;   /* for a first fetch by then, though others wait */
    bool contended;  /* others wait */
    bool ended;      /* it is to be given back */
} EntryLease;

struct WorkbenchEntry {
    IpAddress address;
    EntryLease lease;
    MonoTime next_fetch;   /* not before, for the address */
    Heap waiting;          /* its visit states by next fetch, until their time comes */
    Heap ready[STANDINGS]; /* the others by level, then time */
    HeapNode place;        /* in Workbench.waiting or .resting */
    DuePlace due[STANDINGS];
    HeapNode news;         /* of a due entry, in Workbench.news: when one more gets ready */
    bool acquired;         /* a fetch to the address is in flight */
    size_t n_visit_states; /* that name this entry, queued or acquired */
    enum { ENTRY_NOWHERE, ENTRY_WAITING, ENTRY_DUE, ENTRY_RESTING, ENTRY_LEASING } queue;
};

/* Visit states whose time has come get ready. */
bool workbench_entry_has_ready(const WorkbenchEntry *entry);

/* Of new hosts those that have answered go first, as if the others were due so much later: the
 * hosts that came first are proven before all are asked for their robots.txt. */
#define WORKBENCH_UNHEARD_MS 10000

/* How leases are asked for (cluster/lease/lease_holder.h). */
typedef struct WorkbenchLeases {
    void *context;
    /* Answered by workbench_hear, with the ticket. */
    void (*want)(void *context, const IpAddress *address, uint64_t ticket);
    /* Others may have it after rest_end. */
    void (*release)(void *context, const IpAddress *address, MonoTime rest_end);
} WorkbenchLeases;

typedef struct Workbench {
    Map entries;  /* by address */
    Heap waiting; /* entries by time */
    DueEntries due;
    size_t n_due;               /* entries in it */
    Heap news;                  /* due entries by when another of their visit states gets ready */
    Heap resting;               /* empty entries, by next fetch: forgotten then */
    size_t n_queued;            /* visit states in entries */
    size_t n_acquired;          /* visit states at the fetchers */
    size_t acquired[STANDINGS]; /* of these */
    size_t slowed[STANDINGS];   /* of these: they count as ILL while those have room */
    size_t most[STANDINGS];     /* that may be there */
    MonoTime floor; /* no address is fetched from before it: the end of a resumed crawl's grace */
    const WorkbenchLeases *leases; /* borrowed; NULL: addresses are ours alone */
    uint64_t lease_ticket;         /* given last */
    int64_t asleep_ns;             /* of the machine, at the last look */
    size_t n_leasing;              /* entries that could be fetched from, but for a lease */
} Workbench;

/* The bias is strict, and shares have no bounds. */
void workbench_init(Workbench *workbench, MonoTime floor);
void workbench_set_bias(Workbench *workbench, const LevelBias *bias);
/* How many of all connections the hosts of each standing may have from now on. */
void workbench_share(Workbench *workbench, StandingShares shares, size_t connections);
/* Addresses are shared: before anything is added. */
void workbench_set_leases(Workbench *workbench, const WorkbenchLeases *leases);
/* Forgets entries; visit states are not freed. */
void workbench_destroy(Workbench *workbench);

/* Queues a visit state (resolved, with URLs) at the entry of its address. RESULT_MEMORY: the visit
 * state is still the caller's. */
Result workbench_add(Workbench *workbench, VisitState *visit_state, MonoTime now);
/* Takes the visit state to fetch from now, or NULL when none is due. It is ACQUIRED then, and so is
 * its entry. */
VisitState *workbench_acquire(Workbench *workbench, MonoTime now);
/* Ends a lease: the entry rests until the visit state's ip_next_fetch. The visit state is queued
 * again if it has URLs left, its address has not expired and its time comes within WORKBENCH_FAR_MS
 * (true); otherwise it leaves the workbench (false) and is the caller's: the distributor decides
 * whether one that must wait long keeps its place in memory. */
#define WORKBENCH_FAR_MS 120000
bool workbench_release(Workbench *workbench, VisitState *visit_state, MonoTime now);
/* Takes out a queued visit state, so that its window can be read anew. False when it is not queued
 * here. */
bool workbench_recall(Workbench *workbench, VisitState *visit_state, MonoTime now);
/* When workbench_acquire may succeed next: a time in the past means now, MONO_NEVER means not
 * before something is added or released. */
MonoTime workbench_next_time(const Workbench *workbench);
/* The same for a thread that sleeps in between, so that it wakes for several at once: `last` is
 * when it looked last, and what gets due within WORKBENCH_ROUND_MS of it waits for that. After it
 * was told something it looks again WORKBENCH_RELEASE_MS later, for releases with a delay to come,
 * which need not wake it (queue_add_by); but while an entry waits for a connection each release
 * does. idle: nothing may be acquired before something is released. */
#define WORKBENCH_ROUND_MS   2
#define WORKBENCH_RELEASE_MS 20
MonoTime workbench_next_round(const Workbench *workbench, bool idle, MonoTime last, bool was_told);
/* The number of entries that have work and are not acquired: the front without the visit states at
 * the fetchers. */
size_t workbench_front(const Workbench *workbench);
size_t workbench_n_entries(const Workbench *workbench);
/* Visit states at the fetchers that count as of this standing (standing_counted). */
size_t workbench_n_active(const Workbench *workbench, Standing standing);
/* The number of entries that are due and wait only because hosts of this standing have all the
 * connections that they may have, or because there are no more than `connections`. */
size_t workbench_n_crowded(const Workbench *workbench, Standing standing, size_t connections);
/* News of a lease: what is over, or cannot be had now, is wanted again when it is needed. */
void workbench_hear(Workbench *workbench, const LeaseNotice *notice, MonoTime now);
/* Forgets all leases that are held when the machine has slept since the last call: that is time
 * which the clock did not count. asleep_ns: ever (clock_asleep_ns). */
void workbench_count_sleep(Workbench *workbench, int64_t asleep_ns);

/* Crowd: how many connections hosts of each standing have, and how many addresses wait for one.
 *
 * What: the todo thread publishes it, fetching threads and the status log read it. The figures may
 * be of slightly different instants.
 * Owns: nothing.
 * Threads: todo publishes; any thread reads. */

typedef struct Crowd {
    atomic_size_t active[STANDINGS];
    atomic_size_t waiting[STANDINGS];
    atomic_size_t ill;
} Crowd;

typedef struct CrowdCounts {
    size_t active[STANDINGS];  /* visit states at the fetchers, as which they count */
    size_t waiting[STANDINGS]; /* addresses that are due, and wait for a connection */
    size_t ill;                /* visit states that were ILL when they were acquired */
} CrowdCounts;

/* connections: that there are in all. */
void crowd_publish(Crowd *crowd, const Workbench *workbench, size_t connections);
CrowdCounts crowd_counts(const Crowd *crowd);
