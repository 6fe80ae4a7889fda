#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link_list.h"
#include "store/rank/page_rank.h"
#include "folder_fixture.h"
#include "unit.h"

static char *make_dir(char *dir)
{
    folder_make(dir);
    return dir;
}

static PageRank *make(const char *dir, size_t n)
{
    PageRank *pr = NULL;
    CU_ASSERT_EQUAL_FATAL(page_rank_new(&pr, dir, n), page_rank_error_ok);
    return pr;
}

static PageRankError compute(PageRank *pr, LinkList *list)
{
    return page_rank_compute(pr, list, link_list_next, link_list_reset);
}

static double score(const PageRank *pr, size_t page)
{
    float old = 0;
    float new = 0;
    CU_ASSERT_EQUAL(page_rank_get(pr, page, &old, &new), page_rank_error_ok);
    return (double)new;
}

/* Plain double arrays, links as they come, until nothing moves. scores NULL: none. */
static double *reference(const LinkList *list, size_t n, double damping, const float *scores)
{
    double *x = malloc(n * sizeof *x);
    double *next = malloc(n * sizeof *next);
    double *degree = calloc(n, sizeof *degree);
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = 1.0 / (double)n;
        total += scores == NULL ? 1.0 : (double)scores[i];
    }
    for (size_t i = 0; i < list->n; i++) {
        degree[list->links[i].from] += 1.0;
    }
    for (int loop = 0; loop < 400; loop++) {
        memset(next, 0, n * sizeof *next);
        double sum = 0;
        for (size_t i = 0; i < list->n; i++) {
            double flow = damping * x[list->links[i].from] / degree[list->links[i].from];
            next[list->links[i].to] += flow;
            sum += flow;
        }
        for (size_t i = 0; i < n; i++) {
            x[i] = next[i] + (1.0 - sum) * (scores == NULL ? 1.0 : (double)scores[i]) / total;
        }
    }
    free(next);
    free(degree);
    return x;
}

static double worst(const PageRank *pr, const double *expected, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double error = fabs(score(pr, i) - expected[i]) / (expected[i] > 0 ? expected[i] : 1.0);
        largest = error > largest ? error : largest;
    }
    return largest;
}

/* A ring of four, all of which link to a fifth page that links nowhere. */
static void add_ring(LinkList *list)
{
    for (int64_t i = 0; i < 4; i++) {
        link_list_add(list, i, (i + 1) % 4);
        link_list_add(list, i, 4);
    }
}

static void a_ring_with_a_sink_has_its_known_scores(void)
{
    char dir[FOLDER_BYTES];
    LinkList ring = {0};
    add_ring(&ring);
    PageRank *pr = make(make_dir(dir), 5);
    pr->precision = 1e-8f;
    CU_ASSERT_EQUAL(compute(pr, &ring), page_rank_error_ok);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_DOUBLE_EQUAL(score(pr, i), 0.15936255, 1e-7);
    }
    CU_ASSERT_DOUBLE_EQUAL(score(pr, 4), 0.3625498, 1e-7);
    MMapArray *scores = NULL;
    CU_ASSERT_EQUAL_FATAL(mmap_array_new(&scores, NULL, 5, sizeof(float)), mmap_array_error_ok);
    for (size_t i = 0; i < 5; i++) {
        float value = (float)i / 5.0f;
        (void)mmap_array_set(scores, i, &value);
    }
    pr->scores = scores;
    pr->damping = 0.0f;
    CU_ASSERT_EQUAL(compute(pr, &ring), page_rank_error_ok);
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT_DOUBLE_EQUAL(score(pr, i), (double)i / 10.0, 1e-7);
    }
    CU_ASSERT_DOUBLE_EQUAL((double)pr->total_score, 2.0, 1e-6);
    pr->damping = 0.5f;
    CU_ASSERT_EQUAL(compute(pr, &ring), page_rank_error_ok);
    const double half[] = {0.0638655, 0.0873950, 0.1647059, 0.2554622, 0.4285714};
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT_DOUBLE_EQUAL(score(pr, i), half[i], 1e-7);
    }
    (void)mmap_array_delete(scores);
    (void)page_rank_delete(pr);
    free(ring.links);
    CU_ASSERT_EQUAL(rmdir(dir), 0); /* no file is left */
}

/* What was computed is what doubles give; values: a weight for each page, or NULL. */
static void expect_reference(PageRank *pr, LinkList *list, size_t n, const float *values)
{
    double *expected = reference(list, n, (double)pr->damping, values);
    CU_ASSERT(worst(pr, expected, n) < 1e-6);
    free(expected);
}

