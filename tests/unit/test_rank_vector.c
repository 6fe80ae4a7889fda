/* What PageRank and HITS share: arrays in files, their order, what readers see of them, and what is
 * said of failures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "folder_fixture.h"
#include "store/rank/rank_vector.h"

#define PAGES 9000u /* more than are published at once */
#define WHO   "test"

static MMapArray *anonymous(size_t n)
{
    MMapArray *vector = NULL;
    char *path = NULL;
    CU_ASSERT_EQUAL_FATAL(rank_vector_open(&vector, &path, NULL, "x", n), RESULT_OK);
    CU_ASSERT_PTR_NULL(path);
    return vector;
}

static void a_file_gives_its_content_and_what_is_behind_it_is_zero(void)
{
    char dir[FOLDER_BYTES];
    folder_make(dir);
    static const size_t sizes[] = {3, 10, 2}; /* each time it is opened: at least so many */
    for (size_t i = 0; i < 3; i++) {
        MMapArray *vector = NULL;
        char *path = NULL;
        CU_ASSERT_EQUAL_FATAL(rank_vector_open(&vector, &path, dir, "scores", sizes[i]), RESULT_OK);
        size_t known = i == 0 ? 0 : sizes[i - 1];
        CU_ASSERT_TRUE(vector->n_elements >= sizes[i] && vector->n_elements >= known);
        for (size_t k = 0; k < vector->n_elements; k++) {
            float value = rank_vector_floats(vector)[k];
            CU_ASSERT_EQUAL(value, k < known ? (float)(k + 1) : 0.0f);
            rank_vector_floats(vector)[k] = (float)(k + 1);
        }
        CU_ASSERT_EQUAL(rank_vector_reserve(vector, 1), RESULT_OK); /* never shrinks */
        CU_ASSERT_TRUE(vector->n_elements >= sizes[i]);
        CU_ASSERT_EQUAL(access(path, F_OK), 0);
        CU_ASSERT_TRUE(rank_vector_close(vector, i < 2));
        CU_ASSERT_EQUAL(access(path, F_OK) == 0, i < 2);
        free(path);
    }
    MMapArray *none = NULL;
    char *path = NULL;
    CU_ASSERT_EQUAL(rank_vector_open(&none, &path, "/nowhere/at/all", "x", 1), RESULT_IO);
    CU_ASSERT_PTR_NULL(none);
    free(path);
    CU_ASSERT_TRUE(rank_vector_close(NULL, 1));
    folder_remove(dir);
}

static void values_are_arranged_without_what_is_none(void)
{
    static const float bad[] = {NAN, HUGE_VALF, -HUGE_VALF, -1.0f, -0.0f};
    uint32_t page_at[] = {7, 0, 3, 5, 1, 2, 4, 6, 1u << 28};
    LinkGraph graph = {.n_pages = 9, .page_at = page_at};
    MMapArray *vector = anonymous(7); /* two pages are behind its end */
    double *out = NULL;
    double total = -1;
    float *values = rank_vector_floats(vector);
    CU_ASSERT_EQUAL(vector->n_elements, 7);
    memcpy(values, bad, sizeof bad);
    CU_ASSERT_EQUAL(rank_vector_arrange(vector, &graph, &out, &total), RESULT_OK);
    CU_ASSERT_TRUE(out == NULL && total == 0);
    values[5] = 0.25f;
    values[6] = 4.0f;
    CU_ASSERT_EQUAL(rank_vector_arrange(vector, &graph, &out, &total), RESULT_OK);
    CU_ASSERT_EQUAL(total, 4.25);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    for (size_t p = 0; p < 9; p++) {
        CU_ASSERT_EQUAL(out[p], (p == 3) * 0.25 + (p == 7) * 4.0);
    }
    rank_vector_scale(out, 4, 8);
    CU_ASSERT_TRUE(out[3] == 2 && out[7] == 4); /* the first four only */
    free(out);
    CU_ASSERT_TRUE(rank_vector_close(vector, 0));
}

