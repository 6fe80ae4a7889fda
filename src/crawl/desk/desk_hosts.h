/* Desk, hosts: host, waiting, seed.
 *
 * What: what is known of a host comes from its record, in a short read transaction. What changes a
 * host or adds seeds is an order (ingest/chore/orders.h); the client gets its answer when the order
 * is committed.
 * Threads: main. */
#pragma once

#include "crawl/desk/desk_reply.h"

/* Desk, settings: get, set, unset.
 *
 * What: hands on to the settings (crawl/run/settings.h) and answers at once.
 * Threads: main. */

void desk_get(Desk *desk, const DeskRequest *request);
void desk_set(Desk *desk, const DeskRequest *request);
void desk_unset(Desk *desk, const DeskRequest *request);
/* Ends a request by what a change of the settings or rules came to. */
void desk_settled(Desk *desk, const DeskRequest *request, Result rc, Buffer *answer);

void desk_host(Desk *desk, const DeskRequest *request);
void desk_waiting(Desk *desk, const DeskRequest *request);
void desk_seed(Desk *desk, const DeskRequest *request);
/* Answers those whose orders are done. */
void desk_hosts_tick(Desk *desk);