static void random_graphs_agree_with_plain_doubles(void)
{
    const size_t sizes[] = {3, 50, 1000, 30000};
    for (size_t c = 0; c < 8; c++) {
        char dir[FOLDER_BYTES];
        size_t n = sizes[c % 4];
        LinkList list = {0};
        link_list_random(&list, n, c + 1, c >= 4);
        PageRank *pr = make(make_dir(dir), 1);
        pr->precision = 1e-8f;
        pr->max_loops = 0;
        CU_ASSERT_EQUAL(page_rank_set_n_pages(pr, n), page_rank_error_ok);
        CU_ASSERT_EQUAL(compute(pr, &list), page_rank_error_ok);
        expect_reference(pr, &list, n, NULL);
        MMapArray *scores = NULL;
        (void)mmap_array_new(&scores, NULL, n, sizeof(float));
        float *values = (float *)(void *)scores->mem;
        for (size_t i = 0; i < n; i++) {
            values[i] = (float)(1 + hash_mix(i + c) % 100) / 100.0f;
        }
        pr->scores = scores;
        CU_ASSERT_EQUAL(compute(pr, &list), page_rank_error_ok);
        expect_reference(pr, &list, n, values);
        (void)mmap_array_delete(scores);
        (void)page_rank_delete(pr);
        free(list.links);
        folder_remove(dir);
    }
}

static void pages_with_thousands_of_links_are_right(void)
{
    char dir[FOLDER_BYTES];
    LinkList list = {0};
    const size_t n = LINK_GRAPH_SLICE + 5000;
    for (int64_t i = 1; i < (int64_t)n; i++) {
        link_list_add(&list, i, 0);         /* in-degree above every counted class */
        link_list_add(&list, i, 1 + i % 3); /* three large ones of one degree */
        link_list_add(&list, 0, i);
    }
    PageRank *pr = make(make_dir(dir), n);
    pr->precision = 1e-8f;
    pr->max_loops = 0;
    CU_ASSERT_EQUAL(compute(pr, &list), page_rank_error_ok);
    expect_reference(pr, &list, n, NULL);
    (void)page_rank_delete(pr);
    free(list.links);
    folder_remove(dir);
}

static void what_was_stopped_can_be_computed_after_all(void)
{
    char dir[FOLDER_BYTES];
    const size_t n = 3000;
    LinkList list = {0};
    atomic_bool stop = false;
    link_list_random(&list, n, 7, 1);
    list.stop = &stop;
    PageRank *pr = make(make_dir(dir), n);
    pr->precision = 1e-8f;
    pr->max_loops = 0;
    pr->stop = &stop;
    CU_ASSERT_EQUAL(page_rank_set_n_pages(pr, n), page_rank_error_ok);
    for (list.stops_at = 1; list.stops_at < list.n; list.stops_at = list.stops_at * 3 + 1) {
        CU_ASSERT_EQUAL(compute(pr, &list), page_rank_error_stopped);
        CU_ASSERT(list.at - list.stops_at <= LINK_GRAPH_SLICE);
        atomic_store(&stop, false);
    }
    list.stops_at = list.n; /* when all is read: what follows is not begun */
    CU_ASSERT_EQUAL(compute(pr, &list), page_rank_error_stopped);
    CU_ASSERT_EQUAL(pr->loops, 0);
    atomic_store(&stop, false);
    list.stops_at = 0;
    CU_ASSERT_EQUAL(compute(pr, &list), page_rank_error_ok);
    expect_reference(pr, &list, n, NULL);
    (void)page_rank_delete(pr);
    free(list.links);
    folder_remove(dir);
}

/* The documented library looks at value1 and value2 to see that a computation has converged. */
static void old_is_the_sweep_before_the_last(void)
{
    const size_t n = 500;
    LinkList list = {0};
    link_list_random(&list, n, 5, 1);
    PageRank *pr = make(NULL, n);
    pr->precision = 1e-3f;
    CU_ASSERT_EQUAL(page_rank_set_n_pages(pr, n), page_rank_error_ok);
    CU_ASSERT_EQUAL(compute(pr, &list), page_rank_error_ok);
    PageRank *shorter = make(NULL, n);
    shorter->precision = 0.0f;
    shorter->max_loops = pr->loops - 1;
    CU_ASSERT_EQUAL(page_rank_set_n_pages(shorter, n), page_rank_error_ok);
    CU_ASSERT_EQUAL(compute(shorter, &list), page_rank_error_precision);
    for (size_t i = 0; i < n; i++) {
        float old = 0;
        float new = 0;
        float shorter_old = 0;
        float shorter_new = 0;
        CU_ASSERT_EQUAL(page_rank_get(pr, i, &old, &new), page_rank_error_ok);
        CU_ASSERT_EQUAL(page_rank_get(shorter, i, &shorter_old, &shorter_new), page_rank_error_ok);
        CU_ASSERT_EQUAL(old, shorter_new);
        CU_ASSERT(fabs((double)new - (double)old) <=
                  1e-3 * fmax((double)new, 1.0 / (double)n) * 1.0001);
    }
    (void)page_rank_delete(pr);
    (void)page_rank_delete(shorter);
    free(list.links);
}

