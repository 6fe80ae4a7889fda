#include "render/render_table.h"

#include <stdio.h>

#include "store_fixture.h"

/* The pages of one state in their order, as digits. */
static void in_line(RenderTable *table, MDB_txn *txn, RenderJobState state, char *text)
{
    RenderCursor cursor = {.has_begun = false};
    size_t n = 0;
    while (render_table_next(table, txn, state, &cursor) == RESULT_OK) {
        text[n++] = (char)('0' + cursor.page);
    }
    text[n] = '\0';
}

static void what_needs_a_browser_most_comes_first(void)
{
    StoreFixture fixture;
    RenderTable *table = NULL;
    char line[16];
    store_fixture_open(&fixture);
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_EQUAL_FATAL(render_table_open(&table, txn), RESULT_OK);
    in_line(table, txn, RENDER_JOB_WAITING, line);
    CU_ASSERT_STRING_EQUAL(line, "");
    CU_ASSERT_EQUAL(render_table_want(table, txn, 7, 3, 5, 1), RESULT_OK);
    CU_ASSERT_EQUAL(render_table_want(table, txn, 2, 9, 5, 1), RESULT_OK);
    CU_ASSERT_EQUAL(render_table_want(table, txn, 5, 3, 5, 1), RESULT_OK);
    CU_ASSERT_EQUAL(render_table_want(table, txn, 1, 255, 5, 1), RESULT_OK);
    CU_ASSERT_EQUAL(render_table_want(table, txn, 3, 0, 5, 1), RESULT_OK);
    in_line(table, txn, RENDER_JOB_WAITING, line);
    CU_ASSERT_STRING_EQUAL(line, "12573");
    CU_ASSERT_EQUAL(render_table_want(table, txn, 3, 200, 5, 1), RESULT_OK); /* fetched again */
    in_line(table, txn, RENDER_JOB_WAITING, line);
    CU_ASSERT_STRING_EQUAL(line, "13257");
    render_table_close(table);
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

static void a_job_is_in_one_line_at_a_time(void)
{
    StoreFixture fixture;
    RenderTable *table = NULL;
    RenderJob job;
    RenderTotals totals = {.judged = 1};
    const void *stored = NULL;
    uint64_t requisites[2] = {4, UINT64_C(1) << 40};
    uint64_t read[2];
    char line[16];
    store_fixture_open(&fixture);
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_EQUAL_FATAL(render_table_open(&table, txn), RESULT_OK);
    CU_ASSERT_EQUAL(render_table_get(table, txn, 6, &job, NULL), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(render_table_want(table, txn, 6, 4, 5, 77), RESULT_OK);
    CU_ASSERT_EQUAL(render_table_get(table, txn, 6, &job, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(job.pattern, 77);
    CU_ASSERT_EQUAL(job.signs, 5);
    job.state = RENDER_JOB_LACKING;
    job.rounds = 1;
    job.n_requisites = 2;
    CU_ASSERT_EQUAL(render_table_put(table, txn, 6, &job, requisites), RESULT_OK);
    in_line(table, txn, RENDER_JOB_WAITING, line);
    CU_ASSERT_STRING_EQUAL(line, "");
    in_line(table, txn, RENDER_JOB_LACKING, line);
    CU_ASSERT_STRING_EQUAL(line, "6");
    CU_ASSERT_EQUAL_FATAL(render_table_get(table, txn, 6, &job, &stored), RESULT_OK);
    memcpy(read, stored, sizeof read);
    CU_ASSERT_EQUAL(read[1], requisites[1]);
    job.state = RENDER_JOB_DONE;
    job.n_requisites = 0;
    job.links = 12;
    CU_ASSERT_EQUAL(render_table_put(table, txn, 6, &job, NULL), RESULT_OK);
    in_line(table, txn, RENDER_JOB_LACKING, line);
    CU_ASSERT_STRING_EQUAL(line, "");
    CU_ASSERT_EQUAL(render_table_set_totals(table, txn, &totals), RESULT_OK);
    CU_ASSERT_EQUAL(render_table_totals(table, txn, &totals), RESULT_OK);
    CU_ASSERT_EQUAL(totals.jobs[RENDER_JOB_DONE], 1); /* which the table counts itself */
    CU_ASSERT_EQUAL(totals.jobs[RENDER_JOB_WAITING] + totals.jobs[RENDER_JOB_LACKING], 0);
    CU_ASSERT_EQUAL(totals.judged, 1);
    CU_ASSERT_EQUAL(totals.links, 12);
    CU_ASSERT_EQUAL(render_table_want(table, txn, 6, 4, 5, 77), RESULT_OK); /* once more */
    CU_ASSERT_EQUAL(render_table_totals(table, txn, &totals), RESULT_OK);
    CU_ASSERT_EQUAL(totals.links, 0);
    CU_ASSERT_EQUAL(render_table_put(table, txn, 6, &job, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(render_table_totals(table, txn, &totals), RESULT_OK);
    CU_ASSERT_EQUAL(totals.links, 12);
    render_table_close(table);
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

static void what_was_learned_is_kept_by_pattern(void)
{
    StoreFixture fixture;
    RenderTable *table = NULL;
    RenderLesson lesson = {.rendered = 3, .fruitful = 1};
    store_fixture_open(&fixture);
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_EQUAL_FATAL(render_table_open(&table, txn), RESULT_OK);
    CU_ASSERT_EQUAL(render_table_learn(table, txn, 9, &lesson), RESULT_OK);
    CU_ASSERT_EQUAL(render_table_lesson(table, txn, 8, &lesson), RESULT_OK);
    CU_ASSERT_EQUAL(lesson.rendered, 0);
    CU_ASSERT_EQUAL(render_table_lesson(table, txn, 9, &lesson), RESULT_OK);
    CU_ASSERT_EQUAL(lesson.rendered, 3);
    render_table_close(table);
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

static bool is_idle(RenderTable *table, MDB_txn *txn, const char *url, uint64_t page)
{
    bool idle = false;
    CU_ASSERT_EQUAL(render_query_is_idle(table, txn, url, page, &idle), RESULT_OK);
    return idle;
}

/* A page of RENDER_LESSONS and more that is no probe. */
static uint64_t no_probe(void)
{
    static const RenderLesson dull = {.rendered = RENDER_LESSONS};
    uint64_t page = 1;
    while (!render_lesson_is_dull(&dull, page)) {
        page++;
    }
    return page;
}

static void queries_that_show_the_same_are_known(void)
{
    StoreFixture fixture;
    RenderTable *table = NULL;
    char url[64];
    store_fixture_open(&fixture);
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_EQUAL_FATAL(render_table_open(&table, txn), RESULT_OK);
    for (unsigned i = 0; i < RENDER_LESSONS; i++) {
        (void)snprintf(url, sizeof url, "http://h/doc%u", i);
        CU_ASSERT_EQUAL(render_query_learn(table, txn, url, i), RESULT_OK);
        CU_ASSERT_FALSE(is_idle(table, txn, "http://h/doc0?id=z", no_probe()));
        (void)snprintf(url, sizeof url, "http://h/doc%u?id=%u", i, i);
        CU_ASSERT_EQUAL(render_query_learn(table, txn, url, i), RESULT_OK);
        (void)snprintf(url, sizeof url, "http://h/list?page=%u", i);
        CU_ASSERT_EQUAL(render_query_learn(table, txn, url, i), RESULT_OK);
    }
    CU_ASSERT_TRUE(is_idle(table, txn, "http://h/doc0?id=z", no_probe()));
    CU_ASSERT_FALSE(is_idle(table, txn, "http://h/doc0", no_probe()));          /* no query */
    CU_ASSERT_FALSE(is_idle(table, txn, "http://h/doc99?id=z", no_probe()));    /* no document */
    CU_ASSERT_FALSE(is_idle(table, txn, "http://h/doc0?id=z&q=1", no_probe())); /* other names */
    CU_ASSERT_FALSE(is_idle(table, txn, "http://h/list?page=99", no_probe()));  /* another text */
    CU_ASSERT_EQUAL(render_query_learn(table, txn, "http://h/doc1?id=9", 77), RESULT_OK);
    CU_ASSERT_FALSE(is_idle(table, txn, "http://h/doc0?id=z", no_probe()));
    render_table_close(table);
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

UNIT_MAIN("render_table",
          {"queries that show the same are known", queries_that_show_the_same_are_known},
          {"what needs a browser most comes first", what_needs_a_browser_most_comes_first},
          {"a job is in one line at a time", a_job_is_in_one_line_at_a_time},
          {"what was learned is kept by pattern", what_was_learned_is_kept_by_pattern})
