/* Fetcher: a fetching thread. Hundreds of transfers in flight over one curl multi handle on epoll.
 *
 *   todo thread --fetcher_fetch--> [inbox, eventfd] --> fetcher --> result sink (parsing threads)
 *                                                          '------> done sink (todo thread)
 *
 * What: for each visit state that the fetcher receives it makes one request (fetch_step.h). URLs
 * that robots.txt or filter.fetch refuse cost no request; each becomes a result of its own. When
 * the fetch ends, well or badly, the result goes to the result sink and the visit state to the done
 * sink. Redirects are not followed: they are links. Bodies keep their content coding. libcurl
 * enforces the limits: time to connect, to the first byte and in all, least speed, bytes of header
 * and body.
 *
 * Owns: a visit state from fetcher_fetch until it goes to the done sink.
 * Threads: fetch-N; the functions below may be called by any thread, but for new, start, rest, stop
 * and delete, which are the main thread's.
 *
 * Invariants:
 *  1. The connection goes to the visit state's address, whatever the URL says. Special addresses
 *     are refused once more when the socket is opened.
 *  2. The bytes of all answers that are not parsed yet are counted at a gate. While the gate is
 *     closed no transfer is begun (visit states wait in the inbox), and a transfer whose body has
 *     to grow is paused, so that the server waits; a large one from half of the gate on. What holds
 * the gate closed can always leave (fetcher.h).
 *
 * Errors: a fetch that failed is a result. */
#pragma once

#include "fetch/transfer/fetcher_types.h"

/* number names the thread. RESULT_INVALID: port_map; RESULT_MEMORY, RESULT_IO. */
Result fetcher_new(Fetcher **fetcher, unsigned number, const FetcherOptions *options,
                   const FetcherSinks *sinks);
/* RESULT_MEMORY, RESULT_LIMIT: there is no thread. */
Result fetcher_start(Fetcher *fetcher);
/* The thread ends when what is in flight has ended, and its connections are closed. Visit states
 * are given back untouched from now on. fetcher_start makes it go on, or starts it again. */
void fetcher_rest(Fetcher *fetcher);
/* How many connections it keeps from now on; any thread. */
void fetcher_keep(Fetcher *fetcher, size_t kept_connections);
/* Takes an acquired visit state; any thread. */
void fetcher_fetch(Fetcher *fetcher, VisitState *visit_state);
/* From now on visit states are given back untouched; what is in flight goes on. */
void fetcher_drain(Fetcher *fetcher);
/* The gate is open again: what waited goes on. Any thread. */
void fetcher_wake(Fetcher *fetcher);
/* Aborts what is in flight: those URLs stay scheduled and give no result. */
void fetcher_abort(Fetcher *fetcher);
/* Ends the thread; implies fetcher_abort. */
void fetcher_stop(Fetcher *fetcher);
void fetcher_delete(Fetcher *fetcher);
void fetcher_stats(Fetcher *fetcher, FetcherStats *stats);
/* What it is asking for; borrowed, for any thread. */
Flights *fetcher_flights(Fetcher *fetcher);