static void a_restart_is_short(void)
{
    char dir[FOLDER_BYTES];
    LinkList list = {0};
    const size_t n = 5000;
    link_list_random(&list, n, 5, 0);
    PageRank *pr = make(make_dir(dir), n);
    pr->precision = 1e-6f;
    CU_ASSERT_EQUAL(page_rank_set_n_pages(pr, n), page_rank_error_ok);
    CU_ASSERT_EQUAL(compute(pr, &list), page_rank_error_ok);
    size_t cold = pr->loops;
    float *first = malloc(n * sizeof *first);
    for (size_t i = 0; i < n; i++) {
        float old = 0;
        CU_ASSERT_EQUAL(page_rank_get(pr, i, &old, &first[i]), page_rank_error_ok);
    }
    CU_ASSERT_EQUAL(compute(pr, &list), page_rank_error_ok);
    CU_ASSERT(pr->loops <= 2 && cold > 5);
    for (int64_t i = 0; i < 50; i++) { /* the crawl goes on: new pages, far behind the old ones */
        link_list_add(&list, (int64_t)n - 1, 2 * (int64_t)n + i);
        link_list_add(&list, 2 * (int64_t)n + i, i);
    }
    CU_ASSERT_EQUAL(compute(pr, &list), page_rank_error_ok);
    CU_ASSERT_EQUAL(pr->n_pages, 2 * n + 50);
    double *expected = reference(&list, 2 * n + 50, (double)pr->damping, NULL);
    CU_ASSERT(worst(pr, expected, 2 * n + 50) < 1e-4);
    double moved = 0;
    for (size_t i = 0; i < n; i++) {
        float old = 0;
        float new = 0;
        (void)page_rank_get(pr, i, &old, &new);
        moved += fabs((double)new - (double)first[i]);
    }
    CU_ASSERT(moved > 0.1); /* half the mass went to the new pages */
    free(expected);
    free(first);
    (void)page_rank_delete(pr);
    free(list.links);
    folder_remove(dir);
}

static void results_outlive_the_object_when_they_shall(void)
{
    char dir[FOLDER_BYTES];
    LinkList ring = {0};
    add_ring(&ring);
    PageRank *pr = make(make_dir(dir), 5);
    page_rank_set_persist(pr, 1);
    CU_ASSERT_EQUAL(compute(pr, &ring), page_rank_error_ok);
    double before = score(pr, 4);
    CU_ASSERT_EQUAL(page_rank_delete(pr), page_rank_error_ok);
    pr = make(dir, 2);
    CU_ASSERT_EQUAL(compute(pr, &ring), page_rank_error_ok);
    CU_ASSERT(pr->loops <= 2);
    float old = 0;
    float new = 0;
    (void)page_rank_get(pr, 4, &old, &new);
    CU_ASSERT_DOUBLE_EQUAL((double)old, before, 1e-7);
    CU_ASSERT_EQUAL(page_rank_delete(pr), page_rank_error_ok);
    CU_ASSERT_EQUAL(rmdir(dir), 0);
    free(ring.links);
}

