#include "rules/revisit_policy.h"

#include <math.h>

#include "base/core/hash.h"
#include "base/memory/file.h"

#define RULES_MAX_BYTES ((size_t)16 << 20)
#define DOUBLINGS_MAX   30
#define DOUBT_MEANS     10.0
#define MOST_MEANS      40.0
#define UNSEEN_CHANGES  0.5

FreqSeen revisit_policy_seen(const PageRef *page, const RevisitNote *note)
{
    FreqSeen seen = note->seen;
    freq_seen_update(&seen, page->n_crawls, page->n_changes, page->first_crawl, page->last_crawl);
    return seen;
}

/* The share of the first interval after which a page is visited for the second time, [0.5, 1):
 * pages that were crawled together do not come due together. */
static double revisit_policy_spread(uint64_t index)
{
    return 0.5 + 0.5 * (double)(hash_mix(index + 1) >> 11) * 0x1p-53;
}

static double revisit_policy_within(const RevisitPolicy *policy, double interval_s)
{
    return fmin(fmax(interval_s, policy->min_s), policy->max_s);
}

/* At the price that a visit has now. A page that is said to change too fast to be followed may only
 * have looked so, and is asked again after DOUBT_MEANS to MOST_MEANS times the mean interval. */
static double interval_at_price(const RevisitPolicy *policy, const PageRef *page,
                                const RevisitNote *note, const RevisitPrice *price)
{
    FreqSeen seen = revisit_policy_seen(page, note);
    FreqPage expected = freq_prior_page(price->prior, &seen, price->weight);
    FreqBounds bounds = revisit_policy_bounds(policy, price->mean_s);
    double interval_s = freq_plan_interval_s(&expected, price->price, &bounds);
    return price->is_floor ? interval_s : freq_seen_look_s(&seen, &expected, interval_s);
}

FreqBounds revisit_policy_bounds(const RevisitPolicy *policy, double mean_s)
{
    double most_s = fmin(policy->max_s, MOST_MEANS * mean_s);
    return (FreqBounds){.least_s = policy->min_s,
                        .most_s = fmax(most_s, policy->min_s),
                        .doubt_s = DOUBT_MEANS * mean_s};
}

double revisit_policy_interval_s(const RevisitPolicy *policy, const PageRef *page,
                                 const RevisitNote *note, const RevisitPrice *price)
{
    /* Changes per second; not above 0: unknown. A page that was never seen to change: as if it had
     * been half a change in half a default interval before, so that its rate sinks as it is
     * watched. */
    double rate =
        freq_change_rate(page->n_crawls, page->n_changes, page->first_crawl, page->last_crawl);
    double span = page->last_crawl - page->first_crawl;
    if (page->n_crawls >= 2 && span > 0 && !(rate > 0)) {
        rate = UNSEEN_CHANGES / (span + UNSEEN_CHANGES * policy->default_s);
    }
    double freq = 0;
    double interval_s = policy->default_s;
    if (policy->rules != NULL &&
        freq_rules_find(policy->rules, page->url, page->url_length, rate, &freq) == RESULT_OK) {
        interval_s = 1 / freq;
    } else if (note->fixed_freq > 0) {
        interval_s = 1 / (double)note->fixed_freq;
    } else if (rate > 0 && price != NULL) {
        interval_s = interval_at_price(policy, page, note, price);
    } else if (rate > 0) {
        interval_s = pow(policy->default_s, 1 - policy->power) * pow(1 / rate, policy->power);
    } else if (note->hint_freq > 0) {
        interval_s = 1 / (double)note->hint_freq;
    } else {
        interval_s =
            (price != NULL ? price->mean_s : interval_s) * revisit_policy_spread(page->index);
    }
    int doublings = note->misses < DOUBLINGS_MAX ? note->misses : DOUBLINGS_MAX;
    return revisit_policy_within(policy,
                                 ldexp(revisit_policy_within(policy, interval_s), doublings));
}

bool revisit_policy_is_over(const RevisitPolicy *policy, const PageRef *page,
                            const RevisitNote *note)
{
    return (policy->max_n_crawls > 0 && page->n_crawls >= policy->max_n_crawls) ||
           note->misses >= policy->tries;
}

Result revisit_policy_load_rules(const char *path, FreqRules **rules, Buffer *error)
{
    *rules = NULL;
    if (*path == '\0') {
        return RESULT_OK;
    }
    Buffer text = {.limit = RULES_MAX_BYTES};
    Result rc = file_read(path, &text);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s: cannot be read: %s", path, result_name(rc));
    } else {
        size_t line = 0;
        char why[FREQ_RULES_WHY_BYTES] = "";
        rc = freq_rules_new(rules, buffer_string(&text), text.length, &line, why);
        if (rc == RESULT_INVALID) {
            (void)buffer_printf(error, "%s:%zu: %s", path, line, why);
        }
    }
    buffer_destroy(&text);
    return rc;
}
