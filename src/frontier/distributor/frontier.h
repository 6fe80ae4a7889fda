/* Frontier: the distributor thread and the todo thread at work, and the queues around them.
 *
 *   ingest, resolver --> [distributor inbox] --> distributor --> [todo inbox] --> todo thread
 *                               ^                                     ^            |     |
 *                               |                 fetching threads ---'            |     |
 *                               '----------- no URLs left -------------------------'     |
 *                                                              fetching threads <--------'
 *
 * What: both inboxes hold messages that begin with a News (frontier/visit/visit_state.h).
 *
 * Owns: both threads, the distributor and the workbench.
 * Threads: data is handed over; no lock is held while either thread works. Each function may be
 * called by any thread but where it says otherwise.
 *
 * Invariant: the inboxes are bounded by what exists. A visit state is in at most one of them, at
 * most once; notices are few.
 *
 * Source: BUbiNG, package frontier (TodoThread, DoneThread, Distributor). */
#pragma once

#include <stdatomic.h>

#include "base/thread/queue.h"
#include "base/thread/thread.h"
#include "frontier/distributor/distributor.h"
#include "frontier/visit/workbench.h"

/* Hunger: how large the front must be, and when the distributor is told that it is too small.
 *
 * What: the front is the set of addresses that have work. The rule of BUbiNG is: when fetchers
 * could work and nothing is due although the front is as large as required, it must be larger. A
 * front that is smaller than required is a matter of the distributor. It is told once, and then
 * again only when another look can bring more: what is new by then reaches it as a message of its
 * own.
 *
 * Owns: its counters.
 * Threads: hunger_starve: todo. hunger_heard, hunger_fed: distributor. The counts: any.
 * Invariant: between a message and hunger_heard there is no second one.
 * Source: BUbiNG, Frontier.requiredFrontSize. */

#define HUNGER_PAUSE_MS 10 /* after a look that left it hungry */

typedef struct Hunger {
    size_t step; /* how much the required front grows at once; constant, as most is */
    size_t most;
    atomic_size_t required;
    _Atomic uint64_t starved;     /* times a fetcher could have worked and nothing was due */
    _Atomic int64_t fed_until_ns; /* before it, a message would change nothing */
    atomic_bool is_told;
} Hunger;

void hunger_init(Hunger *hunger, size_t first, size_t step, size_t most);
/* Fetchers could work, and nothing is due. True: the distributor is to be told. */
bool hunger_starve(Hunger *hunger, size_t front, MonoTime now);
/* It was told. */
void hunger_heard(Hunger *hunger);
/* It has looked for hosts. is_hungry: the front was too small for it, too, and it has loaded what
 * there is. next_walk: when it may look again. */
void hunger_fed(Hunger *hunger, bool is_hungry, MonoTime next_walk, MonoTime now);
size_t hunger_required(const Hunger *hunger);

/* Mailbox: the messages to one of the frontier's threads, and when it wakes up for them.
 *
 * What: a wake-up costs more than most messages. So each message says by when it is missed, and the
 * thread is called only when it would not look by itself before. In a run of messages, which come
 * less than MAILBOX_RUN_MS apart, a thread with `runs` looks once in that time; for one that comes
 * alone it is called at once.
 * Owns: its ring; a message is its taker's.
 * Threads: any posts, one takes; RANK_QUEUE.
 * Errors: RESULT_MEMORY, and RESULT_CLOSED once it is closed and empty. */

#define MAILBOX_BATCH  256u
#define MAILBOX_RUN_MS 5

typedef struct Mailbox {
    Queue queue; /* by which it is closed and destroyed, too */
    bool runs;
    MonoTime told; /* the taker's: when something came last */
    MonoTime look; /* and when it looks by itself */
} Mailbox;

/* RESULT_MEMORY: nothing is left to destroy. */
Result mailbox_init(Mailbox *mailbox, bool runs);

/* The thread is called for the message. False: the mailbox is closed, and the message still the
 * caller's. */
bool mailbox_post(Mailbox *mailbox, void *message);
/* The same; nobody misses the message before `by`, and nobody is called: queue_call of its
 * queue does that once for several, and has to follow. */
bool mailbox_post_by(Mailbox *mailbox, void *message, MonoTime by);
/* Waits for messages until deadline, takes up to MAILBOX_BATCH of them, and says how many. False:
 * it is closed and empty. */
bool mailbox_take(Mailbox *mailbox, void *messages[MAILBOX_BATCH], size_t *n, MonoTime deadline);

