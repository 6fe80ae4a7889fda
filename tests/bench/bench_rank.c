/* PageRank and HITS on the synthetic workload: CPU time per sweep and agreement with plain loops.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "store/rank/hits.h"
#include "store/rank/page_rank.h"
#include "workload.h"

typedef struct Links {
    Link *links;
    size_t n;
    size_t at;
    size_t n_pages;
} Links;

static StreamState links_next(void *state, Link *link)
{
    Links *links = state;
    if (links->at == links->n) {
        return stream_state_end;
    }
    *link = links->links[links->at++];
    return stream_state_next;
}

static StreamState links_reset(void *state)
{
    ((Links *)state)->at = 0;
    return stream_state_init;
}

/* The links of the first n pages, by index in order of discovery, as PageDB numbers them. */
static void read_workload(Links *links, size_t n_pages)
{
    Workload *w = workload_new();
    links->links = malloc(n_pages * WORKLOAD_MAX_LINKS * sizeof *links->links);
    uint32_t *index = calloc(w == NULL ? 1 : w->universe, sizeof *index);
    if (w == NULL || links->links == NULL || index == NULL) {
        abort();
    }
    size_t indexed = 0;
    for (size_t i = 0; i < n_pages; i++) {
        WorkloadPage page;
        workload_next(w, &page);
        for (; indexed < w->queue_tail; indexed++) {
            index[w->queue[indexed]] = (uint32_t)indexed;
        }
        for (size_t k = 0; k < page.n_links; k++) {
            links->links[links->n++] = (Link){index[page.id], index[page.targets[k]]};
        }
    }
    links->n_pages = workload_n_known(w);
    (void)fprintf(stderr, "%zu pages, %zu links, checksum %016llx%s\n", links->n_pages, links->n,
                  (unsigned long long)w->checksum,
                  n_pages != WORKLOAD_PAGES          ? ""
                  : w->checksum == WORKLOAD_CHECKSUM ? " (as it must be)"
                                                     : " WRONG");
    free(index);
    workload_delete(w);
}

static double *plain_page_rank(const Links *links, double damping, int loops)
{
    size_t n = links->n_pages;
    double *x = malloc(n * sizeof *x);
    double *next = malloc(n * sizeof *next);
    double *degree = calloc(n, sizeof *degree);
    if (x == NULL || next == NULL || degree == NULL) {
        abort();
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = 1.0 / (double)n;
    }
    for (size_t i = 0; i < links->n; i++) {
        degree[links->links[i].from] += 1.0;
    }
    for (int loop = 0; loop < loops; loop++) {
        memset(next, 0, n * sizeof *next);
        double sum = 0;
        for (size_t i = 0; i < links->n; i++) {
            double flow = damping * x[links->links[i].from] / degree[links->links[i].from];
            next[links->links[i].to] += flow;
            sum += flow;
        }
        for (size_t i = 0; i < n; i++) {
            x[i] = next[i] + (1.0 - sum) / (double)n;
        }
    }
    free(next);
    free(degree);
    return x;
}

#define FEW_LOOPS  10
#define MANY_LOOPS 40

/* CPU seconds of one computation of so many loops, from the same start. */
static double time_page_rank(const char *dir, Links *links, size_t loops)
{
    PageRank *pr = NULL;
    if (page_rank_new(&pr, dir, links->n_pages) != page_rank_error_ok) {
        exit(1);
    }
    pr->max_loops = loops;
    pr->precision = -1.0f; /* never reached */
    int64_t start = cpu_process_ns();
    (void)page_rank_compute(pr, links, links_next, links_reset);
    int64_t end = cpu_process_ns();
    (void)page_rank_delete(pr);
    return (double)(end - start) / 1e9;
}

static double time_hits(const char *dir, Links *links, size_t loops)
{
    Hits *hits = NULL;
    if (hits_new(&hits, dir, links->n_pages) != hits_error_ok) {
        exit(1);
    }
    hits->max_loops = loops;
    hits->precision = -1.0f; /* never reached */
    int64_t start = cpu_process_ns();
    (void)hits_compute(hits, links, links_next, links_reset);
    int64_t end = cpu_process_ns();
    (void)hits_delete(hits);
    return (double)(end - start) / 1e9;
}

static double check_page_rank(const char *dir, Links *links)
{
    PageRank *pr = NULL;
    if (page_rank_new(&pr, dir, links->n_pages) != page_rank_error_ok) {
        exit(1);
    }
    int64_t start = cpu_process_ns();
    PageRankError rc = page_rank_compute(pr, links, links_next, links_reset);
    (void)fprintf(stderr,
                  "pagerank to 1e-4: %.3f CPU s, %zu loops, change %.1e (relative %.1e)%s\n",
                  (double)(cpu_process_ns() - start) / 1e9, pr->loops, pr->delta,
                  pr->relative_delta, rc == page_rank_error_ok ? "" : " NOT REACHED");
    pr->precision = 1e-8f;
    start = cpu_process_ns();
    rc = page_rank_compute(pr, links, links_next, links_reset);
    (void)fprintf(stderr, "pagerank on to 1e-8: %.3f CPU s, %zu loops%s\n",
                  (double)(cpu_process_ns() - start) / 1e9, pr->loops,
                  rc == page_rank_error_ok ? "" : " NOT REACHED");
    double *expected = plain_page_rank(links, (double)pr->damping, 150);
    double largest = 0.0;
    for (size_t i = 0; i < links->n_pages; i++) {
        float old = 0;
        float new = 0;
        (void)page_rank_get(pr, i, &old, &new);
        double error = fabs((double)new - expected[i]) / expected[i];
        largest = error > largest ? error : largest;
    }
    free(expected);
    (void)page_rank_delete(pr);
    return largest;
}

