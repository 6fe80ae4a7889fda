/* Desk, settings: get, set, unset.
 *
 * What: hands on to the settings (crawl/run/settings.h) and answers at once.
 * Threads: main. */
#ifndef CRAWL_DESK_DESK_SETTINGS_H
#define CRAWL_DESK_DESK_SETTINGS_H

#include "crawl/desk/desk_state.h"

void desk_get(Desk *desk, const DeskRequest *request);
void desk_set(Desk *desk, const DeskRequest *request);
void desk_unset(Desk *desk, const DeskRequest *request);
/* Ends a request by what a change of the settings or rules came to. */
void desk_settled(Desk *desk, const DeskRequest *request, Result rc, Buffer *answer);

#endif
