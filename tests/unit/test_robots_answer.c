#include <stdlib.h>
#include <string.h>

#include "fetch/transfer/fetch_step.h"
#include "fetch/transfer/robots_answer.h"
#include "unit.h"

#define SECOND INT64_C(1000000000)
#define DAY_MS INT64_C(86400000)

typedef struct World {
    VisitState *vs;
    PolitenessOptions politeness;
    FetchRules rules;
    FetchNow now;
    FetchResult *refused[64];
    size_t n_refused;
} World;

static void set_up(World *w, const char *const *paths, uint32_t n)
{
    *w = (World){.now = {.mono = {1000 * SECOND}, .wall = {INT64_C(1700000000000000)}}};
    w->politeness = (PolitenessOptions){.host_delay_ms = 5000,
                                        .ip_delay_ms = 1000,
                                        .crawl_delay_max_ms = 300000,
                                        .retry_after_max_ms = 3600000};
    politeness_default_rules(w->politeness.rules);
    w->rules = (FetchRules){.politeness = &w->politeness,
                            .robots = {.agent = "ragno", .expiry_ms = DAY_MS}};
    CU_ASSERT_EQUAL_FATAL(visit_state_new(&w->vs, 1, "http://h.example", 16), RESULT_OK);
    w->vs->politeness.delay_ms = 5000;
    if (n > 0) {
        size_t bytes = n * (sizeof(WindowUrl) + 64);
        WindowUrl *window = calloc(1, bytes);
        char *text = (char *)(window + n);
        for (uint32_t i = 0; i < n; i++) {
            int length = snprintf(text + 64 * i, 64, "http://h.example%s", paths[i]);
            window[i] = (WindowUrl){.index = i + 10, .offset = 64 * i, .length = (uint32_t)length};
        }
        visit_state_set_window(w->vs, window, text, n, bytes);
    }
}

static void tear_down(World *w)
{
    for (size_t i = 0; i < w->n_refused; i++) {
        fetch_result_delete(w->refused[i]);
    }
    visit_state_delete(w->vs);
}

static void on_refused(void *context, FetchResult *result)
{
    World *w = context;
    CU_ASSERT_TRUE_FATAL(w->n_refused < 64);
    w->refused[w->n_refused++] = result;
}

static FetchResult *begin(World *w)
{
    FetchRefused refused = {.context = w, .take = on_refused};
    return fetch_step_begin(&w->rules, w->vs, &w->now, &refused);
}

/* Ends a request 200 ms later with a status (0: class says why) and header lines. */
static void end(World *w, FetchResult *result, FetchClass class, int status, const char *fields,
                const char *body)
{
    w->now.mono = mono_add_ms(w->now.mono, 200);
    result->cost.end = w->now.mono;
    result->answer.class = class;
    result->answer.status = status != 0 ? status : fetch_status_of_class(class);
    if (status != 0) {
        (void)buffer_printf(&result->answer.header, "HTTP/1.1 %d x\r\n%s\r\n", status, fields);
        (void)buffer_append_string(&result->answer.body, body);
    }
    fetch_step_end(&w->rules, w->vs, result);
}

