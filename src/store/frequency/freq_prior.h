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
 * early and a late visit are worth (freq_plan.h).
 *
 * Owns: nothing.
 * Threads: pure functions.
 * Source: J. Cho and H. Garcia-Molina, Estimating frequency of change; U. Upadhyay et al., Learning
 * to crawl; H. Robbins, An empirical Bayes approach to statistics. */
#ifndef STORE_FREQUENCY_FREQ_PRIOR_H
#define STORE_FREQUENCY_FREQ_PRIOR_H

#include <stddef.h>
#include <stdint.h>

#include "store/frequency/freq_plan.h"

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
/* Seconds for which the copies of a page were up to date between its first and its last visit, as
 * far as its visits tell and page says. */
double freq_seen_fresh_s(const FreqSeen *seen, const FreqPage *page);
/* The interval of a page for which the plan has interval_s, or a shorter one, since it has to be
 * told first how fast the page changes: a page that was found changed at every visit is looked at
 * after a sixth of the shortest interval so far, until a look finds it as it was; one that is said
 * to change too fast to be followed, after the time between two changes, until that is sure. */
double freq_seen_look_s(const FreqSeen *seen, const FreqPage *page, double interval_s);

#endif
