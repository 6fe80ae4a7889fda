/* Which policy of revisits keeps copies freshest? Pages of known change rates, virtual days.
 *
 * All policies meet the same changes. They are counted in windows that begin after 5, 10, 20 and 50
 * visits a page, on average. The anchors: `optimum` is the most that regular visits can come to,
 * computed from the true rates, `azar` what the frequencies of Azar et al. come to, `known` what a
 * crawler that knows the rates comes to in the same window, and `told` what the estimator comes to
 * when it is told the distribution of the rates: with the same visits no other does much better. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "rules/revisit_policy.h"
#include "steering.h"
#include "synthetic_web.h"

#define DAY_S       86400.0
#define WINDOWS     4
#define PLANS       4.0  /* prices in the time between two visits of a page, */
#define PLANS_LATE  40.0 /* and in the time until now */
#define LEAST_SHARE 1e-3 /* of the mean interval: the shortest */
#define END_S       1e12 /* longer than any crawl */
#define SURE_VISITS 1e4  /* after which a page's rate is known */

/* Visits of a page, on average, that have taken place when a window begins. */
static const double windows[WINDOWS + 1] = {5, 10, 20, 50, 60};

typedef enum Policy { UNIFORM, GEOMETRIC, OPTIMAL, KNOWN, TOLD } Policy;

typedef struct Live {
    double rate; /* changes per second */
    double weight;
    uint64_t seed;
    double next_change;
    double fresh_s[WINDOWS];
    PageRef ref;
    RevisitNote note;
    double due;
} Live;

typedef struct World {
    const char *name;
    Live *pages;
    FreqPage *known;     /* the truth */
    FreqPage *estimated; /* what a crawler thinks */
    FreqSeen *seen;
    FreqPrior prior;
    FreqSpending spending;
    size_t *heap; /* pages by due time */
    size_t n;
    double visits_per_s;
    double mean_s;     /* between two visits of a page */
    double best_price; /* of a visit, to who knows the rates */
} World;

/* ---- distributions of change rates, changes per day ---- */

static double log_uniform(uint64_t *seed)
{
    return 0.01 * pow(1000.0, synthetic_web_draw(seed));
}

/* Most pages hardly ever change, some do all the time. */
static double two_kinds(uint64_t *seed)
{
    return synthetic_web_draw(seed) < 0.8 ? 0.005 : 4.0;
}

static double pareto(uint64_t *seed)
{
    return fmin(0.02 * pow(1.0 - synthetic_web_draw(seed), -1.0), 50.0);
}

static double exponential(uint64_t *seed)
{
    return 1e-3 - 0.5 * log1p(-synthetic_web_draw(seed));
}

/* Shape 1/2: the square of a normal variable. */
static double gamma_half(uint64_t *seed)
{
    double radius = sqrt(-2 * log1p(-synthetic_web_draw(seed)));
    double x = radius * cos(2 * acos(-1.0) * synthetic_web_draw(seed));
    return 1e-5 + x * x / 2;
}

typedef struct Distribution {
    const char *name;
    double (*rate)(uint64_t *seed);
    bool weighted; /* importance is Pareto distributed, too; else all alike */
} Distribution;

static const Distribution distributions[] = {
    {"log_uniform", log_uniform, false}, {"gamma", gamma_half, false},
    {"two_kinds", two_kinds, false},     {"pareto", pareto, false},
    {"exponential", exponential, false}, {"weighted", log_uniform, true}};

/* ---- one page ---- */

static double next_change(Live *page, double from)
{
    return from - log1p(-synthetic_web_draw(&page->seed)) / page->rate;
}

/* Time goes on to now: the copy was fresh until the first change. */
static void pass(const World *w, Live *page, double from, double now)
{
    double until = fmin(page->next_change, now);
    for (size_t i = 0; i < WINDOWS; i++) {
        double begin = fmax(from, windows[i] * w->mean_s);
        double end = fmin(until, windows[i + 1] * w->mean_s);
        page->fresh_s[i] += fmax(end - begin, 0.0);
    }
}

