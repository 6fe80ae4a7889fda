/* Status: what an operator sees while the crawl runs, in status.log, status.json and the progress
 * line.
 *
 * What: pure formatting of a StatusSample, and the judgement which part limits the crawl. The
 * monitor takes the samples, decides when, and writes.
 * Threads: main. */
#pragma once

#include <stdio.h>

#include "crawl/cluster/cluster_part.h"
#include "fetch/dns/resolver.h"
#include "fetch/transfer/fetcher.h"

typedef enum CrawlState {
    STATE_RUNNING,
    STATE_PAUSED,
    STATE_STOPPING,
    STATE_STOPPED,
    STATE_FINISHED
} CrawlState;

typedef struct StatusSample {
    MonoTime mono;
    WallTime wall;
    CrawlState state;
    int64_t elapsed_ms; /* of all runs */
    int64_t cpu_ms;     /* of this run */
    const Stats *stats; /* borrowed, as they are when it is told */
    uint64_t pages;
    uint64_t bytes;
    uint64_t by_status[6];
    bool continuous; /* pages are visited again */
    uint64_t urls_queued;
    uint64_t hosts_with_work; /* that have something scheduled */
    uint64_t hosts_waiting;   /* of these: have failed, and wait for a retry */
    uint64_t hosts_closed;    /* or are outside their hours: told when all with work wait */
    uint64_t next_retry_ms;   /* from now on, of the first of them */
    bool next_is_walled;      /* it keeps crawlers out */
    uint64_t hosts;
    FrontierStats frontier;
    ScoringStats scores;
    ResolverStats resolver;
    FetcherStats fetch; /* of all fetching threads */
    TlsSessionStats tls_sessions;
    size_t connections; /* the limit of active */
    size_t results;     /* parsed pages waiting for ingest */
    size_t parse_queue;
    uint64_t cost_price; /* frontier/visit/host_costs.h */
    uint64_t cost_rests;
    uint64_t held_bytes;  /* answers and parsed pages between network and disk */
    uint64_t held_waits;  /* times there were too many: fetching or parsing waited */
    bool gate_closed;     /* fetching waits for that now */
    int64_t rate;         /* fetch.rate, in bytes a second; 0 = no limit */
    bool held_back;       /* fetching waits for it now */
    bool results_closed;  /* parsing waits for ingest */
    uint64_t spool_bytes; /* of long pages that wait in files */
    uint64_t cut_endless; /* long pages that were cut because others of their host had no end */
    StatsAnswers answers;
    size_t parse_queue_limit;
    uint64_t parser_busy_us;
    unsigned parsers;
    uint64_t writer_busy_us;
    uint64_t rss_bytes;
    uint64_t map_drops; /* times pages of the database were unmapped to stay in the budget */
    uint64_t db_bytes;
    uint64_t db_readers;       /* slots that processes hold in its table of readers */
    uint64_t db_reader_age_ms; /* of the oldest snapshot that keeps pages from reuse; 0 = none */
    uint64_t db_reader_pid;    /* whose it is */
    uint64_t disk_free_bytes;
    bool disk_low;
    uint64_t alerts; /* crawl/run/alerts.h */
    uint64_t alerts_failed;
    OutageReport network; /* of transfers; of names, resolver has it */
    bool held;            /* paused by an operator */
    bool clustered;       /* an agent among others: the next count */
    bool cluster_full;    /* others do not take what is for them */
    ClusterFigures cluster;
} StatusSample;

const char *crawl_state_name(CrawlState state);
/* Which part binds, from what was measured between two samples: politeness dns connections parser
 * writer disk memory bandwidth operator (it is paused) network (ours is out) seeds schedule
 * (nothing is due) retries (all that is left has failed and waits) hours (the same, but some hosts
 * wait for the hours at which they may be visited) shares (what is due is of hosts
 * that are new or fail, and those have all the connections that they may have) cluster
 * (other agents, or the server) none. */
const char *status_limit(const StatusSample *before, const StatusSample *now);
/* Whether all hosts that are left have failed and wait for a retry. */
bool status_only_waits(const StatusSample *now);
/* "time=... state=... ..." without line end. */
Result status_line(const StatusSample *before, const StatusSample *now, Buffer *out);
/* The same as one JSON object, with pid. */
Result status_json(const StatusSample *before, const StatusSample *now, long pid, Buffer *out);
/* One line for a terminal with this number of columns. */
Result status_progress(const StatusSample *before, const StatusSample *now, unsigned columns,
                       Buffer *out);
/* Resident memory of this process. */
uint64_t status_rss_bytes(void);
