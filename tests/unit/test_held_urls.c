/* URLs that rules hold back, while rules come and go, against a naive count of them; what a wall
 * gives back; and what does not return. */
#include "ingest/page/held_urls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "ingest/page/ingest_host.h"
#include "ingest_fixture.h"
#include "store/pages/page_db_read.h"
#include "store/tables/host_rows.h"
#include "unit.h"

enum { URLS = 24, HOSTS = 3, STEPS = 250, LEVELS = 8, MOST_PAGES = 4 };

typedef enum ModelState { MODEL_SCHEDULED, MODEL_HELD, MODEL_DONE } ModelState;

typedef struct World {
    IngestFixture ingest;
    Batch batch;
    ParsedPage *pages[MOST_PAGES];
    size_t n_pages;
    Admission *admission;
    Url url;
    FilterScratch *scratch;
    Dice dice;
    ModelState states[URLS];
    int reasons[URLS];
} World;

static World *set_up(void)
{
    World *w = calloc(1, sizeof *w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    w->ingest.options = (IngestOptions){.config.schedule_levels = LEVELS,
                                        .config.score_depth_factor = 0.5,
                                        .config.scope_depth = 3,
                                        .config.fetch_max_redirects = 2};
    ingest_fixture_open(&w->ingest);
    url_init(&w->url);
    CU_ASSERT_EQUAL_FATAL(filter_scratch_new(&w->scratch), RESULT_OK);
    return w;
}

static void tear_down(World *w)
{
    url_destroy(&w->url);
    filter_scratch_delete(w->scratch);
    admission_delete(w->admission);
    ingest_fixture_close(&w->ingest);
    free(w);
}

/* These are denied from now on, and nothing else. */
static void deny(World *w, const char *const *rules, size_t n)
{
    static const ScopeOptions scope = {.domains = "",
                                       .exclude_domains = "",
                                       .accept_regex = "",
                                       .reject_regex = "",
                                       .ports = "",
                                       .max_url_length = 2048};
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    admission_delete(w->admission);
    CU_ASSERT_EQUAL_FATAL(admission_new(&w->admission, &scope, rules, n, &error), RESULT_OK);
    buffer_destroy(&error);
}

static void begin(World *w)
{
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    CU_ASSERT_EQUAL_FATAL(batch_init(&w->batch, &w->ingest.options, &w->ingest.tables.store,
                                     w->ingest.log, &w->ingest.totals, txn, w->pages, w->n_pages),
                          RESULT_OK);
    w->batch.admission = w->admission;
}

static void end(World *w)
{
    CU_ASSERT_EQUAL(batch_finish(&w->batch), RESULT_OK);
    store_fixture_commit(&w->ingest.tables, w->batch.txn);
    w->ingest.totals = w->batch.totals;
    batch_destroy(&w->batch);
    for (size_t i = 0; i < w->n_pages; i++) {
        parsed_page_delete(w->pages[i]);
    }
    w->n_pages = 0;
}

/* The result of a known URL, in the next batch: an answer, or a refusal before the fetch. */
static FetchResult *result(World *w, const char *url, int status)
{
    PageRef page = ingest_fixture_page(&w->ingest, url);
    FetchResult *fetch = fetch_result_new(status < 0 ? FETCHED_NOTHING : FETCHED_PAGE);
    fetch->request.url = strdup(url);
    fetch->request.has_page = true;
    fetch->request.index = page.index;
    fetch->request.level = page.level;
    fetch->request.again = page.n_crawls > 0;
    fetch->host.id = page.host;
    fetch->answer.status = status;
    fetch->final = true;
    fetch->cost.wall_start = (WallTime){INT64_C(1700000000000000)};
    w->pages[w->n_pages] = parsed_page_new(fetch);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->pages[w->n_pages]);
    w->n_pages++;
    return fetch;
}

static void take(World *w, const char *url, int status)
{
    (void)result(w, url, status);
    begin(w);
    CU_ASSERT_EQUAL(page_way_apply(&w->batch), RESULT_OK);
    end(w);
}

