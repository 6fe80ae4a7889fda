/* Forecast: how many pages a crawl still fetches, how long that takes, and what ends it.
 *
 * What: from its past (forecast_history.h), from what is queued (forecast_load.h) and from its
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
#pragma once

#include "forecast/forecast_history.h"
#include "forecast/forecast_load.h"

typedef enum ForecastGrowth { GROWTH_NONE, GROWTH_TREND, GROWTH_STEADY, GROWTHS } ForecastGrowth;

#define FORECAST_LIMIT_WORDS(WORD)                                                                 \
    WORD(FORECAST_MAX_PAGES, "crawl.max_pages")                                                    \
    WORD(FORECAST_MAX_BYTES, "crawl.max_bytes")                                                    \
    WORD(FORECAST_MAX_DURATION, "crawl.max_duration")                                              \
    WORD(FORECAST_MAX_TOTAL_DURATION, "crawl.max_total_duration")                                  \
    WORD(FORECAST_DISK, "crawl.min_free_disk")                                                     \
    WORD(FORECAST_NOTHING_LEFT, "nothing left")
typedef enum ForecastLimit { WORDS_ENUM(FORECAST_LIMIT_WORDS) FORECAST_LIMITS } ForecastLimit;

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
