/* Which policy of revisits keeps copies freshest? Pages of known change rates, virtual days. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/hash.h"
#include "rules/revisit_policy.h"
#include "steering.h"
#include "synthetic_web.h"

#define DAY_S          86400.0
#define LEARN_DAYS     100.0 /* are not counted */
#define COUNTED_DAYS   100.0
#define VISITS_PER_DAY 0.5 /* of a page, on average */
#define PLAN_DAYS      0.5 /* between two prices */
#define LEAST_S        (DAY_S / 24)
#define MOST_S         (90 * DAY_S)

typedef enum Policy { UNIFORM, GEOMETRIC, OPTIMAL, POLICIES } Policy;

typedef struct Live {
    double rate; /* changes per second */
    double weight;
    uint64_t seed;
    double next_change;
    bool changed; /* since the last visit */
    double fresh_s;
    PageRef ref;
    double due;
} Live;

typedef struct World {
    const char *name;
    Live *pages;
    FreqPage *known;     /* the truth */
    FreqPage *estimated; /* what a crawler thinks */
    size_t *heap;        /* pages by due time */
    size_t n;
    double visits_per_s;
} World;

/* ---- distributions of change rates, changes per day ---- */

static double log_uniform(uint64_t *seed)
{
    return 0.01 * pow(300.0, synthetic_web_draw(seed));
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

typedef struct Distribution {
    const char *name;
    double (*rate)(uint64_t *seed);
    bool weighted; /* importance is Pareto distributed, too; else all alike */
} Distribution;

static const Distribution distributions[] = {{"log_uniform", log_uniform, false},
                                             {"two_kinds", two_kinds, false},
                                             {"pareto", pareto, false},
                                             {"exponential", exponential, false},
                                             {"weighted", log_uniform, true}};

/* ---- one page ---- */

static double next_change(Live *page, double from)
{
    return from - log1p(-synthetic_web_draw(&page->seed)) / page->rate;
}

/* Time goes on to now: the copy was fresh until the first change. */
static void pass(Live *page, double from, double now)
{
    from = fmax(from, LEARN_DAYS * DAY_S);
    if (!page->changed && now > from) {
        page->fresh_s += fmax(fmin(page->next_change, now) - from, 0.0);
    }
}

static void visit(Live *page, double now)
{
    PageRef *ref = &page->ref;
    pass(page, ref->last_crawl, now);
    bool has_changed = page->next_change < now;
    while (page->next_change < now) {
        page->next_change = next_change(page, page->next_change);
    }
    ref->n_changes += has_changed;
    ref->n_crawls++;
    ref->last_crawl = now;
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

static RevisitPrice price_of(World *w, const RevisitPolicy *policy, double mean_rate)
{
    double sum = 0.0;
    RevisitPrice price = {.mean_s = (double)w->n / w->visits_per_s};
    for (size_t i = 0; i < w->n; i++) {
        double rate = revisit_policy_expected_rate(&w->pages[i].ref, mean_rate);
        w->estimated[i] = (FreqPage){.rate = (float)rate, .weight = (float)w->pages[i].weight};
        sum += rate;
    }
    FreqBounds bounds = revisit_policy_bounds(policy, price.mean_s);
    price.price = freq_plan_price(w->estimated, w->n, w->visits_per_s, &bounds);
    price.mean_rate = sum / (double)w->n;
    return price;
}

static double interval_of(const World *w, const Live *page, Policy kind,
                          const RevisitPolicy *policy, RevisitPrice *price)
{
    static const RevisitNote note = {.misses = 0};
    if (kind == UNIFORM) {
        return (double)w->n / w->visits_per_s;
    }
    price->weight = page->weight;
    return revisit_policy_interval_s(policy, &page->ref, &note, kind == OPTIMAL ? price : NULL);
}

static void start(World *w)
{
    double mean_s = (double)w->n / w->visits_per_s;
    for (size_t i = 0; i < w->n; i++) {
        Live *page = &w->pages[i];
        double at = mean_s * (double)i / (double)w->n;
        page->seed = i * 7919 + 1;
        page->fresh_s = 0;
        page->changed = false;
        page->next_change = next_change(page, 0);
        page->ref = (PageRef){.index = i, .url = "", .first_crawl = at};
        page->due = at;
        w->heap[i] = i;
    }
}

/* A crawler that visits what is due first, as fast as its budget and no faster. */
static double crawl(World *w, Policy kind, double default_s)
{
    RevisitPolicy policy = {.default_s = default_s,
                            .min_s = LEAST_S,
                            .max_s = MOST_S,
                            .power = 0.5,
                            .margin = -1,
                            .tries = 3,
                            .optimal = kind == OPTIMAL};
    RevisitPrice price = {.mean_rate = 1 / default_s};
    double end = (LEARN_DAYS + COUNTED_DAYS) * DAY_S;
    double now = 0;
    double plan_at = 0;
    size_t visits = 0;
    start(w);
    while (now < end) {
        if (kind == OPTIMAL && now >= plan_at) {
            price = price_of(w, &policy, price.mean_rate);
            plan_at = now + PLAN_DAYS * DAY_S;
        }
        Live *page = &w->pages[w->heap[0]];
        now = fmax(now + 1 / w->visits_per_s, page->due);
        visit(page, now);
        visits += now >= LEARN_DAYS * DAY_S && now < end;
        page->due = now + interval_of(w, page, kind, &policy, &price);
        sift_down(w, 0);
    }
    double fresh = 0;
    double weights = 0;
    for (size_t i = 0; i < w->n; i++) {
        pass(&w->pages[i], w->pages[i].ref.last_crawl, end);
        fresh += w->pages[i].weight * w->pages[i].fresh_s / (COUNTED_DAYS * DAY_S);
        weights += w->pages[i].weight;
    }
    (void)fprintf(stderr, "%s: policy %d used %.3f of its visits\n", w->name, (int)kind,
                  (double)visits / (w->visits_per_s * COUNTED_DAYS * DAY_S));
    return fresh / weights;
}

/* ---- figures ---- */

static void print(const World *w, const char *name, double value)
{
    (void)printf("schedule.freshness.%s.%s = %.4f 1\n", w->name, name, value);
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
            fresh += freq > 0 ? weight * freq_plan_freshness(rate, 1 / freq) : 0;
            weights += weight;
        }
        fresh /= weights;
        low = visits > w->visits_per_s ? price : low;
        high = visits > w->visits_per_s ? high : price;
    }
    return fresh;
}

