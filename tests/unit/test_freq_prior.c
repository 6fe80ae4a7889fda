#include <math.h>
#include <string.h>

#include "dice.h"
#include "store/frequency/freq_prior.h"
#include "unit.h"

#define PAGES 600u
#define HOUR  3600.0

static double draw(Dice *dice)
{
    return ((double)(dice_next(dice) >> 11) + 0.5) * 0x1p-53;
}

/* Visits a page of that rate n times after the first, at intervals from 0.5 to 1.5 of interval_s.
 */
static FreqSeen watch(Dice *dice, double rate, double interval_s, uint64_t n)
{
    FreqSeen seen = {.n_same = 0};
    double now = 1e9;
    uint64_t changes = 0;
    for (uint64_t i = 0; i < n; i++) {
        double passed = interval_s * (0.5 + draw(dice));
        now += passed;
        changes += draw(dice) < -expm1(-rate * passed);
        freq_seen_update(&seen, i + 2, changes, 1e9, now);
    }
    return seen;
}

static void all_visits_are_counted_once(void)
{
    FreqSeen seen = {.n_same = 0};
    freq_seen_update(&seen, 1, 0, 1000, 1000);
    CU_ASSERT_EQUAL(seen.n_same + seen.n_changed, 0);
    freq_seen_update(&seen, 2, 0, 1000, 1100);
    freq_seen_update(&seen, 3, 1, 1000, 1400);
    freq_seen_update(&seen, 3, 1, 1000, 1400);
    CU_ASSERT_EQUAL(seen.n_same, 1);
    CU_ASSERT_EQUAL(seen.n_changed, 1);
    CU_ASSERT_DOUBLE_EQUAL((double)seen.same_s, 100, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL((double)seen.changed_s, 300, 1e-3);
    freq_seen_update(&seen, 13, 6, 1000, 2400); /* ten that nobody noted */
    CU_ASSERT_EQUAL(seen.n_same, 6);
    CU_ASSERT_EQUAL(seen.n_changed, 6);
    CU_ASSERT_DOUBLE_EQUAL((double)seen.same_s, 600, 1e-3);
    freq_seen_update(&seen, 2, 0, 5000, 5100); /* another page, or its history was lost */
    CU_ASSERT_EQUAL(seen.n_same, 1);
    CU_ASSERT_EQUAL(seen.n_changed, 0);
}

static void intervals_of_all_lengths_stay_apart_as_far_as_there_is_room(void)
{
    FreqSeen seen = {.n_same = 0};
    double now = 0;
    for (uint64_t i = 0; i < 40; i++) {
        now += ldexp(1, (int)(i % 10));
        freq_seen_update(&seen, i + 2, i + 1, 0, now);
    }
    unsigned n = 0;
    for (size_t i = 0; i < FREQ_SEEN_BINS; i++) {
        n += seen.bins[i].n;
        CU_ASSERT_TRUE(i == 0 || seen.bins[i - 1].size < seen.bins[i].size);
    }
    CU_ASSERT_EQUAL(n, 40);
    CU_ASSERT_EQUAL(seen.bins[0].n, 4); /* a second: 2^4 sixteenths */
    CU_ASSERT_EQUAL(seen.bins[0].size, 16);
}

/* A gamma distribution's means by the trapezoid rule over the logarithm of the rate. */
static double mean_freshness(double shape, double mean, double interval_s)
{
    double sum = 0;
    double weights = 0;
    for (double x = -25; x < 6; x += 1e-3) {
        double rate = exp(x) * mean;
        double weight = exp(shape * (x - exp(x))); /* density times rate */
        double changes = rate * interval_s;
        sum += weight * (changes > 1e-9 ? -expm1(-changes) / changes : 1);
        weights += weight;
    }
    return sum / weights;
}

static void what_is_not_known_counts_as_its_mean(void)
{
    const FreqBounds wide = {.least_s = 1e-6, .most_s = 1e12};
    for (float shape = 1.3f; shape < 40; shape *= 3) {
        FreqPage page = {.rate = 0.01f, .shape = shape, .weight = 1};
        for (double interval_s = 1; interval_s < 1e5; interval_s *= 7) {
            CU_ASSERT_DOUBLE_EQUAL(freq_plan_freshness(&page, interval_s),
                                   mean_freshness((double)shape, 0.01, interval_s), 1e-3);
        }
        /* The price of an interval is what freshness gains by one visit more in the time. */
        for (double price = 0.5; price < 90; price *= 2) {
            double t = freq_plan_interval_s(&page, price, &wide);
            double more = freq_plan_freshness(&page, 1 / (1 / t + 1e-4 / t));
            double gain = (more - freq_plan_freshness(&page, t)) / (1e-4 / t);
            CU_ASSERT_DOUBLE_EQUAL(gain / price, 1, 0.02);
        }
    }
}

/* Rates over three orders of magnitude, each page visited once in 100 hours. */
static void rates_are_learned_of_all_pages_together(void)
{
    Dice dice = {7};
    static FreqSeen seen[PAGES];
    double rates[PAGES];
    double fresh[2] = {0, 0};
    double told[2] = {0, 0};
    FreqPrior prior;
    for (size_t i = 0; i < PAGES; i++) {
        rates[i] = 0.001 * pow(1000, draw(&dice)) / HOUR;
        seen[i] = watch(&dice, rates[i], 100 * HOUR, 5);
    }
    freq_prior_fit(&prior, seen, PAGES, 1 / HOUR);
    for (size_t i = 0; i < PAGES; i++) {
        FreqPage page = freq_prior_page(&prior, &seen[i], 1);
        FreqPage known = {.rate = (float)rates[i], .weight = 1};
        for (size_t k = 0; k < 2; k++) {
            double interval_s = k == 0 ? 30 * HOUR : 300 * HOUR;
            told[k] += freq_plan_freshness(&page, interval_s) / PAGES;
            fresh[k] += freq_plan_freshness(&known, interval_s) / PAGES;
        }
    }
    CU_ASSERT_DOUBLE_EQUAL(told[0], fresh[0], 0.03);
    CU_ASSERT_DOUBLE_EQUAL(told[1], fresh[1], 0.03);
    FreqPage never = freq_prior_page(&prior, &(FreqSeen){.n_same = 5, .same_s = 500 * 3600}, 1);
    FreqPage unseen = freq_prior_page(&prior, &(FreqSeen){.n_same = 0}, 1);
    CU_ASSERT_TRUE(never.rate < unseen.rate / 10);
}

static void a_page_that_always_changed_is_looked_at_sooner_until_it_did_not(void)
{
    FreqSeen seen = {.n_same = 0};
    FreqPrior prior;
    double now = 1000;
    double before = 100 * HOUR;
    freq_prior_fit(&prior, &seen, 1, 1 / HOUR);
    CU_ASSERT_DOUBLE_EQUAL(
        freq_seen_look_s(&seen, &(FreqPage){.rate = 1, .shape = 2, .weight = 1}, 77), 77, 1e-9);
    for (uint64_t i = 0; i < 4; i++) {
        now += before;
        freq_seen_update(&seen, i + 2, i + 1, 1000, now);
        FreqPage page = freq_prior_page(&prior, &seen, 1);
        double look_s = freq_seen_look_s(&seen, &page, before);
        CU_ASSERT_TRUE(look_s < before / 3);
        before = look_s;
    }
    now += before;
    freq_seen_update(&seen, 6, 4, 1000, now);
    FreqPage page = freq_prior_page(&prior, &seen, 1);
    CU_ASSERT_DOUBLE_EQUAL(freq_seen_look_s(&seen, &page, 1), 1, 1e-9);
}

static void a_budget_that_is_not_spent_is_planned_again(void)
{
    FreqSpending spending = {.factor = 0};
    double planned = freq_spending_take(&spending, 10, 0, 0, 100);
    CU_ASSERT_DOUBLE_EQUAL(planned, 10, 1e-9);
    for (int i = 0; i < 200; i++) { /* three of four visits that are planned take place */
        planned = freq_spending_take(&spending, 10, 0.75 * planned * 5, 5, 100);
    }
    CU_ASSERT_DOUBLE_EQUAL(0.75 * planned, 10, 0.2);
    for (int i = 0; i < 10; i++) { /* a burst of looks is over */
        planned = freq_spending_take(&spending, 10, 40 * 5, 5, 100);
    }
    for (int i = 0; i < 60; i++) { /* three mean intervals later nothing is left of it */
        planned = freq_spending_take(&spending, 10, planned * 5, 5, 100);
    }
    CU_ASSERT_DOUBLE_EQUAL(planned, 10, 0.5);
    for (int i = 0; i < 1000; i++) {
        planned = freq_spending_take(&spending, 10, 0, 5, 100);
    }
    CU_ASSERT_DOUBLE_EQUAL(planned, 10 * FREQ_SPENDING_MOST, 1e-6);
}

/* Half of the pages say that they are fresh for a hundred days. */
static void what_is_fresh_leaves_its_visits_to_the_others(void)
{
    enum { N = 100 };
    const FreqBounds bounds = {.least_s = 1, .most_s = 1000 * HOUR};
    const double budget = N / (10 * HOUR);
    FreqPage pages[N];
    for (unsigned i = 0; i < N; i++) {
        pages[i] = (FreqPage){.rate = (float)(1 / HOUR), .weight = 1};
    }
    double alone =
        freq_plan_interval_s(pages, freq_plan_price(pages, NULL, N, budget, &bounds), &bounds);
    CU_ASSERT_DOUBLE_EQUAL(alone / (10 * HOUR), 1, 0.01);
    for (unsigned i = 0; i < N; i += 2) {
        pages[i].least_s = (float)(2400 * HOUR);
    }
    double price = freq_plan_price(pages, NULL, N, budget, &bounds);
    CU_ASSERT_DOUBLE_EQUAL(freq_plan_interval_s(&pages[0], price, &bounds), 2400 * HOUR, 1);
    CU_ASSERT_DOUBLE_EQUAL(freq_plan_interval_s(&pages[1], price, &bounds) / (5 * HOUR), 1, 0.02);
    FreqForecast forecast = freq_plan_forecast(pages, N, price, &bounds);
    CU_ASSERT_DOUBLE_EQUAL(forecast.visits_per_s / budget, 1, 0.01);
}

UNIT_MAIN("freq_prior", {"all visits are counted once", all_visits_are_counted_once},
          {"intervals of all lengths stay apart as far as there is room",
           intervals_of_all_lengths_stay_apart_as_far_as_there_is_room},
          {"what is not known counts as its mean", what_is_not_known_counts_as_its_mean},
          {"rates are learned of all pages together", rates_are_learned_of_all_pages_together},
          {"a page that always changed is looked at sooner until it did not",
           a_page_that_always_changed_is_looked_at_sooner_until_it_did_not},
          {"a budget that is not spent is planned again",
           a_budget_that_is_not_spent_is_planned_again},
          {"what is fresh leaves its visits to the others",
           what_is_fresh_leaves_its_visits_to_the_others})
