/* The crawl's counters: which class and type an answer is of, and how long the writer has worked.
 */
#include <stdlib.h>

#include "page/stats.h"
#include "unit.h"

static void a_status_has_a_class(void)
{
    static const struct {
        int status;
        unsigned class;
    } cases[] = {{100, 1}, {199, 1}, {200, 2}, {299, 2}, {304, 3}, {404, 4},       {599, 5},
                 {600, 0}, {99, 0},  {0, 0},   {-1, 0},  {999, 0}, {INT32_MAX, 0}, {INT32_MIN, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_EQUAL(stats_status_class(cases[i].status), cases[i].class);
    }
}

static void a_media_type_has_a_kind(void)
{
    static const struct {
        const char *mime;
        StatsType type;
    } cases[] = {{"text/html", STATS_HTML},  {"application/xhtml+xml", STATS_HTML},
                 {"text/plain", STATS_TEXT}, {"text/htmlx", STATS_TEXT},
                 {"text/", STATS_TEXT},      {"text", STATS_OTHER},
                 {"image/png", STATS_IMAGE}, {"image", STATS_OTHER},
                 {"", STATS_OTHER},          {"application/pdf", STATS_OTHER},
                 {"\xff", STATS_OTHER},      {"x-text/html", STATS_OTHER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_EQUAL(stats_type(cases[i].mime), cases[i].type);
    }
}

static void an_open_transaction_counts_until_now(void)
{
    Stats *stats = calloc(1, sizeof *stats);
    CU_ASSERT_PTR_NOT_NULL_FATAL(stats);
    stats_set(&stats->writer_busy_us, 70);
    CU_ASSERT_EQUAL(stats_writer_busy_us(stats, (MonoTime){.ns = 9000000}), 70);
    stats_set(&stats->writer_since_ns, 4000000);
    CU_ASSERT_EQUAL(stats_writer_busy_us(stats, (MonoTime){.ns = 9000000}), 5070);
    CU_ASSERT_EQUAL(stats_writer_busy_us(stats, (MonoTime){.ns = 4000999}), 70);
    CU_ASSERT_EQUAL(stats_writer_busy_us(stats, (MonoTime){.ns = 3000000}), 70); /* an older now */
    free(stats);
}

static void answers_are_as_they_were_counted(void)
{
    Stats *stats = calloc(1, sizeof *stats);
    CU_ASSERT_PTR_NOT_NULL_FATAL(stats);
    StatsAnswers none = stats_answers(stats);
    for (size_t i = 0; i < STATS_TYPES; i++) {
        CU_ASSERT_EQUAL(none.types[i], 0);
        stats_add(&stats->types[i], i + 1);
        stats_add(&stats->types[i], UINT64_MAX); /* one less */
    }
    StatsAnswers some = stats_answers(stats);
    for (size_t i = 0; i < STATS_TYPES; i++) {
        CU_ASSERT_EQUAL(some.types[i], i);
    }
    free(stats);
}

UNIT_MAIN("stats", {"a status has a class", a_status_has_a_class},
          {"a media type has a kind", a_media_type_has_a_kind},
          {"an open transaction counts until now", an_open_transaction_counts_until_now},
          {"answers are as they were counted", answers_are_as_they_were_counted})
