#include "ingest/revisit/revisit_price.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory/array.h"
#include "rules/host_delays.h"

#define PIECE        256u /* pages of the sample that are read in one transaction */
#define PAUSE_MS_MAX 60000.0
#define PAUSES       20.0 /* in the time for which a page waits for its visit */
#define LEAST_WEIGHT 1e-3

void revisit_pricing_init(RevisitPricing *pricing, const RevisitRows *table, PageDB *db)
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
static Result revisit_price_look_at(RevisitPricing *pricing, const Batch *batch, uint64_t index)
{
    RevisitDue due;
    PageRef page;
    Result rc = revisit_rows_get(pricing->table, batch->txn, index, &due);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    int found = page_db_get(pricing->db, batch->txn, index, &page, &pricing->url);
    if (found != page_db_error_ok) {
        return found == page_db_error_no_page ? RESULT_OK : RESULT_DAMAGED;
    }
    HostRecord record;
    RevisitNote note;
    rc = revisit_rows_note_get(pricing->table, batch->txn, index, &note);
    if (rc == RESULT_OK) {
        rc = host_rows_get(batch->store->hosts, batch->txn, page.host, &record);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    pricing->sample->seen[pricing->n] = revisit_policy_seen(&page, &note);
    pricing->sample->placed[pricing->n++] =
        (FreqPlaced){.freq = {.weight = (float)weight_of(batch, &page),
                              .least_s = (float)fmax(note.fresh_until_s - page.last_crawl, 0)},
                     .host = page.host,
                     .address = record.address};
    return RESULT_OK;
}

static Result revisit_price_begin(RevisitPricing *pricing, uint64_t n_pages)
{
    if (pricing->sample == NULL) {
        pricing->sample = calloc(1, sizeof *pricing->sample);
    }
    if (pricing->sample == NULL) {
        return RESULT_MEMORY;
    }
    pricing->n = 0;
    pricing->step = n_pages / REVISIT_PRICE_SAMPLE + 1;
    /* Another sample each time. */
    pricing->next_index = hash_mix((uint64_t)pricing->next_pass.ns + 1) % pricing->step;
    return RESULT_OK;
}

/* ---- hosts that politeness binds ---- */

/* Seconds that politeness wants between two pages of a host, and of its address. */
static Result pace_of(RevisitPricing *pricing, Batch *batch, uint32_t host, double *host_s,
                      double *address_s)
{
    const IngestOptions *options = batch->options;
    Config config;
    HostRecord record;
    buffer_reset(&pricing->url);
    Result rc = batch_host_name(batch, host, &pricing->url);
    if (rc == RESULT_OK) {
        rc = host_rows_get(batch->store->hosts, batch->txn, host, &record);
    }
    if (rc == RESULT_OK) {
        (void)options->host_config(options->host_context, buffer_string(&pricing->url), &config);
        *host_s = host_delays_host_s(&config, &record, 0);
        *address_s = host_delays_address_s(&config, &record, 0);
    }
    return rc;
}

/* The pages [first, end) of the sample are those of one address. share: visited pages that a page
 * of the sample stands for. */
static Result raise(RevisitPricing *pricing, Batch *batch, size_t first, size_t end, double share,
                    const FreqBounds *bounds)
{
    double longest_s = 0;
    RevisitSample *sample = pricing->sample;
    Result rc = RESULT_OK;
    if (end - first < REVISIT_PRICE_HOST) {
        return RESULT_OK;
    }
    for (size_t i = first; rc == RESULT_OK && i < end;) {
        size_t next = freq_placed_host_end(sample->placed, pricing->n, i);
        double host_s = 0;
        double address_s = 0;
        rc = pace_of(pricing, batch, sample->placed[i].host, &host_s, &address_s);
        longest_s = fmax(longest_s, address_s);
        if (rc == RESULT_OK && next - i >= REVISIT_PRICE_HOST) {
            freq_plan_raise_floors(&sample->pages[i], &sample->least[i], next - i, host_s * share,
                                   bounds);
        }
        i = next;
    }
    freq_plan_raise_floors(&sample->pages[first], &sample->least[first], end - first,
                           longest_s * share, bounds);
    return rc;
}

/* Finds the least prices of hosts. */
static Result revisit_price_find_floors(RevisitPricing *pricing, Batch *batch, double share,
                                        const FreqBounds *bounds)
{
    RevisitSample *sample = pricing->sample;
    Result rc = RESULT_OK;
    freq_placed_sort(sample->placed, pricing->n);
    pricing->n_floors = 0;
    for (size_t i = 0; i < pricing->n; i++) {
        sample->pages[i] = sample->placed[i].freq;
        sample->least[i] = 0;
    }
    for (size_t first = 0; first < pricing->n && batch->options->host_config != NULL;) {
        size_t end = freq_placed_address_end(sample->placed, pricing->n, first);
        if (rc == RESULT_OK) {
            rc = raise(pricing, batch, first, end, share, bounds);
        }
        first = end;
    }
    for (size_t i = 0; i < pricing->n; i = freq_placed_host_end(sample->placed, pricing->n, i)) {
        if (sample->least[i] > 0) {
            sample->floors[pricing->n_floors++] =
                (HostFloor){.host = sample->placed[i].host, .price = sample->least[i]};
        }
    }
    array_sort(sample->floors, pricing->n_floors, sizeof *sample->floors,
               ARRAY_KEY(HostFloor, host), ARRAY_NO_KEY);
    return rc;
}

static double floor_of(const RevisitPricing *pricing, uint32_t host)
{
    if (pricing->n_floors == 0) {
        return 0;
    }
    const HostFloor *found =
        array_find(pricing->sample->floors, pricing->n_floors, sizeof *pricing->sample->floors,
                   ARRAY_KEY(HostFloor, host), host);
    return found == NULL ? 0 : (double)found->price;
}

/* ---- passes ---- */

static Result revisit_price_end(RevisitPricing *pricing, Batch *batch, const RevisitPolicy *policy,
                                MonoTime now)
{
    uint64_t n_visited = 0;
    size_t n = pricing->n;
    Result rc = revisit_rows_count(pricing->table, batch->txn, &n_visited);
    double mean_s =
        policy->visits_per_s > 0 ? (double)n_visited / policy->visits_per_s : policy->default_s;
    pricing->step = 0;
    pricing->next_pass = mono_add_ms(now, (int64_t)fmin(mean_s * 1e3 / PAUSES, PAUSE_MS_MAX));
    if (rc != RESULT_OK || n == 0 || n_visited == 0) {
        return rc;
    }
    freq_prior_fit(&pricing->prior, pricing->sample->seen, n, 1 / policy->default_s);
    freq_placed_expect(pricing->sample->placed, n, &pricing->prior, pricing->sample->seen);
    double visits_per_s = freq_spending_take(
        &pricing->spending, (double)n_visited / mean_s, (double)pricing->n_visits,
        (double)mono_ms_between(pricing->counted, now) / 1e3, mean_s);
    pricing->n_visits = 0;
    pricing->counted = now;
    FreqBounds bounds = revisit_policy_bounds(policy, mean_s);
    rc = revisit_price_find_floors(pricing, batch, (double)n_visited / (double)n, &bounds);
    if (rc != RESULT_OK) {
        return rc;
    }
    pricing->common = freq_plan_price(pricing->sample->pages, pricing->sample->least, n,
                                      visits_per_s * (double)n / (double)n_visited, &bounds);
    pricing->price = (RevisitPrice){.prior = &pricing->prior, .mean_s = mean_s};
    pricing->has_price = true;
    LOG_DEBUG("revisits", "price of a visit",
              "sample=%zu pages=%llu mean_s=%.0f spending=%.2f price=%g bound_hosts=%zu", n,
              (unsigned long long)n_visited, mean_s, pricing->spending.factor, pricing->common,
              pricing->n_floors);
    return RESULT_OK;
}

Result revisit_pricing_run(RevisitPricing *pricing, Batch *batch, const RevisitPolicy *policy,
                           MonoTime now)
{
    if (!policy->optimal || (pricing->step == 0 && mono_before(now, pricing->next_pass))) {
        return RESULT_OK;
    }
    uint64_t n_pages = page_db_n_pages(pricing->db, batch->txn);
    Result rc = pricing->step == 0 ? revisit_price_begin(pricing, n_pages) : RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < PIECE && pricing->next_index < n_pages &&
                       pricing->n < REVISIT_PRICE_SAMPLE;
         i++) {
        rc = revisit_price_look_at(pricing, batch, pricing->next_index);
        pricing->next_index += pricing->step;
    }
    if (rc == RESULT_OK && (pricing->next_index >= n_pages || pricing->n == REVISIT_PRICE_SAMPLE)) {
        rc = revisit_price_end(pricing, batch, policy, now);
    }
    return rc;
}

const RevisitPrice *revisit_pricing_of(RevisitPricing *pricing, const Batch *batch,
                                       const RevisitPolicy *policy, const PageRef *page)
{
    if (!policy->optimal || !pricing->has_price) {
        return NULL;
    }
    double floor = floor_of(pricing, page->host);
    pricing->price.is_floor = floor > pricing->common;
    pricing->price.price = fmax(pricing->common, floor);
    pricing->price.weight = weight_of(batch, page);
    return &pricing->price;
}
