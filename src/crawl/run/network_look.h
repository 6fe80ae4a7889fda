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
#ifndef CRAWL_RUN_NETWORK_LOOK_H
#define CRAWL_RUN_NETWORK_LOOK_H

#include <stdbool.h>

#include "base/core/clock.h"
#include "crawl/parts/agent_parts.h"

typedef struct NetworkSide {
    bool out;
    MonoTime since; /* of the outage: its first failure */
} NetworkSide;

typedef struct NetworkLook {
    NetworkSide transfers;
    NetworkSide names;
    MonoTime next_recheck; /* 0: not yet planned */
    bool looked_once_more; /* before the end */
    int64_t clock_us;      /* wall time less the time the machine has been up; 0: not yet known */
} NetworkLook;

/* Looks, and does what is to be done. PAUSE_NETWORK, or 0. */
unsigned network_look(NetworkLook *look, AgentParts *parts, MonoTime now, WallTime wall);
bool network_look_is_out(const NetworkLook *look);
/* Has names asked for again whose time has come. */
void network_look_recheck(NetworkLook *look, AgentParts *parts, MonoTime now, WallTime wall);
/* When network_look_recheck is to be called again. */
MonoTime network_look_next(const NetworkLook *look);
/* The crawl is about to end. True: it is not to, since all names of which it is not yet believed
 * that they do not exist are asked for first; only once. */
bool network_look_once_more(NetworkLook *look, AgentParts *parts);
/* Says in the log when the system's clock was set. */
void network_look_at_clock(NetworkLook *look, MonoTime now, WallTime wall);

#endif
