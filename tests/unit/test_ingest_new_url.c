/* What becomes of a URL that is seen for the first time: refused, and why, or scheduled, and at
 * which level. */
#include "ingest/page/ingest_new_url.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/page/ingest_host.h"
#include "ingest_fixture.h"
#include "store/pages/page_db_read.h"
#include "store/tables/host_rows.h"
#include "unit.h"

enum { LEVELS = 8 };

typedef struct World {
    IngestFixture ingest;
    Batch batch;
    Admission *admission;
} World;

static World *set_up(void)
{
    World *w = calloc(1, sizeof *w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    w->ingest.options = (IngestOptions){.config.schedule_levels = LEVELS,
                                        .config.score_depth_factor = 0.5,
                                        .config.scope_depth = 3,
                                        .config.scope_embed_hops = 2,
                                        .config.fetch_max_redirects = 2};
    ingest_fixture_open(&w->ingest);
    return w;
}

static void tear_down(World *w)
{
    admission_delete(w->admission);
    ingest_fixture_close(&w->ingest);
    free(w);
}

static void begin(World *w)
{
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    CU_ASSERT_EQUAL_FATAL(batch_init(&w->batch, &w->ingest.options, &w->ingest.tables.store,
                                     w->ingest.log, &w->ingest.totals, txn, NULL, 0),
                          RESULT_OK);
    w->batch.admission = w->admission;
}

static CommitNotice *end(World *w)
{
    CU_ASSERT_EQUAL(batch_finish(&w->batch), RESULT_OK);
    CommitNotice *notice = batch_notice(&w->batch);
    store_fixture_commit(&w->ingest.tables, w->batch.txn);
    w->ingest.totals = w->batch.totals;
    batch_destroy(&w->batch);
    return notice;
}

static PageRef page_of(World *w, const char *url)
{
    PageRef page = {.index = PAGE_DB_NO_INDEX};
    uint64_t index = 0;
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    PageDB *db = w->ingest.tables.store.db;
    CU_ASSERT_EQUAL_FATAL(page_db_find(db, w->batch.txn, url, strlen(url), &index), 0);
    CU_ASSERT_EQUAL(page_db_get(db, w->batch.txn, index, &page, &text), 0);
    buffer_destroy(&text);
    return page;
}

/* A link of this kind to a new URL, on a page (NULL: on none); its level. */
static unsigned find_with(World *w, const char *url, uint8_t hop, const char *from, uint64_t depth,
                          float score)
{
    char copy[128];
    PageSink sink = ingest_sink(&w->batch);
    (void)snprintf(copy, sizeof copy, "%s", url);
    LinkInfo link = {.url = copy, .score = score};
    uint64_t parent = from == NULL ? PAGE_DB_NO_INDEX : page_of(w, from).index;
    CU_ASSERT_EQUAL(page_db_discover(w->ingest.tables.store.db, w->batch.txn, &link, &hop, 1,
                                     parent, depth, &sink),
                    0);
    CU_ASSERT_EQUAL(w->batch.result, RESULT_OK);
    return page_of(w, url).level;
}

/* As the path says. */
static unsigned find(World *w, const char *url, uint8_t hop, const char *from)
{
    uint64_t depth = from == NULL ? 0 : page_of(w, from).depth + 1;
    return find_with(w, url, hop, from, depth, 1);
}

static uint64_t refused(const World *w, Refusal refusal)
{
    return w->batch.totals.refused[refusal];
}

static const char *const seed = "http://a.example/";

/* ---- refusals ---- */

static void what_is_too_deep_is_known_and_not_scheduled(void)
{
    static const char *const urls[] = {"http://a.example/", "http://a.example/1",
                                       "http://a.example/2", "http://a.example/3",
                                       "http://a.example/4"};
    World *w = set_up();
    begin(w);
    for (unsigned i = 0; i < 5; i++) {
        unsigned level = find(w, urls[i], i == 0 ? 'M' : 'L', i == 0 ? NULL : urls[i - 1]);
        CU_ASSERT_EQUAL(level == PAGE_DB_NO_LEVEL, i == 4);
    }
    CU_ASSERT_EQUAL(refused(w, REFUSED_DEPTH), 1);
    BatchHost *host = batch_host(&w->batch, page_of(w, seed).host);
    CU_ASSERT_TRUE(host->record.urls == 4 && host->record.queued == 4 && host->got_urls == 4);
    commit_notice_delete(end(w));
    tear_down(w);
}

/* What a page embeds is as deep as the page, for so many hops. */
static void embeds_go_a_few_hops_beyond_the_depth(void)
{
    World *w = set_up();
    w->ingest.options.config.scope_depth = 0;
    begin(w);
    (void)find(w, seed, 'M', NULL);
    CU_ASSERT_TRUE(find(w, "http://a.example/css", 'E', seed) < LEVELS);
    CU_ASSERT_TRUE(find(w, "http://a.example/png", 'E', "http://a.example/css") < LEVELS);
    CU_ASSERT_EQUAL(find(w, "http://a.example/far", 'E', "http://a.example/png"), PAGE_DB_NO_LEVEL);
    CU_ASSERT_EQUAL(find(w, "http://a.example/link", 'L', seed), PAGE_DB_NO_LEVEL);
    CU_ASSERT_EQUAL(find(w, "http://a.example/l2", 'L', "http://a.example/css"), PAGE_DB_NO_LEVEL);
    CU_ASSERT_EQUAL(refused(w, REFUSED_DEPTH), 3);
    /* A redirect of it is one more. */
    CU_ASSERT_TRUE(find(w, "http://a.example/moved", 'R', "http://a.example/css") < LEVELS);
    CU_ASSERT_EQUAL(find(w, "http://a.example/m2", 'R', "http://a.example/moved"),
                    PAGE_DB_NO_LEVEL);
    CU_ASSERT_EQUAL(find(w, "http://a.example/mlink", 'L', "http://a.example/moved"),
                    PAGE_DB_NO_LEVEL);
    (void)find(w, "http://a.example/r", 'R', "http://a.example/png");
    CU_ASSERT_EQUAL(find(w, "http://a.example/e3", 'E', "http://a.example/r"), PAGE_DB_NO_LEVEL);
    commit_notice_delete(end(w));
    CU_ASSERT_TRUE(ingest_is_too_deep(2, 0, 1, 5) && !ingest_is_too_deep(1, 0, 1, 5));
    CU_ASSERT_TRUE(ingest_is_too_deep(0, 6, 1, 5) && !ingest_is_too_deep(6, 5, 1, 5));
    tear_down(w);
}

static void redirects_in_a_row_end(void)
{
    World *w = set_up();
    w->ingest.options.config.scope_depth = 30;
    begin(w);
    (void)find(w, seed, 'M', NULL);
    CU_ASSERT_TRUE(find(w, "http://a.example/1", 'R', seed) < LEVELS);
    CU_ASSERT_TRUE(find(w, "http://a.example/2", 'R', "http://a.example/1") < LEVELS);
    CU_ASSERT_EQUAL(find(w, "http://a.example/3", 'R', "http://a.example/2"), PAGE_DB_NO_LEVEL);
    CU_ASSERT_EQUAL(find(w, "http://a.example/4", 'R', "http://a.example/3"), PAGE_DB_NO_LEVEL);
    CU_ASSERT_EQUAL(refused(w, REFUSED_REDIRECTS), 2);
    CU_ASSERT_TRUE(find(w, "http://a.example/l", 'L', "http://a.example/2") < LEVELS);
    CU_ASSERT_TRUE(find(w, "http://a.example/r", 'R', "http://a.example/l") < LEVELS); /* anew */
    /* One that nobody here links to counts as the first. */
    CU_ASSERT_TRUE(find(w, "http://b.example/1", 'R', NULL) < LEVELS);
    CU_ASSERT_TRUE(find(w, "http://b.example/2", 'R', "http://b.example/1") < LEVELS);
    CU_ASSERT_EQUAL(find(w, "http://b.example/3", 'R', "http://b.example/2"), PAGE_DB_NO_LEVEL);
    w->ingest.options.config.fetch_max_redirects = 0;
    CU_ASSERT_EQUAL(find(w, "http://c.example/", 'R', seed), PAGE_DB_NO_LEVEL);
    commit_notice_delete(end(w));
    tear_down(w);
}

static void a_full_host_is_refused_and_a_denied_one_parked(void)
{
    static const ScopeOptions scope = {.domains = "",
                                       .exclude_domains = "",
                                       .accept_regex = "",
                                       .reject_regex = "",
                                       .ports = "",
                                       .max_url_length = 2048};
    static const char *const denied[] = {"denied.example"};
    World *w = set_up();
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    uint64_t entries = 0;
    uint64_t hosts = 0;
    CU_ASSERT_EQUAL_FATAL(admission_new(&w->admission, &scope, denied, 1, &error), RESULT_OK);
    buffer_destroy(&error);
    begin(w);
    (void)find(w, seed, 'M', NULL);
    batch_host(&w->batch, page_of(w, seed).host)->record.state = HOST_FULL;
    CU_ASSERT_EQUAL(find(w, "http://a.example/1", 'L', seed), PAGE_DB_NO_LEVEL);
    CU_ASSERT_EQUAL(refused(w, REFUSED_QUOTA), 1);
    /* The rule is asked with the first URL of its host. */
    CU_ASSERT_EQUAL(find(w, "http://denied.example/", 'L', seed), 1);
    CU_ASSERT_EQUAL(find(w, "http://denied.example/1", 'L', seed), 1);
    const BatchHost *host = batch_host(&w->batch, page_of(w, "http://denied.example/").host);
    CU_ASSERT_TRUE(host->record.state == HOST_DENIED && host->record.urls == 2);
    CU_ASSERT_EQUAL(
        schedule_parked_counts(w->ingest.tables.store.schedule, w->batch.txn, &entries, &hosts),
        RESULT_OK);
    CU_ASSERT_TRUE(entries == 2 && hosts == 1);
    CommitNotice *notice = end(w);
    CU_ASSERT_TRUE(notice->n_hosts == 1 && notice->n_dropped == 1);
    commit_notice_delete(notice);
    begin(w); /* what comes later waits with the others */
    CU_ASSERT_EQUAL(find(w, "http://denied.example/2", 'L', seed), 1);
    notice = end(w);
    CU_ASSERT_TRUE(notice->n_hosts == 0 && notice->n_dropped == 0);
    commit_notice_delete(notice);
    tear_down(w);
}

/* ---- levels ---- */

static void the_order_decides_by_depth(void)
{
    static const struct {
        ScheduleOrder order;
        uint64_t depth;
        unsigned level;
    } rows[] = {{ORDER_BREADTH_FIRST, 0, 0},
                {ORDER_BREADTH_FIRST, 3, 3},
                {ORDER_BREADTH_FIRST, LEVELS - 1, LEVELS - 1},
                {ORDER_BREADTH_FIRST, 300, LEVELS - 1},
                {ORDER_DEPTH_FIRST, 0, LEVELS - 1},
                {ORDER_DEPTH_FIRST, LEVELS - 1, 0},
                {ORDER_DEPTH_FIRST, 300, 0}};
    World *w = set_up();
    w->ingest.options.config.scope_depth = 1000;
    begin(w);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://a.example/%u", i);
        w->ingest.options.config.schedule_order = (int)rows[i].order;
        CU_ASSERT_EQUAL(find_with(w, url, 'L', NULL, rows[i].depth, 1), rows[i].level);
    }
    commit_notice_delete(end(w));
    tear_down(w);
}

