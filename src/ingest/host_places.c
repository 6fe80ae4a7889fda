#include "ingest/host_places.h"

#include "ingest/page/host_groups.h"

typedef struct HostPlace {
    uint32_t host;
    IpAddress address;
} HostPlace;

void host_places_init(HostPlaces *places)
{
    mutex_init(&places->mutex, RANK_TABLE);
    buffer_init(&places->waiting, BUFFER_NO_LIMIT);
    buffer_init(&places->taken, BUFFER_NO_LIMIT);
    places->is_told = false;
}

void host_places_destroy(HostPlaces *places)
{
    buffer_destroy(&places->waiting);
    buffer_destroy(&places->taken);
    mutex_destroy(&places->mutex);
}

bool host_places_add(HostPlaces *places, uint32_t host, const IpAddress *address)
{
    HostPlace place = {.host = host, .address = *address};
    mutex_lock(&places->mutex);
    bool is_added = buffer_append(&places->waiting, &place, sizeof place) == RESULT_OK;
    bool is_first = is_added && !places->is_told;
    places->is_told |= is_added;
    mutex_unlock(&places->mutex);
    return is_first;
}

void host_places_not_told(HostPlaces *places)
{
    mutex_lock(&places->mutex);
    places->is_told = false;
    mutex_unlock(&places->mutex);
}

static Result host_places_take(HostPlaces *places)
{
    mutex_lock(&places->mutex);
    Result rc = buffer_append(&places->taken, places->waiting.data, places->waiting.length);
    if (rc == RESULT_OK) {
        buffer_reset(&places->waiting);
        places->is_told = false;
    }
    mutex_unlock(&places->mutex);
    return rc;
}

Result host_places_apply(HostPlaces *places, Batch *batch)
{
    Result rc = host_places_take(places);
    const HostPlace *place = (const HostPlace *)(const void *)places->taken.data;
    size_t n = places->taken.length / sizeof *place;
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        BatchHost *host = batch_host(batch, place[i].host);
        rc = host == NULL ? batch->result : host_groups_place(batch, host, &place[i].address);
    }
    return rc;
}

void host_places_settle(HostPlaces *places)
{
    buffer_trim(&places->taken, (size_t)1 << 16);
}