/* All held URLs are judged again; how many return. */
static unsigned review(World *w, const Filter *filter)
{
    HeldUrl held[URLS + 1];
    size_t n = 0;
    unsigned n_returned = 0;
    begin(w);
    CU_ASSERT_EQUAL(
        held_rows_read(w->ingest.tables.store.held, w->batch.txn, 0, held, URLS + 1, &n),
        RESULT_OK);
    for (size_t i = 0; i < n; i++) {
        bool returned = false;
        CU_ASSERT_EQUAL(
            held_urls_review(&w->batch, &held[i], filter, &w->url, w->scratch, &returned),
            RESULT_OK);
        n_returned += returned;
    }
    end(w);
    return n_returned;
}

static unsigned n_held(World *w)
{
    HeldUrl held[URLS];
    size_t n = 0;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    CU_ASSERT_EQUAL(held_rows_read(w->ingest.tables.store.held, txn, 0, held, URLS, &n), RESULT_OK);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    return (unsigned)n;
}

static uint64_t n_scheduled(World *w)
{
    uint64_t entries = 0;
    uint64_t hosts = 0;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    CU_ASSERT_EQUAL(schedule_counts(w->ingest.tables.store.schedule, txn, &entries, &hosts),
                    RESULT_OK);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    return entries;
}

static HostRecord record_of(World *w, const char *url)
{
    HostRecord record;
    uint32_t host = ingest_fixture_page(&w->ingest, url).host;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    CU_ASSERT_EQUAL(host_rows_get(w->ingest.tables.store.hosts, txn, host, &record), RESULT_OK);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    return record;
}

/* ---- the model ---- */

static const int reasons[] = {STATUS_SCOPE, STATUS_DENIED, STATUS_BLOCKED, STATUS_BAD_URL};
static const Refusal refusals[] = {REFUSED_SCOPE, REFUSED_DENIED, REFUSED_FILTER, REFUSED_PORT};

static const char *url_number(unsigned number)
{
    static char url[64];
    (void)snprintf(url, sizeof url, "http://h%u.example/%u", number % HOSTS, number);
    return url;
}

static void check(World *w)
{
    uint64_t scheduled = 0;
    unsigned held = 0;
    uint64_t refused[4] = {0};
    for (unsigned i = 0; i < URLS; i++) {
        PageRef page = ingest_fixture_page(&w->ingest, url_number(i));
        scheduled += w->states[i] == MODEL_SCHEDULED;
        held += w->states[i] == MODEL_HELD;
        for (size_t r = 0; r < 4; r++) {
            refused[r] += w->states[i] == MODEL_HELD && w->reasons[i] == reasons[r];
        }
        CU_ASSERT_EQUAL(page.level == 0, w->states[i] == MODEL_SCHEDULED);
        CU_ASSERT_EQUAL(page.status, w->states[i] == MODEL_HELD        ? w->reasons[i]
                                     : w->states[i] == MODEL_SCHEDULED ? 0
                                                                       : 200);
    }
    CU_ASSERT_EQUAL(n_scheduled(w), scheduled);
    CU_ASSERT_EQUAL(n_held(w), held);
    for (unsigned host = 0; host < HOSTS; host++) {
        uint32_t queued = 0;
        for (unsigned i = host; i < URLS; i += HOSTS) {
            queued += w->states[i] == MODEL_SCHEDULED;
        }
        CU_ASSERT_EQUAL(record_of(w, url_number(host)).queued, queued);
    }
    for (size_t r = 0; r < 4; r++) {
        CU_ASSERT_EQUAL(w->ingest.totals.refused[refusals[r]], refused[r]);
    }
}

static void step_review(World *w)
{
    static const char *const names[HOSTS] = {"h0.example", "h1.example", "h2.example"};
    const char *rules[HOSTS];
    bool denied[HOSTS];
    size_t n = 0;
    unsigned expected = 0;
    for (unsigned host = 0; host < HOSTS; host++) {
        denied[host] = dice_below(&w->dice, 2) == 0;
        if (denied[host]) {
            rules[n++] = names[host];
        }
    }
    deny(w, rules, n);
    for (unsigned i = 0; i < URLS; i++) {
        if (w->states[i] == MODEL_HELD && !denied[i % HOSTS]) {
            w->states[i] = MODEL_SCHEDULED;
            expected++;
        }
    }
    CU_ASSERT_EQUAL(review(w, NULL), expected);
}