static void fetch_robots(World *w, FetchClass class, int status, const char *fields,
                         const char *body)
{
    FetchResult *result = begin(w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(result);
    CU_ASSERT_EQUAL(result->kind, FETCHED_ROBOTS);
    end(w, result, class, status, fields, body);
    fetch_result_delete(result);
    w->now.mono = mono_later(w->now.mono, w->vs->politeness.next_fetch);
}

static void robots_txt_comes_first_and_decides(void)
{
    static const char *const paths[] = {"/no/1", "/no/2?x", "/yes", "/no/3"};
    World w;
    set_up(&w, paths, 4);
    FetchResult *result = begin(&w);
    CU_ASSERT_STRING_EQUAL(result->request.url, "http://h.example/robots.txt");
    CU_ASSERT_EQUAL(result->request.hop, 'P');
    CU_ASSERT_FALSE(result->request.has_page);
    CU_ASSERT_EQUAL(result->cost.given_ms, -1);
    end(&w, result, FETCH_OK, 200, "",
        "User-agent: ragno\nDisallow: /no\nCrawl-delay: 7\nSitemap: /a\nSitemap: /b\n");
    CU_ASSERT_EQUAL_FATAL(result->answer.sitemaps.length, 6); /* noted for who follows links */
    CU_ASSERT_EQUAL(memcmp(result->answer.sitemaps.data, "/a\0/b", 6), 0);
    CU_ASSERT_EQUAL(result->host.robots_state, ROBOTS_KNOWN);
    CU_ASSERT_EQUAL(result->host.crawl_delay_ms, 7000);
    CU_ASSERT_EQUAL(result->host.robots_expiry_ms, DAY_MS);
    CU_ASSERT_EQUAL(result->host.robots_version, 1);
    CU_ASSERT_EQUAL(w.vs->politeness.next_fetch.ns, result->cost.end.ns + 7001 * SECOND / 1000);
    CU_ASSERT_EQUAL(w.vs->politeness.ip_next_fetch.ns, result->cost.end.ns + 1001 * SECOND / 1000);
    fetch_result_delete(result);
    w.now.mono = w.vs->politeness.next_fetch;
    result = begin(&w);
    CU_ASSERT_STRING_EQUAL(result->request.url, "http://h.example/yes");
    CU_ASSERT_TRUE(result->request.has_page && result->request.index == 12);
    CU_ASSERT_EQUAL(result->cost.owed_ms, 7000);
    CU_ASSERT_EQUAL(result->cost.given_ms, 7001);
    CU_ASSERT_EQUAL_FATAL(w.n_refused, 2);
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(w.refused[i]->kind, FETCHED_NOTHING);
        CU_ASSERT_EQUAL(w.refused[i]->answer.status, STATUS_ROBOTS);
        CU_ASSERT_EQUAL(w.refused[i]->request.index, 10 + i);
        CU_ASSERT_TRUE(w.refused[i]->final);
        CU_ASSERT_STRING_EQUAL(w.refused[i]->answer.refusal, "Disallow: /no");
    }
    end(&w, result, FETCH_OK, 200, "", "");
    CU_ASSERT_TRUE(result->final);
    fetch_result_delete(result);
    CU_ASSERT_PTR_NULL(begin(&w)); /* the last one is refused: nothing left */
    CU_ASSERT_EQUAL(visit_state_count(w.vs), 0);
    tear_down(&w);
}

static void a_missing_robots_txt_allows_everything(void)
{
    static const int statuses[] = {400, 401, 403, 404, 410, 451};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        static const char *const paths[] = {"/x"};
        World w;
        set_up(&w, paths, 1);
        fetch_robots(&w, FETCH_OK, statuses[i], "", "User-agent: *\nDisallow: /\n");
        CU_ASSERT_EQUAL(w.vs->robots.state, ROBOTS_KNOWN);
        CU_ASSERT_TRUE(robots_allows(w.vs->robots.rules, "/x", 2, NULL));
        tear_down(&w);
    }
}

