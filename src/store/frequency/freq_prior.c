#include "store/frequency/freq_prior.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define ROUNDS      20 /* of expectation maximisation */
#define FIT_PAGES   1024u
#define EVEN_PAGES  4.0  /* that an even histogram counts for */
#define SLOWEST     0.02 /* changes in the longest time that a page was watched */
#define FASTEST     20.0 /* changes between the two visits that were the closest */
#define UNKNOWN     100.0
#define SHAPE_LEAST 1.001
#define BIN_STEPS   4.0 /* of an octave */
#define BIN_LEAST_S 0.0625
#define LOOK        6.0 /* part of the shortest interval */
#define SURE_SHAPE  5.0 /* of a rate that is known well enough to give a page up */
#define TOO_FAST    3.0 /* changes between two visits */

static double seen_size_s(unsigned size)
{
    return exp2((double)size / BIN_STEPS) * BIN_LEAST_S;
}

static double seen_bin_interval(const FreqSeenBin *bin)
{
    return seen_size_s(bin->size);
}

/* Two bins become one: the first two that lie so close, else the longest, which tell least. */
static void seen_bins_join(FreqSeenBin bins[FREQ_SEEN_BINS + 1])
{
    size_t at = FREQ_SEEN_BINS - 1;
    for (size_t i = FREQ_SEEN_BINS - 1; i-- > 0;) {
        at = bins[i + 1].size - bins[i].size < bins[at + 1].size - bins[at].size ? i : at;
    }
    unsigned n = (unsigned)bins[at].n + bins[at + 1].n;
    unsigned sizes =
        (unsigned)bins[at].size * bins[at].n + (unsigned)bins[at + 1].size * bins[at + 1].n;
    bins[at].size = (uint8_t)((sizes + n / 2) / n);
    bins[at].n = (uint16_t)(n < UINT16_MAX ? n : UINT16_MAX);
    memmove(&bins[at + 1], &bins[at + 2], (FREQ_SEEN_BINS - 1 - at) * sizeof *bins);
}

static void seen_bin_add(FreqSeen *seen, double interval_s, uint64_t n)
{
    double size = round(BIN_STEPS * log2(fmax(interval_s, BIN_LEAST_S) / BIN_LEAST_S));
    FreqSeenBin added = {.size = (uint8_t)fmin(size, UINT8_MAX),
                         .n = (uint16_t)(n < UINT16_MAX ? n : UINT16_MAX)};
    FreqSeenBin bins[FREQ_SEEN_BINS + 1] = {{0}};
    size_t at = 0;
    while (at < FREQ_SEEN_BINS && seen->bins[at].n > 0 && seen->bins[at].size < added.size) {
        at++;
    }
    if (at < FREQ_SEEN_BINS && seen->bins[at].n > 0 && seen->bins[at].size == added.size) {
        uint64_t sum = seen->bins[at].n + n;
        seen->bins[at].n = (uint16_t)(sum < UINT16_MAX ? sum : UINT16_MAX);
        return;
    }
    memcpy(bins, seen->bins, at * sizeof *bins);
    bins[at] = added;
    memcpy(&bins[at + 1], &seen->bins[at], (FREQ_SEEN_BINS - at) * sizeof *bins);
    if (bins[FREQ_SEEN_BINS].n > 0) {
        seen_bins_join(bins);
    }
    memcpy(seen->bins, bins, sizeof seen->bins);
}

void freq_seen_update(FreqSeen *seen, uint64_t n_crawls, uint64_t n_changes, double first_crawl,
                      double last_crawl)
{
    uint64_t n_before = (uint64_t)seen->n_same + seen->n_changed;
    if (n_before + 1 > n_crawls || seen->n_changed > n_changes) {
        *seen = (FreqSeen){0}; /* of another history */
        n_before = 0;
    }
    double span = last_crawl - first_crawl - (double)seen->same_s - (double)seen->changed_s;
    uint64_t n = n_crawls == 0 ? 0 : n_crawls - 1 - n_before;
    uint64_t changed = n_changes - seen->n_changed;
    if (n == 0 || !(span > 0) || n_crawls > UINT32_MAX) {
        return;
    }
    changed = changed < n ? changed : n;
    double interval_s = span / (double)n;
    seen->n_same += (uint32_t)(n - changed);
    seen->n_changed += (uint32_t)changed;
    seen->same_s += (float)(interval_s * (double)(n - changed));
    seen->changed_s += (float)(interval_s * (double)changed);
    if (changed > 0) {
        seen_bin_add(seen, interval_s, changed);
    }
}

/* ---- the histogram ---- */