static void compare(World *w, const Distribution *distribution)
{
    double roots = 0;
    uint64_t seed = 17;
    w->name = distribution->name;
    for (size_t i = 0; i < w->n; i++) {
        Live *page = &w->pages[i];
        page->rate = distribution->rate(&seed) / DAY_S;
        page->weight =
            distribution->weighted ? pow(1.0 - synthetic_web_draw(&seed), -1.0 / 1.5) : 1.0;
        w->known[i] = (FreqPage){.rate = (float)page->rate, .weight = (float)page->weight};
        roots += sqrt(page->rate);
    }
    FreqBounds bounds = {.least_s = 1, .most_s = 1e12};
    double price = freq_plan_price(w->known, w->n, w->visits_per_s, &bounds);
    double best = freq_plan_forecast(w->known, w->n, price, &bounds).freshness;
    /* The geometric mean needs as many visits as the others: its default follows from the rates. */
    double default_s = pow(roots / w->visits_per_s, 2);
    double optimal = crawl(w, OPTIMAL, (double)w->n / w->visits_per_s);
    print(w, "optimum", best);
    print(w, "azar", azar(w));
    print(w, "uniform", crawl(w, UNIFORM, default_s));
    print(w, "geometric", crawl(w, GEOMETRIC, default_s));
    print(w, "optimal", optimal);
    print(w, "optimal_of_optimum", optimal / best);
}

void freshness_run(size_t n_pages)
{
    World w = {.n = n_pages, .visits_per_s = VISITS_PER_DAY / DAY_S * (double)n_pages};
    w.pages = calloc(n_pages, sizeof *w.pages);
    w.known = calloc(n_pages, sizeof *w.known);
    w.estimated = calloc(n_pages, sizeof *w.estimated);
    w.heap = calloc(n_pages, sizeof *w.heap);
    if (w.pages == NULL || w.known == NULL || w.estimated == NULL || w.heap == NULL) {
        abort();
    }
    for (size_t i = 0; i < sizeof distributions / sizeof *distributions; i++) {
        compare(&w, &distributions[i]);
    }
    free(w.pages);
    free(w.known);
    free(w.estimated);
    free(w.heap);
}
