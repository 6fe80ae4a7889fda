#include "command/schedule_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/embed.h"
#include "forecast/forecast.h"
#include "crawl/command_line.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "rules/revisit_policy.h"

#define PAGES_PER_TXN 20000u
#define DAY_S         86400.0
#define TWO_SIDED_95  1.96               /* standard deviations */
#define UNKNOWN_RATE  (1 / (30 * DAY_S)) /* of a page, while none was visited twice */

typedef struct Plan {
    CrawlView view;
    RevisitPolicy policy;
    FreqPlaced *rows; /* by address and host, as the next two */
    FreqPage *pages;
    FreqSeen *seen; /* what visits have found, as the pages are read */
    float *floors;  /* least prices, for politeness */
    size_t n;
    size_t n_scheduled;
    size_t n_once;   /* crawled once: their rate is not known */
    HostPace *paces; /* by host */
    size_t n_hosts;
    FreqPrior prior;   /* of change rates */
    uint64_t n_visits; /* after the first ones */
    double found;      /* freshness between visits, as these tell */
    double mean_rate;
    double mean_s; /* between two visits of a page */
    FreqBounds bounds;
    Buffer url;
} Plan;

EMBED(schedule_plan_usage, "src/command/schedule_plan.txt");

/* ---- reading ---- */

static bool schedule_plan_make_room(Plan *plan, size_t n_pages, size_t n_hosts)
{
    plan->rows = calloc(n_pages + 1, sizeof *plan->rows);
    plan->pages = calloc(n_pages + 1, sizeof *plan->pages);
    plan->seen = calloc(n_pages + 1, sizeof *plan->seen);
    plan->floors = calloc(n_pages + 1, sizeof *plan->floors);
    plan->paces = calloc(n_hosts + 1, sizeof *plan->paces);
    plan->n_hosts = n_hosts;
    return plan->rows != NULL && plan->pages != NULL && plan->seen != NULL &&
           plan->floors != NULL && plan->paces != NULL;
}

static Result schedule_plan_take_page(Plan *plan, MDB_txn *txn, const PageRef *page)
{
    RevisitDue due = {.freq = 0};
    RevisitNote note = {.misses = 0};
    Result rc = RESULT_OK;
    if (plan->view.revisits != NULL) {
        rc = revisit_rows_get(plan->view.revisits, txn, page->index, &due);
        if (rc == RESULT_OK) {
            rc = revisit_rows_note_get(plan->view.revisits, txn, page->index, &note);
        }
    }
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    bool has_scores = plan->view.config.score_scorer != SCORER_NONE;
    plan->seen[plan->n] = revisit_policy_seen(page, &note);
    plan->rows[plan->n] =
        (FreqPlaced){.freq = {.weight = has_scores && page->score > 0.0f ? page->score : 1.0f,
                              .least_s = (float)fmax(note.fresh_until_s - page->last_crawl, 0)},
                     .address = plan->paces[page->host].address,
                     .host = page->host,
                     .scheduled_s = due.freq > 0.0f ? 1.0f / due.freq : 0.0f};
    plan->n_scheduled += due.freq > 0.0f;
    plan->n_once += page->n_crawls < 2;
    plan->n++;
    return RESULT_OK;
}

static Result schedule_plan_read_some(Plan *plan, MDB_txn *txn, uint64_t from, uint64_t to)
{
    Result rc = RESULT_OK;
    for (uint64_t index = from; rc == RESULT_OK && index < to; index++) {
        PageRef page;
        if (page_db_get(plan->view.db, txn, index, &page, &plan->url) != page_db_error_ok) {
            return RESULT_DAMAGED;
        }
        if (page.n_crawls > 0 && page.host < plan->n_hosts) { /* younger hosts are left out */
            rc = schedule_plan_take_page(plan, txn, &page);
        }
    }
    return rc;
}