static void held_urls_come_back_with_the_rules_that_held_them(void)
{
    World *w = set_up();
    w->dice.state = 25;
    for (unsigned i = 0; i < URLS; i++) {
        ingest_fixture_seed(&w->ingest, url_number(i));
    }
    check(w);
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned url = (unsigned)dice_below(&w->dice, URLS);
        if (dice_below(&w->dice, 6) == 0) {
            step_review(w);
        } else if (w->states[url] == MODEL_SCHEDULED && i > STEPS / 2 && url % 4 == 0) {
            take(w, url_number(url), 200);
            w->states[url] = MODEL_DONE;
        } else if (w->states[url] == MODEL_SCHEDULED) {
            w->reasons[url] = reasons[dice_below(&w->dice, 4)];
            take(w, url_number(url), w->reasons[url]);
            w->states[url] = MODEL_HELD;
        }
        check(w);
    }
    tear_down(w);
}

/* ---- one by one ---- */

static const char *const url_a = "http://a.example/";
static const char *const url_b = "http://a.example/b";

static void what_no_rule_refuses_is_not_held(void)
{
    static const int others[] = {STATUS_ROBOTS, STATUS_TRAP, STATUS_TIMEOUT};
    World *w = set_up();
    for (size_t i = 0; i < 3; i++) {
        ingest_fixture_seed(&w->ingest, url_number((unsigned)i));
        take(w, url_number((unsigned)i), others[i]);
    }
    CU_ASSERT_EQUAL(n_held(w), 0);
    /* Nor what was crawled before: it is counted, and its next visit comes anyway. */
    ingest_fixture_seed(&w->ingest, url_a);
    take(w, url_a, 200);
    take(w, url_a, STATUS_DENIED);
    CU_ASSERT_EQUAL(n_held(w), 0);
    CU_ASSERT_EQUAL(w->ingest.totals.refused[REFUSED_DENIED], 1);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, url_a).status, 200);
    /* A status of a fetch is no refusal, whatever its number. */
    FetchResult fetch = {.kind = FETCHED_PAGE, .answer.status = STATUS_DENIED};
    begin(w);
    CU_ASSERT_EQUAL(held_urls_hold(&w->batch, &fetch), RESULT_OK);
    end(w);
    CU_ASSERT_EQUAL(w->ingest.totals.refused[REFUSED_DENIED], 1);
    tear_down(w);
}

static void a_filter_is_asked_as_the_rules_are(void)
{
    World *w = set_up();
    Filter *filter = NULL;
    FilterError error;
    static const char text[] = "PathEndsWithOneOf(b)";
    CU_ASSERT_EQUAL_FATAL(filter_compile(&filter, text, strlen(text), NULL, &error), RESULT_OK);
    ingest_fixture_seed(&w->ingest, url_a);
    ingest_fixture_seed(&w->ingest, url_b);
    take(w, url_a, STATUS_BLOCKED);
    take(w, url_b, STATUS_BLOCKED);
    CU_ASSERT_EQUAL(review(w, filter), 1);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, url_b).status, 0);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, url_a).status, STATUS_BLOCKED);
    CU_ASSERT_EQUAL(n_held(w), 1);
    filter_delete(filter);
    tear_down(w);
}

static void what_is_unknown_is_damage_and_changes_nothing(void)
{
    World *w = set_up();
    bool returned = true;
    HeldUrl held = {.index = 7, .status = STATUS_DENIED};
    begin(w);
    CU_ASSERT_EQUAL(held_rows_put(w->ingest.tables.store.held, w->batch.txn, &held), RESULT_OK);
    CU_ASSERT_EQUAL(held_urls_review(&w->batch, &held, NULL, &w->url, w->scratch, &returned),
                    RESULT_DAMAGED);
    CU_ASSERT_FALSE(returned);
    CU_ASSERT_EQUAL(held_rows_get(w->ingest.tables.store.held, w->batch.txn, 7, &held), RESULT_OK);
    end(w);
    tear_down(w);
}