/* Hubs and authorities, each scaled to sum 1, by loops over the links as they come. */
static void plain_hits(const Links *links, int loops, double *hub, double *authority)
{
    for (size_t i = 0; i < links->n_pages; i++) {
        hub[i] = 1.0 / (double)links->n_pages;
    }
    for (int loop = 0; loop < loops; loop++) {
        double *const from[] = {hub, authority};
        double *const to[] = {authority, hub};
        for (int way = 0; way < 2; way++) {
            double sum = 0.0;
            memset(to[way], 0, links->n_pages * sizeof *to[way]);
            for (size_t i = 0; i < links->n; i++) {
                Link link = links->links[i];
                size_t source = (size_t)(way == 0 ? link.from : link.to);
                to[way][way == 0 ? link.to : link.from] += from[way][source];
                sum += from[way][source];
            }
            for (size_t i = 0; i < links->n_pages; i++) {
                to[way][i] /= sum;
            }
        }
    }
}

/* The largest error of an authority, in units of it or, below that, of the mean one. */
static double hits_error(const Hits *hits, const Links *links)
{
    double *hub = malloc(links->n_pages * sizeof *hub);
    double *authority = malloc(links->n_pages * sizeof *authority);
    if (hub == NULL || authority == NULL) {
        abort();
    }
    plain_hits(links, 60, hub, authority);
    double largest = 0.0;
    for (size_t i = 0; i < links->n_pages; i++) {
        float old = 0;
        float new = 0;
        (void)hits_get_authority(hits, i, &old, &new);
        double unit = fmax(authority[i], 1.0 / (double)links->n_pages);
        largest = fmax(largest, fabs((double)new - authority[i]) / unit);
    }
    free(hub);
    free(authority);
    return largest;
}

static double check_hits(const char *dir, Links *links)
{
    Hits *hits = NULL;
    if (hits_new(&hits, dir, links->n_pages) != hits_error_ok) {
        exit(1);
    }
    int64_t start = cpu_process_ns();
    HitsError rc = hits_compute(hits, links, links_next, links_reset);
    (void)fprintf(stderr, "hits to 1e-4: %.3f CPU s, %zu loops, change %.1e (relative %.1e)%s\n",
                  (double)(cpu_process_ns() - start) / 1e9, hits->loops, hits->delta,
                  hits->relative_delta, rc == hits_error_ok ? "" : " NOT REACHED");
    hits->precision = 1e-8f;
    rc = hits_compute(hits, links, links_next, links_reset);
    (void)fprintf(stderr, "hits on to 1e-8: %zu loops%s\n", hits->loops,
                  rc == hits_error_ok ? "" : " NOT REACHED");
    double largest = hits_error(hits, links);
    (void)hits_delete(hits);
    return largest;
}

int main(void)
{
    const char *scale = getenv("SCALE");
    double factor = scale == NULL ? 1.0 : strtod(scale, NULL);
    Links links = {0};
    read_workload(&links, (size_t)(WORKLOAD_PAGES * factor) + 1 - (factor >= 1.0));
    char dir[] = "/tmp/ragno-bench-rank-XXXXXX";
    if (mkdtemp(dir) == NULL) {
        return 1;
    }
    double few = time_page_rank(dir, &links, FEW_LOOPS);
    double many = time_page_rank(dir, &links, MANY_LOOPS);
    double per_loop = (many - few) / (MANY_LOOPS - FEW_LOOPS);
    (void)printf("rank.pagerank.cpu_s_per_iteration = %.5f s\n", per_loop);
    (void)printf("rank.pagerank.cpu_s_to_build = %.3f s\n", few - FEW_LOOPS * per_loop);
    few = time_hits(dir, &links, FEW_LOOPS);
    many = time_hits(dir, &links, MANY_LOOPS);
    per_loop = (many - few) / (MANY_LOOPS - FEW_LOOPS);
    (void)printf("rank.hits.cpu_s_per_iteration = %.5f s\n", per_loop);
    (void)printf("rank.pagerank.max_relative_error = %.2e 1\n", check_page_rank(dir, &links));
    (void)printf("rank.hits.max_relative_error = %.2e 1\n", check_hits(dir, &links));
    free(links.links);
    return rmdir(dir) == 0 ? 0 : 1;
}
