#include "store/front/bf_rates.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Seconds by which a bucket may be filled ahead of time: BF_RATE_BURST_S less the URL itself. */
static double burst(double rate)
{
    return rate * BF_RATE_BURST_S > 1.0 ? BF_RATE_BURST_S - 1.0 / rate : 0.0;
}

unsigned bf_rates_heat(const BFRates *rates, const double *full, double now_s, double *sinks_at)
{
    unsigned heat = 0;
    *sinks_at = 0.0;
    for (; heat < rates->n; heat++) {
        double rate = rates->rate[heat];
        double filled = full == NULL ? 0.0 : full[heat];
        double free_at = rate > 0.0 ? filled - burst(rate) : BF_NEVER_S;
        if (free_at <= now_s) {
            break;
        }
        *sinks_at = free_at < BF_NEVER_S ? free_at : BF_NEVER_S;
    }
    return heat;
}

void bf_rates_fill(const BFRates *rates, double **full, double now_s)
{
    if (rates->n == 0) {
        return;
    }
    if (*full == NULL) {
        *full = calloc(BF_CRAWL_RATE_STEPS, sizeof **full);
        if (*full == NULL) {
            return;
        }
    }
    for (unsigned i = 0; i < rates->n; i++) {
        double from = (*full)[i] > now_s ? (*full)[i] : now_s;
        (*full)[i] = from + (rates->rate[i] > 0.0 ? 1.0 / rates->rate[i] : 0.0);
    }
}

Result bf_rates_set(BFRates *rates, double soft, double hard)
{
    if (isnan(soft) || isnan(hard)) {
        return RESULT_INVALID;
    }
    bool has_soft = soft >= 0.0 && !(hard >= 0.0 && hard < soft);
    rates->n = 0;
    if (has_soft && hard > soft && soft > 0.0) {
        for (unsigned i = 0; i < BF_CRAWL_RATE_STEPS; i++) {
            double share = (double)i / (BF_CRAWL_RATE_STEPS - 1);
            rates->rate[rates->n++] = soft * pow(hard / soft, share);
        }
        rates->rate[rates->n - 1] = hard;
    } else {
        if (has_soft) {
            rates->rate[rates->n++] = soft;
        }
        if (hard < 0.0 && has_soft) {
            rates->rate[rates->n++] = HUGE_VAL;
        } else if (hard >= 0.0 && !(has_soft && hard <= soft)) {
            rates->rate[rates->n++] = hard;
        }
    }
    return RESULT_OK;
}
