#include "render/render_series.h"

#include <stdio.h>

#include "unit.h"

static RenderSeries series;

static void make(const char *const *answered)
{
    render_series_clear(&series);
    for (; *answered != NULL; answered++) {
        render_series_note(&series, *answered);
    }
}

static void check(const char *lacking, unsigned most, const char *expected)
{
    Buffer list;
    Buffer out;
    buffer_init(&list, BUFFER_NO_LIMIT);
    buffer_init(&out, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(buffer_append_string(&list, lacking), RESULT_OK);
    unsigned n = render_series_ahead(&series, &list, most, &out);
    unsigned lines = 0;
    for (const char *c = buffer_string(&out); *c != '\0'; c++) {
        lines += *c == '\n';
    }
    CU_ASSERT_EQUAL(n, lines);
    CU_ASSERT_STRING_EQUAL(buffer_string(&out), expected);
    buffer_destroy(&list);
    buffer_destroy(&out);
}

static void what_follows_from_the_first_two_parts_is_fetched_ahead(void)
{
    make((const char *const[]){"http://a.test/api/1.json", NULL});
    check("http://a.test/api/2.json\n", 3,
          "http://a.test/api/3.json\nhttp://a.test/api/4.json\nhttp://a.test/api/5.json\n");
    check("http://a.test/api/2.json\n", 0, "");
}

static void steps_and_widths_are_kept(void)
{
    make((const char *const[]){"http://a.test/list?at=20&size=20", "http://a.test/p009", NULL});
    check("http://a.test/list?at=40&size=20\n", 2,
          "http://a.test/list?at=60&size=20\nhttp://a.test/list?at=80&size=20\n");
    check("http://a.test/p010\n", 1, "http://a.test/p011\n");
}

static void of_several_answers_the_nearest_one_says_the_step(void)
{
    make((const char *const[]){"http://a.test/1", "http://a.test/2", "http://a.test/3", NULL});
    check("http://a.test/4\n", 1, "http://a.test/5\n");
}

static void what_is_asked_for_at_once_is_no_series(void)
{
    make((const char *const[]){"http://a.test/thumb/1", NULL});
    check("http://a.test/thumb/2\nhttp://a.test/thumb/3\n", 9, "");
}

static void nothing_follows_from_what_has_no_first_part(void)
{
    make((const char *const[]){"http://a.test/b/7", "http://a1.test/9", NULL});
    check("http://a.test/c/8\n", 9, "");
    check("http://a2.test/9\n", 9, "");                     /* numbers of hosts are names */
    check("http://a.test/b/6\n", 9, "");                    /* it goes down */
    check("http://a.test/b/1234567890123\n", 9, "");        /* an identifier */
    check("http://a.test/b/8\n", 1, "http://a.test/b/9\n"); /* but so it goes on */
}

static void what_is_remembered_is_bounded(void)
{
    char url[64];
    render_series_clear(&series);
    for (unsigned i = 0; i < 4 * RENDER_SERIES; i++) {
        (void)snprintf(url, sizeof url, "http://a.test/%u/x", i);
        render_series_note(&series, url);
    }
    CU_ASSERT_EQUAL(series.n, RENDER_SERIES);
}

UNIT_MAIN("render_series",
          {"what follows from the first two parts is fetched ahead",
           what_follows_from_the_first_two_parts_is_fetched_ahead},
          {"steps and widths are kept", steps_and_widths_are_kept},
          {"of several answers the nearest one says the step",
           of_several_answers_the_nearest_one_says_the_step},
          {"what is asked for at once is no series", what_is_asked_for_at_once_is_no_series},
          {"nothing follows from what has no first part",
           nothing_follows_from_what_has_no_first_part},
          {"what is remembered is bounded", what_is_remembered_is_bounded})
