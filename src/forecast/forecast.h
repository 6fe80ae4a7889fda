/* Forecast: how many pages a crawl still fetches, how long that takes, and what ends it.
 *
 * What: from its past (forecast.h), from what is queued (forecast.h) and from its
 * limits. It assumes
 *  - the rate of the last quarter of its work; and no more than politeness allows: each host its
 *    queue at its pace, hosts of one address one after the other. Where politeness has bound the
 *    crawl lately, the best rate so far is what it could do;
 *  - new URLs for each URL that is finished, by a line through the past: the more are known, the
 *    fewer are new. They are spread over hosts as what is queued now;
 *  - requests and pages for each URL of a host as it has had so far: what robots.txt refuses
 *    takes no time, what fails is asked for again;
 *  - that URLs which have failed go on failing, so that their last try is known; and that others
 *    fail as often as in the past: the end is when it is as likely as not that the waits of the
 *    retry table are over for the last of all of them;
 *  - bytes and WARC files for each page as lately, the database by known URLs.
 * Three growths of the frontier are looked at: none (the least), by its trend (likely), and as
 * lately without a trend (the most). The least is at least a fifth of the likely time away from it,
 * the most three tenths, which is what the model itself may be wrong by (`make bench BENCH=plan`).
 * INFINITY stands for "no end".
 * Threads: any; pure. */
#ifndef FORECAST_FORECAST_H
#define FORECAST_FORECAST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/hours.h"
#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "frontier/visit/politeness.h"
#include "rules/config.h"
#include "store/pages/page_db.h"
#include "store/tables/host_rows.h"

/* Host pace: how often politeness lets a host and its address be asked, and when.
 *
 * What: rules/host_delays.h for a host of the database, with the [site] sections of a
 * configuration. Owns: a scratch buffer, and hours. Configuration and database are borrowed.
 * Threads: one. Errors: RESULT_DAMAGED, RESULT_MEMORY. */

typedef struct HostPace {
    uint64_t address;   /* as HostRecord.address; 0 = not known */
    double host_s;      /* seconds for a page, by the host's delays and hours: on average */
    double address_s;   /* and by its address's, which other hosts may need, too */
    int64_t most;       /* limits.pages_per_host; 0 = no limit */
    const Hours *hours; /* politeness.hours; NULL = always; the paces' */
} HostPace;

typedef struct HostPaces {
    const Config *config;
    PageDB *db;
    double typical_ms; /* of a fetch from a host that was not asked yet */
    Buffer origin;
    HoursBook hours;
} HostPaces;

void host_paces_init(HostPaces *paces, const Config *config, PageDB *db, double typical_ms);
void host_paces_destroy(HostPaces *paces);
Result host_pace_find(HostPaces *paces, MDB_txn *txn, uint32_t host, const HostRecord *record,
                      HostPace *pace);

/* Forecast load: what is queued, and how long politeness makes it last.
 *
 * What: for each host with URLs queued that may be fetched, how many there are and the host's pace
 * (forecast.h). Hosts of one address share it: an address lasts as long as all of its hosts need
 * one after the other, or as the slowest of them needs by itself. One pass over the records of
 * hosts, in short read transactions; 48 bytes for each host that counts.
 * Owns: its list.
 * Threads: one; the crawl may be running.
 * Errors: RESULT_MEMORY, RESULT_IO, RESULT_DAMAGED. */

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

/* Forecast history: what status.log tells of a crawl's past, for a forecast.
 *
 * What: pages, bytes and URLs over the time in which the crawl was at work; pauses and the time
 * between two runs do not count. Of a long log only lines with some time between them are kept, so
 * that memory does not grow with it; the last line is always there.
 * Owns: nothing.
 * Threads: one. The crawl may be writing.
 * Errors: RESULT_MEMORY. A log that is not there is an empty history. */

#define FORECAST_POINTS 512u
#define FORECAST_WORD   16u

typedef struct ForecastPoint {
    double at_work_s; /* seconds in which the crawl ran and was not paused */
    double elapsed_s; /* of all runs, pauses included */
    double pages;
    double bytes;
    double seen;               /* URLs known */
    double finished;           /* of these: neither queued nor parked with their host */
    char limit[FORECAST_WORD]; /* what bound the crawl; "" = not said */
} ForecastPoint;

typedef struct ForecastHistory {
    ForecastPoint points[FORECAST_POINTS]; /* the first is the crawl's begin, the last is now */
    size_t n;
    double spacing_s;   /* of work between two points at least */
    double run_begin_s; /* elapsed_s at which the last run began */
    double run_cpu_s;
    double db_bytes; /* as of the last line, as the next three */
    double disk_free;
    double queued;
    double parked;
    char state[FORECAST_WORD];
} ForecastHistory;

/* Reads DIR/status.log and its predecessors. */
Result forecast_history_read(ForecastHistory *history, const char *directory);
/* The same of lines that the caller has. */
void forecast_history_begin(ForecastHistory *history);
void forecast_history_take(ForecastHistory *history, const char *line, size_t length);
const ForecastPoint *forecast_history_last(const ForecastHistory *history);
/* The last point that is so much work, or more, before the last one. */
const ForecastPoint *forecast_history_before(const ForecastHistory *history, double at_work_s);

typedef enum ForecastGrowth { GROWTH_NONE, GROWTH_TREND, GROWTH_STEADY, GROWTHS } ForecastGrowth;

typedef enum ForecastLimit {
    FORECAST_MAX_PAGES,
    FORECAST_MAX_BYTES,
    FORECAST_MAX_DURATION,
    FORECAST_MAX_TOTAL_DURATION,
    FORECAST_DISK,
    FORECAST_NOTHING_LEFT,
    FORECAST_LIMITS
} ForecastLimit;

typedef struct ForecastInput {
    const ForecastHistory *history; /* all borrowed */
    const ForecastLoad *load;
    const Config *config;
    double directory_bytes; /* on the disk, the database included */
    double database_bytes;
    double disk_free;
    bool limits_hold; /* those of the run that is, or that was asked for */
    bool never_ends;  /* schedule.mode = continuous */
} ForecastInput;

/* What one limit comes to. */
typedef struct ForecastEnd {
    bool holds;     /* there is such a limit */
    double pages;   /* more; INFINITY: it is not met before nothing is left */
    double seconds; /* from now on, likely */
    double soonest; /* at the best rate of the quarter */
    double latest;  /* at the worst */
} ForecastEnd;

typedef struct Forecast {
    /* lately */
    double rate; /* pages a second, 0 = not known */
    double rate_least;
    double rate_most;
    double able;       /* pages a second that it could fetch if politeness let it */
    double measured_s; /* over so much work */
    const char *bound; /* what bound it most of the time; "" = not known. Borrowed of the history */
    double growth;     /* new URLs for one that is finished */
    double pages_per_url;
    double bytes_per_page;
    double disk_per_page;
    /* what comes */
    double urls_left[GROWTHS]; /* URLs to be finished */
    double pages_left[GROWTHS];
    double seconds_left[GROWTHS];
    ForecastEnd ends[FORECAST_LIMITS];
    ForecastLimit first; /* what ends it */
    bool has_end;        /* false: nothing does */
    double pages;        /* until then, more */
    double bytes;
    double disk;
    double rate_seconds;   /* at that rate alone */
    double polite_seconds; /* by politeness alone */
    ForecastSlowest slowest;
} Forecast;

void forecast_make(Forecast *forecast, const ForecastInput *input);
/* "crawl.max_pages", ..., "nothing left". */
const char *forecast_limit_name(ForecastLimit limit);

#endif
