#include <stdlib.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "frontier/sieve/sieve_edges.h"
#include "folder_fixture.h"
#include "unit.h"

/* As many edges as need memory, then a file, then a longer one. */
#define PAGES 6200u
#define LINKS 200u

static uint64_t target_of(uint64_t page, unsigned link, unsigned number)
{
    return hash_mix(page << 20 | link << 4 | number) >> 20;
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* Every page is there once, in order, with the links of its last crawl. */
static void check_lists(const SieveEdges *edges, size_t longest, size_t lost_page)
{
    size_t position = 0, wrong = 0, pages = 0;
    SieveList list = {.targets = calloc(longest, sizeof(uint64_t))};
    CU_ASSERT_PTR_NOT_NULL_FATAL(list.targets);
    for (; sieve_edges_next(edges, &position, &list); pages++) {
        unsigned number = pages % 3 == 0 ? 2 : 1;
        uint64_t expected[LINKS];
        for (unsigned i = 0; i < LINKS; i++) {
            expected[i] = target_of(pages, i, number);
        }
        qsort(expected, LINKS, sizeof *expected, compare);
        bool lost = pages == lost_page;
        wrong += list.page != pages || list.n != LINKS - lost || list.n_diff != list.n ||
                 list.kinds || list.whole == lost;
        for (size_t i = 0; !lost && i < list.n && i < LINKS; i++) {
            wrong += list.targets[i] != expected[i];
        }
    }
    CU_ASSERT_EQUAL(pages, PAGES);
    CU_ASSERT_EQUAL(wrong, 0);
    free(list.targets);
}

/* In the smallest steps there are; in how many. */
static size_t sort(SieveEdges *edges, size_t *longest)
{
    SieveSort sort;
    size_t steps = 1;
    CU_ASSERT_EQUAL_FATAL(sieve_sort_begin(&sort, edges), RESULT_OK);
    while (!sieve_sort_step(&sort, edges, (MonoTime){0})) {
        steps++;
    }
    *longest = sort.longest;
    sieve_sort_end(&sort);
    return steps;
}

static void more_than_memory_may_hold_goes_to_a_file(void)
{
    char path[FOLDER_BYTES];
    folder_make(path);
    SieveEdges edges;
    sieve_edges_init(&edges, path);
    size_t failed = 0, lost_page = PAGES / 2;
    /* Link by link, so that no page's edges are together. */
    for (unsigned i = 0; i < LINKS; i++) {
        for (uint64_t page = 0; page < PAGES; page++) {
            unsigned crawls = page % 3 == 0 && i % 50 == 0 ? 2 : 1;
            for (unsigned k = 0; k < crawls; k++) {
                unsigned number = page % 3 == 0 ? 2 - k : 1;
                failed += (page != lost_page || i > 0) &&
                          sieve_edges_add(&edges, page, number, true, target_of(page, i, number),
                                          0) != RESULT_OK;
            }
        }
        CU_ASSERT_EQUAL(edges.fd >= 0, edges.n > 1 << 17);
    }
    for (uint64_t page = 0; page < PAGES; page++) {
        failed += sieve_edges_add_count(&edges, page, page % 3 == 0 ? 2 : 1, LINKS) != RESULT_OK;
    }
    CU_ASSERT_EQUAL(failed, 0);
    CU_ASSERT_TRUE(edges.n > (1 << 17) + (1 << 20)); /* the file had to grow */
    size_t longest = 0;
    CU_ASSERT_TRUE(sort(&edges, &longest) > 100);
    CU_ASSERT_EQUAL(longest, LINKS + LINKS / 50 + 1); /* links of two crawls, and a count */
    check_lists(&edges, longest, lost_page);
    sieve_edges_destroy(&edges);
    CU_ASSERT_EQUAL(rmdir(path), 0); /* nothing was left in it */
}

static void without_a_directory_what_was_there_stays(void)
{
    SieveEdges edges;
    sieve_edges_init(&edges, "/nonexistent/folder");
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && edges.n < 1 << 18) {
        rc = sieve_edges_add(&edges, 1, 1, false, edges.n, 0);
    }
    CU_ASSERT_NOT_EQUAL(rc, RESULT_OK);
    CU_ASSERT_EQUAL(edges.n, 1 << 17);
    CU_ASSERT_EQUAL(edges.edges[0].from, edges.edges[edges.n - 1].from);
    size_t longest = 0;
    (void)sort(&edges, &longest);
    CU_ASSERT_EQUAL(longest, edges.n);
    sieve_edges_destroy(&edges);
}

static void what_is_begun_may_be_given_up(void)
{
    SieveEdges edges;
    SieveSort sort;
    sieve_edges_init(&edges, "/nonexistent/folder");
    for (uint64_t i = 0; i < 1 << 16; i++) {
        CU_ASSERT_EQUAL(sieve_edges_add(&edges, hash_mix(i) >> 40, 1, true, i, 0), RESULT_OK);
    }
    for (unsigned steps = 0; steps < 30; steps++) {
        CU_ASSERT_EQUAL_FATAL(sieve_sort_begin(&sort, &edges), RESULT_OK);
        bool done = false;
        for (unsigned i = 0; i < steps && !done; i++) {
            done = sieve_sort_step(&sort, &edges, (MonoTime){0});
        }
        sieve_sort_end(&sort);
        CU_ASSERT_EQUAL(edges.n, 1 << 16);
    }
    sieve_edges_destroy(&edges);
}

UNIT_MAIN("sieve_edges",
          {"more than memory may hold goes to a file", more_than_memory_may_hold_goes_to_a_file},
          {"without a directory what was there stays", without_a_directory_what_was_there_stays},
          {"what is begun may be given up", what_is_begun_may_be_given_up})
