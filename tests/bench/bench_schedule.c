/* The schedulers: adding with PageRank running, requests, a hot host, disk, stops, steering,
 * revisits.
 * Arguments name parts: pagerank request hot stop steering revisits freshness; all when there are
 * none. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/pages/page_db_open.h"
#include "base/core/clock.h"
#include "steering.h"
#include "stops.h"
#include "store/best_first/bf_scheduler.h"
#include "store/scorers/page_rank_scorer.h"
#include "workload.h"

#define BATCH    2048u
#define REQUEST  100u
#define HOT_URLS 2000000u
#define OTHERS   10000u
#define STOPS    100u

typedef struct World {
    char dir[64];
    PageDB *db;
    BFScheduler *sch;
} World;

static void die(const char *what, const Error *error)
{
    const char *words = error == NULL ? NULL : error_message(error);
    (void)fprintf(stderr, "bench_schedule: %s: %s\n", what, words == NULL ? "" : words);
    exit(1);
}

static void world_start(World *w)
{
    (void)snprintf(w->dir, sizeof w->dir, "/tmp/ragno-bench-schedule-XXXXXX");
    if (mkdtemp(w->dir) == NULL || page_db_new(&w->db, w->dir) != page_db_error_ok) {
        die("no database", NULL);
    }
    if (bf_scheduler_new(&w->sch, w->db, NULL) != bf_scheduler_error_ok) {
        die("no scheduler", w->sch->error);
    }
    bf_scheduler_set_leases(w->sch, 1); /* requests write nothing: the order is what is measured */
}

static void world_end(World *w)
{
    bf_scheduler_delete(w->sch);
    page_db_set_persist(w->db, 0);
    (void)page_db_delete(w->db);
    (void)rmdir(w->dir);
}

/* Adds n pages of the workload; CPU seconds of this thread inside the calls. */
static double add_workload(World *w, Workload *workload, size_t n)
{
    CrawledPage *pages[BATCH];
    int64_t cpu = 0;
    for (size_t done = 0; done < n;) {
        size_t k = 0;
        for (; k < BATCH && done < n; k++, done++) {
            WorkloadPage page;
            workload_next(workload, &page);
            pages[k] = workload_crawled_page(workload, &page);
        }
        int64_t start = cpu_thread_ns();
        BFSchedulerError rc = bf_scheduler_add_batch(w->sch, (const CrawledPage *const *)pages, k);
        cpu += cpu_thread_ns() - start;
        if (rc != bf_scheduler_error_ok) {
            die("add", w->sch->error);
        }
        for (size_t i = 0; i < k; i++) {
            crawled_page_delete(pages[i]);
        }
    }
    return (double)cpu / 1e9;
}

typedef struct RequestTimes {
    size_t n_urls;
    double cpu_s;
    double max_ms;      /* CPU time of the slowest request */
    double max_wall_ms; /* the same on the clock: includes what other processes took */
} RequestTimes;

static RequestTimes time_requests(World *w, size_t n_urls)
{
    RequestTimes times = {0};
    while (times.n_urls < n_urls) {
        PageRequest *request = NULL;
        int64_t start = cpu_thread_ns();
        MonoTime before = mono_now();
        if (bf_scheduler_request(w->sch, REQUEST, &request) != bf_scheduler_error_ok) {
            die("request", w->sch->error);
        }
        double wall_ms = (double)(mono_now().ns - before.ns) / 1e6;
        double ms = (double)(cpu_thread_ns() - start) / 1e6;
        times.cpu_s += ms / 1e3;
        times.max_ms = ms > times.max_ms ? ms : times.max_ms;
        times.max_wall_ms = wall_ms > times.max_wall_ms ? wall_ms : times.max_wall_ms;
        size_t n = request->n_urls;
        times.n_urls += n;
        page_request_delete(request);
        if (n == 0) {
            break;
        }
    }
    return times;
}

/* The same while pages are added: a request after every commit, so that no snapshot serves twice.
 */
static RequestTimes time_requests_between_commits(World *w, Workload *workload, size_t n_urls)
{
    RequestTimes all = {0};
    for (size_t n = 1; n > 0 && all.n_urls < n_urls;) {
        (void)add_workload(w, workload, REQUEST);
        RequestTimes times = time_requests(w, REQUEST);
        n = times.n_urls;
        all.n_urls += n;
        all.cpu_s += times.cpu_s;
    }
    return all;
}

/* Bytes of the environment's pages that are in use. */
static double used_bytes(PageDB *db)
{
    MDB_envinfo info;
    MDB_stat stat;
    MDB_txn *txn = NULL;
    MDB_cursor *cursor = NULL;
    (void)mdb_env_info(page_db_env(db), &info);
    (void)mdb_env_stat(page_db_env(db), &stat);
    if (page_db_txn_begin(db, true, &txn) != page_db_error_ok ||
        mdb_cursor_open(txn, 0, &cursor) != 0) {
        die("free list", db->error);
    }
    size_t free_pages = 0;
    MDB_val key;
    MDB_val data;
    while (mdb_cursor_get(cursor, &key, &data, MDB_NEXT) == 0) {
        size_t count = 0;
        memcpy(&count, data.mv_data, sizeof count);
        free_pages += count;
    }
    mdb_cursor_close(cursor);
    page_db_txn_abort(db, txn);
    return (double)(info.me_last_pgno + 1 - free_pages) * (double)stat.ms_psize;
}

static double disk_bytes_of_schedule(World *w)
{
    double before = used_bytes(w->db);
    bf_scheduler_set_persist(w->sch, 0); /* deleting it empties the schedule */
    bf_scheduler_delete(w->sch);
    w->sch = NULL;
    return before - used_bytes(w->db);
}