static void visit(const World *w, Live *page, double now)
{
    PageRef *ref = &page->ref;
    pass(w, page, ref->last_crawl, now);
    bool has_changed = ref->n_crawls > 0 && page->next_change < now;
    while (page->next_change < now) {
        page->next_change = next_change(page, page->next_change);
    }
    ref->n_changes += has_changed;
    ref->first_crawl = ref->n_crawls == 0 ? now : ref->first_crawl;
    ref->n_crawls++;
    ref->last_crawl = now;
    page->note.seen = revisit_policy_seen(ref, &page->note);
}

/* ---- the heap ---- */

static void sift_down(World *w, size_t at)
{
    size_t *heap = w->heap;
    for (size_t child = 2 * at + 1; child < w->n; child = 2 * at + 1) {
        child += child + 1 < w->n && w->pages[heap[child + 1]].due < w->pages[heap[child]].due;
        if (w->pages[heap[at]].due <= w->pages[heap[child]].due) {
            return;
        }
        size_t other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
        at = child;
    }
}

/* ---- a crawl ---- */

/* The prior that a crawler would have that had watched each page for ever. */
static void tell(World *w)
{
    for (size_t i = 0; i < w->n; i++) {
        double interval_s = 1 / w->pages[i].rate;
        FreqSeen seen = {.n_same = 0};
        freq_seen_update(&seen, (uint64_t)SURE_VISITS + 1, (uint64_t)(-expm1(-1.0) * SURE_VISITS),
                         0, SURE_VISITS * interval_s);
        w->seen[i] = seen;
    }
    freq_prior_fit(&w->prior, w->seen, w->n, 1 / w->mean_s);
}

/* visits took place in the last elapsed_s seconds. */
static RevisitPrice price_of(World *w, Policy kind, const RevisitPolicy *policy, double visits,
                             double elapsed_s)
{
    RevisitPrice price = {.mean_s = w->mean_s, .prior = &w->prior};
    for (size_t i = 0; i < w->n; i++) {
        w->seen[i] = w->pages[i].note.seen;
    }
    if (kind == OPTIMAL) {
        freq_prior_fit(&w->prior, w->seen, w->n, 1 / policy->default_s);
    }
    for (size_t i = 0; i < w->n; i++) {
        w->estimated[i] = freq_prior_page(&w->prior, &w->seen[i], w->pages[i].weight);
    }
    FreqBounds bounds = revisit_policy_bounds(policy, w->mean_s);
    double visits_per_s =
        freq_spending_take(&w->spending, w->visits_per_s, visits, elapsed_s, w->mean_s);
    price.price = freq_plan_price(w->estimated, NULL, w->n, visits_per_s, &bounds);
    return price;
}

static bool has_price(Policy kind)
{
    return kind == OPTIMAL || kind == TOLD;
}

static double interval_of(const World *w, const Live *page, Policy kind,
                          const RevisitPolicy *policy, RevisitPrice *price)
{
    FreqBounds known = {.least_s = policy->min_s, .most_s = END_S};
    switch (kind) {
    case UNIFORM:
        return (double)w->n / w->visits_per_s;
    case KNOWN:
        return freq_plan_interval_s(&w->known[page->ref.index], w->best_price, &known);
    case GEOMETRIC:
    case OPTIMAL:
    case TOLD:
        break;
    }
    price->weight = page->weight;
    return revisit_policy_interval_s(policy, &page->ref, &page->note,
                                     has_price(kind) ? price : NULL);
}

static void start(World *w)
{
    w->spending = (FreqSpending){.factor = 0};
    for (size_t i = 0; i < w->n; i++) {
        Live *page = &w->pages[i];
        page->seed = i * 7919 + 1;
        memset(page->fresh_s, 0, sizeof page->fresh_s);
        page->next_change = next_change(page, 0);
        page->ref = (PageRef){.index = i, .url = ""};
        page->note = (RevisitNote){.misses = 0};
        page->due = w->mean_s * (double)i / (double)w->n;
        w->heap[i] = i;
    }
}