static void an_unreachable_robots_txt_forbids_and_costs_the_host_in_the_end(void)
{
    static const struct {
        FetchClass class;
        int status;
        unsigned tries;
        FetchClass becomes;
    } cases[] = {{FETCH_OK, 500, 6, FETCH_ROBOTS_ERROR}, {FETCH_OK, 599, 6, FETCH_ROBOTS_ERROR},
                 {FETCH_BUSY, 503, 6, FETCH_BUSY},       {FETCH_BUSY, 429, 6, FETCH_BUSY},
                 {FETCH_TIMEOUT, 0, 4, FETCH_TIMEOUT},   {FETCH_REFUSED, 0, 5, FETCH_REFUSED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char *const paths[] = {"/x"};
        World w;
        set_up(&w, paths, 1);
        unsigned tries = 0;
        while (!w.vs->politeness.dropped && tries < 20) {
            FetchResult *result = begin(&w);
            CU_ASSERT_PTR_NOT_NULL_FATAL(result);
            CU_ASSERT_EQUAL(result->kind, FETCHED_ROBOTS); /* never a page */
            end(&w, result, cases[i].class, cases[i].status, "", "");
            CU_ASSERT_EQUAL(result->answer.class, cases[i].becomes);
            CU_ASSERT_EQUAL(result->host.drop, w.vs->politeness.dropped);
            fetch_result_delete(result);
            w.now.mono = mono_later(w.now.mono, w.vs->politeness.next_fetch);
            tries++;
        }
        CU_ASSERT_EQUAL(tries, cases[i].tries);
        CU_ASSERT_EQUAL(w.vs->robots.state, ROBOTS_REFUSING);
        tear_down(&w);
    }
}

static void redirects_of_robots_txt_are_followed_five_times(void)
{
    World w;
    set_up(&w, NULL, 0);
    for (unsigned i = 0; i < 5; i++) {
        FetchResult *result = begin(&w);
        char expected[64];
        char field[64];
        (void)snprintf(expected, sizeof expected, "http://h.example/%s",
                       i == 0   ? "robots.txt"
                       : i == 1 ? "r0"
                       : i == 2 ? "r1"
                       : i == 3 ? "r2"
                                : "r3");
        CU_ASSERT_STRING_EQUAL(result->request.url, expected);
        (void)snprintf(field, sizeof field, "Location: /r%u\r\n", i);
        end(&w, result, FETCH_OK, 301, field, "");
        CU_ASSERT_EQUAL(w.vs->robots.state, ROBOTS_UNKNOWN);
        fetch_result_delete(result);
    }
    fetch_robots(&w, FETCH_OK, 302, "Location: /again\r\n", ""); /* as if there were none */
    CU_ASSERT_EQUAL(w.vs->robots.state, ROBOTS_KNOWN);
    CU_ASSERT_TRUE(robots_allows(w.vs->robots.rules, "/x", 2, NULL));
    tear_down(&w);
    set_up(&w, NULL, 0);
    fetch_robots(&w, FETCH_OK, 301, "Location: ftp://x/\r\n", "");
    CU_ASSERT_EQUAL(w.vs->robots.state, ROBOTS_KNOWN);
    tear_down(&w);
    set_up(&w, NULL, 0);
    fetch_robots(&w, FETCH_OK, 307, "Location: /real\r\n", "");
    fetch_robots(&w, FETCH_OK, 200, "", "User-agent: *\nDisallow: /x\n");
    CU_ASSERT_FALSE(robots_allows(w.vs->robots.rules, "/x", 2, NULL));
    CU_ASSERT_PTR_NULL(w.vs->robots.target);
    tear_down(&w);
}

static void rules_in_force_outlive_a_failed_refresh(void)
{
    static const char *const paths[] = {"/no", "/yes"};
    World w;
    set_up(&w, paths, 2);
    fetch_robots(&w, FETCH_OK, 200, "Cache-Control: max-age=600\r\n",
                 "User-agent: *\nDisallow: /no\n");
    CU_ASSERT_TRUE(w.vs->robots.expiry.ns <= w.now.mono.ns + 600 * SECOND);
    w.now.mono = mono_add_ms(w.now.mono, 600000);
    fetch_robots(&w, FETCH_TIMEOUT, 0, "", "");
    CU_ASSERT_EQUAL(w.vs->robots.state, ROBOTS_KNOWN);
    CU_ASSERT_FALSE(w.vs->politeness.dropped);
    FetchResult *result = begin(&w);
    CU_ASSERT_STRING_EQUAL(result->request.url, "http://h.example/yes");
    CU_ASSERT_EQUAL(w.n_refused, 1);
    fetch_result_delete(result);
    tear_down(&w);
}

static void each_content_is_a_version_and_the_log_names_the_one_in_force(void)
{
    static const char *const paths[] = {"/a", "/b", "/c"};
    World w;
    set_up(&w, paths, 3);
    fetch_robots(&w, FETCH_OK, 200, "Cache-Control: max-age=600\r\n",
                 "User-agent: *\nDisallow: /b\n");
    FetchResult *result = begin(&w);
    CU_ASSERT_STRING_EQUAL(result->request.url, "http://h.example/a");
    CU_ASSERT_EQUAL(result->host.robots_version, 1);
    end(&w, result, FETCH_OK, 200, "", "");
    fetch_result_delete(result);
    w.now.mono = mono_add_ms(w.now.mono, 600000);
    fetch_robots(&w, FETCH_OK, 503, "", ""); /* no answer: no version, and the old rules hold */
    CU_ASSERT_EQUAL(w.vs->robots.version, 1);
    CU_ASSERT_FALSE(robots_allows(w.vs->robots.rules, "/b", 2, NULL));
    w.now.mono = mono_later(w.now.mono, w.vs->robots.expiry);
    fetch_robots(&w, FETCH_OK, 200, "", "User-agent: *\nDisallow: /c\n");
    result = begin(&w);
    CU_ASSERT_STRING_EQUAL(result->request.url, "http://h.example/b");
    CU_ASSERT_EQUAL(result->host.robots_version, 2);
    end(&w, result, FETCH_OK, 200, "", "");
    fetch_result_delete(result);
    CU_ASSERT_PTR_NULL(begin(&w));
    CU_ASSERT_EQUAL(w.n_refused, 1);
    CU_ASSERT_STRING_EQUAL(w.refused[0]->answer.refusal, "Disallow: /c");
    CU_ASSERT_EQUAL(w.refused[0]->host.robots_version, 2);
    tear_down(&w);
}

static void the_same_rules_again_are_the_same_version(void)
{
    static const char *const paths[] = {"/a"};
    static const struct {
        int status;
        const char *body;
        unsigned version;
    } answers[] = {
        {404, "<p>not here", 1},
        {404, "<p>nor now", 1},
        {200, "", 1},
        {200, "User-agent: *\nDisallow: /b\n", 2},
        {200, "User-agent: *\nDisallow: /b\n", 2},
        {503, "User-agent: *\nDisallow: /c\n", 2},
        {200, "User-agent: *\nDisallow: /b\n", 2},
        {410, "", 3},
        {200, "User-agent: *\nDisallow: /b\n", 4},
    };
    World w;
    set_up(&w, paths, 1);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        fetch_robots(&w, FETCH_OK, answers[i].status, "", answers[i].body);
        CU_ASSERT_EQUAL(w.vs->robots.version, answers[i].version);
        w.now.mono = mono_later(w.now.mono, w.vs->robots.expiry);
    }
    tear_down(&w);
}

