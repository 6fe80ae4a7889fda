#include "store/frequency/freq_plan.h"

#include <math.h>

#define NEWTON_STEPS 4
#define HALVINGS     80   /* of the logarithm of the price */
#define CLOSE        1e-6 /* relative error of the visits */

double freq_plan_freshness(double rate, double interval_s)
{
    double changes = rate * interval_s; /* between two visits */
    return changes > 1e-9 ? -expm1(-changes) / changes : 1.0;
}

/* The x with 1 - (1 + x) e^-x = y, 0 < y < 1: x - log(1 + x) = -log(1 - y). */
static double changes_between_visits(double y)
{
    double goal = -log1p(-y);
    double x = goal + sqrt(2.0 * goal);
    for (int i = 0; i < NEWTON_STEPS; i++) {
        x -= (x - log1p(x) - goal) * (1.0 + x) / x;
    }
    return x;
}

double freq_plan_interval_s(const FreqPage *page, double price, const FreqBounds *bounds)
{
    double rate = (double)page->rate;
    double y = price * rate / (double)page->weight;
    double interval_s = !(y < 1.0)  ? bounds->most_s
                        : y > 1e-12 ? changes_between_visits(y) / rate
                                    : sqrt(2.0 * y) / rate;
    return fmax(fmin(fmax(interval_s, bounds->least_s), bounds->most_s), (double)page->least_s);
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
        sum.freshness += weight * freq_plan_freshness((double)pages[i].rate, interval_s);
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
        dearest = fmax(dearest, (double)pages[i].weight / (double)pages[i].rate);
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
