/* Revisit price: what a visit costs in this crawl now (schedule.revisit = optimal).
 *
 * What: the price at which all pages together need as many visits as the budget has
 * (store/frequency/freq_plan.h) follows from the change rates and weights of the pages. It is found
 * from a sample: every n-th page that is to be visited again, REVISIT_PRICE_SAMPLE of them at most,
 * all of them in a small crawl. The chore of the revisits reads the sample piece by piece, and a
 * pass begins a minute after the last one has ended (sooner where pages are visited every few
 * minutes). Until the first has ended there is no price.
 *
 * A page's weight is its score when the crawl computes scores, else all pages weigh the same.
 * Owns: the sample. The tables are borrowed.
 * Threads: ingest, inside the batch's transaction.
 * Errors: RESULT_DAMAGED and those of the tables. */
#ifndef INGEST_REVISIT_REVISIT_PRICE_H
#define INGEST_REVISIT_REVISIT_PRICE_H

#include "ingest/batch/ingest_batch.h"
#include "rules/revisit_policy.h"

#define REVISIT_PRICE_SAMPLE 8192u

typedef struct RevisitPricing {
    const RevisitTable *table;
    PageDB *db;
    FreqPage *sample; /* [REVISIT_PRICE_SAMPLE], when there is need of it */
    size_t n;
    uint64_t next_index; /* of the pass that is going on */
    uint64_t step;       /* between two pages of the sample; 0: no pass is going on */
    MonoTime next_pass;
    bool has_price;
    RevisitPrice price;
    Buffer url;
} RevisitPricing;

void revisit_pricing_init(RevisitPricing *pricing, const RevisitTable *table, PageDB *db);
void revisit_pricing_destroy(RevisitPricing *pricing);
/* One piece of a pass, when one is due. */
Result revisit_pricing_run(RevisitPricing *pricing, const Batch *batch, const RevisitPolicy *policy,
                           MonoTime now);
/* For a page: NULL when there is no price. Valid until the next call. */
const RevisitPrice *revisit_pricing_of(RevisitPricing *pricing, const Batch *batch,
                                       const RevisitPolicy *policy, const PageRef *page);

#endif