static Result read_paces(Plan *plan, MDB_txn *txn)
{
    HostPaces paces;
    Result rc = RESULT_OK;
    host_paces_init(&paces, &plan->view.config, plan->view.db, 0);
    for (uint32_t host = 0; rc == RESULT_OK && host < plan->n_hosts; host++) {
        HostRecord record = {.state = 0};
        if (plan->view.hosts != NULL) {
            rc = host_rows_get(plan->view.hosts, txn, host, &record);
        }
        if (rc == RESULT_OK) {
            rc = host_pace_find(&paces, txn, host, &record, &plan->paces[host]);
        }
    }
    host_paces_destroy(&paces);
    return rc;
}

static Result schedule_plan_read_pages(Plan *plan)
{
    uint64_t n_pages = 1;
    Result rc = RESULT_OK;
    for (uint64_t from = 0; rc == RESULT_OK && from < n_pages; from += PAGES_PER_TXN) {
        MDB_txn *txn = NULL;
        if (page_db_txn_begin(plan->view.db, true, &txn) != page_db_error_ok) {
            return RESULT_IO;
        }
        if (from == 0) {
            n_pages = page_db_n_pages(plan->view.db, txn);
            rc = schedule_plan_make_room(plan, (size_t)n_pages, page_db_n_hosts(plan->view.db, txn))
                     ? read_paces(plan, txn)
                     : RESULT_MEMORY;
        }
        if (rc == RESULT_OK) {
            uint64_t to = n_pages - from < PAGES_PER_TXN ? n_pages : from + PAGES_PER_TXN;
            rc = schedule_plan_read_some(plan, txn, from, to);
        }
        page_db_txn_abort(plan->view.db, txn);
    }
    return rc;
}

/* ---- what it comes to ---- */

/* What is to be expected of the pages, now that all were read; those of one host and of one address
 * side by side. */
static void expect_rates(Plan *plan)
{
    double watched_s = 0;
    double fresh_s = 0;
    freq_prior_fit(&plan->prior, plan->seen, plan->n, UNKNOWN_RATE);
    freq_placed_expect(plan->rows, plan->n, &plan->prior, plan->seen);
    for (size_t i = 0; i < plan->n; i++) {
        const FreqSeen *seen = &plan->seen[i];
        const FreqPage *page = &plan->rows[i].freq;
        double weight = (double)page->weight;
        plan->mean_rate += (double)page->rate / (double)plan->n;
        watched_s += weight * ((double)seen->same_s + (double)seen->changed_s);
        fresh_s += weight * freq_seen_fresh_s(seen, page);
        plan->n_visits += (uint64_t)seen->n_same + seen->n_changed;
    }
    plan->found = watched_s > 0 ? fresh_s / watched_s : 0;
    freq_placed_sort(plan->rows, plan->n);
    for (size_t i = 0; i < plan->n; i++) {
        plan->pages[i] = plan->rows[i].freq;
    }
}

typedef double IntervalOf(const Plan *plan, size_t i, double context);

typedef struct Freshness {
    double mean;
    double doubt; /* half of the interval in which it is with a chance of 95 % */
} Freshness;

/* The standard deviation of the freshness of a page, whose rate is not known. */
static double freshness_doubt(const FreqPage *page, double interval_s)
{
    double spread = 1 / sqrt((double)page->shape);
    FreqPage slow = {.rate = page->rate * (float)exp(-spread)};
    FreqPage fast = {.rate = page->rate * (float)exp(spread)};
    return (freq_plan_freshness(&slow, interval_s) - freq_plan_freshness(&fast, interval_s)) / 2;
}

/* The freshness when each page has the interval that `of` says, for addresses in their own time:
 * what cannot be asked for in time is asked for as fast as the delays allow. */