static void readers_see_what_was_published_and_no_page_behind_the_end(void)
{
    static double values[PAGES];
    static float before[PAGES];
    static uint32_t page_of[PAGES];
    Mutex mutex;
    Error *error = error_new();
    MMapArray *vectors[] = {anonymous(1), anonymous(1)};
    size_t n_pages = 0;
    float old = 9;
    float new = 9;
    mutex_init(&mutex, RANK_SCORER);
    CU_ASSERT_EQUAL(rank_get(&mutex, 0, vectors[0], vectors[1], 0, &old, &new, error, WHO),
                    RANK_INTERNAL);
    CU_ASSERT_TRUE(old == 0 && new == 0 && error_message(error) != NULL);
    CU_ASSERT_EQUAL(rank_reserve(&mutex, vectors, 2, PAGES, &n_pages, error, WHO), RANK_OK);
    CU_ASSERT_EQUAL_FATAL(n_pages, PAGES);
    for (uint32_t i = 0; i < PAGES; i++) {
        page_of[i] = PAGES - 1 - i;
        values[i] = 1.0 + i;
        before[i] = 2.0f * (float)i;
    }
    rank_publish(&mutex, vectors[1], values, vectors[0], before, page_of, PAGES);
    for (uint32_t page = 0; page < PAGES; page++) {
        uint32_t i = PAGES - 1 - page;
        CU_ASSERT_EQUAL(
            rank_get(&mutex, PAGES, vectors[0], vectors[1], page, &old, &new, error, WHO), RANK_OK);
        CU_ASSERT_TRUE(old == before[i] && new == (float)values[i]);
    }
    CU_ASSERT_EQUAL(rank_get(&mutex, PAGES, vectors[0], vectors[1], PAGES, &old, &new, error, WHO),
                    RANK_INTERNAL);
    CU_ASSERT_EQUAL(rank_get(&mutex, PAGES, vectors[0], vectors[1], 1, NULL, &new, error, WHO),
                    RANK_INTERNAL);
    rank_clear(&mutex, vectors[1], PAGES - 1);
    for (uint32_t page = 0; page < PAGES; page++) {
        CU_ASSERT_EQUAL(rank_vector_floats(vectors[1])[page], page < PAGES - 1 ? 0.0f : 1.0f);
    }
    CU_ASSERT_TRUE(rank_vector_close(vectors[0], 0) && rank_vector_close(vectors[1], 0));
    mutex_destroy(&mutex);
    error_delete(error);
}

static void failures_are_told_with_who_and_what(void)
{
    Error *error = error_new();
    LinkGraph *graph = NULL;
    CU_ASSERT_EQUAL(rank_read_graph(&graph, 1, NULL, NULL, NULL, NULL, error, WHO), RANK_INTERNAL);
    CU_ASSERT_PTR_NULL(graph);
    CU_ASSERT_EQUAL(strncmp(error_message(error), WHO ": ", strlen(WHO ": ")), 0);
    CU_ASSERT_EQUAL(rank_end(RANK_OK, error, WHO), RANK_OK);
    error_clean(error);
    CU_ASSERT_EQUAL(rank_end(RANK_STOPPED, error, WHO), RANK_STOPPED);
    CU_ASSERT_STRING_EQUAL(error_message(error), WHO ": stopped");
    error_clean(error);
    CU_ASSERT_EQUAL(rank_end(RANK_PRECISION, error, WHO), RANK_PRECISION);
    CU_ASSERT_PTR_NOT_NULL(strstr(error_message(error), "precision"));
    error_delete(error);
}

UNIT_MAIN("rank_vector",
          {"a file gives its content, and what is behind it is zero",
           a_file_gives_its_content_and_what_is_behind_it_is_zero},
          {"values are arranged, without what is none", values_are_arranged_without_what_is_none},
          {"readers see what was published, and no page behind the end",
           readers_see_what_was_published_and_no_page_behind_the_end},
          {"failures are told with who and what", failures_are_told_with_who_and_what})
