#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link_list.h"
#include "store/rank/hits.h"
#include "folder_fixture.h"
#include "unit.h"

static Hits *make(char *dir, size_t n)
{
    Hits *hits = NULL;
    folder_make(dir);
    CU_ASSERT_EQUAL_FATAL(hits_new(&hits, dir, n), hits_error_ok);
    return hits;
}

static HitsError compute(Hits *hits, LinkList *list)
{
    return hits_compute(hits, list, link_list_next, link_list_reset);
}

static double hub(const Hits *hits, size_t page)
{
    float old = 0;
    float new = 0;
    CU_ASSERT_EQUAL(hits_get_hub(hits, page, &old, &new), hits_error_ok);
    return (double)new;
}

static double authority(const Hits *hits, size_t page)
{
    float old = 0;
    float new = 0;
    CU_ASSERT_EQUAL(hits_get_authority(hits, page, &old, &new), hits_error_ok);
    return (double)new;
}

static void add_ring(LinkList *list)
{
    for (int64_t i = 0; i < 4; i++) {
        link_list_add(list, i, (i + 1) % 4);
        link_list_add(list, i, 4);
    }
}

/* As documented: both from the last round's values, scaled to sum 1; until nothing moves. With jump
 * above 0 links share what a page gives, and everybody who has any gets jump. */
static void reference(const LinkList *list, size_t n, const float *scores, double jump, double *h,
                      double *a)
{
    double *next[2] = {malloc(n * sizeof(double)), malloc(n * sizeof(double))};
    double *degree[2] = {calloc(n, sizeof(double)), calloc(n, sizeof(double))};
    double n_with[2] = {0, 0};
    double *now[2] = {h, a};
    for (size_t i = 0; i < list->n; i++) {
        n_with[0] += degree[0][list->links[i].from]++ == 0.0;
        n_with[1] += degree[1][list->links[i].to]++ == 0.0;
    }
    for (size_t i = 0; i < n; i++) {
        h[i] = a[i] = 1.0 / (double)n;
    }
    for (int loop = 0; loop < 3000; loop++) {
        memset(next[0], 0, n * sizeof(double));
        memset(next[1], 0, n * sizeof(double));
        for (size_t i = 0; i < list->n; i++) {
            Link l = list->links[i];
            double score = scores == NULL ? 1.0 : (double)scores[l.to];
            next[0][l.from] += a[l.to] * score / (jump > 0.0 ? degree[1][l.to] : 1.0);
            next[1][l.to] += h[l.from] / (jump > 0.0 ? degree[0][l.from] : 1.0);
        }
        for (size_t k = 0; k < 2; k++) {
            double sum = 0;
            for (size_t i = 0; i < n; i++) {
                sum += next[k][i];
            }
            for (size_t i = 0; i < n; i++) {
                double anybody = degree[k][i] > 0.0 ? jump / n_with[k] : 0.0;
                now[k][i] = (1.0 - jump) * next[k][i] / sum + anybody;
            }
        }
    }
    for (size_t k = 0; k < 2; k++) {
        free(next[k]);
        free(degree[k]);
    }
}

/* The largest error in units of the score, or of a millionth of the largest score: what lies below
 * that has faded. */
static double worst(const Hits *hits, const double *h, const double *a, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double error_h =
            fabs(hub(hits, i) - h[i]) / (h[i] > 0.01 / (double)n ? h[i] : 0.01 / (double)n);
        double error_a =
            fabs(authority(hits, i) - a[i]) / (a[i] > 0.01 / (double)n ? a[i] : 0.01 / (double)n);
        largest = error_h > largest ? error_h : largest;
        largest = error_a > largest ? error_a : largest;
    }
    return largest;
}

static void a_ring_with_a_sink_has_its_known_scores(void)
{
    char dir[FOLDER_BYTES];
    LinkList ring = {0};
    add_ring(&ring);
    Hits *hits = make(dir, 5);
    hits->precision = 1e-8f;
    CU_ASSERT_EQUAL(compute(hits, &ring), hits_error_ok);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_DOUBLE_EQUAL(hub(hits, i), 0.25, 1e-7);
        CU_ASSERT_DOUBLE_EQUAL(authority(hits, i), 0.125, 1e-7);
    }
    CU_ASSERT_EQUAL(hub(hits, 4), 0.0);
    CU_ASSERT_DOUBLE_EQUAL(authority(hits, 4), 0.5, 1e-7);
    CU_ASSERT_EQUAL(hits_delete(hits), hits_error_ok);
    free(ring.links);
    CU_ASSERT_EQUAL(rmdir(dir), 0);
}

