#include "command/schedule_plan.h"

#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "rules/revisit_policy.h"

#define PAGES_PER_TXN 20000u
#define DAY_S         86400.0
#define UNKNOWN_RATE  (1 / (30 * DAY_S)) /* of a page, while none was visited twice */

typedef struct Plan {
    CrawlView view;
    RevisitPolicy policy;
    FreqPage *pages;
    uint32_t *hosts;    /* of each page */
    float *watched_s;   /* from the first visit of each to the last */
    float *scheduled_s; /* interval that each has now; 0: none */
    size_t n;
    size_t n_scheduled;
    size_t n_once;   /* crawled once: their rate is not known */
    double *demand;  /* by host: visits per second */
    double *delay_s; /* by host */
    size_t n_hosts;
    double mean_rate;
    double mean_s; /* between two visits of a page */
    FreqBounds bounds;
    Buffer url;
} Plan;

static int usage(FILE *out)
{
    (void)fprintf(out, "usage: ragno schedule DIR plan [--visits N]\n"
                       "Tells how fresh the copies of a crawl are kept by a budget of visits:\n"
                       "as scheduled now, all pages alike, and by schedule.revisit = optimal; and\n"
                       "what one visit more a second would buy. Nothing is changed.\n"
                       "  --visits N   visits per second (schedule.revisit_rate)\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

/* ---- reading ---- */

static bool make_room(Plan *plan, size_t n_pages, size_t n_hosts)
{
    plan->pages = calloc(n_pages + 1, sizeof *plan->pages);
    plan->hosts = calloc(n_pages + 1, sizeof *plan->hosts);
    plan->scheduled_s = calloc(n_pages + 1, sizeof *plan->scheduled_s);
    plan->watched_s = calloc(n_pages + 1, sizeof *plan->watched_s);
    plan->demand = calloc(n_hosts + 1, sizeof *plan->demand);
    plan->delay_s = calloc(n_hosts + 1, sizeof *plan->delay_s);
    plan->n_hosts = n_hosts;
    return plan->pages != NULL && plan->hosts != NULL && plan->scheduled_s != NULL &&
           plan->watched_s != NULL && plan->demand != NULL && plan->delay_s != NULL;
}

/* Rates as freq_change_rate says them: negative: not known, 0: it never changed. */
static void take_page(Plan *plan, MDB_txn *txn, const PageRef *page)
{
    RevisitDue due = {.freq = 0};
    bool is_scheduled = plan->view.revisits != NULL &&
                        revisit_table_get(plan->view.revisits, txn, page->index, &due) == RESULT_OK;
    if (plan->view.revisits != NULL && !is_scheduled) {
        return;
    }
    double rate =
        freq_change_rate(page->n_crawls, page->n_changes, page->first_crawl, page->last_crawl);
    bool has_scores = plan->view.config.score_scorer != 0;
    plan->pages[plan->n] = (FreqPage){
        .rate = (float)rate, .weight = has_scores && page->score > 0.0f ? page->score : 1.0f};
    plan->hosts[plan->n] = page->host;
    plan->watched_s[plan->n] = (float)(page->last_crawl - page->first_crawl);
    plan->scheduled_s[plan->n] = due.freq > 0.0f ? 1.0f / due.freq : 0.0f;
    plan->n_scheduled += due.freq > 0.0f;
    plan->n_once += page->n_crawls < 2;
    plan->n++;
}

static Result read_some(Plan *plan, MDB_txn *txn, uint64_t from, uint64_t to, double *watched_s,
                        double *changes)
{
    for (uint64_t index = from; index < to; index++) {
        PageRef page;
        if (page_db_get(plan->view.db, txn, index, &page, &plan->url) != page_db_error_ok) {
            return RESULT_DAMAGED;
        }
        size_t before = plan->n;
        if (page.n_crawls > 0) {
            take_page(plan, txn, &page);
        }
        if (plan->n > before && plan->pages[before].rate >= 0.0f) {
            *watched_s += (double)plan->watched_s[before];
            *changes += (double)plan->pages[before].rate * (double)plan->watched_s[before];
        }
    }
    return RESULT_OK;
}

static Result read_delays(Plan *plan, MDB_txn *txn)
{
    Result rc = RESULT_OK;
    for (uint32_t host = 0; rc == RESULT_OK && host < plan->n_hosts; host++) {
        HostRecord record = {.state = 0};
        if (plan->view.hosts != NULL) {
            rc = host_table_get(plan->view.hosts, txn, host, &record);
        }
        plan->delay_s[host] =
            fmax((double)plan->view.config.politeness_host_delay, (double)record.crawl_delay_ms) /
            1e3;
    }
    return rc;
}

static Result read_pages(Plan *plan)
{
    double watched_s = 0;
    double changes = 0;
    uint64_t n_pages = 1;
    Result rc = RESULT_OK;
    for (uint64_t from = 0; rc == RESULT_OK && from < n_pages; from += PAGES_PER_TXN) {
        MDB_txn *txn = NULL;
        if (page_db_txn_begin(plan->view.db, true, &txn) != page_db_error_ok) {
            return RESULT_IO;
        }
        if (from == 0) {
            n_pages = page_db_n_pages(plan->view.db, txn);
            rc = make_room(plan, (size_t)n_pages, page_db_n_hosts(plan->view.db, txn))
                     ? read_delays(plan, txn)
                     : RESULT_MEMORY;
        }
        if (rc == RESULT_OK) {
            uint64_t to = n_pages - from < PAGES_PER_TXN ? n_pages : from + PAGES_PER_TXN;
            rc = read_some(plan, txn, from, to, &watched_s, &changes);
        }
        page_db_txn_abort(plan->view.db, txn);
    }
    plan->mean_rate = changes > 0 && watched_s > 0 ? changes / watched_s : UNKNOWN_RATE;
    return rc;
}

/* ---- what it comes to ---- */

/* Rates that are to be expected, now that their mean is known. */
static void expect_rates(Plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        plan->pages[i].rate = (float)freq_expected_rate(
            (double)plan->pages[i].rate, (double)plan->watched_s[i], plan->mean_rate);
    }
}

/* The freshness when each page has the interval that of says, for hosts in their own time: what a
 * host cannot be asked for in time is asked for as fast as its delay allows. */
static double freshness_by(Plan *plan, double (*of)(const Plan *plan, size_t i, double context),
                           double context, size_t *n_late)
{
    double fresh = 0;
    double weights = 0;
    *n_late = 0;
    memset(plan->demand, 0, plan->n_hosts * sizeof *plan->demand);
    for (size_t i = 0; i < plan->n; i++) {
        plan->demand[plan->hosts[i]] += 1 / of(plan, i, context);
    }
    for (size_t host = 0; host < plan->n_hosts; host++) {
        *n_late += plan->demand[host] * plan->delay_s[host] > 1;
    }
    for (size_t i = 0; i < plan->n; i++) {
        size_t host = plan->hosts[i];
        double slower = fmax(plan->demand[host] * plan->delay_s[host], 1);
        double weight = (double)plan->pages[i].weight;
        fresh += weight *
                 freq_plan_freshness((double)plan->pages[i].rate, of(plan, i, context) * slower);
        weights += weight;
    }
    return weights > 0 ? fresh / weights : 0;
}

static double optimal_s(const Plan *plan, size_t i, double price)
{
    return freq_plan_interval_s(&plan->pages[i], price, &plan->bounds);
}

static double uniform_s(const Plan *plan, size_t i, double interval_s)
{
    (void)plan;
    (void)i;
    return interval_s;
}

static double scheduled_s(const Plan *plan, size_t i, double other_s)
{
    return plan->scheduled_s[i] > 0.0f ? (double)plan->scheduled_s[i] : other_s;
}

static double optimum(Plan *plan, double visits_per_s, size_t *n_late)
{
    plan->bounds = revisit_policy_bounds(&plan->policy, (double)plan->n / visits_per_s);
    double price = freq_plan_price(plan->pages, plan->n, visits_per_s, &plan->bounds);
    return freshness_by(plan, optimal_s, price, n_late);
}

static void tell(Plan *plan)
{
    double visits_per_s = (double)plan->n / plan->mean_s;
    size_t n_late = 0;
    size_t n_late_now = 0;
    double now = freshness_by(plan, scheduled_s, plan->mean_s, &n_late_now);
    double uniform = freshness_by(plan, uniform_s, plan->mean_s, &n_late);
    double more = optimum(plan, visits_per_s + 1, &n_late);
    double best = optimum(plan, visits_per_s, &n_late);
    double visits_now = 0;
    for (size_t i = 0; i < plan->n; i++) {
        visits_now += 1 / scheduled_s(plan, i, plan->mean_s);
    }
    (void)printf("pages                   %zu, of which %zu were crawled once\n", plan->n,
                 plan->n_once);
    (void)printf("change rate             %.4g a day, on average\n", plan->mean_rate * DAY_S);
    (void)printf("budget                  %.4g visits a second: a page once in %.3g days\n",
                 visits_per_s, plan->mean_s / DAY_S);
    (void)printf("freshness, optimal      %.4f\n", best);
    (void)printf("freshness, all alike    %.4f\n", uniform);
    if (plan->n_scheduled > 0) {
        (void)printf("freshness, as scheduled %.4f, with %.4g visits a second\n", now, visits_now);
    }
    (void)printf("one visit more a second %+.4f, that is %.0f pages more up to date\n", more - best,
                 (more - best) * (double)plan->n);
    (void)printf("hosts that bind         %zu of %zu cannot be asked so often, for their delay\n",
                 n_late, plan->n_hosts);
}

/* ---- the command ---- */

static int run(Plan *plan, double visits_per_s)
{
    const Config *config = &plan->view.config;
    plan->policy = (RevisitPolicy){.default_s = (double)config->schedule_revisit_default / 1e3,
                                   .min_s = (double)config->schedule_revisit_min / 1e3,
                                   .max_s = (double)config->schedule_revisit_max / 1e3};
    Result rc = read_pages(plan);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno schedule: the pages cannot be read: %s\n", result_name(rc));
        return rc == RESULT_MEMORY ? EXIT_INTERNAL : EXIT_IO;
    }
    if (plan->n == 0) {
        (void)printf("pages                   0\n");
        return 0;
    }
    double visits = visits_per_s > 0 ? visits_per_s : config->schedule_revisit_rate;
    plan->mean_s = visits > 0 ? (double)plan->n / visits : plan->policy.default_s;
    expect_rates(plan);
    tell(plan);
    return fflush(stdout) == 0 ? 0 : EXIT_IO;
}

int schedule_plan(int argc, char **argv)
{
    static const struct option options[] = {{"visits", required_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    double visits_per_s = 0;
    optind = 0;
    for (int o = getopt_long(argc, argv, "h", options, NULL); o != -1;
         o = getopt_long(argc, argv, "h", options, NULL)) {
        char *end = NULL;
        visits_per_s = o == 'v' ? strtod(optarg, &end) : 0;
        if (o == 'h') {
            return usage(stdout);
        }
        if (o != 'v' || end == optarg || *end != '\0' || !(visits_per_s > 0) ||
            !isfinite(visits_per_s)) {
            return usage(stderr);
        }
    }
    if (argc - optind != 2) {
        return usage(stderr);
    }
    Plan plan = {.n = 0};
    int status = crawl_view_open(&plan.view, "schedule", argv[optind]);
    if (status != 0) {
        return status;
    }
    buffer_init(&plan.url, BUFFER_NO_LIMIT);
    status = run(&plan, visits_per_s);
    buffer_destroy(&plan.url);
    free(plan.pages);
    free(plan.hosts);
    free(plan.scheduled_s);
    free(plan.watched_s);
    free(plan.demand);
    free(plan.delay_s);
    crawl_view_close(&plan.view);
    return status;
}
