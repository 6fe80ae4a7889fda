/* Host places: where hosts were found, on the way from the distributor to ingest.
 *
 *   distributor --host_places_add--> [waiting] --host_places_apply--> host_groups_place
 *
 * What: the address of each new host counts in its group (host_groups.h). A result for each of them
 * would cost as much as the host's robots.txt does on the same way, so they wait in a list for the
 * next transaction that has results, and one result is on its way for all of them, so that it
 * comes.
 *
 * Owns: the list.
 * Threads: host_places_add any; the others ingest.
 * Errors: what is not placed, for lack of memory or because the crawl ends, is placed when the host
 * is next loaded. */
#ifndef INGEST_HOST_PLACES_H
#define INGEST_HOST_PLACES_H

#include "base/memory/buffer.h"
#include "base/thread/mutex.h"
#include "ingest/batch/ingest_batch.h"
#include "parse/host/ip_address.h"

typedef struct HostPlaces {
    Mutex mutex;
    Buffer waiting; /* guarded by mutex, as is_told */
    bool is_told;   /* a result is on its way */
    Buffer taken;   /* of the transaction at hand */
} HostPlaces;

void host_places_init(HostPlaces *places);
void host_places_destroy(HostPlaces *places);
/* Adds one. True: nobody comes for it yet, and a result has to be pushed. */
bool host_places_add(HostPlaces *places, uint32_t host, const IpAddress *address);
/* There is no memory for that result: the next one is asked for again. */
void host_places_not_told(HostPlaces *places);
/* Places all that wait, and those of a transaction that was aborted, in the batch's. */
Result host_places_apply(HostPlaces *places, Batch *batch);
/* The transaction was committed. */
void host_places_settle(HostPlaces *places);

#endif