static void a_cache_lifetime_has_bounds(void)
{
    static const struct {
        const char *fields;
        int64_t ms;
    } cases[] = {{"", DAY_MS},
                 {"Cache-Control: max-age=0\r\n", 60000},
                 {"Cache-Control: public, max-age=7200\r\n", 7200000},
                 {"Cache-Control: max-age=99999999\r\n", DAY_MS},
                 {"Cache-Control: max-age=junk\r\n", DAY_MS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        World w;
        set_up(&w, NULL, 0);
        FetchResult *result = begin(&w);
        end(&w, result, FETCH_OK, 200, cases[i].fields, "");
        CU_ASSERT_EQUAL(result->host.robots_expiry_ms, cases[i].ms);
        fetch_result_delete(result);
        tear_down(&w);
    }
}

static void a_page_that_fails_waits_behind_the_others(void)
{
    static const char *const paths[] = {"/x", "/y", "/z"};
    World w;
    set_up(&w, paths, 3);
    fetch_robots(&w, FETCH_OK, 404, "", "");
    for (int i = 0; i < 3; i++) {
        FetchResult *result = begin(&w);
        CU_ASSERT_STRING_EQUAL(result->request.url, "http://h.example/x");
        end(&w, result, FETCH_BROKEN, 0, "", "");
        CU_ASSERT_EQUAL(result->final, i == 2);
        CU_ASSERT_EQUAL(result->request.tries, i + 1);
        fetch_result_delete(result);
        if (i == 0) { /* the host goes on */
            CU_ASSERT_EQUAL(visit_state_n_ready(w.vs), 2);
            CU_ASSERT_EQUAL(visit_state_url_time(w.vs).ns, 0);
            result = begin(&w);
            CU_ASSERT_STRING_EQUAL(result->request.url, "http://h.example/y");
            end(&w, result, FETCH_OK, 200, "", "");
            fetch_result_delete(result);
            visit_state_take(w.vs); /* /z is fetched elsewhere */
            CU_ASSERT_EQUAL(visit_state_n_ready(w.vs), 0);
            CU_ASSERT_TRUE(mono_before(w.vs->politeness.next_fetch, visit_state_url_time(w.vs)));
            CU_ASSERT_PTR_NULL(begin(&w)); /* its time has not come */
        }
        w.now.mono = mono_later(w.now.mono, visit_state_next_time(w.vs));
    }
    CU_ASSERT_EQUAL(visit_state_count(w.vs), 0);
    tear_down(&w);
}

static void a_host_that_is_busy_waits_with_all_its_pages(void)
{
    static const char *const paths[] = {"/x", "/y"};
    World w;
    set_up(&w, paths, 2);
    fetch_robots(&w, FETCH_OK, 404, "", "");
    FetchResult *result = begin(&w);
    CU_ASSERT_STRING_EQUAL(result->request.url, "http://h.example/x");
    end(&w, result, FETCH_BUSY, 429, "Retry-After: 100\r\n", "");
    CU_ASSERT_FALSE(result->final);
    CU_ASSERT_EQUAL(result->host.wait_ms, 100000);
    fetch_result_delete(result);
    tear_down(&w);
}

static void the_last_try_keeps_what_came(void)
{
    static const char *const paths[] = {"/x"};
    World w;
    set_up(&w, paths, 1);
    fetch_robots(&w, FETCH_OK, 404, "", "");
    FetchResult *result = NULL;
    for (int i = 0; i < 3; i++) {
        fetch_result_delete(result);
        w.now.mono = mono_later(w.now.mono, visit_state_next_time(w.vs));
        result = begin(&w);
        result->answer.partial_status = 200;
        (void)buffer_append_string(&result->answer.body, "half a pa");
        end(&w, result, FETCH_BROKEN, 0, "", "");
    }
    CU_ASSERT_TRUE(result->final);
    CU_ASSERT_EQUAL(result->answer.status, 200);
    CU_ASSERT_EQUAL(result->answer.class, FETCH_OK);
    fetch_result_delete(result);
    tear_down(&w);
}

/* Rules for all words of twelve a's and b's but those in "aabbaabb...". */
static void all_words_but_those_of_the_path(Buffer *body)
{
    (void)buffer_append_string(body, "User-agent: *\nDisallow: /no\n");
    for (unsigned word = 0; word < 4096; word++) {
        if (word % 16 == word / 16 % 16 && word / 256 == word % 16 &&
            (word % 16 == 3 || word % 16 == 6 || word % 16 == 12 || word % 16 == 9)) {
            continue;
        }
        char text[13] = "";
        for (unsigned bit = 0; bit < 12; bit++) {
            text[bit] = (word >> (11 - bit) & 1) != 0 ? 'b' : 'a';
        }
        (void)buffer_printf(body, "Disallow: /*%s\n", text);
    }
}

static void rules_that_cost_much_end_the_turn(void)
{
    static const char path[] = "/aabbaabbaabbaabbaabbaabbaabbaabbaabbaabb";
    static const char *paths[40];
    for (size_t i = 0; i < 40; i++) {
        paths[i] = path;
    }
    World w;
    Buffer body;
    buffer_init(&body, BUFFER_NO_LIMIT);
    set_up(&w, paths, 40);
    all_words_but_those_of_the_path(&body);
    fetch_robots(&w, FETCH_OK, 200, "", buffer_string(&body));
    CU_ASSERT_FALSE(w.vs->robots.is_costly);
    unsigned turns = 0;
    unsigned fetched = 0;
    while (visit_state_count(w.vs) > 0) {
        FetchResult *result = begin(&w);
        if (result != NULL) { /* decided: no rule forbids it */
            CU_ASSERT_FALSE(w.vs->robots.is_costly);
            end(&w, result, FETCH_OK, 200, "", "");
            fetch_result_delete(result);
            fetched++;
        } else {
            turns += visit_state_count(w.vs) > 0 ? 1 : 0;
        }
        for (size_t i = 0; i < w.n_refused; i++) {
            CU_ASSERT_EQUAL(w.refused[i]->answer.status, STATUS_ROBOTS);
            CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(w.refused[i]->answer.refusal, " (undecided)"));
            fetch_result_delete(w.refused[i]);
        }
        w.n_refused = 0;
        if (result == NULL && visit_state_count(w.vs) > 0) {
            CU_ASSERT_EQUAL(w.vs->politeness.next_fetch.ns,
                            mono_add_ms(w.now.mono, FETCH_STEP_REST_MS).ns);
        }
        w.now.mono = mono_later(w.now.mono, w.vs->politeness.next_fetch);
    }
    CU_ASSERT_TRUE(fetched >= 3 && fetched < 10);
    CU_ASSERT_TRUE(turns >= 1);
    CU_ASSERT_TRUE(w.vs->robots.is_costly);
    CU_ASSERT_TRUE(w.vs->robots.allowance.spent < 4 * ROBOTS_SAVED_STEPS);
    tear_down(&w);
    buffer_destroy(&body);
}