/* Of each window. */
typedef struct Outcome {
    double freshness[WINDOWS];
    double planned[WINDOWS]; /* what the plan said when it began */
    double spent[WINDOWS];   /* of the budget */
} Outcome;

static size_t window_of(const World *w, double now)
{
    size_t i = 0;
    while (i < WINDOWS && now >= windows[i] * w->mean_s) {
        i++;
    }
    return i; /* one behind it; 0: none has begun */
}

static double span_of(const World *w, size_t window)
{
    return (windows[window + 1] - windows[window]) * w->mean_s;
}

static void count_fresh(World *w, double end, Outcome *outcome)
{
    double weights = 0;
    for (size_t i = 0; i < w->n; i++) {
        Live *page = &w->pages[i];
        pass(w, page, page->ref.last_crawl, end);
        weights += page->weight;
        for (size_t k = 0; k < WINDOWS; k++) {
            outcome->freshness[k] += page->weight * page->fresh_s[k] / span_of(w, k);
        }
    }
    for (size_t k = 0; k < WINDOWS; k++) {
        outcome->freshness[k] /= weights;
    }
}

static double plan(const World *w, const RevisitPolicy *policy)
{
    FreqBounds bounds = revisit_policy_bounds(policy, w->mean_s);
    double price = freq_plan_price(w->estimated, NULL, w->n, w->visits_per_s, &bounds);
    return freq_plan_forecast(w->estimated, w->n, price, &bounds).freshness;
}

/* A crawler that visits each page when it is due. */
static Outcome crawl(World *w, Policy kind, double default_s)
{
    RevisitPolicy policy = {.default_s = default_s,
                            .min_s = LEAST_SHARE * w->mean_s,
                            .max_s = 1e3 * w->mean_s,
                            .power = 0.5,
                            .margin = -1,
                            .tries = 3,
                            .optimal = has_price(kind)};
    RevisitPrice price = {.mean_s = 0};
    Outcome outcome = {.spent = {0}};
    double end = windows[WINDOWS] * w->mean_s;
    double planned_at = 0;
    double plan_at = w->mean_s;
    double visits = 0; /* since then */
    size_t window = 0;
    start(w);
    while (w->pages[w->heap[0]].due < end) {
        Live *page = &w->pages[w->heap[0]];
        double now = page->due;
        if (has_price(kind) && now >= plan_at) {
            price = price_of(w, kind, &policy, visits, plan_at - planned_at);
            visits = 0;
            planned_at = plan_at;
            plan_at += fmax(w->mean_s / PLANS, now / PLANS_LATE);
        }
        for (; window < window_of(w, now); window++) {
            outcome.planned[window] = has_price(kind) ? plan(w, &policy) : 0;
        }
        visit(w, page, now);
        visits++;
        if (window > 0) {
            outcome.spent[window - 1] += 1 / (w->visits_per_s * span_of(w, window - 1));
        }
        page->due =
            now + (now < w->mean_s ? w->mean_s : interval_of(w, page, kind, &policy, &price));
        sift_down(w, 0);
    }
    count_fresh(w, end, &outcome);
    return outcome;
}

/* ---- figures ---- */

static void print(const World *w, double budget, size_t window, const char *name, double value)
{
    (void)printf("schedule.freshness.%s.%g.from_%g.%s = %.4f 1\n", w->name, budget, windows[window],
                 name, value);
}

