/* Desk, running: pause, resume, stop, reload, rotate.
 *
 * What: each hands on to the helm and answers at once.
 * Threads: main. */
#ifndef CRAWL_DESK_DESK_RUN_H
#define CRAWL_DESK_DESK_RUN_H

#include "crawl/desk/desk_state.h"

void desk_pause(Desk *desk, const DeskRequest *request);
void desk_resume(Desk *desk, const DeskRequest *request);
void desk_stop(Desk *desk, const DeskRequest *request);
void desk_reload(Desk *desk, const DeskRequest *request);
void desk_rotate(Desk *desk, const DeskRequest *request);
void desk_flush(Desk *desk, const DeskRequest *request);
void desk_checkpoint(Desk *desk, const DeskRequest *request);
/* Answers who waits for a checkpoint that is done. */
void desk_run_tick(Desk *desk);

#endif
