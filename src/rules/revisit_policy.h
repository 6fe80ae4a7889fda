/* Revisit policy: when a page is visited again. A pure decision from what its visits found.
 *
 * What: the first of these that applies gives the interval:
 *   1. A rule of schedule.rules matches the URL (store/frequency/freq_rules.h): the rule's
 *      interval, or N times as often as the page changes.
 *   2. `ragno schedule DIR freq` gave the page a frequency.
 *   3. The page was crawled twice, so something is known of its change rate. schedule.revisit =
 *      optimal: the interval at which one visit more is worth its price
 *      (store/frequency/freq_prior.h), once there is a price (ingest/revisit/revisit_price.h), or a
 *      shorter one while too little is known (freq_seen_look_s). Else
 *      default^(1 - power) * (1 / rate)^power.
 *   4. The default; optimal, and there is a price: the mean interval of all pages.
 *
 * With power 0 all pages are visited equally often, with power 1 as often as they change. Neither
 * is good for freshness: the first neglects pages that change often, the second spends its visits
 * on pages that change faster than anyone can look. 0.5, the geometric mean, is near the best for
 * most mixtures, and keeps itself in bounds: a page that changes at every visit is not visited ever
 * faster. A page that never changed in n visits counts as if half a change had been seen, so its
 * interval grows with each visit. The interval is doubled for each visit in a row that did not find
 * the page, and kept between min and max.
 *
 * Threads: any; no I/O, no clock.
 * Source: Cho and Garcia-Molina, Effective page refresh policies for web crawlers. */
#pragma once

#include "store/frequency/freq_rules.h"
#include "store/pages/page_db.h"
#include "store/tables/revisit_rows.h"

typedef struct RevisitPolicy {
    FreqRules *rules; /* NULL: none */
    double default_s;
    double min_s;
    double max_s;
    double power;          /* 0..1 */
    double margin;         /* see schedule.margin; negative: off */
    uint64_t max_n_crawls; /* 0: no bound */
    unsigned tries;        /* visits in a row that miss a page, until it is given up */
    bool optimal;          /* schedule.revisit */
    double signal_trust;   /* ingest/revisit/revisits.h; 1: signals are not followed */
    double visits_per_s;   /* optimal: the budget; 0: each page once in default_s, on average */
} RevisitPolicy;

/* What a visit costs now, and what a page is worth. */
typedef struct RevisitPrice {
    double price;           /* freq_prior.h */
    const FreqPrior *prior; /* of the change rates of all pages */
    double mean_s;          /* between two visits of a page, on average */
    double weight;          /* of the page: how much its freshness counts */
    bool is_floor;          /* politeness sets the price: no look beside the plan's visits */
} RevisitPrice;

/* Seconds from the last visit of a page to the next one. Rules need page->url. price NULL: there is
 * none, or the policy is not the optimal one. */
double revisit_policy_interval_s(const RevisitPolicy *policy, const PageRef *page,
                                 const RevisitNote *note, const RevisitPrice *price);
/* What the visits of a page have found up to now. */
FreqSeen revisit_policy_seen(const PageRef *page, const RevisitNote *note);
/* Between which intervals the optimal policy chooses. */
FreqBounds revisit_policy_bounds(const RevisitPolicy *policy, double mean_s);
/* Whether there is no next visit: it was crawled or missed too often. */
bool revisit_policy_is_over(const RevisitPolicy *policy, const PageRef *page,
                            const RevisitNote *note);

/* Reads schedule.rules. *rules is NULL when path is "". RESULT_INVALID, RESULT_NOT_FOUND,
 * RESULT_IO: error gets "FILE:LINE: why" or why it cannot be read. */
Result revisit_policy_load_rules(const char *path, FreqRules **rules, Buffer *error);
