#include <math.h>
#include <stdlib.h>

#include "dice.h"
#include "store/frequency/freq_prior.h"
#include "store/frequency/freq_rules.h"
#include "unit.h"

#define PAGES 500u
#define DAY   86400.0

static const FreqBounds wide = {.least_s = 1, .most_s = 1e12};

static double draw(Dice *dice)
{
    return (double)(dice_next(dice) >> 11) * 0x1p-53;
}

/* From a change in a hundred days to ten a day; weights from 1 to 100. */
static void pages_make(FreqPage *pages)
{
    Dice dice = {11};
    for (size_t i = 0; i < PAGES; i++) {
        pages[i].rate = (float)(0.01 * pow(1000.0, draw(&dice)) / DAY);
        pages[i].weight = (float)pow(100.0, draw(&dice));
        pages[i].shape = i % 2 == 0 ? 0 : 1.2f + (float)(i % 7);
    }
}

static void the_price_spends_the_budget(void)
{
    FreqPage pages[PAGES] = {{.rate = 0}};
    pages_make(pages);
    double before = 0;
    for (double per_day = 0.01; per_day < 50; per_day *= 3) {
        double visits_per_s = per_day * PAGES / DAY;
        double price = freq_plan_price(pages, NULL, PAGES, visits_per_s, &wide);
        FreqForecast f = freq_plan_forecast(pages, PAGES, price, &wide);
        CU_ASSERT_DOUBLE_EQUAL(f.visits_per_s / visits_per_s, 1, 1e-3);
        CU_ASSERT_TRUE(f.freshness > before && f.freshness < 1);
        before = f.freshness;
    }
}

/* Freshness in all, by weight, when each page has its interval. */
static double fresh_sum(const FreqPage *pages, const double *freqs)
{
    double sum = 0;
    for (size_t i = 0; i < PAGES; i++) {
        sum += (double)pages[i].weight * freq_plan_freshness(&pages[i], 1 / freqs[i]);
    }
    return sum;
}

static void no_visit_is_worth_more_elsewhere(void)
{
    FreqPage pages[PAGES] = {{.rate = 0}};
    double freqs[PAGES];
    Dice dice = {5};
    pages_make(pages);
    double visits_per_s = 0.5 * PAGES / DAY;
    double price = freq_plan_price(pages, NULL, PAGES, visits_per_s, &wide);
    for (size_t i = 0; i < PAGES; i++) {
        freqs[i] = 1 / freq_plan_interval_s(&pages[i], price, &wide);
    }
    double best = fresh_sum(pages, freqs);
    for (int i = 0; i < 2000; i++) {
        size_t from = dice_next(&dice) % PAGES;
        size_t to = dice_next(&dice) % PAGES;
        double moved = freqs[from] * draw(&dice);
        if (from == to || moved * wide.most_s < 2) {
            continue;
        }
        freqs[from] -= moved;
        freqs[to] += moved;
        CU_ASSERT_TRUE(fresh_sum(pages, freqs) <= best + 1e-6);
        freqs[from] += moved;
        freqs[to] -= moved;
    }
}

static void it_is_better_than_even_visits(void)
{
    FreqPage pages[PAGES] = {{.rate = 0}};
    double even = 0;
    pages_make(pages);
    double visits_per_s = 0.5 * PAGES / DAY;
    for (size_t i = 0; i < PAGES; i++) {
        pages[i].weight = 1;
        even += freq_plan_freshness(&pages[i], PAGES / visits_per_s) / PAGES;
    }
    double price = freq_plan_price(pages, NULL, PAGES, visits_per_s, &wide);
    CU_ASSERT_TRUE(freq_plan_forecast(pages, PAGES, price, &wide).freshness > 1.02 * even);
}

static void a_page_that_nobody_can_follow_is_left_alone(void)
{
    FreqBounds bounds = {.least_s = 60, .most_s = 90 * DAY};
    FreqPage slow = {.rate = (float)(0.1 / DAY), .weight = 1};
    FreqPage fast = {.rate = (float)(1000 / DAY), .weight = 1};
    double price = 0.5 / (double)slow.rate;
    CU_ASSERT_TRUE(freq_plan_interval_s(&slow, price, &bounds) < 30 * DAY);
    CU_ASSERT_DOUBLE_EQUAL(freq_plan_interval_s(&fast, price, &bounds), 90 * DAY, 1e-6);
    fast.weight = 1e6f; /* unless it matters */
    CU_ASSERT_TRUE(freq_plan_interval_s(&fast, price, &bounds) < DAY);
}

/* It may become slower, but visits of what is hopeless would be missed elsewhere. */
static void the_less_a_page_is_worth_the_more_seldom_it_is_visited(void)
{
    FreqBounds bounds = {.least_s = 60, .most_s = 1000 * DAY, .doubt_s = 10 * DAY};
    for (double above = 1; above < 50; above *= 3) {
        FreqPage fast = {.rate = (float)(1000 / DAY), .weight = 1};
        double s = freq_plan_interval_s(&fast, above / (double)fast.rate, &bounds);
        CU_ASSERT_DOUBLE_EQUAL(s / (above * 10 * DAY), 1, 1e-3);
    }
    FreqPage hopeless = {.rate = 1e6f, .weight = 1};
    CU_ASSERT_EQUAL(freq_plan_interval_s(&hopeless, 1, &bounds), 1000 * DAY);
}

