#include "store/pages/page_db_open.h"
#include "stops.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/thread/thread.h"
#include "store/scorers/hits_scorer.h"
#include "store/pages/page_db.h"
#include "store/scorers/page_rank_scorer.h"
#include "store/scorers/scorer.h"
#include "workload.h"

#define LOOPS       20u
#define BATCH       512u
#define BUSY        8u
#define CONTROL_MS  2000
#define BUSY_STOPS  8u /* of n_stops one in so many */
#define NS_PER_MS   1e6
#define RANDOM_SEED UINT64_C(0x2545F4914F6CDD1D)

static void die(const char *what)
{
    (void)fprintf(stderr, "bench_schedule: %s\n", what);
    exit(1);
}

static PageDB *make_database(char *dir, size_t n_pages)
{
    const PageDBOptions options = {.no_sync = true};
    PageDB *db = NULL;
    Workload *workload = workload_new();
    if (workload == NULL || mkdtemp(dir) == NULL ||
        page_db_open(&db, dir, &options) != page_db_error_ok) {
        die("no database to stop computations on");
    }
    for (size_t done = 0; done < n_pages;) {
        CrawledPage *pages[BATCH];
        size_t k = 0;
        for (; k < BATCH && done < n_pages; k++, done++) {
            WorkloadPage page;
            workload_next(workload, &page);
            pages[k] = workload_crawled_page(workload, &page);
        }
        if (page_db_add_batch(db, (const CrawledPage *const *)pages, k, NULL) != page_db_error_ok) {
            die("pages cannot be added");
        }
        for (size_t i = 0; i < k; i++) {
            crawled_page_delete(pages[i]);
        }
    }
    workload_delete(workload);
    return db;
}

static void *compute_main(void *argument)
{
    const Scorer *scorer = argument;
    (void)scorer->update(scorer->state);
    return NULL;
}

typedef struct StopTimes {
    double cpu_ms;
    double ms;
    double at_ms; /* when the slowest was stopped, by CPU time */
    double of_ms; /* what a computation takes */
} StopTimes;

/* One computation, stopped after wait_ms; negative: not at all. */
static void run_once(Scorer *scorer, double wait_ms, StopTimes *times)
{
    Thread thread = {0};
    if (thread_start(&thread, "compute", compute_main, scorer) != RESULT_OK) {
        die("no thread");
    }
    if (wait_ms >= 0.0) {
        struct timespec time = {0, (long)(wait_ms * NS_PER_MS)};
        while (time.tv_nsec >= 1000000000L) {
            time.tv_sec++;
            time.tv_nsec -= 1000000000L;
        }
        (void)ppoll(NULL, 0, &time, NULL);
        MonoTime start = mono_now();
        int64_t cpu_ns = cpu_process_ns();
        scorer->stop(scorer->state, true);
        thread_join(&thread);
        double cpu_ms = (double)(cpu_process_ns() - cpu_ns) / NS_PER_MS;
        double ms = (double)(mono_now().ns - start.ns) / NS_PER_MS;
        times->at_ms = cpu_ms > times->cpu_ms ? wait_ms : times->at_ms;
        times->cpu_ms = cpu_ms > times->cpu_ms ? cpu_ms : times->cpu_ms;
        times->ms = ms > times->ms ? ms : times->ms;
        scorer->stop(scorer->state, false);
    }
    thread_join(&thread);
}

static StopTimes stop_often(Scorer *scorer, unsigned n_stops)
{
    StopTimes times = {0};
    MonoTime start = mono_now();
    run_once(scorer, -1.0, &times);
    times.of_ms = (double)(mono_now().ns - start.ns) / NS_PER_MS;
    uint64_t random = RANDOM_SEED;
    for (unsigned i = 0; i < n_stops; i++) {
        random += RANDOM_SEED;
        run_once(scorer, times.of_ms * (double)(hash_mix(random) >> 11) * 0x1p-53, &times);
    }
    return times;
}

static void begin_load(pid_t pids[BUSY])
{
    for (unsigned i = 0; i < BUSY; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            for (uint64_t n = 1; n != 0; n = hash_mix(n) | 1) {
            }
            _exit(0);
        }
    }
}

static void end_load(const pid_t pids[BUSY])
{
    for (unsigned i = 0; i < BUSY; i++) {
        if (pids[i] > 0) {
            (void)kill(pids[i], SIGKILL);
            (void)waitpid(pids[i], NULL, 0);
        }
    }
}

/* The longest time that a thread which does nothing but compute was not let run. */
static double longest_absence_ms(void)
{
    MonoTime start = mono_now();
    MonoTime last = start;
    int64_t longest_ns = 0;
    while (mono_ms_between(start, last) < CONTROL_MS) {
        MonoTime now = mono_now();
        longest_ns = now.ns - last.ns > longest_ns ? now.ns - last.ns : longest_ns;
        last = now;
    }
    return (double)longest_ns / NS_PER_MS;
}

static void stop_scorer(Scorer *scorer, const char *name, unsigned n_stops)
{
    StopTimes times = stop_often(scorer, n_stops);
    (void)fprintf(stderr, "%s: a computation takes %.0f ms; most CPU time after a stop at %.0f\n",
                  name, times.of_ms, times.at_ms);
    (void)printf("schedule.stop.%s.max_cpu_ms = %.2f ms\n", name, times.cpu_ms);
    (void)printf("schedule.stop.%s.max_ms = %.1f ms\n", name, times.ms);
    pid_t pids[BUSY];
    (void)fflush(NULL);
    begin_load(pids);
    double absence_ms = longest_absence_ms();
    times = stop_often(scorer, n_stops / BUSY_STOPS);
    end_load(pids);
    (void)printf("schedule.stop.%s.max_ms_loaded = %.1f ms\n", name, times.ms);
    (void)fprintf(stderr, "under that load a thread waits up to %.1f ms for a processor\n",
                  absence_ms);
}

void stops_run(size_t n_pages, unsigned n_stops)
{
    char dir[] = "/tmp/ragno-bench-stops-XXXXXX";
    PageDB *db = make_database(dir, n_pages);
    Scorer scorer;
    PageRankScorer *prs = NULL;
    HitsScorer *hs = NULL;
    if (page_rank_scorer_new(&prs, db) != page_rank_scorer_error_ok ||
        hits_scorer_new(&hs, db) != hits_scorer_error_ok) {
        die("no scorer");
    }
    prs->only_diff_domain = 0;
    prs->page_rank->precision = -1.0f; /* is never reached */
    prs->page_rank->max_loops = LOOPS;
    page_rank_scorer_set_use_content_scores(prs, 1);
    page_rank_scorer_setup(prs, &scorer);
    stop_scorer(&scorer, "pagerank", n_stops);
    hs->only_diff_domain = 0;
    hs->hits->precision = -1.0f;
    hs->hits->max_loops = LOOPS;
    hits_scorer_set_use_content_scores(hs, 1);
    hits_scorer_setup(hs, &scorer);
    stop_scorer(&scorer, "hits", n_stops);
    (void)page_rank_scorer_delete(prs);
    (void)hits_scorer_delete(hs);
    page_db_set_persist(db, 0);
    (void)page_db_delete(db);
    (void)rmdir(dir);
}
