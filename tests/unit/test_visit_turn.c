/* Bursts: several requests in one turn, while politeness asks for nothing more than its delays. */
#include <stdlib.h>

#include "fetch/transfer/fetch_step.h"
#include "frontier/visit/visit_turn.h"
#include "unit.h"

#define PAGES 8u

typedef struct World {
    VisitState *vs;
    PolitenessOptions politeness;
    FetchRules rules;
    FetchNow now;
} World;

static void set_up(World *w, int64_t keep_alive_ms)
{
    *w = (World){.now = {.mono = {INT64_C(1000000000000)}}};
    w->politeness = (PolitenessOptions){.host_delay_ms = 5000,
                                        .ip_delay_ms = 1000,
                                        .crawl_delay_max_ms = 300000,
                                        .keep_alive_ms = keep_alive_ms};
    politeness_default_rules(w->politeness.rules);
    w->rules = (FetchRules){.politeness = &w->politeness,
                            .robots = {.agent = "ragno", .expiry_ms = 86400000}};
    CU_ASSERT_EQUAL_FATAL(visit_state_new(&w->vs, 1, "http://h.example", 16), RESULT_OK);
    w->vs->politeness.delay_ms = 5000;
    size_t bytes = PAGES * (sizeof(WindowUrl) + 32);
    WindowUrl *window = calloc(1, bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(window);
    char *text = (char *)(window + PAGES);
    for (uint32_t i = 0; i < PAGES; i++) {
        int n = snprintf(text + 32 * i, 32, "http://h.example/%u", i);
        window[i] = (WindowUrl){.index = i + 10, .offset = 32 * i, .length = (uint32_t)n};
    }
    visit_state_set_window(w->vs, window, text, PAGES, bytes);
}

static void tear_down(World *w)
{
    visit_state_delete(w->vs);
}

static void on_refused(void *context, FetchResult *result)
{
    (void)context;
    fetch_result_delete(result);
}

/* One request that takes 100 ms and ends so. Returns its result, which the caller owns. */
static FetchResult *fetch(World *w, FetchClass class, const char *body)
{
    FetchRefused refused = {.take = on_refused};
    FetchResult *result = fetch_step_begin(&w->rules, w->vs, &w->now, &refused);
    CU_ASSERT_PTR_NOT_NULL_FATAL(result);
    w->now.mono = mono_add_ms(w->now.mono, 100);
    result->cost.end = w->now.mono;
    result->answer.class = class;
    result->answer.status = class == FETCH_OK ? 200 : fetch_status_of_class(class);
    (void)buffer_append_string(&result->answer.header, "HTTP/1.1 200 x\r\n\r\n");
    (void)buffer_append_string(&result->answer.body, body);
    (void)fetch_step_end(&w->rules, w->vs, result);
    return result;
}

/* Requests until the turn is over. */
static unsigned turn_of(World *w, const char *robots)
{
    unsigned n = 0;
    visit_turn_begin(w->vs);
    do {
        FetchResult *result = fetch(w, FETCH_OK, robots);
        CU_ASSERT_EQUAL(result->cost.owes_host_ms, visit_turn_goes_on(w->vs) ? 0 : 5000);
        CU_ASSERT_EQUAL(result->cost.owes_ip_ms, visit_turn_goes_on(w->vs) ? 0 : 1000);
        n++;
        CU_ASSERT_EQUAL(result->cost.burst, n > 1 || visit_turn_goes_on(w->vs) ? n : 0);
        CU_ASSERT_TRUE(n == 1 || result->cost.owed_ms == 0);
        fetch_result_delete(result);
    } while (visit_turn_goes_on(w->vs));
    return n;
}

static int64_t wait_of(const World *w)
{
    return mono_ms_between(w->now.mono, w->vs->politeness.next_fetch);
}

static void without_keep_alive_a_turn_is_one_request(void)
{
    World w;
    set_up(&w, 0);
    CU_ASSERT_EQUAL(turn_of(&w, ""), 1);
    tear_down(&w);
}

static void a_burst_ends_when_its_time_has_passed_and_the_whole_delay_follows(void)
{
    World w;
    set_up(&w, 300);
    CU_ASSERT_EQUAL(turn_of(&w, ""), 3); /* robots.txt, two pages */
    CU_ASSERT_EQUAL(wait_of(&w), 5001);
    CU_ASSERT_EQUAL(mono_ms_between(w.now.mono, w.vs->politeness.ip_next_fetch), 1001);
    w.now.mono = w.vs->politeness.next_fetch;
    CU_ASSERT_EQUAL(turn_of(&w, ""), 3);
    tear_down(&w);
}

static void a_burst_ends_with_the_window(void)
{
    World w;
    set_up(&w, 60000);
    CU_ASSERT_EQUAL(turn_of(&w, ""), PAGES + 1);
    tear_down(&w);
}

/* As a new one it holds a connection of the new ones' share: it goes home, and is counted anew. */
static void the_first_answer_of_a_new_host_ends_it(void)
{
    World w;
    set_up(&w, 60000);
    visit_turn_begin(w.vs);
    w.vs->politeness.standing.is_proven = true;
    fetch_result_delete(fetch(&w, FETCH_OK, ""));
    CU_ASSERT_FALSE(visit_turn_goes_on(w.vs));
    w.now.mono = w.vs->politeness.next_fetch;
    CU_ASSERT_EQUAL(turn_of(&w, ""), PAGES);
    tear_down(&w);
}

static void a_crawl_delay_is_kept_even_when_it_is_short(void)
{
    World w;
    set_up(&w, 60000);
    CU_ASSERT_EQUAL(turn_of(&w, "User-agent: *\nCrawl-delay: 1\n"), 1);
    tear_down(&w);
}

static void a_failure_ends_it_and_so_does_what_is_wanted_at_home(void)
{
    World w;
    set_up(&w, 60000);
    visit_turn_begin(w.vs);
    fetch_result_delete(fetch(&w, FETCH_OK, ""));
    CU_ASSERT_TRUE(visit_turn_goes_on(w.vs));
    fetch_result_delete(fetch(&w, FETCH_TIMEOUT, ""));
    CU_ASSERT_FALSE(visit_turn_goes_on(w.vs));
    tear_down(&w);
    set_up(&w, 60000);
    atomic_store(&w.vs->signals.wanted, true);
    CU_ASSERT_EQUAL(turn_of(&w, ""), 1);
    tear_down(&w);
}

static void a_host_that_took_long_is_given_the_adaptive_delay(void)
{
    World w;
    set_up(&w, 60000);
    w.politeness.adaptive_factor = 51; /* 5 100 ms for 100 */
    visit_turn_begin(w.vs);
    fetch_result_delete(fetch(&w, FETCH_OK, ""));
    CU_ASSERT_FALSE(visit_turn_goes_on(w.vs));
    CU_ASSERT_EQUAL(wait_of(&w), 5101);
    tear_down(&w);
}

static void what_is_put_off_is_never_brought_forward(void)
{
    World w;
    set_up(&w, 300);
    (void)turn_of(&w, "");
    visit_turn_put_off(w.vs, w.now.mono, 100);
    CU_ASSERT_EQUAL(wait_of(&w), 5001);
    visit_turn_put_off(w.vs, w.now.mono, 6000);
    CU_ASSERT_EQUAL(wait_of(&w), 6000);
    tear_down(&w);
}

/* A world in which nothing is owed. */
static void set_up_free(World *w)
{
    set_up(w, 0);
    w->politeness.host_delay_ms = 0;
    w->politeness.ip_delay_ms = 0;
    w->vs->politeness.delay_ms = 0;
}

static void a_delay_of_nothing_is_none(void)
{
    World w;
    set_up_free(&w);
    visit_turn_begin(w.vs);
    fetch_result_delete(fetch(&w, FETCH_OK, "")); /* robots.txt */
    CU_ASSERT_EQUAL(w.vs->politeness.next_fetch.ns, w.now.mono.ns);
    CU_ASSERT_EQUAL(w.vs->politeness.ip_next_fetch.ns, w.now.mono.ns);
    CU_ASSERT_FALSE(visit_turn_goes_on(w.vs)); /* its time is over */
    tear_down(&w);
}

static FetchResult *ask(World *w)
{
    FetchRefused refused = {.take = on_refused};
    FetchResult *result = fetch_step_begin(&w->rules, w->vs, &w->now, &refused);
    CU_ASSERT_PTR_NOT_NULL_FATAL(result);
    return result;
}

static void answer(World *w, FetchResult *result, FetchClass class)
{
    result->cost.end = w->now.mono;
    result->answer.class = class;
    result->answer.status = class == FETCH_OK ? 200 : fetch_status_of_class(class);
    (void)fetch_step_end(&w->rules, w->vs, result);
    fetch_result_delete(result);
}

static bool may_widen(World *w, unsigned most)
{
    return visit_turn_may_widen(w->vs, &w->politeness, most, w->now.mono);
}

static void a_free_turn_goes_on_with_urls_as_good_as_its_first(void)
{
    World w;
    set_up_free(&w);
    w.rules.ignores_robots = true;
    w.vs->window.urls[2].level = 1;
    w.vs->window.urls[3].level = 1;
    visit_turn_begin(w.vs);
    answer(&w, ask(&w), FETCH_OK);
    CU_ASSERT_TRUE(visit_turn_goes_on(w.vs));
    answer(&w, ask(&w), FETCH_OK);
    CU_ASSERT_FALSE(visit_turn_goes_on(w.vs)); /* others may have better ones */
    visit_turn_begin(w.vs);
    FetchResult *result = ask(&w);
    w.now.mono = mono_add_ms(w.now.mono, VISIT_TURN_FREE_MS);
    answer(&w, result, FETCH_OK);
    CU_ASSERT_FALSE(visit_turn_goes_on(w.vs));
    tear_down(&w);
}

static void a_turn_is_as_wide_as_it_may_be_while_nothing_is_owed(void)
{
    World w;
    set_up_free(&w);
    w.rules.ignores_robots = true;
    visit_turn_begin(w.vs);
    CU_ASSERT_FALSE(may_widen(&w, 8)); /* beside nothing */
    FetchResult *first = ask(&w);
    CU_ASSERT_FALSE(may_widen(&w, 1));
    CU_ASSERT_TRUE(may_widen(&w, 2));
    w.politeness.ip_delay_ms = 1;
    CU_ASSERT_FALSE(may_widen(&w, 2));
    w.politeness.ip_delay_ms = 0;
    w.vs->politeness.delay_ms = 1;
    CU_ASSERT_FALSE(may_widen(&w, 2));
    w.vs->politeness.delay_ms = 0;
    w.politeness.adaptive_factor = 0.5;
    CU_ASSERT_FALSE(may_widen(&w, 2));
    w.politeness.adaptive_factor = 0;
    w.vs->politeness.health.failures = 1;
    CU_ASSERT_FALSE(may_widen(&w, 2));
    w.vs->politeness.health.failures = 0;
    FetchResult *second = ask(&w);
    CU_ASSERT_FALSE(may_widen(&w, 2));
    answer(&w, first, FETCH_OK);
    CU_ASSERT_TRUE(visit_turn_goes_on(w.vs));
    CU_ASSERT_FALSE(visit_turn_has_landed(w.vs));
    answer(&w, second, FETCH_OK);
    CU_ASSERT_TRUE(visit_turn_has_landed(w.vs));
    tear_down(&w);
}

static void a_success_beside_a_failure_does_not_shorten_the_rest(void)
{
    World w;
    set_up_free(&w);
    w.rules.ignores_robots = true;
    visit_turn_begin(w.vs);
    FetchResult *first = ask(&w);
    FetchResult *second = ask(&w);
    FetchResult *third = ask(&w);
    answer(&w, first, FETCH_TIMEOUT);
    MonoTime rest_end = w.vs->politeness.next_fetch;
    CU_ASSERT_TRUE(mono_before(w.now.mono, rest_end));
    CU_ASSERT_FALSE(visit_turn_goes_on(w.vs));
    answer(&w, second, FETCH_OK);
    CU_ASSERT_FALSE(visit_turn_goes_on(w.vs));
    CU_ASSERT_FALSE(may_widen(&w, 8));
    answer(&w, third, FETCH_OK); /* the last in flight */
    CU_ASSERT_FALSE(visit_turn_goes_on(w.vs));
    CU_ASSERT_EQUAL(w.vs->politeness.next_fetch.ns, rest_end.ns);
    tear_down(&w);
}

static void a_url_that_was_taken_can_be_put_back(void)
{
    World w;
    set_up_free(&w);
    WindowUrl first = *visit_state_peek(w.vs);
    visit_state_take(w.vs);
    WindowUrl second = *visit_state_peek(w.vs);
    visit_state_take(w.vs);
    visit_state_put_back(w.vs, &first);
    CU_ASSERT_EQUAL(visit_state_peek(w.vs)->index, first.index);
    CU_ASSERT_STRING_EQUAL(visit_state_url(w.vs, visit_state_peek(w.vs)), "http://h.example/0");
    visit_state_take(w.vs);
    visit_state_put_back(w.vs, &second);
    CU_ASSERT_EQUAL(visit_state_peek(w.vs)->index, second.index);
    CU_ASSERT_EQUAL(visit_state_count(w.vs), PAGES - 1);
    tear_down(&w);
}

UNIT_MAIN("visit_turn",
          {"without keep_alive a turn is one request", without_keep_alive_a_turn_is_one_request},
          {"a burst ends when its time has passed, and the whole delay follows",
           a_burst_ends_when_its_time_has_passed_and_the_whole_delay_follows},
          {"a burst ends with the window", a_burst_ends_with_the_window},
          {"the first answer of a new host ends it", the_first_answer_of_a_new_host_ends_it},
          {"a Crawl-delay is kept, even when it is short",
           a_crawl_delay_is_kept_even_when_it_is_short},
          {"a failure ends it, and so does what is wanted at home",
           a_failure_ends_it_and_so_does_what_is_wanted_at_home},
          {"a host that took long is given the adaptive delay",
           a_host_that_took_long_is_given_the_adaptive_delay},
          {"what is put off is never brought forward", what_is_put_off_is_never_brought_forward},
          {"a delay of nothing is none", a_delay_of_nothing_is_none},
          {"a free turn goes on with URLs as good as its first",
           a_free_turn_goes_on_with_urls_as_good_as_its_first},
          {"a turn is as wide as it may be while nothing is owed",
           a_turn_is_as_wide_as_it_may_be_while_nothing_is_owed},
          {"a success beside a failure does not shorten the rest",
           a_success_beside_a_failure_does_not_shorten_the_rest},
          {"a URL that was taken can be put back", a_url_that_was_taken_can_be_put_back})