static void what_was_settled_otherwise_is_held_no_more(void)
{
    World *w = set_up();
    ingest_fixture_seed(&w->ingest, url_a);
    ingest_fixture_seed(&w->ingest, url_b);
    take(w, url_b, STATUS_ROBOTS);
    HeldUrl held[] = {
        {.index = ingest_fixture_page(&w->ingest, url_a).index, .status = 0},
        {.index = ingest_fixture_page(&w->ingest, url_b).index, .status = STATUS_DENIED}};
    begin(w);
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(held_rows_put(w->ingest.tables.store.held, w->batch.txn, &held[i]),
                        RESULT_OK);
    }
    end(w);
    CU_ASSERT_EQUAL(review(w, NULL), 0);
    CU_ASSERT_EQUAL(n_held(w), 0);
    CU_ASSERT_EQUAL(record_of(w, url_a).queued, 1);
    tear_down(w);
}

/* What the distributor hears of the return of two URLs, which had these levels. */
static CommitNotice *notice_of_return(World *w, uint8_t level_a, uint8_t level_b)
{
    const char *const urls[] = {url_a, url_b};
    const uint8_t levels[] = {level_a, level_b};
    begin(w);
    for (size_t i = 0; i < 2; i++) {
        bool returned = false;
        HeldUrl held = {.index = ingest_fixture_page(&w->ingest, urls[i]).index,
                        .status = STATUS_DENIED,
                        .level = levels[i]};
        CU_ASSERT_EQUAL(held_urls_review(&w->batch, &held, NULL, &w->url, w->scratch, &returned),
                        RESULT_OK);
        CU_ASSERT_TRUE(returned);
    }
    CommitNotice *notice = batch_notice(&w->batch);
    end(w);
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, urls[i]).level, levels[i]);
    }
    return notice;
}

static void the_distributor_hears_of_the_best_url_unless_its_host_is_closed(void)
{
    World *w = set_up();
    uint64_t urls = 0;
    for (unsigned round = 0; round < 3; round++) {
        if (round == 0) {
            ingest_fixture_seed(&w->ingest, url_a);
            ingest_fixture_seed(&w->ingest, url_b);
        }
        take(w, url_a, STATUS_DENIED);
        take(w, url_b, STATUS_DENIED);
        if (round == 2) {
            begin(w);
            BatchHost *host = batch_host(&w->batch, ingest_fixture_page(&w->ingest, url_a).host);
            CU_ASSERT_EQUAL(ingest_host_set_aside(&w->batch, host, &urls), RESULT_OK);
            end(w);
        }
        CommitNotice *notice = notice_of_return(w, round == 0 ? 5 : 2, round == 0 ? 2 : 5);
        CU_ASSERT_EQUAL(notice->n_hosts, round == 2 ? 0 : 1);
        CU_ASSERT_TRUE(round == 2 || notice->hosts[0].level == 2);
        commit_notice_delete(notice);
    }
    CU_ASSERT_EQUAL(n_scheduled(w), 0); /* parked */
    tear_down(w);
}

/* What holds its place meanwhile is fetched instead. */
static void a_spelling_that_gave_up_its_place_does_not_return(void)
{
    static const char *const spellings[] = {"http://a.example/?a=1&b=2",
                                            "http://a.example/?b=2&a=1"};
    World *w = set_up();
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    CU_ASSERT_EQUAL_FATAL(dedup_parse_steps("sorted_query", &w->ingest.options.dedup, &error),
                          RESULT_OK);
    buffer_destroy(&error);
    ingest_fixture_seed(&w->ingest, spellings[1]);
    take(w, spellings[1], STATUS_DENIED);
    ingest_fixture_seed(&w->ingest, spellings[0]);
    CU_ASSERT_EQUAL(n_scheduled(w), 1);
    CU_ASSERT_EQUAL(review(w, NULL), 0);
    CU_ASSERT_EQUAL(n_held(w), 0);
    CU_ASSERT_EQUAL(n_scheduled(w), 1);
    tear_down(w);
}