/* Frontier notice: a message to one of the frontier's threads that is no visit state.
 *
 * What: a copy of what another thread has to say, and what is done with it in the thread that it is
 * for.
 * Owns: an errand notice its answer, until it is taken.
 * Threads: made by any; taken by the distributor (changes, errands) or the todo thread (leases).
 * Errors: NULL is no memory. */

/* Of the main thread. */
typedef struct ChangeNotice {
    News news; /* NEWS_OPTIONS */
    DistributorChange change;
} ChangeNotice;

/* What came of an errand to another agent's host. */
typedef struct ErrandNotice {
    News news; /* NEWS_TOLD */
    uint32_t host;
    ErrandOutcome outcome;
    ErrandAnswer *answer; /* owned; may be NULL */
} ErrandNotice;

typedef struct FrontierOptions {
    DistributorOptions distributor;
    PolitenessOptions politeness;
    size_t connections;       /* visit states at the fetchers at most */
    const LiveShares *shares; /* NULL: no bounds; borrowed */
    size_t front_first;       /* the required front at the start */
    size_t front_step;        /* how much it grows when fetchers starve */
    size_t front_max;
} FrontierOptions;

typedef struct FrontierSinks {
    /* resolve is answered by frontier_resolved, ask by frontier_told; the frontier sets what the
     * todo thread is for. */
    DistributorSinks hosts;
    void (*fetch)(void *context, VisitState *visit_state); /* answered by frontier_fetched */
    /* Addresses are shared with other machines; want NULL: they are ours alone. Called in the todo
     * thread; answered by frontier_lease. */
    WorkbenchLeases leases;
} FrontierSinks;

/* Figures for the status log; they may be of slightly different instants. */
typedef struct FrontierStats {
    size_t visit_states;
    size_t entries; /* workbench entries */
    size_t front;   /* entries with work that are not acquired */
    size_t required_front;
    size_t acquired; /* visit states at the fetchers */
    CrowdCounts crowd;
    size_t resolving;
    size_t memory_bytes;
    DistributionSpread queues; /* URLs in memory of a host that has any there */
    uint64_t evictions;        /* hosts that made room in memory for better ones */
    size_t nameless;           /* hosts in memory without an address */
    uint64_t names_left_out;   /* times that one had to wait on disk (distributor.c) */
    uint64_t starved;          /* times a fetcher could have worked and none was due */
} FrontierStats;

typedef struct Frontier Frontier;

Result frontier_new(Frontier **frontier, const FrontierOptions *options, const FrontierSinks *sinks,
                    PageDB *db, Schedule *schedule, HostRows *host_rows);
/* After frontier_stop. */
void frontier_delete(Frontier *frontier);
Result frontier_start(Frontier *frontier);
/* Pauses or resumes, before frontier_start, too: while paused, no visit state is handed to a
 * fetcher. */
void frontier_pause(Frontier *frontier, bool paused);
/* Ends both threads. Resolver and fetchers must have given everything back before. */
void frontier_stop(Frontier *frontier);

/* From the resolver: VisitState.address is filled in. */
void frontier_resolved(Frontier *frontier, VisitState *visit_state);
/* From a fetching thread: VisitState.politeness is set, the URLs that were fetched are taken.
 * frontier_call has to follow, once for several; nothing is handed out for them before. */
void frontier_fetched(Frontier *frontier, VisitState *visit_state);
void frontier_call(Frontier *frontier);
/* From a fetching thread: a visit state whose robots.txt was asked for on another host. */
void frontier_answered(Frontier *frontier, VisitState *asker);
/* From ingest, after a commit. Takes the notice. */
void frontier_committed(Frontier *frontier, CommitNotice *notice);

/* From the module that asks for leases. Copies the notice. */
void frontier_lease(Frontier *frontier, const LeaseNotice *notice);

/* From the module that asks other agents; takes the answer, which may be NULL. */
void frontier_told(Frontier *frontier, uint32_t host, ErrandOutcome outcome, ErrandAnswer *answer);
/* Another agent asks; takes the asker (distributor_asked). */
void frontier_asked(Frontier *frontier, VisitState *asker);

void frontier_stats(Frontier *frontier, FrontierStats *stats);
/* The configuration has changed: hosts that wait already get the delay that they have now, at once,
 * visit states this much memory. Copies the change. RESULT_MEMORY: all stays as it was. */
Result frontier_change(Frontier *frontier, const DistributorChange *change);
/* The shares of connections have changed (LiveShares.slowed): who waits for one may have it. */
void frontier_look(Frontier *frontier);
/* Changes how many visit states may be at the fetchers at once. */
void frontier_set_connections(Frontier *frontier, size_t connections);