/* A scorer that says what the link does, and counts how often it is asked. */
typedef struct Guess {
    unsigned asked;
    bool fails;
} Guess;

static int guess_estimate(void *state, const ScorerLink *link, float *score)
{
    Guess *guess = state;
    guess->asked++;
    *score = link->score;
    return guess->fails ? 1 : 0;
}

static float guess_scale(void *state)
{
    (void)state;
    return 4;
}

static void the_best_come_first(void)
{
    World *w = set_up();
    Guess guess = {.asked = 0};
    Scorer scorer = {.state = &guess, .estimate = guess_estimate};
    const Schedule *schedule = w->ingest.tables.store.schedule;
    w->ingest.options.config.schedule_order = ORDER_BEST_FIRST;
    begin(w);
    /* Without a scorer, by the link and its depth. */
    CU_ASSERT_EQUAL(find_with(w, "http://a.example/1", 'L', NULL, 2, 0.8f),
                    schedule_level(schedule, 0.8f * 0.25f));
    w->ingest.options.scorer = &scorer;
    CU_ASSERT_EQUAL(find_with(w, "http://a.example/2", 'L', NULL, 2, 0.1f),
                    schedule_level(schedule, 0.1f));
    scorer.scale = guess_scale;
    CU_ASSERT_EQUAL(find_with(w, "http://a.example/3", 'L', NULL, 2, 0.11f),
                    schedule_level(schedule, 0.44f));
    /* Links of one page that are alike are asked for once. */
    CU_ASSERT_EQUAL(guess.asked, 2);
    (void)find_with(w, "http://a.example/4", 'L', NULL, 2, 0.11f);
    CU_ASSERT_EQUAL(guess.asked, 2);
    (void)find_with(w, "http://a.example/5", 'L', "http://a.example/4", 2, 0.11f);
    CU_ASSERT_EQUAL(guess.asked, 3);
    guess.fails = true;
    CU_ASSERT_EQUAL(find_with(w, "http://a.example/6", 'L', NULL, 2, 0.9f),
                    schedule_level(schedule, 0));
    commit_notice_delete(end(w));
    tear_down(w);
}