static void random_graphs_agree_with_plain_doubles(void)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        char dir[FOLDER_BYTES];
        const size_t n = 300 * seed;
        LinkList list = {0};
        link_list_random(&list, n, seed, seed % 2 == 0);
        Hits *hits = make(dir, 1);
        hits->precision = 1e-8f;
        hits->max_loops = 0;
        CU_ASSERT_EQUAL(hits_set_n_pages(hits, n), hits_error_ok);
        CU_ASSERT_EQUAL(compute(hits, &list), hits_error_ok);
        double *h = malloc(n * sizeof *h);
        double *a = malloc(n * sizeof *a);
        reference(&list, n, NULL, 0.0, h, a);
        CU_ASSERT(worst(hits, h, a, n) < 1e-6);
        MMapArray *scores = NULL;
        (void)mmap_array_new(&scores, NULL, n, sizeof(float));
        float *values = (float *)(void *)scores->mem;
        for (size_t i = 0; i < n; i++) {
            values[i] = (float)(hash_mix(i + seed) % 100) / 100.0f;
        }
        hits->scores = scores;
        CU_ASSERT_EQUAL(compute(hits, &list), hits_error_ok);
        reference(&list, n, values, 0.0, h, a);
        CU_ASSERT(worst(hits, h, a, n) < 1e-6);
        memset(values, 0, n * sizeof *values); /* no scores at all are ignored */
        CU_ASSERT_EQUAL(compute(hits, &list), hits_error_ok);
        reference(&list, n, NULL, 0.0, h, a);
        CU_ASSERT(worst(hits, h, a, n) < 1e-6);
        hits->jump = 0.2f;
        hits->scores = NULL;
        CU_ASSERT_EQUAL(compute(hits, &list), hits_error_ok);
        reference(&list, n, NULL, (double)hits->jump, h, a);
        CU_ASSERT(worst(hits, h, a, n) < 1e-6);
        for (size_t i = 0; i < n; i++) {
            values[i] = (float)(hash_mix(i + seed) % 100) / 100.0f;
        }
        hits->scores = scores;
        CU_ASSERT_EQUAL(compute(hits, &list), hits_error_ok);
        reference(&list, n, values, (double)hits->jump, h, a);
        CU_ASSERT(worst(hits, h, a, n) < 1e-6);
        free(h);
        free(a);
        (void)mmap_array_delete(scores);
        (void)hits_delete(hits);
        free(list.links);
        folder_remove(dir);
    }
}

static void pages_with_thousands_of_links_are_right(void)
{
    char dir[FOLDER_BYTES];
    LinkList list = {0};
    const size_t n = LINK_GRAPH_SLICE + 1000;
    atomic_bool stop = false;
    for (int64_t i = 1; i < (int64_t)n; i++) {
        link_list_add(&list, i, 0); /* more than a slice */
        link_list_add(&list, i, 1 + i % 7);
    }
    Hits *hits = make(dir, n);
    hits->precision = 1e-8f;
    hits->max_loops = 0;
    hits->stop = &stop;
    list.stop = &stop;
    list.stops_at = list.n; /* once in vain, to begin with what that leaves */
    CU_ASSERT_EQUAL(compute(hits, &list), hits_error_stopped);
    CU_ASSERT_EQUAL(hits->loops, 0);
    list.stops_at = 0;
    atomic_store(&stop, false);
    CU_ASSERT_EQUAL(compute(hits, &list), hits_error_ok);
    double *h = malloc(n * sizeof *h);
    double *a = malloc(n * sizeof *a);
    reference(&list, n, NULL, 0.0, h, a);
    CU_ASSERT(worst(hits, h, a, n) < 1e-6);
    free(h);
    free(a);
    (void)hits_delete(hits);
    free(list.links);
    folder_remove(dir);
}

static void a_faded_community_can_come_back(void)
{
    char dir[FOLDER_BYTES];
    LinkList list = {0};
    Hits *hits = make(dir, 4);
    for (int64_t i = 0; i < 6; i++) { /* six pages point to 20; three others to 30 */
        link_list_add(&list, i, 20);
        if (i < 3) {
            link_list_add(&list, 10 + i, 30);
        }
    }
    CU_ASSERT_EQUAL(compute(hits, &list), hits_error_ok);
    CU_ASSERT(authority(hits, 20) > 0.999 && authority(hits, 30) < 0.001);
    for (int64_t i = 0; i < 20; i++) {
        link_list_add(&list, 40 + i, 30);
    }
    hits->scores = NULL;
    CU_ASSERT_EQUAL(compute(hits, &list), hits_error_ok);
    CU_ASSERT(authority(hits, 30) > 0.999 && authority(hits, 20) < 0.001);
    float old = 0;
    float new = 0;
    CU_ASSERT_EQUAL(hits_get_authority(hits, 20, &old, &new), hits_error_ok);
    CU_ASSERT_DOUBLE_EQUAL((double)old, (double)new, 1e-3); /* a round earlier */
    CU_ASSERT_EQUAL(hits_get_hub(hits, 0, &old, &new), hits_error_ok);
    CU_ASSERT_DOUBLE_EQUAL((double)old, (double)new, 1e-3);
    (void)hits_delete(hits);
    free(list.links);
    folder_remove(dir);
}

