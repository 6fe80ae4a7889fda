/* What scorers read of a PageDB, and the page whose links they look at. */
#include <string.h>

#include "page_db_fixture.h"
#include "store/rank/rank_vector.h"
#include "store/scorers/score_input.h"

static PageDB *graph_of_three(void)
{
    PageDB *db = page_db_fixture_open("score-input");
    static const char *const urls[] = {"http://a.example/", "http://b.example/"};
    for (size_t i = 0; i < 2; i++) {
        CrawledPage *page = page_db_fixture_page(urls[i], 1, 0.25F * (float)(i + 1), i);
        CU_ASSERT_EQUAL(crawled_page_add_link(page, "http://c.example/", 0.5F), 0);
        CU_ASSERT_EQUAL(crawled_page_add_link(page, "http://a.example/x", 0.5F), 0);
        CU_ASSERT_EQUAL(page_db_add(db, page, NULL), page_db_error_ok);
        crawled_page_delete(page);
    }
    return db;
}

static void graph_and_scores_are_read_and_let_go(void)
{
    PageDB *db = graph_of_three();
    atomic_bool stop = false;
    ScoreInput input = {.graph = NULL};
    CU_ASSERT_EQUAL(score_input_read(&input, db, false, false, &stop), RANK_OK);
    CU_ASSERT_PTR_NOT_NULL(input.graph);
    CU_ASSERT_PTR_NULL(input.scores);
    score_input_free(&input);
    CU_ASSERT_EQUAL(score_input_read(&input, db, true, true, &stop), RANK_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(input.scores);
    CU_ASSERT_NOT_EQUAL(access(input.scores->path, F_OK), 0); /* the file has no name any more */
    score_input_free(&input);
    CU_ASSERT_TRUE(input.graph == NULL && input.scores == NULL);
    score_input_free(&input);
    atomic_store(&stop, true);
    int code = score_input_read(&input, db, true, false, &stop);
    CU_ASSERT_EQUAL(code, RANK_STOPPED);
    score_input_free(&input);
    page_db_delete(db);
}

static void a_code_becomes_words_for_the_error(void)
{
    Error *error = error_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_EQUAL(score_input_end(error, RANK_OK, "hits"), RANK_OK);
    CU_ASSERT_EQUAL(error_code(error), 0);
    CU_ASSERT_EQUAL(score_input_end(error, RANK_STOPPED, "hits"), RANK_INTERNAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(error_message(error), "hits"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error_message(error), "stopped"));
    error_delete(error);
}

static void the_page_that_was_looked_up_last_is_remembered(void)
{
    PageDB *db = graph_of_three();
    ScoreParent parent;
    score_parent_init(&parent);
    uint64_t a = page_db_hash("http://a.example/");
    uint64_t b = page_db_hash("http://b.example/");
    uint64_t index_a = score_parent_find(&parent, db, a);
    uint64_t index_b = score_parent_find(&parent, db, b);
    CU_ASSERT_TRUE(index_a != UINT64_MAX && index_b != UINT64_MAX && index_a != index_b);
    CU_ASSERT_EQUAL(score_parent_find(&parent, db, b), index_b); /* of memory */
    CU_ASSERT_EQUAL(score_parent_find(&parent, db, a), index_a);
    CU_ASSERT_EQUAL(score_parent_find(&parent, db, 0), UINT64_MAX);
    CU_ASSERT_EQUAL(score_parent_find(&parent, db, a + 1), UINT64_MAX);
    CU_ASSERT_EQUAL(score_parent_find(&parent, db, a), index_a); /* a miss forgets nothing */
    score_parent_destroy(&parent);
    page_db_delete(db);
}

UNIT_MAIN("score_input",
          {"graph and scores are read and let go", graph_and_scores_are_read_and_let_go},
          {"a code becomes words for the error", a_code_becomes_words_for_the_error},
          {"the page that was looked up last is remembered",
           the_page_that_was_looked_up_last_is_remembered})
