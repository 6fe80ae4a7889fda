/* Which policy of revisits keeps copies freshest? Pages of known change rates, virtual days. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/hash.h"
#include "rules/revisit_policy.h"
#include "steering.h"
#include "synthetic_web.h"

#define DAY_S       86400.0
#define LEARN       5.0  /* visits of a page, on average, that are not counted */
#define COUNTED     20.0 /* and that are */
#define PLANS       4.0  /* prices in the time between two visits of a page */
#define LEAST_SHARE 1e-3 /* of the mean interval: the shortest */

typedef enum Policy { UNIFORM, GEOMETRIC, OPTIMAL, POLICIES } Policy;

typedef struct Live {
    double rate; /* changes per second */
    double weight;
    uint64_t seed;
    double next_change;
    bool changed; /* since the last visit */
    double fresh_s;
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
    double mean_s;  /* between two visits of a page */
    double begin_s; /* from then on it is counted */
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
    from = fmax(from, w->begin_s);
    if (!page->changed && now > from) {
        page->fresh_s += fmax(fmin(page->next_change, now) - from, 0.0);
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

static RevisitPrice price_of(World *w, const RevisitPolicy *policy, double visits)
{
    RevisitPrice price = {.mean_s = w->mean_s, .prior = &w->prior};
    for (size_t i = 0; i < w->n; i++) {
        w->seen[i] = w->pages[i].note.seen;
    }
    freq_prior_fit(&w->prior, w->seen, w->n, 1 / policy->default_s);
    for (size_t i = 0; i < w->n; i++) {
        w->estimated[i] = freq_prior_page(&w->prior, &w->seen[i], w->pages[i].weight);
    }
    FreqBounds bounds = revisit_policy_bounds(policy, w->mean_s);
    double visits_per_s =
        freq_spending_take(&w->spending, w->visits_per_s, visits, w->mean_s / PLANS, w->mean_s);
    price.price = freq_plan_price(w->estimated, w->n, visits_per_s, &bounds);
    return price;
}

static double interval_of(const World *w, const Live *page, Policy kind,
                          const RevisitPolicy *policy, RevisitPrice *price)
{
    if (kind == UNIFORM) {
        return (double)w->n / w->visits_per_s;
    }
    price->weight = page->weight;
    return revisit_policy_interval_s(policy, &page->ref, &page->note,
                                     kind == OPTIMAL ? price : NULL);
}

static void start(World *w)
{
    w->spending = (FreqSpending){.factor = 0};
    w->begin_s = LEARN * w->mean_s;
    for (size_t i = 0; i < w->n; i++) {
        Live *page = &w->pages[i];
        page->seed = i * 7919 + 1;
        page->fresh_s = 0;
        page->changed = false;
        page->next_change = next_change(page, 0);
        page->ref = (PageRef){.index = i, .url = ""};
        page->note = (RevisitNote){.misses = 0};
        page->due = w->mean_s * (double)i / (double)w->n;
        w->heap[i] = i;
    }
}

typedef struct Outcome {
    double freshness;
    double planned; /* what the plan said when the counting began */
    double spent;   /* of the budget */
} Outcome;

static Outcome counted(World *w, double end, double visits)
{
    Outcome outcome = {.spent = visits / (w->visits_per_s * COUNTED * w->mean_s)};
    double weights = 0;
    for (size_t i = 0; i < w->n; i++) {
        pass(w, &w->pages[i], w->pages[i].ref.last_crawl, end);
        outcome.freshness += w->pages[i].weight * w->pages[i].fresh_s / (COUNTED * w->mean_s);
        weights += w->pages[i].weight;
    }
    outcome.freshness /= weights;
    return outcome;
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
                            .optimal = kind == OPTIMAL};
    RevisitPrice price = {.mean_s = 0};
    double end = (LEARN + COUNTED) * w->mean_s;
    double plan_at = w->mean_s;
    double planned = 0;
    double visits = 0;
    double visits_before = 0;
    double all = 0;
    start(w);
    while (w->pages[w->heap[0]].due < end) {
        Live *page = &w->pages[w->heap[0]];
        double now = page->due;
        if (kind == OPTIMAL && now >= plan_at) {
            price = price_of(w, &policy, all - visits_before);
            visits_before = all;
            plan_at += w->mean_s / PLANS;
            if (now <= w->begin_s) {
                FreqBounds bounds = revisit_policy_bounds(&policy, w->mean_s);
                double budgeted = freq_plan_price(w->estimated, w->n, w->visits_per_s, &bounds);
                planned = freq_plan_forecast(w->estimated, w->n, budgeted, &bounds).freshness;
            }
        }
        visit(w, page, now);
        all++;
        visits += now >= w->begin_s;
        page->due =
            now + (now < w->mean_s ? w->mean_s : interval_of(w, page, kind, &policy, &price));
        sift_down(w, 0);
    }
    Outcome outcome = counted(w, end, visits);
    outcome.planned = planned;
    return outcome;
}

/* ---- figures ---- */

static void print(const World *w, double budget, const char *name, double value)
{
    (void)printf("schedule.freshness.%s.%g.%s = %.4f 1\n", w->name, budget, name, value);
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
    FreqBounds bounds = {.least_s = 1, .most_s = 1e12};
    double price = freq_plan_price(w->known, w->n, w->visits_per_s, &bounds);
    double best = freq_plan_forecast(w->known, w->n, price, &bounds).freshness;
    /* The geometric mean needs as many visits as the others: its default follows from the rates. */
    double default_s = pow(roots / w->visits_per_s, 2);
    Outcome optimal = crawl(w, OPTIMAL, w->mean_s);
    print(w, budget, "optimum", best);
    print(w, budget, "azar", azar(w));
    print(w, budget, "uniform", crawl(w, UNIFORM, default_s).freshness);
    print(w, budget, "geometric", crawl(w, GEOMETRIC, default_s).freshness);
    print(w, budget, "optimal", optimal.freshness);
    print(w, budget, "optimal_of_optimum", optimal.freshness / best);
    print(w, budget, "planned", optimal.planned);
    print(w, budget, "spent", optimal.spent);
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