static void a_walk_is_not_caught_by_a_community(void)
{
    char dir[FOLDER_BYTES];
    LinkList list = {0};
    Hits *hits = make(dir, 100);
    float gift = 0;
    CU_ASSERT_EQUAL(hits_get_gift(hits, 0, 1, &gift), hits_error_internal);
    for (int64_t i = 0; i < 5; i++) { /* five pages that all link to one another */
        for (int64_t k = 0; k < 5; k++) {
            link_list_add(&list, i, k);
        }
    }
    for (int64_t i = 10; i < 90; i++) { /* eighty that link to one page and one each of its own */
        link_list_add(&list, i, 9);
        link_list_add(&list, i, 100 + i);
    }
    hits->precision = 1e-7f;
    hits->max_loops = 0;
    CU_ASSERT_EQUAL(compute(hits, &list), hits_error_ok);
    double plain = authority(hits, 100 + 10);
    CU_ASSERT_EQUAL(hits_get_gift(hits, 10, 2, &gift), hits_error_ok);
    CU_ASSERT_DOUBLE_EQUAL((double)gift, plain, 1e-6);
    hits->jump = 0.2f;
    CU_ASSERT_EQUAL(compute(hits, &list), hits_error_ok);
    CU_ASSERT(authority(hits, 9) > 10.0 * authority(hits, 0));
    CU_ASSERT(authority(hits, 0) > authority(hits, 110));
    /* what a link of a hub gives is the authority of a page with no other link */
    CU_ASSERT_EQUAL(hits_get_gift(hits, 10, 2, &gift), hits_error_ok);
    CU_ASSERT_DOUBLE_EQUAL((double)gift / authority(hits, 110), 1.0, 1e-5);
    float of_newcomer = 0;
    CU_ASSERT_EQUAL(hits_get_gift(hits, 5000, 7, &of_newcomer), hits_error_ok);
    CU_ASSERT_DOUBLE_EQUAL((double)of_newcomer, 0.8 / 185.0 + 0.2 / 86.0, 1e-6);
    CU_ASSERT_EQUAL(hits_get_n_ranked(hits), 190);
    for (int i = 0; i < 3; i++) {
        const float bad[] = {-0.1f, 1.0f, NAN};
        hits->jump = bad[i];
        CU_ASSERT_EQUAL(compute(hits, &list), hits_error_internal);
    }
    (void)hits_delete(hits);
    free(list.links);
    folder_remove(dir);
}

static void errors_are_told_and_results_outlive_the_object(void)
{
    char dir[FOLDER_BYTES];
    LinkList ring = {0};
    Hits *hits = make(dir, 5);
    CU_ASSERT_EQUAL(compute(hits, &ring), hits_error_ok); /* no links, no scores */
    add_ring(&ring);
    atomic_bool stop = true;
    hits->stop = &stop;
    CU_ASSERT_EQUAL(compute(hits, &ring), hits_error_stopped);
    hits->stop = NULL;
    ring.fails_at = 2;
    CU_ASSERT_EQUAL(compute(hits, &ring), hits_error_internal);
    ring.fails_at = 0;
    link_list_add(&ring, 0, 2);
    hits->max_loops = 1;
    CU_ASSERT_EQUAL(compute(hits, &ring), hits_error_precision);
    CU_ASSERT_EQUAL(error_code(hits->error), hits_error_precision);
    hits->max_loops = 0;
    hits->precision = 1e-8f;
    CU_ASSERT_EQUAL(compute(hits, &ring), hits_error_ok);
    CU_ASSERT_EQUAL(error_code(hits->error), 0);
    double before = authority(hits, 4);
    float old = 0;
    float new = 0;
    CU_ASSERT_EQUAL(hits_get_hub(hits, 5, &old, &new), hits_error_internal);
    CU_ASSERT_EQUAL(hits_get_authority(hits, 5, &old, &new), hits_error_internal);
    hits_set_persist(hits, 1);
    CU_ASSERT_EQUAL(hits_delete(hits), hits_error_ok);
    CU_ASSERT_EQUAL_FATAL(hits_new(&hits, dir, 1), hits_error_ok);
    CU_ASSERT_EQUAL(hits_set_n_pages(hits, 5), hits_error_ok);
    CU_ASSERT_DOUBLE_EQUAL(authority(hits, 4), before, 0.0);
    CU_ASSERT_EQUAL(hits_delete(hits), hits_error_ok);
    CU_ASSERT_EQUAL(rmdir(dir), 0);
    CU_ASSERT_EQUAL(hits_delete(NULL), hits_error_ok);
    free(ring.links);
}

UNIT_MAIN("hits",
          {"a ring with a sink has its known scores", a_ring_with_a_sink_has_its_known_scores},
          {"random graphs agree with plain doubles", random_graphs_agree_with_plain_doubles},
          {"pages with thousands of links are right", pages_with_thousands_of_links_are_right},
          {"a faded community can come back", a_faded_community_can_come_back},
          {"a walk is not caught by a community", a_walk_is_not_caught_by_a_community},
          {"errors are told and results outlive the object",
           errors_are_told_and_results_outlive_the_object})
