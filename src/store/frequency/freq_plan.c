#include "store/frequency/freq_plan.h"

#include <math.h>

#define NEWTON_STEPS    4
#define SHAPE_HALVINGS  18   /* of the logarithm of an interval */
#define SHAPE_LOW       1e-4 /* expected changes between two visits */
#define SHAPE_HIGH      1e4
#define SPENDING_MEMORY 1.4  /* a mean interval ago counts e^-1.4 */
#define SPENDING_GAIN   0.8  /* of what is missed, in a mean interval */
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
        interval_s = bounds->most_s;
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

double freq_plan_price_above(const FreqPage *pages, const float *floors, size_t n,
                             double visits_per_s, const FreqBounds *bounds)
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

double freq_plan_price(const FreqPage *pages, size_t n, double visits_per_s,
                       const FreqBounds *bounds)
{
    return freq_plan_price_above(pages, NULL, n, visits_per_s, bounds);
}

void freq_plan_raise_floors(const FreqPage *pages, float *floors, size_t n, double seconds,
                            const FreqBounds *bounds)
{
    if (!(seconds > 0.0) || visits_at(pages, floors, n, 0.0, bounds) * seconds <= 1.0) {
        return;
    }
    float price = (float)freq_plan_price(pages, n, 1.0 / seconds, bounds);
    for (size_t i = 0; i < n; i++) {
        floors[i] = fmaxf(floors[i], price);
    }
}
