#include "render/render_forms.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

/* What the requisite of one page says of another; NULL: nothing follows. */
static const char *told(const char *page, const char *requisite, const char *other)
{
    static char text[1024];
    Buffer form;
    Buffer filled;
    buffer_init(&form, 4096);
    buffer_init(&filled, 4096);
    const char *found = NULL;
    if (render_form_of(page, requisite, &form)) {
        RenderForm read = {.text = form.data, .length = form.length};
        if (render_form_fill(&read, other, &filled)) {
            (void)snprintf(text, sizeof text, "%s", buffer_string(&filled));
            found = text;
        }
    }
    buffer_destroy(&form);
    buffer_destroy(&filled);
    return found;
}

static void what_follows_from_the_url_is_told(void)
{
    static const char *const rows[][4] = {
        {"http://h/item/17", "http://h/api/17.json", "http://h/item/4", "http://h/api/4.json"},
        {"http://h/doc12", "http://h/doc12.md", "http://h/doc3", "http://h/doc3.md"},
        {"http://h/item-17.html", "http://a.h/api?id=17&x=1", "http://h/item-4.html",
         "http://a.h/api?id=4&x=1"},
        {"http://h/p/my-title", "http://h/_next/data/Build7/p/my-title.json", "http://h/p/other",
         "http://h/_next/data/Build7/p/other.json"},
        {"http://h/?page=3", "http://h/list/3", "http://h/?page=12", "http://h/list/12"},
        {"http://h/a/b", "http://h/a/b?_data=routes", "http://h/a/c", "http://h/a/c?_data=routes"},
        /* 17 is no part of 117, nor "item" of "items" */
        {"http://h/item/17", "http://h/items/117.json", "http://h/item/4", NULL},
        {"http://h/item/17", "http://h/app.js", "http://h/item/4", NULL},
        {"http://h/", "http://h/app.js", "http://h/", NULL},
        /* the other page has no such piece */
        {"http://h/item/17/2", "http://h/api/2", "http://h/item/4", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *found = told(rows[i][0], rows[i][1], rows[i][2]);
        CU_ASSERT(found == NULL ? rows[i][3] == NULL
                                : rows[i][3] != NULL && strcmp(found, rows[i][3]) == 0);
    }
}

/* Whether the first form of a list is believed. */
static bool first_is_good(const Buffer *list)
{
    RenderForm form;
    const char *at = buffer_string(list);
    return render_forms_next(&at, &form) && render_form_is_good(&form);
}

static void a_form_is_believed_for_two_pages_and_unlearned(void)
{
    Buffer list;
    buffer_init(&list, 1 << 20);
    CU_ASSERT_EQUAL(render_forms_note(&list, "never", 5, '-'), RESULT_OK);
    CU_ASSERT_EQUAL(list.length, 0);
    CU_ASSERT_EQUAL(render_forms_note(&list, "a\1A", 3, '+'), RESULT_OK);
    CU_ASSERT_FALSE(first_is_good(&list));
    CU_ASSERT_EQUAL(render_forms_note(&list, "a\1A", 3, '+'), RESULT_OK);
    CU_ASSERT_TRUE(first_is_good(&list));
    CU_ASSERT_EQUAL(render_forms_note(&list, "a\1A", 3, '-'), RESULT_OK);
    CU_ASSERT_FALSE(first_is_good(&list));
    for (int i = 0; i < 1000; i++) {
        CU_ASSERT_EQUAL(render_forms_note(&list, "a\1A", 3, '+'), RESULT_OK);
    }
    CU_ASSERT_TRUE(first_is_good(&list));
    for (int i = 0; i < 60; i++) {
        CU_ASSERT_EQUAL(render_forms_note(&list, "a\1A", 3, '-'), RESULT_OK);
    }
    CU_ASSERT_FALSE(first_is_good(&list)); /* however good it was */
    buffer_destroy(&list);
}

static void no_more_pages_are_out_than_it_was_right_for(void)
{
    Buffer list;
    buffer_init(&list, 1 << 20);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(render_forms_note(&list, "a\1A", 3, '+'), RESULT_OK);
    }
    for (int i = 0; i < 8; i++) {
        CU_ASSERT_TRUE(first_is_good(&list));
        CU_ASSERT_EQUAL(render_forms_note(&list, "a\1A", 3, '?'), RESULT_OK);
    }
    CU_ASSERT_FALSE(first_is_good(&list));
    CU_ASSERT_EQUAL(render_forms_note(&list, "a\1A", 3, '~'), RESULT_OK);
    CU_ASSERT_TRUE(first_is_good(&list));
    buffer_destroy(&list);
}

static void a_list_has_a_bound_and_keeps_what_is_believed(void)
{
    Buffer list;
    RenderForm form;
    char text[64];
    unsigned n = 0;
    buffer_init(&list, 1 << 20);
    CU_ASSERT_EQUAL(render_forms_note(&list, "good", 4, '+'), RESULT_OK);
    CU_ASSERT_EQUAL(render_forms_note(&list, "good", 4, '+'), RESULT_OK);
    for (int i = 0; i < 100; i++) {
        int length = snprintf(text, sizeof text, "junk%d", i);
        CU_ASSERT_EQUAL(render_forms_note(&list, text, (size_t)length, '+'), RESULT_OK);
    }
    const char *at = buffer_string(&list);
    while (render_forms_next(&at, &form)) {
        n++;
    }
    CU_ASSERT_EQUAL(n, RENDER_FORMS);
    CU_ASSERT_TRUE(first_is_good(&list));
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&list), "junk99"));
    buffer_destroy(&list);
}

