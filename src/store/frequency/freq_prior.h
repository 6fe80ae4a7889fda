/* Frequency prior: what is to be expected of a page's change rate, from its own visits and from
 * what the visits of all pages say about rates.
 *
 * What: a visit tells only whether a page has changed since the one before, not how often. FreqSeen
 * keeps what these answers say: how long the page was watched without a change, and between which
 * visits it had changed. For a Poisson process of rate r the chance of all of it is
 *
 *   e^(-r same_s)  times  1 - e^(-r t) for each interval t before a visit that found a change
 *
 * The latter are kept as a short histogram over the logarithm of t. A page that changed at every
 * visit may change a little more often than it is visited, or a thousand times; two visits say
 * hardly anything of a slow one.
 * So rates are learned of all pages together (empirical Bayes): the prior is a histogram over the
 * logarithm of the rate, fitted by expectation maximisation to a sample of pages, with as much of
 * an even one mixed in that a few pages do not make it sharp. What is then expected of a page
 * becomes a gamma distribution with the posterior's E[r] and E[1/r], the two that decide what an
 * early and a late visit are worth (freq_prior.h).
 *
 * Owns: nothing.
 * Threads: pure functions.
 * Source: J. Cho and H. Garcia-Molina, Estimating frequency of change; U. Upadhyay et al., Learning
 * to crawl; H. Robbins, An empirical Bayes approach to statistics. */
#pragma once

#include <stddef.h>
#include <stdint.h>

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
 * worth less than the price whatever the interval (it changes faster than anyone can look) is
 * visited seldom, since it may become slower: the less a visit is worth the more seldom, from
 * FreqBounds.doubt_s on. The price of a budget is found by halving.
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
    double doubt_s; /* longest of a page that is just not worth the price; 0: most_s */
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
/* Raises the floors of n pages of one host, or of one address, to the price at which they need no
 * more than one visit in this number of seconds: politeness allows no more, whatever the others'
 * price. */
void freq_plan_raise_floors(const FreqPage *pages, float *floors, size_t n, double seconds,
                            const FreqBounds *bounds);
/* The price at which n pages need visits_per_s visits: 0 when there are more than bounds allow to
 * use, HUGE_VAL when bounds ask for more than there are. Each page has the price or its floor,
 * whichever is higher; floors NULL: none. O(n). */
double freq_plan_price(const FreqPage *pages, const float *floors, size_t n, double visits_per_s,
                       const FreqBounds *bounds);
FreqForecast freq_plan_forecast(const FreqPage *pages, size_t n, double price,
                                const FreqBounds *bounds);
/* The share of the time for which the copy of a page is up to date. */
double freq_plan_freshness(const FreqPage *page, double interval_s);

#define FREQ_PRIOR_RATES 48

#define FREQ_SEEN_BINS  6
#define FREQ_SEEN_SIZES 256

/* Visits that found a change, by the interval before them. */
typedef struct FreqSeenBin {
    uint8_t size; /* of the interval: 2^(size / 4) / 16 seconds */
    uint16_t n;   /* 0: the bin is free */
} FreqSeenBin;

/* What the visits of a page after its first have found. */
typedef struct FreqSeen {
    uint32_t n_same;                  /* visits that found it as it was */
    uint32_t n_changed;               /* and changed */
    float same_s;                     /* sum of the intervals before the former */
    float changed_s;                  /* and before the latter */
    FreqSeenBin bins[FREQ_SEEN_BINS]; /* ascending; free ones last */
} FreqSeen;

typedef struct FreqPrior {
    double rates[FREQ_PRIOR_RATES]; /* changes per second, ascending by a constant factor */
    double share[FREQ_PRIOR_RATES]; /* of the pages; their sum is 1 */
    /* The logarithm of the chance that an interval of this size ends with a change. */
    float changed[FREQ_SEEN_SIZES][FREQ_PRIOR_RATES];
} FreqPrior;

/* Brings seen up to what PageDB counts of the page. The visits that are new to it (all of them when
 * it is {0}) count as if they had come at regular intervals. */
void freq_seen_update(FreqSeen *seen, uint64_t n_crawls, uint64_t n_changes, double first_crawl,
                      double last_crawl);

/* Learns from n pages. rate (above 0) stands in the middle of the histogram while none of them was
 * visited twice. */
void freq_prior_fit(FreqPrior *prior, const FreqSeen *seen, size_t n, double rate);
/* What is to be expected of a page; seen {0}: it was visited once. */
FreqPage freq_prior_page(const FreqPrior *prior, const FreqSeen *seen, double weight);

/* A page and where it is. */
typedef struct FreqPlaced {
    FreqPage freq;
    uint64_t address; /* of its host, as HostRecord.address; 0: not known */
    uint32_t host;
    float scheduled_s; /* interval that it has now; 0: none */
} FreqPlaced;

/* What is to be expected of pages of which weight and least_s are known. */
void freq_placed_expect(FreqPlaced *pages, size_t n, const FreqPrior *prior, const FreqSeen *seen);
/* Brings pages of one host, and of one address, side by side, */
void freq_placed_sort(FreqPlaced *pages, size_t n);
/* and says where those of the host, or of the address, end that begins at `first`: an address has
 * all of its hosts, and one host when it is not known. */
size_t freq_placed_host_end(const FreqPlaced *pages, size_t n, size_t first);
size_t freq_placed_address_end(const FreqPlaced *pages, size_t n, size_t first);

/* Seconds for which the copies of a page were up to date between its first and its last visit, as
 * far as its visits tell and page says. */
double freq_seen_fresh_s(const FreqSeen *seen, const FreqPage *page);
/* The interval of a page for which the plan has interval_s, or a shorter one, since it has to be
 * told first how fast the page changes: a page that was found changed at every visit is looked at
 * after a sixth of the shortest interval so far, until a look finds it as it was; one that is said
 * to change too fast to be followed, after the time between two changes, until that is sure. */
double freq_seen_look_s(const FreqSeen *seen, const FreqPage *page, double interval_s);
