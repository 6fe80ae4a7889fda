#include "crawl/desk/desk_flights.h"

#include <stdlib.h>

#include "crawl/desk/desk_reply.h"

#define SHOWN 50u

static int by_start(const void *a, const void *b)
{
    const FlightCopy *x = a;
    const FlightCopy *y = b;
    return (x->start.ns > y->start.ns) - (x->start.ns < y->start.ns);
}

static void say_all(Desk *desk, const DeskRequest *request, MonoTime now)
{
    const AgentParts *parts = desk->helm->parts;
    FlightCopy *all = calloc((size_t)atomic_load(&parts->n_fetchers) * SHOWN + 1, sizeof *all);
    size_t n = 0;
    for (unsigned i = 0; all != NULL && i < atomic_load(&parts->n_fetchers); i++) {
        n += flights_copy(fetcher_flights(parts->fetchers[i]), all + n, SHOWN);
    }
    if (n > 0) {
        qsort(all, n, sizeof *all, by_start);
    }
    for (size_t i = 0; i < n; i++) {
        if (i < SHOWN) {
            desk_say(desk, request->client, "%lld %s",
                     (long long)mono_ms_between(all[i].start, now), all[i].url);
        }
        free(all[i].url);
    }
    free(all);
}

void desk_flights(Desk *desk, const DeskRequest *request)
{
    const AgentParts *parts = desk->helm->parts;
    MonoTime now = mono_now();
    MonoTime start;
    if (request->n == 1) {
        say_all(desk, request, now);
    }
    for (unsigned i = 0; request->n == 2 && i < atomic_load(&parts->n_fetchers); i++) {
        if (flights_find(fetcher_flights(parts->fetchers[i]), request->words[1], &start)) {
            desk_say(desk, request->client, "%lld %s", (long long)mono_ms_between(start, now),
                     request->words[1]);
        }
    }
    desk_ok(desk, request);
}