static void errors_leave_the_scores_and_are_forgotten_by_the_next_call(void)
{
    char dir[FOLDER_BYTES];
    LinkList ring = {0};
    add_ring(&ring);
    PageRank *pr = make(make_dir(dir), 5);
    CU_ASSERT_EQUAL(compute(pr, &ring), page_rank_error_ok);
    double before = score(pr, 4);

    atomic_bool stop = true;
    pr->stop = &stop;
    CU_ASSERT_EQUAL(compute(pr, &ring), page_rank_error_stopped);
    CU_ASSERT_EQUAL(error_code(pr->error), page_rank_error_stopped);
    pr->stop = NULL;
    ring.fails_at = 3;
    CU_ASSERT_EQUAL(compute(pr, &ring), page_rank_error_internal);
    ring.fails_at = 0;
    link_list_add(&ring, -1, 2);
    CU_ASSERT_EQUAL(compute(pr, &ring), page_rank_error_internal);
    ring.links[ring.n - 1] = (Link){2, (int64_t)1 << 40};
    CU_ASSERT_EQUAL(compute(pr, &ring), page_rank_error_internal);
    ring.n--;
    const float no_damping[] = {NAN, -0.1f, 1.1f, INFINITY};
    for (size_t i = 0; i < 4; i++) {
        pr->damping = no_damping[i];
        CU_ASSERT_EQUAL(compute(pr, &ring), page_rank_error_internal);
    }
    pr->damping = PAGE_RANK_DEFAULT_DAMPING;
    CU_ASSERT_EQUAL(score(pr, 4), before);

    float old = 0;
    float new = 0;
    CU_ASSERT_EQUAL(page_rank_get(pr, 5, &old, &new), page_rank_error_internal);
    for (int64_t i = 0; i < 30; i++) {
        link_list_add(&ring, 4 + i, 5 + i);
    }
    pr->max_loops = 1;
    CU_ASSERT_EQUAL(compute(pr, &ring), page_rank_error_precision);
    CU_ASSERT_EQUAL(pr->loops, 1);
    CU_ASSERT(pr->delta > 0 && pr->relative_delta >= pr->delta);
    pr->max_loops = 100;
    CU_ASSERT_EQUAL(compute(pr, &ring), page_rank_error_ok);
    CU_ASSERT_EQUAL(error_code(pr->error), 0);
    CU_ASSERT(pr->relative_delta <= 1e-4);
    (void)page_rank_delete(pr);
    free(ring.links);
    folder_remove(dir);
}

static void graphs_without_links_are_uniform(void)
{
    char dir[FOLDER_BYTES];
    LinkList none = {0};
    PageRank *pr = make(make_dir(dir), 0);
    CU_ASSERT_EQUAL(compute(pr, &none), page_rank_error_ok);
    CU_ASSERT_EQUAL(page_rank_set_n_pages(pr, 10), page_rank_error_ok);
    CU_ASSERT_EQUAL(compute(pr, &none), page_rank_error_ok);
    CU_ASSERT_DOUBLE_EQUAL(score(pr, 9), 0.1, 1e-8);
    (void)page_rank_delete(pr);
    folder_remove(dir);
    CU_ASSERT_EQUAL(page_rank_delete(NULL), page_rank_error_ok);
    CU_ASSERT_EQUAL(page_rank_new(&pr, "/nonexistent/directory", 5), page_rank_error_internal);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pr);
    CU_ASSERT_PTR_NOT_NULL(error_message(pr->error));
    (void)page_rank_delete(pr);
}

static void links_of_a_page_need_not_come_together(void)
{
    char dir[FOLDER_BYTES];
    LinkList list = {0};
    link_list_random(&list, 400, 9, 0);
    PageRank *pr = make(make_dir(dir), 400);
    pr->precision = 1e-8f;
    CU_ASSERT_EQUAL(page_rank_set_n_pages(pr, 400), page_rank_error_ok);
    for (size_t i = list.n - 1; i > 0; i--) { /* shuffled */
        size_t k = hash_mix(i) % (i + 1);
        Link swap = list.links[i];
        list.links[i] = list.links[k];
        list.links[k] = swap;
    }
    CU_ASSERT_EQUAL(compute(pr, &list), page_rank_error_ok);
    double *expected = reference(&list, 400, (double)pr->damping, NULL);
    CU_ASSERT(worst(pr, expected, 400) < 1e-6);
    free(expected);
    (void)page_rank_delete(pr);
    free(list.links);
    folder_remove(dir);
}

UNIT_MAIN("page_rank",
          {"a ring with a sink has its known scores", a_ring_with_a_sink_has_its_known_scores},
          {"random graphs agree with plain doubles", random_graphs_agree_with_plain_doubles},
          {"pages with thousands of links are right", pages_with_thousands_of_links_are_right},
          {"what was stopped can be computed after all",
           what_was_stopped_can_be_computed_after_all},
          {"links of a page need not come together", links_of_a_page_need_not_come_together},
          {"a restart is short", a_restart_is_short},
          {"old is the sweep before the last", old_is_the_sweep_before_the_last},
          {"results outlive the object when they shall",
           results_outlive_the_object_when_they_shall},
          {"errors leave the scores and are forgotten by the next call",
           errors_leave_the_scores_and_are_forgotten_by_the_next_call},
          {"graphs without links are uniform", graphs_without_links_are_uniform})