static void a_redirect_to_a_bad_port_is_not_followed(void)
{
    World w;
    set_up(&w, NULL, 0);
    FetchResult *result = begin(&w);
    end(&w, result, FETCH_OK, 301, "Location: http://other.example:22/robots.txt\r\n", "");
    CU_ASSERT_EQUAL(result->answer.class, FETCH_BAD_PORT);
    CU_ASSERT_TRUE(result->host.drop);
    CU_ASSERT_PTR_NULL(w.vs->robots.target);
    fetch_result_delete(result);
    tear_down(&w);
}

static void user_information_of_a_redirect_is_not_kept(void)
{
    World w;
    set_up(&w, NULL, 0);
    fetch_robots(&w, FETCH_OK, 301, "Location: http://me:word@h.example/real\r\n", "");
    CU_ASSERT_STRING_EQUAL(w.vs->robots.target, "http://h.example/real");
    tear_down(&w);
}

/* "User-agent: *\nDisallow: /no\n", packed by gzip. */
static const unsigned char packed[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x0b, 0x2d, 0x4e, 0x2d, 0xd2, 0x4d,
    0x4c, 0x4f, 0xcd, 0x2b, 0xb1, 0x52, 0xd0, 0xe2, 0x72, 0xc9, 0x2c, 0x4e, 0xcc, 0xc9, 0xc9, 0x2f,
    0xb7, 0x52, 0xd0, 0xcf, 0xcb, 0xe7, 0x02, 0x00, 0x6f, 0x0a, 0x2d, 0x24, 0x1c, 0x00, 0x00, 0x00};

