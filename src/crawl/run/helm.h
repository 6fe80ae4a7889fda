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
#ifndef CRAWL_RUN_HELM_H
#define CRAWL_RUN_HELM_H

#include "crawl/exit_status.h"
#include "crawl/parts/agent_parts.h"
#include "crawl/run/agent_options.h"
#include "crawl/run/monitor.h"
#include "crawl/run/checkpoint.h"
#include "crawl/run/network_look.h"
#include "crawl/run/settings.h"

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
    bool held; /* paused by the operator */
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
/* Opens all logs anew. */
void helm_reopen_logs(Helm *helm, const char *who);

/* Begins a copy of the database (crawl/run/checkpoint.h), with config.ini and denied.txt beside it.
 * answer gets a sentence when it cannot be made. */
Result helm_checkpoint(Helm *helm, const char *who, Buffer *answer);

/* Checks the limits, the disk, and the end of crawl.grace, and does what they ask for. */
void helm_tick(Helm *helm, MonoTime now);
/* When helm_tick wants to be called again at the latest. */
MonoTime helm_next(const Helm *helm, MonoTime now);
/* Whether the crawl is stopping and nothing is in flight any more. */
bool helm_has_stopped(const Helm *helm);

#endif
