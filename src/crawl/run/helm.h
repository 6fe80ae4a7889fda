/* Helm: what can be done to a running crawl, and what is done when a limit is reached.
 *
 *   running --helm_stop--> stopping (no new fetches) --grace over, or asked again--> forced
 *      |  ^
 *      '--'-- paused: by the operator, while the disk is nearly full, while our network is out
 *
 * What: signals (crawl/agent) and operators (crawl/desk) ask here, so that both mean the same, and
 * each event is logged with who asked.
 * Owns: nothing; parts, monitor and options are borrowed.
 * Threads: main. Time is a parameter. */
#pragma once

#include <lmdb.h>
#include <stdatomic.h>

#include "crawl/exit_status.h"
#include "crawl/run/monitor.h"

/* Checkpoint: a consistent copy of the database, made while the crawl goes on.
 *
 * What: a thread of its own copies DIR/crawl.mdb, as it is at one commit, into
 * DIR/checkpoint-TIME/crawl.mdb, and puts config.ini and denied.txt beside it. The copy can be
 * looked at with `ragno db`, and moved away. It has a draft's name (.new) until it is whole and
 * synced. Links that wait in the sieve (`sieve_pending` in the status) are in files of their own,
 * and not in it.
 * Owns: its thread.
 * Threads: main, and its own.
 * Errors: a sentence; what was copied until then is left under its draft's name. */

typedef struct Checkpoint {
    Thread thread;
    MDB_env *env;
    Path draft; /* directory */
    Path path;  /* its name at the end */
    void (*ring)(void *context);
    void *context;
    bool runs;
    atomic_bool is_done;
    int code; /* of LMDB or errno; the thread's until is_done */
} Checkpoint; /* all zero: none */

/* False: none is done. True, once: *rc is what came of it, answer gets a sentence. */
bool checkpoint_end(Checkpoint *checkpoint, Result *rc, Buffer *answer);
/* Waits for the end of the one that is being made. */
void checkpoint_stop(Checkpoint *checkpoint);

/* Network look: what a crawl does when its own network or its name servers are out.
 *
 * What: the network watch and the resolver find out (fetch/outage). Here the crawl is paused, the
 * operator is told, and when the outage is over, the hosts that were dropped since its first
 * failure are brought back: those few were charged before anybody could know.
 *
 *   transfers are out: nothing is begun until an address answers (PAUSE_NETWORK)
 *   names are out: hosts whose addresses are known are fetched from; the others wait
 *
 * Names that do not exist are asked for again, too, when their time has come
 * (politeness.name_recheck), and once more before the crawl ends.
 *
 * Owns: nothing.
 * Threads: main. Times are parameters. */

typedef struct NetworkSide {
    bool out;
    MonoTime since; /* of the outage: its first failure */
} NetworkSide;

typedef struct NetworkLook {
    NetworkSide transfers;
    NetworkSide gateway;
    NetworkSide names;
    MonoTime next_recheck; /* 0: not yet planned */
    bool looked_once_more; /* before the end */
    int64_t clock_us;      /* wall time less the time the machine has been up; 0: not yet known */
} NetworkLook;

typedef struct Helm {
    AgentParts *parts;
    const AgentOptions *options;
    Monitor *monitor;
    Checkpoint checkpoint;
    Settings settings; /* the configuration in effect */
    MonoTime start;
    uint64_t elapsed_before_ms;
    bool stopping;
    bool forced;
    bool held;   /* paused by the operator */
    bool erases; /* it is to stop for `ragno forget`, as soon as no link waits in the sieve */
    MonoTime erase_time; /* not before */
    int64_t day;         /* since 1970, on which store.retention was looked at last */
    NetworkLook network;
    int status;      /* exit status once stopping */
    const char *why; /* how it ended: a sentence; borrowed */
    MonoTime stop_time;
    MonoTime grace_end;
    MonoTime tail_start; /* since then only hosts that have failed are left; 0: others are */
} Helm;

/* Stops the crawl: nothing new is begun from now on. The status and reason of the first call count.
 * why is a constant string. */
void helm_stop(Helm *helm, int status, const char *why, MonoTime now);
/* Stops the crawl because somebody asked for it: fetches in flight get crawl.grace to end. who is
 * logged, for example "signal=SIGTERM" or "uid=0 pid=77". */
void helm_stop_asked(Helm *helm, const char *who, MonoTime now);
/* Stops the crawl, and aborts the fetches in flight. */
void helm_stop_now(Helm *helm, const char *who, MonoTime now);
/* Pauses (held) or resumes the crawl. False when it is already in that state. */
bool helm_pause(Helm *helm, bool held, const char *who);
#define ERASURE_ORDER "forget/order" /* of `ragno forget`, in the directory (command/forget) */

/* Stops the crawl, from a time on, so that an order of `ragno forget` that is in the directory can
 * be carried out; it starts anew then. */
void helm_erase(Helm *helm, MonoTime time, const char *who);
/* The same with an order for all agents: it is written into the directory. RESULT_LOCKED: another
 * one is under way there. */
Result helm_erase_by(Helm *helm, const char *order, MonoTime time, const char *who);
/* Opens all logs anew. */
void helm_reopen_logs(Helm *helm, const char *who);

/* Begins a copy of the database (crawl/run/helm.h), with config.ini and denied.txt beside it.
 * answer gets a sentence when it cannot be made. */
Result helm_checkpoint(Helm *helm, const char *who, Buffer *answer);

/* Checks the limits, the disk, and the end of crawl.grace, and does what they ask for. */
void helm_tick(Helm *helm, MonoTime now);
/* When helm_tick wants to be called again at the latest. */
MonoTime helm_next(const Helm *helm, MonoTime now);
/* Whether the crawl is stopping and nothing is in flight any more. */
bool helm_has_stopped(const Helm *helm);
