/* What `ragno top` knows and what its keys mean: rates, the choice, prompts. */
#include <stdlib.h>
#include <string.h>

#include "command/top/top_model.h"
#include "unit.h"

#define SECOND INT64_C(1000000000)

static void status(TopModel *model, int64_t at, unsigned pages, unsigned queue)
{
    char json[128];
    (void)snprintf(json, sizeof json,
                   "{\"pages\": %u, \"urls_queued\": %u, \"err\": 2, \"5xx\": 3}", pages, queue);
    top_model_status(model, json, NULL, (MonoTime){at});
}

static void rates_are_between_two_statuses(void)
{
    TopModel model;
    top_model_init(&model, "d");
    status(&model, SECOND, 100, 7);
    CU_ASSERT_TRUE(model.is_running && model.graphs[TOP_PAGES].n == 0);
    status(&model, SECOND + SECOND / 3, 150, 7); /* a key asked for it: too soon for a rate */
    CU_ASSERT_EQUAL(model.graphs[TOP_PAGES].n, 0);
    status(&model, 3 * SECOND, 300, 9);
    CU_ASSERT_DOUBLE_EQUAL(model.graphs[TOP_PAGES].rate, 100, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(model.graphs[TOP_QUEUE].values[0], 9, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(top_model_total(model.status, TOP_ERRORS), 5, 1e-9);
    CU_ASSERT_EQUAL(top_model_total(NULL, TOP_PAGES), 0);
    status(&model, 4 * SECOND, 10, 9); /* it was started anew */
    CU_ASSERT_EQUAL(model.graphs[TOP_PAGES].rate, 0);
    for (int64_t i = 5; i < 5 + TOP_HISTORY + 3; i++) {
        status(&model, i * SECOND, (unsigned)(10 * i), 9);
    }
    CU_ASSERT_EQUAL(model.graphs[TOP_PAGES].n, TOP_HISTORY);
    top_model_status(&model, NULL, "it does not answer", (MonoTime){200 * SECOND});
    CU_ASSERT_TRUE(!model.is_running && model.graphs[TOP_PAGES].rate == 0);
    CU_ASSERT_STRING_EQUAL(model.trouble, "it does not answer");
    CU_ASSERT_PTR_NOT_NULL(model.status); /* the last one is still shown */
    top_model_destroy(&model);
}

/* A survey of hosts of these numbers, named "h1", ... */
static void survey(TopModel *model, const uint32_t *hosts, size_t n)
{
    SurveyResult result = {.n = n, .rows = n == 0 ? NULL : calloc(n, sizeof *result.rows)};
    for (size_t i = 0; i < n; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "http://h%u", hosts[i]);
        result.rows[i].host = hosts[i];
        result.rows[i].origin = strdup(name);
    }
    top_model_hosts(model, &result, (WallTime){1});
    CU_ASSERT_PTR_NULL(result.rows); /* taken */
}

static void a_host_stays_chosen_and_the_top_stays_the_top(void)
{
    TopModel model;
    top_model_init(&model, "d");
    CU_ASSERT_PTR_NULL(top_model_chosen(&model));
    survey(&model, (const uint32_t[]){5, 6, 7}, 3);
    survey(&model, (const uint32_t[]){7, 5, 6}, 3);
    CU_ASSERT_EQUAL(top_model_chosen(&model)->host, 7); /* who has not moved looks at the top */
    (void)top_input_key(&model, KEY_IS_DOWN, 10);
    CU_ASSERT_EQUAL(top_model_chosen(&model)->host, 5);
    survey(&model, (const uint32_t[]){6, 7, 8, 5}, 4);
    CU_ASSERT_EQUAL(top_model_chosen(&model)->host, 5);
    survey(&model, (const uint32_t[]){6, 7}, 2); /* it is gone */
    CU_ASSERT_EQUAL(model.chosen, 1);
    survey(&model, NULL, 0);
    CU_ASSERT_TRUE(model.chosen == 0 && top_model_chosen(&model) == NULL);
    CU_ASSERT_EQUAL(top_input_key(&model, 'd', 10), WISH_NOTHING);
    CU_ASSERT_STRING_EQUAL(model.message, "no host is chosen");
    top_model_destroy(&model);
}

static void keys_move_within_the_list(void)
{
    static const struct {
        unsigned key;
        size_t at;
    } rows[] = {{KEY_IS_UP, 0},        {KEY_IS_DOWN, 1},    {KEY_IS_PAGE_DOWN, 4},
                {KEY_IS_PAGE_DOWN, 4}, {KEY_IS_PAGE_UP, 1}, {KEY_IS_PAGE_UP, 0},
                {KEY_IS_END, 4},       {KEY_IS_DOWN, 4},    {KEY_IS_UP, 3},
                {KEY_IS_HOME, 0}};
    TopModel model;
    top_model_init(&model, "d");
    survey(&model, (const uint32_t[]){1, 2, 3, 4, 5}, 5);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)top_input_key(&model, rows[i].key, 3);
        CU_ASSERT_EQUAL(model.chosen, rows[i].at);
    }
    SurveyOrder order = model.order;
    for (unsigned i = 0; i < SURVEY_ORDERS; i++) {
        CU_ASSERT_EQUAL(top_input_key(&model, KEY_IS_RIGHT, 3), WISH_LOOK);
    }
    CU_ASSERT_EQUAL(model.order, order);
    (void)top_input_key(&model, KEY_IS_LEFT, 3);
    (void)top_input_key(&model, 'o', 3);
    CU_ASSERT_EQUAL(model.order, order);
    top_model_destroy(&model);
}

