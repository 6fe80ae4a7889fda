/* Forecast load: what is queued, and how long politeness makes it last.
 *
 * What: for each host with URLs queued that may be fetched, how many there are and the host's pace
 * (host_pace.h). Hosts of one address share it: an address lasts as long as all of its hosts need
 * one after the other, or as the slowest of them needs by itself. One pass over the records of
 * hosts, in short read transactions; 48 bytes for each host that counts.
 * Owns: its list.
 * Threads: one; the crawl may be running.
 * Errors: RESULT_MEMORY, RESULT_IO, RESULT_DAMAGED. */
#pragma once

#include "forecast/host_pace.h"

typedef struct HostLoad {
    HostPace pace;
    double urls;     /* queued that have not failed yet */
    double requests; /* for each of them */
    double pages;    /* stored for each of them */
    double failing;  /* the share of them that fail */
    double retries;  /* further requests for those that have failed, */
    double retry_s;  /* and the time until the last of them */
    double wait_s;   /* until the host may be asked again */
    double room; /* pages that limits.pages_per_host still allows; below 0: as many as there are */
    uint32_t host;
    uint32_t queued; /* URLs, in all */
} HostLoad;

typedef struct ForecastLoad {
    HostLoad *hosts; /* by address */
    size_t n;
    double urls;   /* of all of them, as HostLoad.urls */
    double queued; /* likewise */
    size_t n_addresses;
    double share[FETCH_CLASSES];   /* of the URLs that fail, by class, */
    double chain_s[FETCH_CLASSES]; /* and how long such a one waits in all until it is given up */
} ForecastLoad;

/* All hosts of a crawl at a time (wall clock, ms). table may be NULL: there are none. To be
 * destroyed in any case. RESULT_INVALID: politeness.retry cannot be read. */
Result forecast_load_read(ForecastLoad *load, PageDB *db, HostRows *table, const Config *config,
                          int64_t now_ms);
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
/* Pages that are fetched after a number of seconds at the pace of politeness, and how many there
 * are in all; each host has scale pages for each of its URLs. */
double forecast_load_fetched(const ForecastLoad *load, double scale, double seconds, double *all);
/* The seconds after which this number is fetched; without those for retries when that is all. */
double forecast_load_seconds(const ForecastLoad *load, double scale, double pages);
/* The seconds after which nothing is left with that probability, retries included. */
double forecast_load_end(const ForecastLoad *load, double scale, double probability);
