/* Desk, flights: what is being fetched right now.
 *
 * What: `flights` answers with a line for each of the longest fetches, "MS URL", the longest first;
 * `flights URL` with that line alone, or none when the URL is not in flight.
 * Threads: main; the lists are the fetching threads' (fetch/connect/flights.h). */
#ifndef CRAWL_DESK_DESK_FLIGHTS_H
#define CRAWL_DESK_DESK_FLIGHTS_H

#include "crawl/desk/desk_state.h"

void desk_flights(Desk *desk, const DeskRequest *request);

#endif
