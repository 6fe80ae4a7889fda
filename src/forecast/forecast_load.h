/* Forecast load: what is queued, and how long politeness makes it last.
 *
 * What: for each host with URLs queued that may be fetched, how many there are and the host's pace
 * (host_pace.h). Hosts of one address share it: an address lasts as long as all of its hosts need
 * one after the other, or as the slowest of them needs by itself. One pass over the records of
 * hosts, in short read transactions; 48 bytes for each host that counts.
 * Owns: its list.
 * Threads: one; the crawl may be running.
 * Errors: RESULT_MEMORY, RESULT_IO, RESULT_DAMAGED. */
#ifndef FORECAST_FORECAST_LOAD_H
#define FORECAST_FORECAST_LOAD_H

#include "forecast/host_pace.h"

typedef struct HostLoad {
    HostPace pace;
    double urls; /* queued */
    double room; /* pages that limits.pages_per_host still allows; below 0: as many as there are */
    uint32_t host;
} HostLoad;

typedef struct ForecastLoad {
    HostLoad *hosts; /* by address */
    size_t n;
    size_t most; /* that there is room for */
    double urls; /* of all of them */
    size_t n_addresses;
    size_t n_full; /* hosts that have as many pages as they may */
} ForecastLoad;

/* All hosts of a crawl. table may be NULL: there are none. To be destroyed in any case. */
Result forecast_load_read(ForecastLoad *load, PageDB *db, HostTable *table, const Config *config);
/* The same of hosts that the caller has; load is zeroed before the first, and is sorted behind the
 * last. */
Result forecast_load_add(ForecastLoad *load, const HostLoad *host);
void forecast_load_sort(ForecastLoad *load);
void forecast_load_destroy(ForecastLoad *load);

/* The slowest host and the slowest address by itself, with how long each lasts. */
typedef struct ForecastSlowest {
    const HostLoad *host; /* NULL: there is none */
    double host_s;
    const HostLoad *address; /* its first host */
    size_t address_hosts;
    double address_urls;
    double address_s;
} ForecastSlowest;

ForecastSlowest forecast_load_slowest(const ForecastLoad *load);
/* Pages that are fetched after so many seconds at the pace of politeness, and how many there are in
 * all; each host has scale pages for each of its URLs. */
double forecast_load_fetched(const ForecastLoad *load, double scale, double seconds, double *all);
/* The seconds after which so many are fetched; those for all of them when there are no more. */
double forecast_load_seconds(const ForecastLoad *load, double scale, double pages);

#endif
