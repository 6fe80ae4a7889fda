#include "fetch/connect/flights.h"

#include <string.h>

void flights_init(Flights *flights)
{
    *flights = (Flights){.first = NULL};
    mutex_init(&flights->mutex, RANK_TABLE);
}

void flights_destroy(Flights *flights)
{
    mutex_destroy(&flights->mutex);
}

void flights_add(Flights *flights, Flight *flight, const char *url, MonoTime start)
{
    mutex_lock(&flights->mutex);
    *flight = (Flight){.url = url, .start = start, .before = flights->last};
    if (flights->last != NULL) {
        flights->last->next = flight;
    } else {
        flights->first = flight;
    }
    flights->last = flight;
    mutex_unlock(&flights->mutex);
}

void flights_remove(Flights *flights, Flight *flight)
{
    if (flight->url == NULL) {
        return;
    }
    mutex_lock(&flights->mutex);
    if (flight->before != NULL) {
        flight->before->next = flight->next;
    } else {
        flights->first = flight->next;
    }
    if (flight->next != NULL) {
        flight->next->before = flight->before;
    } else {
        flights->last = flight->before;
    }
    *flight = (Flight){.url = NULL};
    mutex_unlock(&flights->mutex);
}

bool flights_find(Flights *flights, const char *url, MonoTime *start)
{
    mutex_lock(&flights->mutex);
    const Flight *flight = flights->first;
    while (flight != NULL && strcmp(flight->url, url) != 0) {
        flight = flight->next;
    }
    if (flight != NULL) {
        *start = flight->start;
    }
    mutex_unlock(&flights->mutex);
    return flight != NULL;
}

size_t flights_copy(Flights *flights, FlightCopy *copies, size_t max)
{
    size_t n = 0;
    mutex_lock(&flights->mutex);
    for (const Flight *flight = flights->first; flight != NULL && n < max; flight = flight->next) {
        char *url = strdup(flight->url);
        if (url != NULL) {
            copies[n++] = (FlightCopy){.url = url, .start = flight->start};
        }
    }
    mutex_unlock(&flights->mutex);
    return n;
}
