/* Fetcher rules: what a fetching thread goes by, in its hands.
 *
 * What: readers of all objects that may be replaced while it runs (the site book, filters, parked
 * patterns, what the operator denies), the settings of the host that is at work, and scratch.
 * Owns: the readers and the scratch; the objects are shared.
 * Threads: one fetching thread. */
#pragma once

#include "fetch/transfer/fetcher_types.h"

typedef struct FetcherRules {
    FetchRules step; /* for fetch_step.h */
    FetchSite site;  /* of the fetch that begins or ends */
    const FetcherOptions *options;
    SharedReader sites;
    SharedReader admission;
    SharedReader filter;
    SharedReader body_filter;
    SharedReader traps;
    Decoder *decoder;              /* of robots.txt with a content coding */
    FilterScratch *filter_scratch; /* NULL without a filter */
    Url url;                       /* of the question to filters and patterns */
    Buffer text;
} FetcherRules;

/* options outlive it; number is the thread's. RESULT_MEMORY; to be closed all the same. */
Result fetcher_rules_open(FetcherRules *rules, const FetcherOptions *options, unsigned number);
void fetcher_rules_close(FetcherRules *rules);
/* What holds for this host, from now until the next one is looked up. */
void fetcher_rules_look_up(FetcherRules *rules, VisitState *visit_state);
/* The settings of a host, beside. */
void fetcher_rules_site(FetcherRules *rules, const char *hostname, FetchSite *site);
/* filter.body, or NULL. */
const Filter *fetcher_rules_body_filter(FetcherRules *rules);
