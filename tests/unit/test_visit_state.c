#include <stdlib.h>
#include <string.h>

#include "frontier/visit/visit_state.h"
#include "store/schedule/schedule.h"
#include "unit.h"

static Result born(const char *origin, VisitState **visit_state)
{
    *visit_state = NULL;
    return visit_state_new(visit_state, 3, origin, strlen(origin));
}

static void an_origin_is_taken_apart(void)
{
    static const struct {
        const char *origin;
        const char *hostname;
        uint16_t port;
        bool https;
    } cases[] = {{"http://www.example.org", "www.example.org", 80, false},
                 {"https://www.example.org", "www.example.org", 443, true},
                 {"http://h:8080", "h", 8080, false},
                 {"https://h:80", "h", 80, true},
                 {"http://[::1]", "[::1]", 80, false},
                 {"https://[2001:db8::1]:444", "[2001:db8::1]", 444, true},
                 {"http://h:65535", "h", 65535, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        VisitState *vs = NULL;
        CU_ASSERT_EQUAL_FATAL(born(cases[i].origin, &vs), RESULT_OK);
        CU_ASSERT_STRING_EQUAL(vs->identity.origin, cases[i].origin);
        CU_ASSERT_STRING_EQUAL(vs->identity.hostname, cases[i].hostname);
        CU_ASSERT_EQUAL(vs->identity.port, cases[i].port);
        CU_ASSERT_EQUAL(vs->identity.https, cases[i].https);
        CU_ASSERT_EQUAL(vs->identity.host, 3);
        CU_ASSERT_EQUAL(vs->place, VISIT_STATE_RESOLVING);
        CU_ASSERT_EQUAL(vs->robots.state, ROBOTS_UNKNOWN);
        CU_ASSERT_FALSE(heap_holds(&vs->todo.by_time) || heap_holds(&vs->distributor.by_purge));
        visit_state_delete(vs);
    }
    visit_state_delete(NULL);
}

static void what_is_no_origin_is_refused(void)
{
    static const char *const bad[] = {"",         "http://",    "ftp://x",       "http:/x",
                                      "https://", "http://:80", "http://h:65536"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        VisitState *vs = NULL;
        CU_ASSERT_EQUAL(born(bad[i], &vs), RESULT_INVALID);
        CU_ASSERT_PTR_NULL(vs);
    }
}

static void give_window(VisitState *vs, const char *const *urls, uint32_t n)
{
    size_t bytes = n * (sizeof(WindowUrl) + 32);
    WindowUrl *window = malloc(bytes);
    char *text = (char *)(window + n);
    for (uint32_t i = 0; i < n; i++) {
        int length = snprintf(text + 32 * i, 32, "%s", urls[i]);
        window[i] = (WindowUrl){.index = i, .offset = 32 * i, .length = (uint32_t)length};
    }
    visit_state_set_window(vs, window, text, n, bytes);
}

static void a_window_is_taken_from_the_front(void)
{
    static const char *const urls[] = {"http://h/a", "http://h/b"};
    VisitState *vs = NULL;
    CU_ASSERT_EQUAL_FATAL(born("http://h", &vs), RESULT_OK);
    CU_ASSERT_PTR_NULL(visit_state_peek(vs));
    CU_ASSERT_EQUAL(visit_state_count(vs), 0);
    visit_state_take(vs); /* harmless */
    size_t empty = visit_state_memory(vs);
    give_window(vs, urls, 2);
    CU_ASSERT_TRUE(visit_state_memory(vs) >= empty + 2 * (sizeof(WindowUrl) + 32));
    for (uint32_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(visit_state_count(vs), 2 - i);
        const WindowUrl *url = visit_state_peek(vs);
        CU_ASSERT_EQUAL(url->index, i);
        CU_ASSERT_STRING_EQUAL(visit_state_url(vs, url), urls[i]);
        visit_state_take(vs);
    }
    CU_ASSERT_PTR_NULL(visit_state_peek(vs));
    give_window(vs, urls, 1); /* the old one is freed */
    CU_ASSERT_EQUAL(visit_state_count(vs), 1);
    visit_state_set_window(vs, NULL, NULL, 0, 0);
    CU_ASSERT_EQUAL(visit_state_memory(vs), empty);
    visit_state_delete(vs);
}

/* With the weighted bias a better URL goes first, but for the turns of the others. */
static void lower_levels_get_their_turns(void)
{
    enum { N = 100 };
    VisitState *vs = NULL;
    CU_ASSERT_EQUAL_FATAL(born("http://h", &vs), RESULT_OK);
    vs->window.bias = (LevelBias){.kind = LEVEL_BIAS_WEIGHTED, .lower_share = 0.2};
    WindowUrl *window = calloc(N + 1, sizeof *window);
    for (uint32_t i = 0; i < N; i++) {
        window[i] = (WindowUrl){.index = i, .level = i < 80 ? 2 : i < 90 ? 4 : 5};
    }
    visit_state_set_window(vs, window, (char *)(window + N), N, 0);
    uint32_t lower = 0;
    bool seen[N] = {false};
    uint64_t last[8] = {0};
    for (uint32_t i = 0; i < 50; i++) {
        const WindowUrl *url = visit_state_peek(vs);
        CU_ASSERT_EQUAL(visit_state_level(vs), 2); /* whatever goes next: for the workbench */
        lower += url->level > 2;
        CU_ASSERT_FALSE(seen[url->index]);
        seen[url->index] = true;
        CU_ASSERT_TRUE(last[url->level] <= url->index); /* in order inside a level */
        last[url->level] = url->index;
        visit_state_take(vs);
    }
    CU_ASSERT_TRUE(lower >= 8 && lower <= 12);
    while (visit_state_peek(vs) != NULL) {
        seen[visit_state_peek(vs)->index] = true;
        visit_state_take(vs);
    }
    for (uint32_t i = 0; i < N; i++) {
        CU_ASSERT_TRUE(seen[i]);
    }
    CU_ASSERT_EQUAL(visit_state_level(vs), SCHEDULE_NO_LEVEL);
    visit_state_delete(vs);
}

static void robots_rules_count_as_memory(void)
{
    VisitState *vs = NULL;
    CU_ASSERT_EQUAL_FATAL(born("http://h", &vs), RESULT_OK);
    size_t before = visit_state_memory(vs);
    static const char text[] = "User-agent: *\nDisallow: /a\nDisallow: /b*c$\n";
    CU_ASSERT_EQUAL(robots_parse(text, sizeof text - 1, "ragno", &vs->robots.rules), RESULT_OK);
    CU_ASSERT_TRUE(visit_state_memory(vs) > before);
    visit_state_delete(vs);
}

static void the_next_address_has_its_turn_when_there_is_no_connection(void)
{
    VisitState *visit_state = NULL;
    const MonoTime end = {77};
    CU_ASSERT_EQUAL_FATAL(visit_state_new(&visit_state, 1, "http://a.example", 16), RESULT_OK);
    VisitAddress *address = &visit_state->address;
    address->expiry = (MonoTime){1000};
    CU_ASSERT_FALSE(visit_state_next_address(visit_state, FETCH_REFUSED, end)); /* no other */
    CU_ASSERT_EQUAL(address->expiry.ns, 1000);
    address->count = 3;
    CU_ASSERT_FALSE(visit_state_next_address(visit_state, FETCH_TIMEOUT, end)); /* it was reached */
    CU_ASSERT_EQUAL(address->turn, 0);
    CU_ASSERT_TRUE(visit_state_next_address(visit_state, FETCH_REFUSED, end));
    CU_ASSERT_TRUE(visit_state_next_address(visit_state, FETCH_NO_ROUTE, end));
    CU_ASSERT_EQUAL(address->turn, 2);
    CU_ASSERT_EQUAL(address->expiry.ns, 77);
    CU_ASSERT_FALSE(visit_state_next_address(visit_state, FETCH_CONNECT_TIME, end)); /* all have */
    CU_ASSERT_EQUAL(address->turn, 3);
    CU_ASSERT_TRUE(visit_state_next_address(visit_state, FETCH_REFUSED, end));
    CU_ASSERT_FALSE(
        visit_state_next_address(visit_state, FETCH_OK, end)); /* it stays with this one */
    CU_ASSERT_EQUAL(address->turn, 4);
    CU_ASSERT_EQUAL(address->failed, 0);
    visit_state_delete(visit_state);
}

UNIT_MAIN("visit_state",
          {"the next address has its turn when there is no connection",
           the_next_address_has_its_turn_when_there_is_no_connection},
          {"an origin is taken apart", an_origin_is_taken_apart},
          {"what is no origin is refused", what_is_no_origin_is_refused},
          {"a window is taken from the front", a_window_is_taken_from_the_front},
          {"lower levels get their turns", lower_levels_get_their_turns},
          {"robots rules count as memory", robots_rules_count_as_memory})
