/* Desk, status: what the crawl is doing.
 *
 * What: `status` answers with the fields of status.log, one a line, or as the JSON object of
 * status.json; with `follow` it answers again each second until the client leaves or the crawl
 * ends. `threads` tells what each thread does.
 * Threads: main. */
#ifndef CRAWL_DESK_DESK_STATUS_H
#define CRAWL_DESK_DESK_STATUS_H

#include "crawl/desk/desk_state.h"

void desk_status(Desk *desk, const DeskRequest *request);
void desk_threads(Desk *desk, const DeskRequest *request);

/* The lines for followers that are due. */
void desk_status_tick(Desk *desk, MonoTime now);
/* When desk_status_tick wants to be called again; MONO_NEVER without followers. */
MonoTime desk_status_next(const Desk *desk);
/* A client has left. */
void desk_status_gone(Desk *desk, ControlClient client);
/* The crawl ends: so do the answers. */
void desk_status_end(Desk *desk);

#endif