static void bench_workload(size_t n_pages, bool with_page_rank)
{
    World w;
    world_start(&w);
    Workload *workload = workload_new();
    PageRankScorer *prs = NULL;
    if (with_page_rank) {
        if (page_rank_scorer_new(&prs, w.db) != page_rank_scorer_error_ok) {
            die("no scorer", NULL);
        }
        page_rank_scorer_setup(prs, w.sch->scorer);
        (void)bf_scheduler_update_start(w.sch);
    }
    double cpu_s = add_workload(&w, workload, n_pages);
    MonoTime start = mono_now();
    (void)bf_scheduler_update_stop(w.sch);
    double stop_ms = (double)(mono_now().ns - start.ns) / 1e6;
    BFSchedulerCounts counts;
    (void)bf_scheduler_counts(w.sch, &counts);
    (void)fprintf(stderr, "%llu scheduled on %llu hosts, %llu updates, %llu moves, stop %.1f ms\n",
                  (unsigned long long)counts.scheduled, (unsigned long long)counts.hosts,
                  (unsigned long long)counts.updates, (unsigned long long)counts.moves, stop_ms);
    if (with_page_rank) {
        (void)printf("schedule.update.max_txn_ms = %.1f ms\n", counts.longest_update_ms);
        (void)printf("schedule.update.txns = %llu 1\n", (unsigned long long)counts.update_txns);
        (void)printf("schedule.update.stop_ms = %.1f ms\n", stop_ms);
    }
    const char *suffix = with_page_rank ? "_with_pagerank" : "";
    (void)printf("schedule.add%s.pages_per_cpu_s = %.0f 1/s\n", suffix, (double)n_pages / cpu_s);
    RequestTimes times = time_requests(&w, n_pages);
    (void)printf("schedule.request%s.urls_per_cpu_s = %.0f 1/s\n", suffix,
                 (double)times.n_urls / times.cpu_s);
    (void)fprintf(stderr, "slowest request %.2f CPU ms, %.2f ms\n", times.max_ms,
                  times.max_wall_ms);
    times = time_requests_between_commits(&w, workload, n_pages / 20);
    (void)printf("schedule.request%s_between_commits.urls_per_cpu_s = %.0f 1/s\n", suffix,
                 (double)times.n_urls / times.cpu_s);
    double bytes = disk_bytes_of_schedule(&w);
    (void)printf("schedule.bytes_per_url%s = %.1f B\n", suffix, bytes / (double)counts.scheduled);
    (void)page_rank_scorer_delete(prs);
    workload_delete(workload);
    world_end(&w);
}

/* Pages of links: n URLs of the form http://HOST/NUMBER, the number of hosts given. */
static void add_urls(World *w, const char *name, size_t n, size_t n_hosts, float score)
{
    char url[96];
    for (size_t i = 0; i < n;) {
        (void)snprintf(url, sizeof url, "http://start.example/%s/%zu", name, i);
        CrawledPage *page = crawled_page_new(url);
        for (size_t k = 0; k < 10000 && i < n; k++, i++) {
            (void)snprintf(url, sizeof url, "http://%s%zu.example/%zu", name, i % n_hosts, i);
            (void)crawled_page_add_link(page, url, score);
        }
        if (bf_scheduler_add(w->sch, page) != bf_scheduler_error_ok) {
            die("add", w->sch->error);
        }
        crawled_page_delete(page);
    }
}

static void bench_hot_host(double scale)
{
    World w;
    world_start(&w);
    add_urls(&w, "hot", (size_t)(HOT_URLS * scale), 1, 0.99f);
    add_urls(&w, "other", OTHERS, 1000, 0.1f);
    (void)bf_scheduler_set_max_domain_crawl_rate(w.sch, -1.0f, 50.0f);
    RequestTimes times = time_requests(&w, OTHERS);
    (void)printf("schedule.hot_host.urls_per_cpu_s = %.0f 1/s\n",
                 (double)times.n_urls / times.cpu_s);
    (void)printf("schedule.hot_host.max_ms = %.3f ms\n", times.max_ms);
    (void)fprintf(stderr, "slowest request on the clock %.3f ms\n", times.max_wall_ms);
    world_end(&w);
}

/* Whether a part was named on the command line, or none was. */
static bool is_wanted(int argc, char **argv, const char *part)
{
    bool is_named = argc < 2;
    for (int i = 1; i < argc; i++) {
        is_named = is_named || strcmp(argv[i], part) == 0;
    }
    return is_named;
}

int main(int argc, char **argv)
{
    const char *text = getenv("SCALE");
    double scale = text == NULL ? 1.0 : strtod(text, NULL);
    size_t n_pages = (size_t)(WORKLOAD_PAGES * scale);

    n_pages = n_pages < 1000 ? 1000 : n_pages;
    if (is_wanted(argc, argv, "pagerank")) {
        bench_workload(n_pages, true);
    }
    if (is_wanted(argc, argv, "request")) {
        bench_workload(n_pages, false);
    }
    if (is_wanted(argc, argv, "hot")) {
        bench_hot_host(scale);
    }
    if (is_wanted(argc, argv, "stop")) {
        stops_run(n_pages / 2, STOPS);
    }
    if (is_wanted(argc, argv, "steering")) {
        steering_run((size_t)(200000 * scale), (size_t)(2000 * scale) + 1);
    }
    if (is_wanted(argc, argv, "revisits")) {
        revisits_run((size_t)(2000 * scale) + 100);
    }
    if (is_wanted(argc, argv, "freshness")) {
        freshness_run((size_t)(5000 * scale) + 100);
    }
    return 0;
}