static void a_denial_is_asked_for_twice(void)
{
    TopModel model;
    top_model_init(&model, "d");
    survey(&model, (const uint32_t[]){1, 2}, 2);
    static const struct {
        const char *keys;
        TopWish last;
    } rows[] = {{"dy", WISH_DENY},     {"dY", WISH_DENY},       {"dn", WISH_NOTHING},
                {"d\n", WISH_NOTHING}, {"d\x1b", WISH_NOTHING}, {"a", WISH_ALLOW},
                {"v", WISH_VISIT},     {"r", WISH_REVIVE},      {"p", WISH_PAUSE},
                {" ", WISH_LOOK},      {"q", WISH_LEAVE},       {"x", WISH_NOTHING}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        TopWish wish = WISH_NOTHING;
        for (const char *key = rows[i].keys; *key != '\0'; key++) {
            CU_ASSERT_EQUAL(wish, WISH_NOTHING); /* the first key asks alone */
            wish = top_input_key(&model, (unsigned char)*key, 3);
        }
        CU_ASSERT_EQUAL(wish, rows[i].last);
        CU_ASSERT_EQUAL(model.prompt, PROMPT_NONE);
    }
    CU_ASSERT_STRING_EQUAL(model.subject, "http://h1");
    top_model_destroy(&model);
}

static void what_is_typed_is_kept_and_bounded(void)
{
    TopModel model;
    top_model_init(&model, "d");
    survey(&model, (const uint32_t[]){1}, 1);
    (void)top_input_key(&model, '/', 3);
    (void)top_input_key(&model, KEY_IS_BACKSPACE, 3); /* of nothing */
    for (unsigned i = 0; i < 2 * TOP_TEXT_BYTES; i++) {
        (void)top_input_key(&model, 'q', 3); /* a letter like any other here */
    }
    (void)top_input_key(&model, 0xE4, 3);
    CU_ASSERT_EQUAL(strlen(model.input), TOP_TEXT_BYTES - 1);
    (void)top_input_key(&model, KEY_IS_BACKSPACE, 3);
    CU_ASSERT_EQUAL(top_input_key(&model, KEY_IS_ENTER, 3), WISH_LOOK);
    CU_ASSERT_EQUAL(strlen(model.filter), TOP_TEXT_BYTES - 2);
    (void)top_input_key(&model, 's', 3);
    (void)top_input_key(&model, '5', 3);
    CU_ASSERT_EQUAL(top_input_key(&model, '\r', 3), WISH_DELAY);
    CU_ASSERT_STRING_EQUAL(model.input, "5");
    top_model_destroy(&model);
}

static void a_text_is_for_the_screen_that_waits_for_it(void)
{
    TopModel model;
    top_model_init(&model, "d");
    survey(&model, (const uint32_t[]){1}, 1);
    top_model_text(&model, TOP_DETAILS, strdup("late")); /* nobody waits */
    CU_ASSERT_PTR_NULL(model.text);
    CU_ASSERT_EQUAL(top_input_key(&model, KEY_IS_ENTER, 3), WISH_DETAILS);
    top_model_text(&model, TOP_DETAILS, strdup("about h1"));
    CU_ASSERT_STRING_EQUAL(model.text, "about h1");
    (void)top_input_key(&model, KEY_IS_DOWN, 3);
    CU_ASSERT_EQUAL(model.text_first, 1);
    (void)top_input_key(&model, KEY_IS_ESCAPE, 3);
    CU_ASSERT_TRUE(model.screen == TOP_HOSTS && model.subject[0] == '\0');
    (void)top_input_key(&model, '?', 3);
    CU_ASSERT_EQUAL(model.screen, TOP_HELP);
    CU_ASSERT_EQUAL(top_input_key(&model, 'q', 3), WISH_NOTHING); /* back, not out */
    CU_ASSERT_EQUAL(model.screen, TOP_HOSTS);
    top_model_destroy(&model);
}

UNIT_MAIN("top_model", {"rates are between two statuses", rates_are_between_two_statuses},
          {"a host stays chosen and the top stays the top",
           a_host_stays_chosen_and_the_top_stays_the_top},
          {"keys move within the list", keys_move_within_the_list},
          {"a denial is asked for twice", a_denial_is_asked_for_twice},
          {"what is typed is kept and bounded", what_is_typed_is_kept_and_bounded},
          {"a text is for the screen that waits for it",
           a_text_is_for_the_screen_that_waits_for_it})