static void answer_packed(World *w, const char *fields, const unsigned char *bytes, size_t length,
                          bool has_decoder, FetchClass expected)
{
    Decoder *decoder = NULL;
    set_up(w, NULL, 0);
    CU_ASSERT_EQUAL_FATAL(decoder_new(&decoder), RESULT_OK);
    w->rules.robots.decoder = has_decoder ? decoder : NULL;
    w->rules.robots.max_ratio = 200;
    FetchResult *result = begin(w);
    (void)buffer_append(&result->answer.body, bytes, length);
    end(w, result, FETCH_OK, 200, fields, "");
    CU_ASSERT_EQUAL(result->answer.class, expected);
    CU_ASSERT_EQUAL(w->vs->robots.state, expected == FETCH_OK ? ROBOTS_KNOWN : ROBOTS_REFUSING);
    CU_ASSERT_EQUAL(result->answer.body.length, length); /* the archive keeps what came */
    fetch_result_delete(result);
    decoder_delete(decoder);
}

static void a_content_coding_is_undone(void)
{
    World w;
    answer_packed(&w, "Content-Encoding: gzip\r\n", packed, sizeof packed, true, FETCH_OK);
    CU_ASSERT_FALSE(robots_allows(w.vs->robots.rules, "/no", 3, NULL));
    CU_ASSERT_EQUAL(w.vs->robots.hash, robots_content_hash("User-agent: *\nDisallow: /no\n", 28));
    tear_down(&w);
    static const unsigned char plain[] = "User-agent: *\nDisallow: /no\n";
    answer_packed(&w, "Content-Encoding: gzip\r\n", plain, sizeof plain - 1, true, FETCH_OK);
    CU_ASSERT_FALSE(robots_allows(w.vs->robots.rules, "/no", 3, NULL));
    tear_down(&w);
    answer_packed(&w, "Transfer-Encoding: gzip, chunked\r\n", packed, sizeof packed, true,
                  FETCH_OK);
    CU_ASSERT_FALSE(robots_allows(w.vs->robots.rules, "/no", 3, NULL));
    tear_down(&w);
    answer_packed(&w, "Content-Encoding: utf-8\r\n", plain, sizeof plain - 1, true, FETCH_OK);
    CU_ASSERT_FALSE(robots_allows(w.vs->robots.rules, "/no", 3, NULL));
    tear_down(&w);
}