/* What Azar's frequencies come to, at the price that spends the budget. */
static double azar(const World *w)
{
    double low = 1e-12;
    double high = 1e12;
    double fresh = 0;
    for (int i = 0; i < 200; i++) {
        double price = sqrt(low * high);
        double visits = 0;
        double weights = 0;
        fresh = 0;
        for (size_t k = 0; k < w->n; k++) {
            double rate = (double)w->known[k].rate;
            double weight = (double)w->known[k].weight;
            double freq = sqrt(weight * rate / price) - rate;
            visits += fmax(freq, 0);
            fresh += freq > 0 ? weight * freq_plan_freshness(&w->known[k], 1 / freq) : 0;
            weights += weight;
        }
        fresh /= weights;
        low = visits > w->visits_per_s ? price : low;
        high = visits > w->visits_per_s ? high : price;
    }
    return fresh;
}

/* budget: visits for each change. */
static void compare(World *w, const Distribution *distribution, double budget)
{
    double roots = 0;
    double rates = 0;
    uint64_t seed = 17;
    w->name = distribution->name;
    for (size_t i = 0; i < w->n; i++) {
        Live *page = &w->pages[i];
        page->rate = distribution->rate(&seed) / DAY_S;
        page->weight =
            distribution->weighted ? pow(1.0 - synthetic_web_draw(&seed), -1.0 / 1.5) : 1.0;
        w->known[i] = (FreqPage){.rate = (float)page->rate, .weight = (float)page->weight};
        roots += sqrt(page->rate);
        rates += page->rate;
    }
    w->visits_per_s = budget * rates;
    w->mean_s = (double)w->n / w->visits_per_s;
    FreqBounds bounds = {.least_s = LEAST_SHARE * w->mean_s, .most_s = END_S};
    w->best_price = freq_plan_price(w->known, NULL, w->n, w->visits_per_s, &bounds);
    double best = freq_plan_forecast(w->known, w->n, w->best_price, &bounds).freshness;
    /* The geometric mean needs as many visits as the others: its default follows from the rates. */
    double default_s = pow(roots / w->visits_per_s, 2);
    Outcome known = crawl(w, KNOWN, w->mean_s);
    Outcome uniform = crawl(w, UNIFORM, w->mean_s);
    Outcome geometric = crawl(w, GEOMETRIC, default_s);
    Outcome optimal = crawl(w, OPTIMAL, w->mean_s);
    tell(w);
    Outcome told = crawl(w, TOLD, w->mean_s);
    print(w, budget, 0, "optimum", best);
    print(w, budget, 0, "azar", azar(w));
    for (size_t i = 0; i < WINDOWS; i++) {
        print(w, budget, i, "known", known.freshness[i]);
        print(w, budget, i, "uniform", uniform.freshness[i]);
        print(w, budget, i, "geometric", geometric.freshness[i]);
        print(w, budget, i, "optimal", optimal.freshness[i]);
        print(w, budget, i, "optimal_of_known", optimal.freshness[i] / known.freshness[i]);
        print(w, budget, i, "told_of_known", told.freshness[i] / known.freshness[i]);
        print(w, budget, i, "optimal_of_uniform", optimal.freshness[i] / uniform.freshness[i]);
        print(w, budget, i, "planned_too_high", optimal.planned[i] - optimal.freshness[i]);
        print(w, budget, i, "spent", optimal.spent[i]);
    }
    (void)fflush(stdout);
}

void freshness_run(size_t n_pages)
{
    static const double budgets[] = {0.1, 0.5, 2};
    World w = {.n = n_pages};
    w.pages = calloc(n_pages, sizeof *w.pages);
    w.known = calloc(n_pages, sizeof *w.known);
    w.estimated = calloc(n_pages, sizeof *w.estimated);
    w.seen = calloc(n_pages, sizeof *w.seen);
    w.heap = calloc(n_pages, sizeof *w.heap);
    if (w.pages == NULL || w.known == NULL || w.estimated == NULL || w.seen == NULL ||
        w.heap == NULL) {
        abort();
    }
    for (size_t i = 0; i < sizeof distributions / sizeof *distributions; i++) {
        for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
            compare(&w, &distributions[i], budgets[k]);
        }
    }
    free(w.pages);
    free(w.known);
    free(w.estimated);
    free(w.seen);
    free(w.heap);
}