/* How likely each rate is, given what was seen of a page: sum 1. */
static void prior_posterior(const FreqPrior *prior, const FreqSeen *seen,
                            double posterior[FREQ_PRIOR_RATES])
{
    double most = -HUGE_VAL;
    double sum = 0;
    for (size_t k = 0; k < FREQ_PRIOR_RATES; k++) {
        double rate = prior->rates[k];
        posterior[k] = -rate * (double)seen->same_s;
        for (size_t i = 0; i < FREQ_SEEN_BINS && seen->bins[i].n > 0; i++) {
            posterior[k] += (double)seen->bins[i].n * (double)prior->changed[seen->bins[i].size][k];
        }
        most = fmax(most, posterior[k]);
    }
    for (size_t k = 0; k < FREQ_PRIOR_RATES; k++) {
        posterior[k] = exp(posterior[k] - most) * prior->share[k];
        sum += posterior[k];
    }
    for (size_t k = 0; k < FREQ_PRIOR_RATES; k++) {
        posterior[k] /= sum;
    }
}

/* An even histogram of all rates that these visits could tell from others. */
static void prior_begin(FreqPrior *prior, const FreqSeen *seen, size_t n, double rate)
{
    double longest_s = 0;
    double shortest_s = HUGE_VAL;
    for (size_t i = 0; i < n; i++) {
        double watched_s = (double)seen[i].same_s + (double)seen[i].changed_s;
        double visits = (double)seen[i].n_same + (double)seen[i].n_changed;
        longest_s = fmax(longest_s, watched_s);
        if (visits > 0) {
            double interval_s =
                seen[i].n_changed > 0 ? seen_bin_interval(&seen[i].bins[0]) : watched_s / visits;
            shortest_s = fmin(shortest_s, interval_s);
        }
    }
    double least = longest_s > 0 ? SLOWEST / longest_s : rate / UNKNOWN;
    double most = longest_s > 0 ? FASTEST / shortest_s : rate * UNKNOWN;
    for (size_t k = 0; k < FREQ_PRIOR_RATES; k++) {
        prior->rates[k] = least * pow(most / least, (double)k / (FREQ_PRIOR_RATES - 1));
        prior->share[k] = 1.0 / FREQ_PRIOR_RATES;
        for (unsigned size = 0; size < FREQ_SEEN_SIZES; size++) {
            prior->changed[size][k] = (float)log(-expm1(-prior->rates[k] * seen_size_s(size)));
        }
    }
}

void freq_prior_fit(FreqPrior *prior, const FreqSeen *seen, size_t n, double rate)
{
    double posterior[FREQ_PRIOR_RATES];
    prior_begin(prior, seen, n, rate);
    size_t step = n / FIT_PAGES + 1;
    for (int round = 0; round < ROUNDS; round++) {
        double sum[FREQ_PRIOR_RATES];
        double pages = EVEN_PAGES;
        for (size_t k = 0; k < FREQ_PRIOR_RATES; k++) {
            sum[k] = EVEN_PAGES / FREQ_PRIOR_RATES;
        }
        for (size_t i = 0; i < n; i += step) {
            if (seen[i].n_same + seen[i].n_changed > 0) {
                prior_posterior(prior, &seen[i], posterior);
                for (size_t k = 0; k < FREQ_PRIOR_RATES; k++) {
                    sum[k] += posterior[k];
                }
                pages++;
            }
        }
        for (size_t k = 0; k < FREQ_PRIOR_RATES; k++) {
            prior->share[k] = sum[k] / pages;
        }
    }
}

FreqPage freq_prior_page(const FreqPrior *prior, const FreqSeen *seen, double weight)
{
    double posterior[FREQ_PRIOR_RATES];
    double mean = 0;
    double inverse = 0;
    prior_posterior(prior, seen, posterior);
    for (size_t k = 0; k < FREQ_PRIOR_RATES; k++) {
        mean += posterior[k] * prior->rates[k];
        inverse += posterior[k] / prior->rates[k];
    }
    double product = fmax(mean * inverse, 1 + 1e-9); /* shape / (shape - 1) of a gamma */
    return (FreqPage){.rate = (float)mean,
                      .shape = (float)fmax(product / (product - 1), SHAPE_LEAST),
                      .weight = (float)weight};
}

double freq_seen_fresh_s(const FreqSeen *seen, const FreqPage *page)
{
    double fresh_s = (double)seen->same_s;
    double changed_s = 0;
    double until_s = 0; /* the first change of an interval, given that there is one */
    for (size_t i = 0; i < FREQ_SEEN_BINS && seen->bins[i].n > 0; i++) {
        double interval_s = seen_bin_interval(&seen->bins[i]);
        double changes = (double)page->rate * interval_s;
        double share = changes > 1e-6 ? 1 / changes - 1 / expm1(changes) : 0.5;
        changed_s += interval_s * seen->bins[i].n;
        until_s += interval_s * seen->bins[i].n * share;
    }
    return changed_s > 0 ? fresh_s + (double)seen->changed_s * until_s / changed_s : fresh_s;
}

double freq_seen_look_s(const FreqSeen *seen, const FreqPage *page, double interval_s)
{
    double rate = (double)page->rate;
    if (seen->n_changed == 0) {
        return interval_s;
    }
    if (seen->n_same == 0) {
        return fmin(interval_s, seen_bin_interval(&seen->bins[0]) / LOOK);
    }
    bool is_unsure = (double)page->shape < SURE_SHAPE && rate * interval_s > TOO_FAST;
    return is_unsure ? 1 / rate : interval_s;
}