static void bounds_hold(void)
{
    FreqPage pages[PAGES] = {{.rate = 0}};
    pages_make(pages);
    FreqBounds bounds = {.least_s = DAY, .most_s = 4 * DAY};
    CU_ASSERT_EQUAL(freq_plan_price(pages, NULL, PAGES, 2 * PAGES / DAY, &bounds), 0.0);
    CU_ASSERT_EQUAL(freq_plan_price(pages, NULL, PAGES, 0.1 * PAGES / DAY, &bounds), HUGE_VAL);
    CU_ASSERT_EQUAL(freq_plan_interval_s(&pages[0], 0, &bounds), DAY);
    CU_ASSERT_EQUAL(freq_plan_interval_s(&pages[0], HUGE_VAL, &bounds), 4 * DAY);
    double price = freq_plan_price(pages, NULL, PAGES, 0.5 * PAGES / DAY, &bounds);
    FreqForecast f = freq_plan_forecast(pages, PAGES, price, &bounds);
    CU_ASSERT_DOUBLE_EQUAL(f.visits_per_s, 0.5 * PAGES / DAY, 1e-5);
    CU_ASSERT_EQUAL(freq_plan_forecast(pages, 0, price, &bounds).freshness, 0.0);
}

/* The first hundred pages are of a host that may be asked once in an hour. */
static void what_politeness_does_not_allow_is_spent_elsewhere(void)
{
    enum { HOST = 100 };
    const double hour = 3600;
    const double budget = PAGES / DAY;
    FreqPage pages[PAGES] = {{.rate = 0}};
    float floors[PAGES] = {0};
    double visits = 0;
    double polite = 0;
    double slowed = 0;
    pages_make(pages);
    double plain = freq_plan_price(pages, NULL, PAGES, budget, &wide);
    double demand = freq_plan_forecast(pages, HOST, plain, &wide).visits_per_s;
    CU_ASSERT_TRUE_FATAL(demand * hour > 1);
    freq_plan_raise_floors(pages, floors, HOST, hour, &wide);
    freq_plan_raise_floors(&pages[HOST], &floors[HOST], PAGES - HOST, 1e-3, &wide);
    CU_ASSERT_TRUE((double)floors[0] > plain && (double)floors[HOST] < plain);
    double price = freq_plan_price(pages, floors, PAGES, budget, &wide);
    CU_ASSERT_TRUE(price < plain);
    for (size_t i = 0; i < PAGES; i++) {
        double own = fmax((double)floors[i], price);
        double s = freq_plan_interval_s(&pages[i], own, &wide);
        double late =
            freq_plan_interval_s(&pages[i], plain, &wide) * (i < HOST ? demand * hour : 1);
        visits += 1 / s;
        polite += (double)pages[i].weight * freq_plan_freshness(&pages[i], s);
        slowed += (double)pages[i].weight * freq_plan_freshness(&pages[i], late);
        if (i == HOST - 1) {
            CU_ASSERT_DOUBLE_EQUAL(visits * hour, 1, 1e-4);
        }
    }
    CU_ASSERT_DOUBLE_EQUAL(visits / budget, 1, 1e-4);
    CU_ASSERT_TRUE(polite > slowed * 1.001);
}

static void what_is_fresh_is_not_visited_and_leaves_its_visits_to_others(void)
{
    FreqPage pages[PAGES] = {{.rate = 0}};
    pages_make(pages);
    FreqBounds bounds = {.least_s = 1, .most_s = 1000 * DAY};
    double before = freq_plan_price(pages, NULL, PAGES, PAGES / DAY, &bounds);
    for (size_t i = 0; i < PAGES; i += 2) {
        pages[i].least_s = (float)(5000 * DAY);
    }
    double price = freq_plan_price(pages, NULL, PAGES, PAGES / DAY, &bounds);
    CU_ASSERT_TRUE(price < before);
    CU_ASSERT_TRUE(freq_plan_interval_s(&pages[0], price, &bounds) >= 4999 * DAY);
    CU_ASSERT_TRUE(freq_plan_interval_s(&pages[1], price, &bounds) <
                   freq_plan_interval_s(&pages[1], before, &bounds));
}

UNIT_MAIN("freq_plan",
          {"what is fresh is not visited, and leaves its visits to others",
           what_is_fresh_is_not_visited_and_leaves_its_visits_to_others},
          {"the price spends the budget", the_price_spends_the_budget},
          {"no visit is worth more elsewhere", no_visit_is_worth_more_elsewhere},
          {"it is better than even visits", it_is_better_than_even_visits},
          {"a page that nobody can follow is left alone",
           a_page_that_nobody_can_follow_is_left_alone},
          {"the less a page is worth, the more seldom it is visited",
           the_less_a_page_is_worth_the_more_seldom_it_is_visited},
          {"bounds hold", bounds_hold},
          {"what politeness does not allow is spent elsewhere",
           what_politeness_does_not_allow_is_spent_elsewhere})
