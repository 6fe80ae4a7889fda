/* Revisit price: what a visit costs in this crawl now (schedule.revisit = optimal).
 *
 * What: the price at which all pages together need as many visits as the budget has
 * (store/frequency/freq_prior.h) follows from the change rates and weights of the pages. It is
 * found from a sample: every n-th page that is to be visited again, REVISIT_PRICE_SAMPLE of them at
 * most, all of them in a small crawl. The chore of the revisits reads the sample piece by piece,
 * and a pass begins a minute after the last one has ended (sooner where pages are visited every few
 * minutes). Until the first has ended there is no price.
 *
 * A host that politeness lets be asked less often than its pages are worth visits has a price of
 * its own, at which they need as many as it may be asked for (host_delays.h), and so has an
 * address; the budget goes to the others. Such hosts are known by REVISIT_PRICE_HOST pages in the
 * sample.
 *
 * The sample also tells which change rates there are (freq_prior.h). What a pass plans for is
 * corrected by the visits that took place, so that the budget is spent (FreqSpending).
 *
 * A page's weight is its score when the crawl computes scores, else all pages weigh the same.
 * Owns: the sample. The tables are borrowed.
 * Threads: ingest, inside the batch's transaction.
 * Errors: RESULT_DAMAGED and those of the tables. */
#pragma once

#include "ingest/batch/ingest_batch.h"
#include "rules/revisit_policy.h"

#define REVISIT_PRICE_SAMPLE 8192u
#define REVISIT_PRICE_HOST   8u

/* The least price of a host. */
typedef struct HostFloor {
    uint32_t host;
    float price;
} HostFloor;

/* The pages of a sample, and what is worked out of them. */
typedef struct RevisitSample {
    FreqPlaced placed[REVISIT_PRICE_SAMPLE];
    FreqSeen seen[REVISIT_PRICE_SAMPLE]; /* what the visits of these have found, as they are read */
    FreqPage pages[REVISIT_PRICE_SAMPLE];   /* of the sample, by address and host */
    float least[REVISIT_PRICE_SAMPLE];      /* prices of these */
    HostFloor floors[REVISIT_PRICE_SAMPLE]; /* of hosts that have one, ascending */
} RevisitSample;

typedef struct RevisitPricing {
    const RevisitRows *table;
    PageDB *db;
    RevisitSample *sample; /* NULL: there was no need of it */
    size_t n_floors;
    size_t n;
    uint64_t next_index; /* of the pass that is going on */
    uint64_t step;       /* between two pages of the sample; 0: no pass is going on */
    MonoTime next_pass;
    FreqPrior prior; /* of the last pass */
    FreqSpending spending;
    uint64_t n_visits; /* since the last pass */
    MonoTime counted;  /* from then on */
    bool has_price;
    double common; /* the price where there is no other */
    RevisitPrice price;
    Buffer url;
} RevisitPricing;

void revisit_pricing_init(RevisitPricing *pricing, const RevisitRows *table, PageDB *db);
void revisit_pricing_destroy(RevisitPricing *pricing);
/* One piece of a pass, when one is due. */
Result revisit_pricing_run(RevisitPricing *pricing, Batch *batch, const RevisitPolicy *policy,
                           MonoTime now);
/* For a page: NULL when there is no price. Valid until the next call. */
const RevisitPrice *revisit_pricing_of(RevisitPricing *pricing, const Batch *batch,
                                       const RevisitPolicy *policy, const PageRef *page);