static void what_cannot_be_decoded_is_unreachable(void)
{
    static const struct {
        const char *fields;
        size_t length;
        bool has_decoder;
    } cases[] = {{"Content-Encoding: gzip\r\n", sizeof packed - 12, true}, /* cut short */
                 {"Content-Encoding: br\r\n", sizeof packed, true},
                 {"Content-Encoding: zstd\r\n", sizeof packed, true},
                 {"Content-Encoding: compress\r\n", sizeof packed, true}, /* unknown, no text */
                 {"Transfer-Encoding: gzip, chunked\r\n", sizeof packed - 12, true},
                 {"Transfer-Encoding: compress\r\n", sizeof packed, true},
                 {"Content-Encoding: gzip\r\n", sizeof packed, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        World w;
        answer_packed(&w, cases[i].fields, packed, cases[i].length, cases[i].has_decoder,
                      FETCH_ROBOTS_ERROR);
        tear_down(&w);
    }
}

/* What the owner of another host has answered, for the host whose robots.txt redirects there. */
static void bring(World *w, FetchClass class, int status, const char *fields, const char *body)
{
    ErrandAnswer *answer = errand_answer_new(class);
    answer->status = status;
    answer->agent = 4;
    if (status > 0) {
        (void)buffer_printf(&answer->header, "HTTP/1.1 %d x\r\n%s\r\n", status, fields);
        (void)buffer_append_string(&answer->body, body);
    }
    w->vs->robots.target = strdup("http://other.example/robots.txt");
    w->vs->robots.elsewhere = true;
    w->vs->errands.answer = answer;
}

static void what_another_agent_tells_is_read_like_an_answer(void)
{
    static const char *const paths[] = {"/no", "/yes"};
    World w;
    set_up(&w, paths, 2);
    bring(&w, FETCH_OK, 200, "", "User-agent: *\nDisallow: /no\n");
    FetchResult *result = begin(&w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(result); /* in the same turn */
    CU_ASSERT_STRING_EQUAL(result->request.url, "http://h.example/yes");
    CU_ASSERT_EQUAL_FATAL(w.n_refused, 2);
    const FetchResult *told = w.refused[0];
    CU_ASSERT_EQUAL(told->kind, FETCHED_ROBOTS);
    CU_ASSERT_STRING_EQUAL(told->request.url, "http://other.example/robots.txt");
    CU_ASSERT_TRUE(told->request.by_agent && told->request.agent == 4);
    CU_ASSERT_EQUAL(told->host.id, 1);
    CU_ASSERT_EQUAL(told->host.robots_state, ROBOTS_KNOWN);
    CU_ASSERT_EQUAL(told->answer.status, 200);
    CU_ASSERT_EQUAL(w.refused[1]->answer.status, STATUS_ROBOTS);
    CU_ASSERT_PTR_NULL(w.vs->errands.answer);
    CU_ASSERT_FALSE(w.vs->robots.elsewhere);
    fetch_result_delete(result);
    tear_down(&w);
}

static void what_could_not_be_had_there_forbids_everything(void)
{
    static const char *const paths[] = {"/x"};
    World w;
    set_up(&w, paths, 1);
    bring(&w, FETCH_REFUSED, 0, "", "");
    CU_ASSERT_PTR_NULL(begin(&w));
    CU_ASSERT_EQUAL(w.vs->robots.state, ROBOTS_REFUSING);
    CU_ASSERT_EQUAL(w.vs->robots.tries, 1);
    CU_ASSERT_TRUE(mono_before(w.now.mono, w.vs->politeness.next_fetch));
    CU_ASSERT_PTR_NULL(w.vs->robots.target);
    tear_down(&w);
    set_up(&w, paths, 1);
    bring(&w, FETCH_OK, 302, "Location: http://third.example/robots.txt\r\n", "");
    CU_ASSERT_PTR_NULL(begin(&w)); /* it goes home, and from there on */
    CU_ASSERT_TRUE(w.vs->robots.elsewhere);
    CU_ASSERT_STRING_EQUAL(w.vs->robots.target, "http://third.example/robots.txt");
    CU_ASSERT_EQUAL(w.vs->robots.redirects, 1);
    tear_down(&w);
}

static void what_another_agent_wants_is_kept_for_it(void)
{
    World w;
    VisitState *asker = NULL;
    set_up(&w, NULL, 0);
    CU_ASSERT_EQUAL_FATAL(visit_state_new(&asker, FETCH_NO_HOST, "http://h.example", 16),
                          RESULT_OK);
    asker->errands.ticket = 9;
    asker->robots.target = strdup("http://h.example/robots.txt");
    w.vs->errands.askers = asker;
    FetchResult *result = begin(&w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(result);
    CU_ASSERT_STRING_EQUAL(result->request.url, "http://h.example/robots.txt");
    CU_ASSERT_EQUAL(result->host.id, FETCH_NO_HOST);
    end(&w, result, FETCH_OK, 200, "X: y\r\n", "User-agent: *\n");
    CU_ASSERT_PTR_NULL(w.vs->errands.askers);
    CU_ASSERT_EQUAL(w.vs->robots.state, ROBOTS_UNKNOWN); /* its own are not these */
    CU_ASSERT_EQUAL(w.vs->politeness.next_fetch.ns, result->cost.end.ns + 5001 * SECOND / 1000);
    CU_ASSERT_PTR_NOT_NULL_FATAL(asker->errands.answer);
    CU_ASSERT_EQUAL(asker->errands.answer->status, 200);
    CU_ASSERT_STRING_EQUAL(buffer_string(&asker->errands.answer->body), "User-agent: *\n");
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&asker->errands.answer->header), "X: y"));
    fetch_result_delete(result);
    w.vs->errands.askers = asker;
    result = begin(&w);
    end(&w, result, FETCH_TIMEOUT, 0, "", "");
    CU_ASSERT_EQUAL(asker->errands.answer->status, 0);
    CU_ASSERT_EQUAL(asker->errands.answer->class, FETCH_TIMEOUT);
    CU_ASSERT_EQUAL(asker->errands.answer->header.length, 0);
    fetch_result_delete(result);
    visit_state_delete(asker);
    tear_down(&w);
}

