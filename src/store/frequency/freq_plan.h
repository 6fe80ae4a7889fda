/* Frequency plan: how often each page is to be visited so that the copies are as fresh as a budget
 * of visits allows.
 *
 * What: pages change like Poisson processes and are visited at regular intervals. A page of change
 * rate r that is visited every t seconds is up to date for the share (1 - e^-rt) / rt of the time;
 * its weight times that, summed over all pages, is to be large. At the best plan one visit more a
 * second is worth the same on every page that is visited, its price p:
 *
 *   weight * (1 - (1 + rt) e^-rt) / r = p
 *
 * So the interval of a page follows from its own rate and weight and from one number that all pages
 * share, and a crawl that knows the price needs no list of its pages. A page of which a visit is
 * worth less than the price whatever the interval (it changes faster than anyone can look) has the
 * longest interval that the bounds allow. The price of a budget is found by halving.
 *
 * When the rate is not known, the means of both sides count. For a gamma distribution of shape a
 * and mean a / b, with q = b / (b + t), they are
 *
 *   freshness (1 - q^(a-1)) b / ((a-1) t)      worth of a visit b / (a-1) (1 - q^(a-1)) - t q^a
 *
 * Azar et al. solve the same for visits at random times (freq = sqrt(weight r / p) - r), which is
 * near the best for regular ones; the condition above is the best itself and costs no more:
 * `make bench BENCH=schedule` prints both.
 * Owns: nothing.
 * Threads: pure functions.
 * Source: Y. Azar, E. Horvitz, E. Lubetzky, Y. Peres, D. Shahaf, Tractable near-optimal policies
 * for crawling, PNAS 2018; J. Cho and H. Garcia-Molina, Effective page refresh policies. */
#ifndef STORE_FREQUENCY_FREQ_PLAN_H
#define STORE_FREQUENCY_FREQ_PLAN_H

#include <stddef.h>

typedef struct FreqPage {
    float rate;    /* changes per second, above 0 */
    float weight;  /* how much its freshness counts, above 0 */
    float least_s; /* no visit earlier, whatever the bounds: so long its site says it is fresh; 0 */
    float shape;   /* above 1: the rate is not known, and expected to be gamma distributed with this
                      shape and the mean above; 0: it is known */
} FreqPage;

typedef struct FreqBounds {
    double least_s; /* of an interval; above 0 */
    double most_s;  /* not below least_s */
} FreqBounds;

/* What pages come to at a price. */
typedef struct FreqForecast {
    double visits_per_s;
    double freshness; /* the weighted share of copies that are up to date, 0 to 1 */
} FreqForecast;

/* How many visits to plan for, so that as many as the budget has take place: pages that are looked
 * at again soon, new ones, and late ones are in no plan. {0} begins. */
typedef struct FreqSpending {
    double visits_per_s; /* that took place, of late */
    double factor;       /* of the budget: FREQ_SPENDING_LEAST to FREQ_SPENDING_MOST; 0: 1 */
} FreqSpending;

#define FREQ_SPENDING_LEAST 0.8
#define FREQ_SPENDING_MOST  1.5

/* visits took place in the last elapsed_s seconds; a page is visited every mean_s seconds, on
 * average. Returns the visits per second to plan for. */
double freq_spending_take(FreqSpending *spending, double budget_per_s, double visits,
                          double elapsed_s, double mean_s);

/* Seconds between two visits of a page at this price (0: visits cost nothing; HUGE_VAL). */
double freq_plan_interval_s(const FreqPage *page, double price, const FreqBounds *bounds);
/* The price at which n pages need visits_per_s visits: 0 when there are more than bounds allow to
 * use, HUGE_VAL when bounds ask for more than there are. O(n). */
double freq_plan_price(const FreqPage *pages, size_t n, double visits_per_s,
                       const FreqBounds *bounds);
/* Raises the floors of n pages of one host, or of one address, to the price at which they need no
 * more than one visit in this number of seconds: politeness allows no more, whatever the others'
 * price. */
void freq_plan_raise_floors(const FreqPage *pages, float *floors, size_t n, double seconds,
                            const FreqBounds *bounds);
/* The same as freq_plan_price when each page has the price or its floor, whichever is higher. */
double freq_plan_price_above(const FreqPage *pages, const float *floors, size_t n,
                             double visits_per_s, const FreqBounds *bounds);
FreqForecast freq_plan_forecast(const FreqPage *pages, size_t n, double price,
                                const FreqBounds *bounds);
/* The share of the time for which the copy of a page is up to date. */
double freq_plan_freshness(const FreqPage *page, double interval_s);

#endif
