#include "store/frequency/freq_prior.h"
#include "base/memory/array.h"

#include <math.h>
#include <stdlib.h>
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

/* ---- Freq plan ---- */

#define NEWTON_STEPS    4
#define SHAPE_HALVINGS  18   /* of the logarithm of an interval */
#define SHAPE_LOW       1e-4 /* expected changes between two visits */
#define SHAPE_HIGH      1e4
#define SPENDING_MEMORY 4.0  /* a mean interval ago counts e^-4 */
#define SPENDING_GAIN   1.6  /* of what is missed, in a mean interval */
#define HALVINGS        80   /* of the logarithm of the price */
#define CLOSE           1e-4 /* relative error of the visits */

double freq_plan_freshness(const FreqPage *page, double interval_s)
{
    double changes = (double)page->rate * interval_s; /* between two visits */
    double shape = (double)page->shape;
    if (!(changes > 1e-9)) {
        return 1.0;
    }
    if (shape > 1.0) {
        double rest = changes / shape;
        return -expm1(-(shape - 1.0) * log1p(rest)) / ((shape - 1.0) * rest);
    }
    return -expm1(-changes) / changes;
}

/* What a visit is worth that comes after a very long time, in mean times between changes. */
static double plan_most(const FreqPage *page)
{
    double shape = (double)page->shape;
    return shape > 1.0 ? shape / (shape - 1.0) : 1.0;
}

/* The x with 1 - (1 + x) e^-x = y, 0 < y < 1: x - log(1 + x) = -log(1 - y). */
static double plan_changes(double y)
{
    double goal = -log1p(-y);
    double x = goal + sqrt(2.0 * goal);
    for (int i = 0; i < NEWTON_STEPS; i++) {
        x -= (x - log1p(x) - goal) * (1.0 + x) / x;
    }
    return x;
}

/* The same when the rate is gamma distributed: the expected changes x between two visits of which
 * the second is worth y of the mean time between changes. Halving, since the worth is flat at both
 * ends. */
static double plan_expected_changes(double y, double shape)
{
    double low = log(SHAPE_LOW);
    double high = log(SHAPE_HIGH);
    for (int i = 0; i < SHAPE_HALVINGS; i++) {
        double middle = (low + high) / 2.0;
        double rest = exp(middle) / shape;
        double grown = log1p(rest);
        double worth = -expm1(-(shape - 1.0) * grown) / (shape - 1.0) - rest * exp(-shape * grown);
        low = worth < y / shape ? middle : low;
        high = worth < y / shape ? high : middle;
    }
    return exp((low + high) / 2.0);
}

double freq_plan_interval_s(const FreqPage *page, double price, const FreqBounds *bounds)
{
    double rate = (double)page->rate;
    double shape = (double)page->shape;
    double y = price * rate / (double)page->weight;
    double most = plan_most(page);
    double interval_s = 0;
    if (!(y < most)) {
        interval_s = (bounds->doubt_s > 0 ? bounds->doubt_s : bounds->most_s) * y / most;
    } else if (y < 1e-8) {
        interval_s = sqrt(2.0 * y) / rate;
    } else {
        interval_s = (shape > 1.0 ? plan_expected_changes(y, shape) : plan_changes(y)) / rate;
    }
    return fmax(fmin(fmax(interval_s, bounds->least_s), bounds->most_s), (double)page->least_s);
}

double freq_spending_take(FreqSpending *spending, double budget_per_s, double visits,
                          double elapsed_s, double mean_s)
{
    double rounds = elapsed_s / mean_s;
    if (!(rounds > 0.0) || spending->factor <= 0.0) {
        *spending = (FreqSpending){.visits_per_s = budget_per_s, .factor = 1.0};
        return budget_per_s;
    }
    double fresh = -expm1(-SPENDING_MEMORY * rounds);
    spending->visits_per_s += fresh * (visits / elapsed_s - spending->visits_per_s);
    double missed = log(budget_per_s / fmax(spending->visits_per_s, budget_per_s / 16.0));
    double factor = spending->factor * exp(SPENDING_GAIN * fmin(rounds, 1.0) * missed);
    spending->factor = fmin(fmax(factor, FREQ_SPENDING_LEAST), FREQ_SPENDING_MOST);
    return budget_per_s * spending->factor;
}

