/* Flights: which URLs a fetching thread is asking for right now.
 *
 * What: a list that the thread keeps as requests begin and end. Others look at it: `ragno why` (is
 * this URL in flight?) and `ragno top` (which fetches are slow?).
 * Owns: nothing; a Flight is part of its transfer, and its URL is borrowed until the flight is
 * removed.
 * Threads: the fetching thread adds and removes; any thread looks, under the mutex (RANK_TABLE). */
#pragma once

#include "base/thread/mutex.h"

typedef struct Flight {
    const char *url; /* NULL: it is in no list */
    MonoTime start;
    struct Flight *next;
    struct Flight *before;
} Flight;

typedef struct Flights {
    Mutex mutex;
    Flight *first; /* the oldest */
    Flight *last;
} Flights;

/* A flight as it was. */
typedef struct FlightCopy {
    char *url; /* owned */
    MonoTime start;
} FlightCopy;

void flights_init(Flights *flights);
void flights_destroy(Flights *flights);
void flights_add(Flights *flights, Flight *flight, const char *url, MonoTime start);
/* Removes a flight; does nothing when it is in no list. */
void flights_remove(Flights *flights, Flight *flight);

/* Whether a URL is being asked for; *start is the start of the request. */
bool flights_find(Flights *flights, const char *url, MonoTime *start);
/* Copies the oldest ones, at most max; returns how many. */
size_t flights_copy(Flights *flights, FlightCopy *copies, size_t max);