static void the_distributor_hears_of_the_best_level(void)
{
    World *w = set_up();
    w->ingest.options.config.schedule_order = ORDER_BREADTH_FIRST;
    begin(w);
    (void)find_with(w, "http://a.example/3", 'L', NULL, 3, 1);
    (void)find_with(w, "http://a.example/1", 'L', NULL, 1, 1);
    (void)find_with(w, "http://a.example/2", 'L', NULL, 2, 1);
    CommitNotice *notice = end(w);
    CU_ASSERT_TRUE_FATAL(notice->n_hosts == 1);
    CU_ASSERT_TRUE(notice->hosts[0].level == 1 && !notice->hosts[0].revived);
    commit_notice_delete(notice);
    begin(w);
    (void)find_with(w, "http://a.example/1", 'L', NULL, 0, 1); /* known: no new URL */
    notice = end(w);
    CU_ASSERT_EQUAL(notice->n_hosts, 0);
    commit_notice_delete(notice);
    tear_down(w);
}

UNIT_MAIN("ingest_new_url",
          {"what is too deep is known, and not scheduled",
           what_is_too_deep_is_known_and_not_scheduled},
          {"embeds go a few hops beyond the depth", embeds_go_a_few_hops_beyond_the_depth},
          {"redirects in a row end", redirects_in_a_row_end},
          {"a full host is refused, and a denied one parked",
           a_full_host_is_refused_and_a_denied_one_parked},
          {"the order decides by depth", the_order_decides_by_depth},
          {"the best come first", the_best_come_first},
          {"the distributor hears of the best level", the_distributor_hears_of_the_best_level})