static void forms_that_differ_in_the_clock_are_one(void)
{
    static const char *const forms[] = {"http://h/\1A?t=1732000000", "http://h/\1A?t=1732999999"};
    Buffer list;
    buffer_init(&list, 4096);
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(render_forms_note(&list, forms[i], strlen(forms[i]), '+'), RESULT_OK);
    }
    CU_ASSERT_TRUE(first_is_good(&list));
    buffer_destroy(&list);
}

static uint64_t shape_of(const char *text)
{
    Url url;
    Buffer scratch;
    uint64_t shape = 0;
    url_init(&url);
    buffer_init(&scratch, 4096);
    CU_ASSERT_EQUAL(url_parse(&url, NULL, text, strlen(text)), RESULT_OK);
    CU_ASSERT_EQUAL(render_forms_shape(&url, &scratch, &shape), RESULT_OK);
    buffer_destroy(&scratch);
    url_destroy(&url);
    return shape;
}

static void pages_that_may_share_forms_have_one_shape(void)
{
    CU_ASSERT_EQUAL(shape_of("http://h/item/17"), shape_of("http://h/item/4"));
    CU_ASSERT_EQUAL(shape_of("http://h/p/my-title"), shape_of("http://h/p/other"));
    CU_ASSERT_NOT_EQUAL(shape_of("http://h/p/other"), shape_of("http://h/q/other"));
    CU_ASSERT_NOT_EQUAL(shape_of("http://h/item/17"), shape_of("http://g/item/17"));
    CU_ASSERT_NOT_EQUAL(shape_of("http://h/item/17"), shape_of("http://h/item/17?a=1"));
}

static RenderSeries series;

static void answer_series(const char *const *answered)
{
    render_series_clear(&series);
    for (; *answered != NULL; answered++) {
        render_series_note(&series, *answered);
    }
}

static void check_series(const char *lacking, unsigned most, const char *expected)
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
    answer_series((const char *const[]){"http://a.test/api/1.json", NULL});
    check_series("http://a.test/api/2.json\n", 3,
                 "http://a.test/api/3.json\nhttp://a.test/api/4.json\nhttp://a.test/api/5.json\n");
    check_series("http://a.test/api/2.json\n", 0, "");
}

static void steps_and_widths_are_kept(void)
{
    answer_series(
        (const char *const[]){"http://a.test/list?at=20&size=20", "http://a.test/p009", NULL});
    check_series("http://a.test/list?at=40&size=20\n", 2,
                 "http://a.test/list?at=60&size=20\nhttp://a.test/list?at=80&size=20\n");
    check_series("http://a.test/p010\n", 1, "http://a.test/p011\n");
}

static void of_several_answers_the_nearest_one_says_the_step(void)
{
    answer_series(
        (const char *const[]){"http://a.test/1", "http://a.test/2", "http://a.test/3", NULL});
    check_series("http://a.test/4\n", 1, "http://a.test/5\n");
}

static void what_is_asked_for_at_once_is_no_series(void)
{
    answer_series((const char *const[]){"http://a.test/thumb/1", NULL});
    check_series("http://a.test/thumb/2\nhttp://a.test/thumb/3\n", 9, "");
}

static void nothing_follows_from_what_has_no_first_part(void)
{
    answer_series((const char *const[]){"http://a.test/b/7", "http://a1.test/9", NULL});
    check_series("http://a.test/c/8\n", 9, "");
    check_series("http://a2.test/9\n", 9, "");                     /* numbers of hosts are names */
    check_series("http://a.test/b/6\n", 9, "");                    /* it goes down */
    check_series("http://a.test/b/1234567890123\n", 9, "");        /* an identifier */
    check_series("http://a.test/b/8\n", 1, "http://a.test/b/9\n"); /* but so it goes on */
}

static void a_series_is_bounded(void)
{
    char url[64];
    render_series_clear(&series);
    for (unsigned i = 0; i < 4 * RENDER_SERIES; i++) {
        (void)snprintf(url, sizeof url, "http://a.test/%u/x", i);
        render_series_note(&series, url);
    }
    CU_ASSERT_EQUAL(series.n, RENDER_SERIES);
}

UNIT_MAIN("render_forms", {"what follows from the URL is told", what_follows_from_the_url_is_told},
          {"a form is believed for two pages, and unlearned",
           a_form_is_believed_for_two_pages_and_unlearned},
          {"no more pages are out than it was right for",
           no_more_pages_are_out_than_it_was_right_for},
          {"a list has a bound and keeps what is believed",
           a_list_has_a_bound_and_keeps_what_is_believed},
          {"forms that differ in the clock are one", forms_that_differ_in_the_clock_are_one},
          {"pages that may share forms have one shape", pages_that_may_share_forms_have_one_shape},
          {"what follows from the first two parts is fetched ahead",
           what_follows_from_the_first_two_parts_is_fetched_ahead},
          {"steps and widths are kept", steps_and_widths_are_kept},
          {"of several answers the nearest one says the step",
           of_several_answers_the_nearest_one_says_the_step},
          {"what is asked for at once is no series", what_is_asked_for_at_once_is_no_series},
          {"nothing follows from what has no first part",
           nothing_follows_from_what_has_no_first_part},
          {"a series is bounded", a_series_is_bounded})