FreqForecast freq_plan_forecast(const FreqPage *pages, size_t n, double price,
                                const FreqBounds *bounds)
{
    FreqForecast sum = {.visits_per_s = 0.0};
    double weights = 0.0;
    for (size_t i = 0; i < n; i++) {
        double interval_s = freq_plan_interval_s(&pages[i], price, bounds);
        double weight = (double)pages[i].weight;
        sum.visits_per_s += 1.0 / interval_s;
        sum.freshness += weight * freq_plan_freshness(&pages[i], interval_s);
        weights += weight;
    }
    sum.freshness = weights > 0.0 ? sum.freshness / weights : 0.0;
    return sum;
}

/* floors NULL: there are none. */
static double visits_at(const FreqPage *pages, const float *floors, size_t n, double price,
                        const FreqBounds *bounds)
{
    double visits_per_s = 0.0;
    for (size_t i = 0; i < n; i++) {
        double own = floors == NULL ? price : fmax((double)floors[i], price);
        visits_per_s += 1.0 / freq_plan_interval_s(&pages[i], own, bounds);
    }
    return visits_per_s;
}

double freq_plan_price(const FreqPage *pages, const float *floors, size_t n, double visits_per_s,
                       const FreqBounds *bounds)
{
    double dearest = 0.0; /* above it no page is worth a visit */
    for (size_t i = 0; i < n; i++) {
        dearest =
            fmax(dearest, plan_most(&pages[i]) * (double)pages[i].weight / (double)pages[i].rate);
    }
    if (visits_per_s >= visits_at(pages, floors, n, 0.0, bounds)) {
        return 0.0;
    }
    if (visits_per_s <= (double)n / bounds->most_s) {
        return HUGE_VAL;
    }
    double low = log(dearest) - 80.0;
    double high = log(dearest);
    double price = dearest;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2.0;
        price = exp(middle);
        double visits = visits_at(pages, floors, n, price, bounds);
        if (fabs(visits - visits_per_s) <= CLOSE * visits_per_s) {
            break;
        }
        low = visits > visits_per_s ? middle : low;
        high = visits > visits_per_s ? high : middle;
    }
    return price;
}

void freq_plan_raise_floors(const FreqPage *pages, float *floors, size_t n, double seconds,
                            const FreqBounds *bounds)
{
    if (!(seconds > 0.0) || visits_at(pages, floors, n, 0.0, bounds) * seconds <= 1.0) {
        return;
    }
    float price = (float)freq_plan_price(pages, NULL, n, 1.0 / seconds, bounds);
    for (size_t i = 0; i < n; i++) {
        floors[i] = fmaxf(floors[i], price);
    }
}

/* ---- Pages at their places ---- */

void freq_placed_expect(FreqPlaced *pages, size_t n, const FreqPrior *prior, const FreqSeen *seen)
{
    for (size_t i = 0; i < n; i++) {
        FreqPage *page = &pages[i].freq;
        float least_s = page->least_s;
        *page = freq_prior_page(prior, &seen[i], (double)page->weight);
        page->least_s = least_s;
    }
}

void freq_placed_sort(FreqPlaced *pages, size_t n)
{
    array_sort(pages, n, sizeof *pages, ARRAY_KEY(FreqPlaced, address),
               ARRAY_KEY(FreqPlaced, host));
}

size_t freq_placed_host_end(const FreqPlaced *pages, size_t n, size_t first)
{
    size_t end = first + 1;
    while (end < n && pages[end].host == pages[first].host) {
        end++;
    }
    return end;
}

size_t freq_placed_address_end(const FreqPlaced *pages, size_t n, size_t first)
{
    uint64_t address = pages[first].address;
    size_t end = freq_placed_host_end(pages, n, first);
    while (end < n && address != 0 && pages[end].address == address) {
        end = freq_placed_host_end(pages, n, end);
    }
    return end;
}
