/* Helm: what can be done to a running crawl, and what is done when a limit is reached.
 *
 *   running --helm_stop--> stopping (no new fetches) --grace over, or asked again--> forced
 *      |  ^
 *      '--'-- paused: by the operator, or while the disk is nearly full
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

typedef struct Helm {
    AgentParts *parts;
    const AgentOptions *options;
    Monitor *monitor;
    MonoTime start;
    uint64_t elapsed_before_ms;
    bool stopping;
    bool forced;
    bool held;       /* paused by the operator */
    int status;      /* exit status once stopping */
    const char *why; /* how it ended: a sentence; borrowed */
    MonoTime stop_time;
    MonoTime grace_end;
    MonoTime tail_start; /* since then only hosts that have failed are left; 0: others are */
} Helm;

/* Nothing new is begun from now on. The first reason counts. why is borrowed: a constant. */
void helm_stop(Helm *helm, int status, const char *why, MonoTime now);
/* Somebody asks for the end: fetches in flight get crawl.grace. who: "signal=SIGTERM", "uid=0
 * pid=77". */
void helm_stop_asked(Helm *helm, const char *who, MonoTime now);
/* Fetches in flight are aborted; asks for the end if nobody has. */
void helm_stop_now(Helm *helm, const char *who, MonoTime now);
/* Nothing new is begun until it is resumed. False: it is so already. */
bool helm_pause(Helm *helm, bool held, const char *who);
/* Opens all logs anew. */
void helm_reopen_logs(Helm *helm, const char *who);
/* Reads the configuration anew and takes over what has changed in live options. False: it is wrong,
 * nothing was changed; error has a line for each mistake. *changed = how many. */
bool helm_reload(Helm *helm, const char *who, size_t *changed, Buffer *error);

/* Limits, the disk, the end of the grace. */
void helm_tick(Helm *helm, MonoTime now);
/* When helm_tick wants to be called again at the latest. */
MonoTime helm_next(const Helm *helm, MonoTime now);
/* Everything that was in flight has ended. */
bool helm_has_stopped(const Helm *helm);

#endif
