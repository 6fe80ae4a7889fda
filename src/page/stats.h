/* Stats: the crawl's counters.
 *
 * What: the threads that know write them, the status log reads them. Counters that belong to the
 * crawl as a whole, not to this run, are saved with each commit and restored at the start.
 * Threads: any. All are atomics with relaxed order: they are figures, and decide nothing. */
#pragma once

#include <stdatomic.h>

#include "base/core/clock.h"
#include "base/thread/distribution.h"
#include "parse/http/http_wall.h"
#include "rules/scope/scope.h"

/* Saved with each commit: fixed layout, only appended to. */
typedef struct CrawlTotals {
    uint64_t pages;        /* answers with an HTTP status to scheduled URLs */
    uint64_t fetches;      /* all requests, robots.txt included */
    uint64_t bytes;        /* received */
    uint64_t by_status[6]; /* errors, 1xx ... 5xx */
    uint64_t duplicates;
    uint64_t robots_files;
    uint64_t retries;   /* fetches that will be repeated */
    uint64_t throttled; /* 429 and 503 */
    uint64_t truncated;
    uint64_t hosts_dropped;
    uint64_t elapsed_ms;        /* of all runs */
    uint64_t cpu_ms;            /* of all runs */
    uint64_t refused[REFUSALS]; /* last: the enum grows at its end */
} CrawlTotals;

/* Visits of pages that were due (schedule.mode = continuous). Saved like the totals. */
typedef struct RevisitTotals {
    uint64_t visits;
    uint64_t not_modified; /* answered 304 */
    uint64_t changed;      /* with other content than before */
    uint64_t gone;         /* answered 404 or 410 */
    uint64_t ended;        /* pages that are visited no more: gone, or crawled often enough */
    uint64_t rests;        /* of hosts that failed */
    uint64_t signals;      /* visits that a sitemap or feed has brought forward */
} RevisitTotals;

/* Answers that keep crawlers out. Saved like the totals. */
typedef struct WallTotals {
    uint64_t answers[HTTP_WALLS];
    uint64_t hosts; /* that gave one */
} WallTotals;

/* Of an agent of many, in addition. Saved like the totals. */
typedef struct ClusterTotals {
    uint64_t stubs;           /* pages of other agents that are known here */
    uint64_t urls_sent;       /* put into the outbox, again ones included */
    uint64_t urls_taken;      /* of blocks that were committed */
    uint64_t blocks_taken;    /* committed; what came twice counts twice */
    uint64_t blocks_answered; /* of ours, committed by their receivers */
    uint64_t pages_moved_in;  /* with their hosts' slots */
    uint64_t pages_moved_out;
} ClusterTotals;

/* The index of a status in by_status. */
unsigned stats_status_class(int status);

/* Kinds of content, by the media type that the server says. */
typedef enum StatsType { STATS_HTML, STATS_TEXT, STATS_IMAGE, STATS_OTHER, STATS_TYPES } StatsType;

/* Of a media type such as "text/html"; "" is STATS_OTHER. */
StatsType stats_type(const char *mime);

typedef struct Stats {
    /* ingest publishes the totals after each commit; parsers add refusals at once */
    _Atomic uint64_t pages;
    _Atomic uint64_t fetches;
    _Atomic uint64_t bytes;
    _Atomic uint64_t by_status[6];
    _Atomic uint64_t duplicates;
    _Atomic uint64_t throttled;
    _Atomic uint64_t robots_denied;
    _Atomic uint64_t walls[HTTP_WALLS];
    _Atomic uint64_t walled_hosts;
    _Atomic uint64_t domain_refused;    /* limits of all hosts of a domain, */
    _Atomic uint64_t address_refused;   /* and of an address */
    _Atomic uint64_t feeds_refused;     /* links to feeds: REFUSED_FEEDS */
    _Atomic uint64_t elsewhere;         /* pages that another crawl has: REFUSED_ELSEWHERE */
    _Atomic uint64_t refused[REFUSALS]; /* since this start, by parsing threads */
    _Atomic uint64_t sieve_pending;     /* links that were not looked up yet */
    _Atomic uint64_t sieve_merges;
    _Atomic uint64_t cache_hits; /* links met lately */
    _Atomic uint64_t cache_misses;
    _Atomic uint64_t urls_seen;
    _Atomic uint64_t urls_queued;
    _Atomic uint64_t urls_parked; /* of hosts that were dropped or parked */
    _Atomic uint64_t hosts_parked;
    _Atomic uint64_t hosts_with_work; /* that have something scheduled */
    _Atomic uint64_t hosts_waiting;   /* of these: have failed, and wait for a retry */
    _Atomic uint64_t hosts_closed;    /* outside their hours; counted when all with work wait */
    _Atomic uint64_t next_is_walled;  /* the first of them keeps crawlers out */
    _Atomic uint64_t next_retry_ms;   /* wall time of the first of them; 0 = there is none */
    _Atomic uint64_t hosts;
    _Atomic uint64_t revisits; /* as in RevisitTotals */
    _Atomic uint64_t not_modified;
    _Atomic uint64_t revisit_signals;
    _Atomic uint64_t revisit_pages;  /* that have a next visit */
    _Atomic uint64_t revisit_due_ms; /* how late the latest visit of the last commit was */
    _Atomic uint64_t commits;
    _Atomic uint64_t writer_busy_us;
    _Atomic uint64_t
        writer_since_ns;           /* monotonic start of the transaction that is open; 0 = none */
    _Atomic uint64_t chore_max_us; /* longest transaction of a chore's own */
    _Atomic uint64_t chore_wait_max_us; /* the longest that a chore kept results from a commit */
    _Atomic uint64_t chore_cpu_max_us;  /* CPU time of the longest piece */
    _Atomic uint64_t parser_busy_us;
    _Atomic uint64_t classified;       /* pages that a classifier has scored */
    _Atomic uint64_t classify_default; /* pages that it has not */
    _Atomic uint64_t classify_bad;     /* its answers that are no scores */
    _Atomic uint64_t classify_starts;  /* of its process */
    _Atomic uint64_t classify_us;      /* waiting for its answers */
    /* Of pages that were answered since this start. */
    Distribution links;   /* followed, of a page that was parsed */
    Distribution lengths; /* bytes received */
    Distribution speeds;  /* bytes a second, the wait for the first one included */
    _Atomic uint64_t types[STATS_TYPES];
} Stats;

static inline void stats_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static inline void stats_set(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_store_explicit(counter, value, memory_order_relaxed);
}

static inline uint64_t stats_get(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* What the answers since this start are like. */
typedef struct StatsAnswers {
    DistributionSpread links;   /* of a page */
    DistributionSpread lengths; /* bytes of an answer */
    DistributionSpread speeds;  /* bytes a second of an answer */
    uint64_t types[STATS_TYPES];
} StatsAnswers;

StatsAnswers stats_answers(const Stats *stats);
/* How long the writer has worked until now: a commit may last longer than the time between two
 * lines of status.log. */
uint64_t stats_writer_busy_us(const Stats *stats, MonoTime now);