UNIT_MAIN(
    "robots_answer", {"robots.txt comes first and decides", robots_txt_comes_first_and_decides},
    {"a missing robots.txt allows everything", a_missing_robots_txt_allows_everything},
    {"an unreachable robots.txt forbids, and costs the host in the end",
     an_unreachable_robots_txt_forbids_and_costs_the_host_in_the_end},
    {"redirects of robots.txt are followed five times",
     redirects_of_robots_txt_are_followed_five_times},
    {"rules in force outlive a failed refresh", rules_in_force_outlive_a_failed_refresh},
    {"each content is a version, and the log names the one in force",
     each_content_is_a_version_and_the_log_names_the_one_in_force},
    {"the same rules again are the same version", the_same_rules_again_are_the_same_version},
    {"a cache lifetime has bounds", a_cache_lifetime_has_bounds},
    {"a page that fails waits behind the others", a_page_that_fails_waits_behind_the_others},
    {"a host that is busy waits with all its pages", a_host_that_is_busy_waits_with_all_its_pages},
    {"the last try keeps what came", the_last_try_keeps_what_came},
    {"rules that cost much end the turn", rules_that_cost_much_end_the_turn},
    {"a redirect to a bad port is not followed", a_redirect_to_a_bad_port_is_not_followed},
    {"user information of a redirect is not kept", user_information_of_a_redirect_is_not_kept},
    {"a content coding is undone", a_content_coding_is_undone},
    {"what cannot be decoded is unreachable", what_cannot_be_decoded_is_unreachable},
    {"what another agent tells is read like an answer",
     what_another_agent_tells_is_read_like_an_answer},
    {"what could not be had there forbids everything, or leads on",
     what_could_not_be_had_there_forbids_everything},
    {"what another agent wants is kept for it", what_another_agent_wants_is_kept_for_it})
