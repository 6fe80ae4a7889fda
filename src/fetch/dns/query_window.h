/* Query window: how many DNS queries may be in flight.
 *
 * What: additive increase, multiplicative decrease. UDP has no flow control: a burst of questions
 * that overflows somebody's socket buffer costs a time-out of seconds. The window grows by one per
 * window of answers and is halved after a loss, once per round of losses.
 * Threads: the resolver's. */
#ifndef FETCH_DNS_QUERY_WINDOW_H
#define FETCH_DNS_QUERY_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/clock.h"

typedef struct QueryWindow {
    size_t most; /* the window's bound */
    size_t size;
    size_t n_in_flight;
    size_t n_since_growth; /* answers */
    MonoTime shrunk;       /* when it last was */
} QueryWindow;

void query_window_init(QueryWindow *window, size_t most);
/* Another bound. */
void query_window_bound(QueryWindow *window, size_t most);
static inline bool query_window_has_room(const QueryWindow *window)
{
    return window->n_in_flight < window->size;
}
void query_window_asked(QueryWindow *window);
/* A query has ended. timeouts: tries without an answer; asked: when the query was sent. */
void query_window_answered(QueryWindow *window, int timeouts, MonoTime asked);

#endif