static Freshness freshness_by(Plan *plan, IntervalOf *of, double context, size_t *n_late)
{
    Freshness sum = {.mean = 0};
    double weights = 0;
    *n_late = 0;
    for (size_t first = 0; first < plan->n;) {
        size_t end = freq_placed_address_end(plan->rows, plan->n, first);
        /* Seconds of its time that the visits of an address need in a second, or those of one of
         * its hosts: above 1 there are too many. */
        double together = 0;
        double most = 0;
        for (size_t i = first; i < end;) {
            size_t next = freq_placed_host_end(plan->rows, plan->n, i);
            const HostPace *pace = &plan->paces[plan->rows[i].host];
            double visits = 0;
            for (; i < next; i++) {
                visits += 1 / of(plan, i, context);
            }
            together += visits * pace->address_s;
            most = fmax(most, visits * pace->host_s);
        }
        double slower = fmax(together, most);
        *n_late += slower > 1;
        for (; first < end; first++) {
            const FreqPage *page = &plan->pages[first];
            double weight = (double)page->weight;
            double interval_s = of(plan, first, context) * fmax(slower, 1);
            double doubt = weight * freshness_doubt(page, interval_s);
            sum.mean += weight * freq_plan_freshness(page, interval_s);
            sum.doubt += doubt * doubt;
            weights += weight;
        }
    }
    return weights > 0 ? (Freshness){.mean = sum.mean / weights,
                                     .doubt = TWO_SIDED_95 * sqrt(sum.doubt) / weights}
                       : sum;
}

/* Least prices: visits that politeness does not allow are not worth their price. */
static void schedule_plan_find_floors(Plan *plan)
{
    memset(plan->floors, 0, plan->n * sizeof *plan->floors);
    for (size_t first = 0; first < plan->n;) {
        size_t end = freq_placed_address_end(plan->rows, plan->n, first);
        double address_s = 0;
        for (size_t i = first; i < end; i = freq_placed_host_end(plan->rows, plan->n, i)) {
            const HostPace *pace = &plan->paces[plan->rows[i].host];
            freq_plan_raise_floors(&plan->pages[i], &plan->floors[i],
                                   freq_placed_host_end(plan->rows, plan->n, i) - i, pace->host_s,
                                   &plan->bounds);
            address_s = fmax(address_s, pace->address_s);
        }
        freq_plan_raise_floors(&plan->pages[first], &plan->floors[first], end - first, address_s,
                               &plan->bounds);
        first = end;
    }
}

/* Addresses whose floor is above the price: politeness binds there. */
static size_t count_bound(const Plan *plan, double price)
{
    size_t n = 0;
    for (size_t first = 0; first < plan->n;) {
        size_t end = freq_placed_address_end(plan->rows, plan->n, first);
        bool is_bound = false;
        for (; first < end; first++) {
            is_bound = is_bound || (double)plan->floors[first] > price;
        }
        n += is_bound;
    }
    return n;
}

static double optimal_s(const Plan *plan, size_t i, double price)
{
    return freq_plan_interval_s(&plan->pages[i], fmax((double)plan->floors[i], price),
                                &plan->bounds);
}

static double uniform_s(const Plan *plan, size_t i, double interval_s)
{
    (void)plan;
    (void)i;
    return interval_s;
}

static double scheduled_s(const Plan *plan, size_t i, double other_s)
{
    float interval_s = plan->rows[i].scheduled_s;
    return interval_s > 0.0f ? (double)interval_s : other_s;
}

static Freshness optimum(Plan *plan, double visits_per_s, size_t *n_bound)
{
    size_t n_late = 0;
    plan->bounds = revisit_policy_bounds(&plan->policy, (double)plan->n / visits_per_s);
    schedule_plan_find_floors(plan);
    double price = freq_plan_price(plan->pages, plan->floors, plan->n, visits_per_s, &plan->bounds);
    *n_bound = count_bound(plan, price);
    return freshness_by(plan, optimal_s, price, &n_late);
}

