#include "ingest/revisit/revisit_price.h"

#include <math.h>
#include <stdlib.h>

#include "base/core/hash.h"
#include "base/thread/log.h"

#define PIECE        256u /* pages of the sample that are read in one transaction */
#define PAUSE_MS_MAX 60000.0
#define PAUSES       20.0 /* in the time for which a page waits for its visit */
#define LEAST_WEIGHT 1e-3

void revisit_pricing_init(RevisitPricing *pricing, const RevisitTable *table, PageDB *db)
{
    *pricing = (RevisitPricing){.table = table, .db = db};
    buffer_init(&pricing->url, BUFFER_NO_LIMIT);
}

void revisit_pricing_destroy(RevisitPricing *pricing)
{
    free(pricing->sample);
    buffer_destroy(&pricing->url);
}

static double weight_of(const Batch *batch, const PageRef *page)
{
    const Scorer *scorer = batch->options->scorer;
    float before = 0.0f;
    float score = 0.0f;
    if (scorer == NULL) {
        return 1.0;
    }
    if (scorer->get(scorer->state, page->index, &before, &score) != 0) {
        score = page->score; /* of its content */
    } else if (scorer->scale != NULL) {
        score *= scorer->scale(scorer->state) / SCORER_MEAN;
    }
    return fmax((double)score, LEAST_WEIGHT);
}

/* A page that is to be visited again joins the sample. */
static Result look_at(RevisitPricing *pricing, const Batch *batch, uint64_t index, double mean_rate)
{
    RevisitDue due;
    PageRef page;
    Result rc = revisit_table_get(pricing->table, batch->txn, index, &due);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    int found = page_db_get(pricing->db, batch->txn, index, &page, &pricing->url);
    if (found != page_db_error_ok) {
        return found == page_db_error_no_page ? RESULT_OK : RESULT_DAMAGED;
    }
    pricing->sample[pricing->n++] =
        (FreqPage){.rate = (float)revisit_policy_expected_rate(&page, mean_rate),
                   .weight = (float)weight_of(batch, &page)};
    return RESULT_OK;
}

static Result begin(RevisitPricing *pricing, uint64_t n_pages)
{
    if (pricing->sample == NULL) {
        pricing->sample = calloc(REVISIT_PRICE_SAMPLE, sizeof *pricing->sample);
        if (pricing->sample == NULL) {
            return RESULT_MEMORY;
        }
    }
    pricing->n = 0;
    pricing->step = n_pages / REVISIT_PRICE_SAMPLE + 1;
    /* Another sample each time. */
    pricing->next_index = hash_mix((uint64_t)pricing->next_pass.ns + 1) % pricing->step;
    return RESULT_OK;
}

static Result end(RevisitPricing *pricing, const Batch *batch, const RevisitPolicy *policy,
                  MonoTime now)
{
    uint64_t n_visited = 0;
    double rates = 0;
    size_t n = pricing->n;
    Result rc = revisit_table_count(pricing->table, batch->txn, &n_visited);
    double mean_s =
        policy->visits_per_s > 0 ? (double)n_visited / policy->visits_per_s : policy->default_s;
    pricing->step = 0;
    pricing->next_pass = mono_add_ms(now, (int64_t)fmin(mean_s * 1e3 / PAUSES, PAUSE_MS_MAX));
    if (rc != RESULT_OK || n == 0 || n_visited == 0) {
        return rc;
    }
    for (size_t i = 0; i < n; i++) {
        rates += (double)pricing->sample[i].rate;
    }
    FreqBounds bounds = revisit_policy_bounds(policy, mean_s);
    double price = freq_plan_price(pricing->sample, n, (double)n / mean_s, &bounds);
    pricing->price =
        (RevisitPrice){.price = price, .mean_rate = rates / (double)n, .mean_s = mean_s};
    pricing->has_price = true;
    LOG_DEBUG("revisits", "price of a visit", "sample=%zu pages=%llu mean_s=%.0f price=%g", n,
              (unsigned long long)n_visited, mean_s, price);
    return RESULT_OK;
}

Result revisit_pricing_run(RevisitPricing *pricing, const Batch *batch, const RevisitPolicy *policy,
                           MonoTime now)
{
    if (!policy->optimal || (pricing->step == 0 && mono_before(now, pricing->next_pass))) {
        return RESULT_OK;
    }
    uint64_t n_pages = page_db_n_pages(pricing->db, batch->txn);
    double mean_rate = pricing->has_price ? pricing->price.mean_rate : 1 / policy->default_s;
    Result rc = pricing->step == 0 ? begin(pricing, n_pages) : RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < PIECE && pricing->next_index < n_pages &&
                       pricing->n < REVISIT_PRICE_SAMPLE;
         i++) {
        rc = look_at(pricing, batch, pricing->next_index, mean_rate);
        pricing->next_index += pricing->step;
    }
    if (rc == RESULT_OK && (pricing->next_index >= n_pages || pricing->n == REVISIT_PRICE_SAMPLE)) {
        rc = end(pricing, batch, policy, now);
    }
    return rc;
}

const RevisitPrice *revisit_pricing_of(RevisitPricing *pricing, const Batch *batch,
                                       const RevisitPolicy *policy, const PageRef *page)
{
    if (!policy->optimal || !pricing->has_price) {
        return NULL;
    }
    pricing->price.weight = weight_of(batch, page);
    return &pricing->price;
}
