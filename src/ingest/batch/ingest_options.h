/* Ingest options: what the configuration says about writing results.
 *
 * What: plain values, copied by whoever takes them.
 * Owns: nothing. The gate and the scorer are borrowed. */
#ifndef INGEST_BATCH_INGEST_OPTIONS_H
#define INGEST_BATCH_INGEST_OPTIONS_H

#include "rules/config_words.h"
#include "base/thread/byte_gate.h"
#include "base/thread/mutex.h"
#include "base/thread/shared.h"
#include "ingest/batch/trap_yield.h"
#include "rules/config.h"
#include "rules/dedup.h"
#include "rules/host_delays.h"
#include "rules/scope/stay_set.h"
#include "store/scorers/scorer.h"

/* Of all hosts of a registered domain, or on an address, together; 0 = no limit. */
typedef struct HostLimits {
    uint64_t hosts_per_domain;
    uint64_t pages_per_domain;
    uint64_t urls_per_domain; /* queued */
    uint64_t hosts_per_address;
    uint64_t pages_per_address;
    uint64_t urls_per_address;
    uint64_t feeds_per_host; /* that its pages bring; 0 = none */
} HostLimits;

typedef struct IngestOptions {
    size_t batch_pages;
    size_t batch_links; /* of its pages together; those of a page with more are merged */
    size_t queue;       /* results that may wait; then parsing waits */
    ByteGate *results;  /* where they are counted; a batch ends when it is closed; NULL = nowhere */
    int64_t batch_time_ms;
    int64_t stop_ms; /* for chores, at a stop */
    ScheduleOrder order;
    unsigned levels;
    const Scorer *scorer; /* estimates new pages, best-first; NULL: their links' scores and depth;
                             borrowed */
    double depth_factor;  /* without a scorer */
    double redirect_weight;
    uint64_t max_depth;
    unsigned max_embeds; /* hops from a page to what it embeds */
    unsigned max_redirects;
    uint64_t pages_per_host; /* 0 = no limit */
    /* The same for one host (site sections), and for NULL the least of all; NULL: pages_per_host is
     * for all. */
    uint64_t (*host_pages)(void *context, const char *hostname);
    HostLimits limits;
    /* Those of now, for one host (site sections), and for NULL those of all others. False: they are
     * the same for all. NULL: limits hold. */
    bool (*host_limits)(void *context, const char *hostname, HostLimits *limits);
    /* The delays of one host; NULL: politeness does not bear on revisits. */
    void (*host_delays)(void *context, const char *hostname, HostDelays *delays);
    void *host_pages_context; /* of all three */
    int64_t name_recheck_ms;  /* until a name that does not exist is asked for again; 0 = never */
    bool follow_duplicates;
    bool same_content;    /* duplicates have the same content; else the same body */
    bool near_duplicates; /* look for them */
    Shared *admission;    /* of an Admission; NULL = everything is admitted; borrowed */
    StaySet *stay;        /* gets the places of new seeds; NULL = none is kept; borrowed */
    DedupSteps dedup;
    TrapYieldOptions traps; /* fetches 0 = off */
} IngestOptions;

HostLimits ingest_host_limits(const Config *config);
/* What the configuration says; gate, scorer and dedup steps are the caller's to set. */
IngestOptions ingest_options(const Config *config);

/* Ingest live: options of ingest that change while it runs, on their way to its thread.
 *
 * What: any thread puts the options that the configuration says now; the ingest thread takes those
 * that may change, before each batch.
 * Owns: a copy. Threads: as said. */

typedef struct IngestLive {
    Mutex mutex; /* RANK_TABLE; guards options */
    IngestOptions options;
} IngestLive;

void ingest_live_init(IngestLive *live, const IngestOptions *options);
void ingest_live_destroy(IngestLive *live);
void ingest_live_put(IngestLive *live, const IngestOptions *options);
void ingest_live_take(IngestLive *live, IngestOptions *options);

#endif