static void schedule_plan_tell(Plan *plan)
{
    double visits_per_s = (double)plan->n / plan->mean_s;
    size_t n_late = 0;
    size_t n_late_now = 0;
    Freshness now = freshness_by(plan, scheduled_s, plan->mean_s, &n_late_now);
    Freshness uniform =
        freshness_by(plan, uniform_s, fmax(plan->mean_s, plan->policy.min_s), &n_late);
    size_t n_bound = 0;
    Freshness more = optimum(plan, visits_per_s + 1, &n_bound);
    Freshness best = optimum(plan, visits_per_s, &n_bound);
    double visits_now = 0;
    for (size_t i = 0; i < plan->n; i++) {
        visits_now += 1 / scheduled_s(plan, i, plan->mean_s);
    }
    (void)printf("pages                   %zu, of which %zu were crawled once\n", plan->n,
                 plan->n_once);
    (void)printf("change rate             %.4g a day, on average\n", plan->mean_rate * DAY_S);
    (void)printf("budget                  %.4g visits a second: a page once in %.3g days\n",
                 visits_per_s, plan->mean_s / DAY_S);
    (void)printf("freshness, optimal      %.4f +- %.4f\n", best.mean, best.doubt);
    (void)printf("freshness, all alike    %.4f +- %.4f\n", uniform.mean, uniform.doubt);
    if (plan->n_scheduled > 0) {
        (void)printf("freshness, as scheduled %.4f +- %.4f, with %.4g visits a second\n", now.mean,
                     now.doubt, visits_now);
    }
    if (plan->n_visits > 0) {
        (void)printf("freshness, found so far %.4f, by %llu visits\n", plan->found,
                     (unsigned long long)plan->n_visits);
    }
    (void)printf("one visit more a second %+.4f, that is %.0f pages more up to date\n",
                 more.mean - best.mean, (more.mean - best.mean) * (double)plan->n);
    (void)printf("politeness binds at     %zu addresses: their pages are visited as often as it "
                 "allows\n",
                 n_bound);
    (void)printf("asked too often         %zu addresses when all alike", n_late);
    if (plan->n_scheduled > 0) {
        (void)printf(", %zu as scheduled", n_late_now);
    }
    (void)printf("\n");
}

/* ---- the command ---- */

static int schedule_plan_run(Plan *plan, double visits_per_s)
{
    const Config *config = &plan->view.config;
    plan->policy = (RevisitPolicy){.default_s = (double)config->schedule_revisit_default / 1e3,
                                   .min_s = (double)config->schedule_revisit_min / 1e3,
                                   .max_s = (double)config->schedule_revisit_max / 1e3};
    Result rc = schedule_plan_read_pages(plan);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno schedule: the pages cannot be read: %s\n", result_name(rc));
        return exit_status_of(rc);
    }
    if (plan->n == 0) {
        (void)printf("pages                   0\n");
        return 0;
    }
    double visits = visits_per_s > 0 ? visits_per_s : config->schedule_revisit_rate;
    plan->mean_s = visits > 0 ? (double)plan->n / visits : plan->policy.default_s;
    expect_rates(plan);
    schedule_plan_tell(plan);
    return 0;
}

int schedule_plan(int argc, char **argv)
{
    double visits_per_s = 0;
    const CommandOption options[] = {
        {"visits", 0, COMMAND_REAL, .to = &visits_per_s, .least = 1e-9, .most = 1e9}};
    CommandLine line = {"schedule", schedule_plan_usage, COMMAND_ROWS(options), .words_least = 2,
                        .words_most = 2};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status == COMMAND_HELPED ? 0 : status;
    }
    Plan plan = {.n = 0};
    status = crawl_view_open(&plan.view, "schedule", line.words[0]);
    if (status != 0) {
        return status;
    }
    buffer_init(&plan.url, BUFFER_NO_LIMIT);
    status = schedule_plan_run(&plan, visits_per_s);
    buffer_destroy(&plan.url);
    free(plan.rows);
    free(plan.pages);
    free(plan.seen);
    free(plan.floors);
    free(plan.paces);
    crawl_view_close(&plan.view);
    return status;
}