static void a_full_host_gets_nothing_back(void)
{
    World *w = set_up();
    w->ingest.options.limits.pages_per_host = 1;
    ingest_fixture_seed(&w->ingest, url_a);
    ingest_fixture_seed(&w->ingest, url_b);
    take(w, url_b, STATUS_DENIED);
    take(w, url_a, 200);
    CU_ASSERT_EQUAL(record_of(w, url_a).state, HOST_FULL);
    CU_ASSERT_EQUAL(review(w, NULL), 0);
    CU_ASSERT_EQUAL(n_scheduled(w), 0); /* nobody would ever fetch it, and the crawl not end */
    CU_ASSERT_EQUAL(record_of(w, url_a).queued, 0);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, url_b).status, STATUS_DENIED);
    tear_down(w);
}

/* ---- walls ---- */

static bool is_returned(World *w, const char *url, bool *under_way)
{
    uint64_t before = n_scheduled(w);
    uint64_t index = ingest_fixture_page(&w->ingest, url).index;
    begin(w);
    CU_ASSERT_EQUAL(held_urls_return(&w->batch, index, under_way), RESULT_OK);
    end(w);
    return n_scheduled(w) > before;
}

static void what_a_wall_answered_for_is_asked_for_again_at_last(void)
{
    World *w = set_up();
    bool under_way = false;
    ingest_fixture_seed(&w->ingest, url_a);
    ingest_fixture_seed(&w->ingest, url_b);
    CU_ASSERT_FALSE(is_returned(w, url_a, &under_way));
    CU_ASSERT_TRUE(under_way); /* its result is to come */
    take(w, url_a, 403);
    CU_ASSERT_TRUE(is_returned(w, url_a, &under_way));
    CU_ASSERT_FALSE(under_way);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, url_a).level, LEVELS - 1);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, url_a).status, 403);
    /* What was fetched is not among the URLs that were not. */
    CU_ASSERT_EQUAL(record_of(w, url_a).queued, 1);
    take(w, url_a, 200);
    CU_ASSERT_EQUAL(record_of(w, url_a).queued, 1);
    take(w, url_b, 200);
    CU_ASSERT_EQUAL(record_of(w, url_a).queued, 0);
    CU_ASSERT_EQUAL(n_scheduled(w), 0);
    tear_down(w);
}

static void a_wall_gives_nothing_back_to_a_full_host(void)
{
    World *w = set_up();
    bool under_way = true;
    w->ingest.options.limits.pages_per_host = 1;
    ingest_fixture_seed(&w->ingest, url_a);
    ingest_fixture_seed(&w->ingest, url_b);
    take(w, url_a, 403);
    take(w, url_b, 200);
    CU_ASSERT_FALSE(is_returned(w, url_a, &under_way));
    CU_ASSERT_FALSE(under_way);
    tear_down(w);
}

UNIT_MAIN("held_urls",
          {"held URLs come back with the rules that held them",
           held_urls_come_back_with_the_rules_that_held_them},
          {"what no rule refuses is not held", what_no_rule_refuses_is_not_held},
          {"a filter is asked as the rules are", a_filter_is_asked_as_the_rules_are},
          {"what is unknown is damage, and changes nothing",
           what_is_unknown_is_damage_and_changes_nothing},
          {"what was settled otherwise is held no more",
           what_was_settled_otherwise_is_held_no_more},
          {"the distributor hears of the best URL, unless its host is closed",
           the_distributor_hears_of_the_best_url_unless_its_host_is_closed},
          {"a spelling that gave up its place does not return",
           a_spelling_that_gave_up_its_place_does_not_return},
          {"a full host gets nothing back", a_full_host_gets_nothing_back},
          {"what a wall answered for is asked for again, at last",
           what_a_wall_answered_for_is_asked_for_again_at_last},
          {"a wall gives nothing back to a full host", a_wall_gives_nothing_back_to_a_full_host})
