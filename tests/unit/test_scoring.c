#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "store/schedule/schedule_read.h"
#include "store/pages/page_db_read.h"
#include "base/thread/queue.h"
#include "ingest/chore/scoring.h"
#include "ingest/page/page_way.h"
#include "ingest_fixture.h"
#include "unit.h"
#include "until.h"

#define WALL_US  INT64_C(1700000000000000)
#define PATIENCE 120000 /* ms, of a test for another thread */
#define MANY     20000u
#ifdef RAGNO_CHECK_LOCKS
#define PIECE_NS INT64_C(500000000) /* sanitizers are slow */
#else
#define PIECE_NS INT64_C(50000000)
#endif

/* A crawl's tables and a Scoring; the test is the ingest thread. */
typedef struct World {
    IngestFixture ingest;
    Scoring *scoring;
    IngestChore chore;
    Queue woken;
    uint64_t pages;
} World;

static void on_wake(void *context)
{
    World *w = context;
    (void)queue_push(&w->woken, w);
}

static ScoringOptions options_of(ScoringKind kind, bool content_scores)
{
    return (ScoringOptions){.kind = kind,
                            .min_pages = 1,
                            .share = 1,
                            .damping = 0.85f,
                            .precision = 1e-4f,
                            .content_scores = content_scores,
                            .page_share = 0.3f};
}

static World *set_up(ScoringKind kind, bool content_scores)
{
    World *w = calloc(1, sizeof *w);
    ingest_fixture_open(&w->ingest);
    ScoringOptions options = options_of(kind, content_scores);
    CU_ASSERT_EQUAL_FATAL(queue_init(&w->woken, 64), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(scoring_new(&w->scoring, &options, w->ingest.tables.store.db,
                                      w->ingest.tables.store.schedule, on_wake, w),
                          RESULT_OK);
    CU_ASSERT_EQUAL(scoring_chore(w->scoring, &w->chore),
                    kind == SCORING_PAGERANK || kind == SCORING_HITS);
    w->ingest.options = (IngestOptions){.config.schedule_levels = SCHEDULE_DEFAULT_LEVELS,
                                        .scorer = scoring_scorer(w->scoring),
                                        .config.score_depth_factor = 0.5,
                                        .config.scope_depth = 30,
                                        .config.fetch_max_redirects = 2};
    return w;
}

static void tear_down(World *w)
{
    scoring_stop(w->scoring);
    scoring_delete(w->scoring);
    char path[128];
    static const char *const files[] = {"pr.bin",      "pr_out_degree.bin", "hits_h1.bin",
                                        "hits_h2.bin", "hits_a1.bin",       "hits_a2.bin"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", w->ingest.tables.path, files[i]);
        (void)unlink(path);
    }
    ingest_fixture_close(&w->ingest);
    queue_destroy(&w->woken);
    free(w);
}

/* What a batch with one page, or a piece of the chore, changes is committed; the notice is the
 * caller's. */
static CommitNotice *commit(World *w, ParsedPage *page, bool really)
{
    Batch batch;
    ParsedPage *pages[] = {page};
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    CU_ASSERT_EQUAL_FATAL(batch_init(&batch, &w->ingest.options, &w->ingest.tables.store,
                                     w->ingest.log, &w->ingest.totals, txn, pages,
                                     page == NULL ? 0 : 1),
                          RESULT_OK);
    if (page != NULL) {
        CU_ASSERT_EQUAL(page_way_apply(&batch), RESULT_OK);
    } else {
        CU_ASSERT_EQUAL(w->chore.run(w->chore.context, &batch, MONO_NEVER), RESULT_OK);
    }
    CU_ASSERT_EQUAL(batch_finish(&batch), RESULT_OK);
    CommitNotice *notice = batch_notice(&batch);
    if (really) {
        store_fixture_commit(&w->ingest.tables, txn);
        w->ingest.totals = batch.totals;
    } else {
        page_db_txn_abort(w->ingest.tables.store.db, txn);
    }
    batch_destroy(&batch);
    parsed_page_delete(page);
    if (page == NULL) {
        w->chore.ended(w->chore.context, really ? RESULT_OK : RESULT_FULL);
    }
    return notice;
}

/* The answer to a known URL, with links whose scores follow the URLs after a blank. */
static void fetched(World *w, const char *url, float score, const char *const *links, size_t n)
{
    FetchResult *fetch = fetch_result_new(FETCHED_PAGE);
    PageRef known = ingest_fixture_page(&w->ingest, url);
    fetch->request.url = strdup(url);
    fetch->answer.status = 200;
    fetch->cost.wall_start = (WallTime){WALL_US};
    fetch->request.has_page = true;
    fetch->final = true;
    fetch->request.index = known.index;
    fetch->host.id = known.host;
    ParsedPage *page = parsed_page_new(fetch);
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += strlen(links[i]) + 1;
    }
    char *memory = malloc(n * (sizeof(LinkInfo) + 1) + bytes + 1);
    page->links.list = (LinkInfo *)(void *)memory;
    page->links.hops = (uint8_t *)memory + n * sizeof(LinkInfo);
    page->links.bytes = memory + n * (sizeof(LinkInfo) + 1);
    char *next = page->links.bytes;
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(links[i]) + 1;
        memcpy(next, links[i], length);
        char *blank = strchr(next, ' ');
        float weight = blank == NULL ? 1.0f : strtof(blank, NULL);
        if (blank != NULL) {
            *blank = '\0';
        }
        page->links.list[i] = (LinkInfo){.url = next, .score = weight};
        page->links.hops[i] = 'L';
        next += length;
    }
    page->links.n = n;
    page->verdict.score = score;
    page->parsed = true;
    commit_notice_delete(commit(w, page, true));
    w->pages++;
}

#define FETCHED(w, url, ...)                                                                       \
    do {                                                                                           \
        const char *const links[] = {__VA_ARGS__};                                                 \
        fetched(w, url, 0.0f, links, sizeof links / sizeof *links);                                \
    } while (0)

/* Waits for the next moves; false when none came. */
static bool wait_for_moves(World *w, int64_t ms)
{
    void *item = NULL;
    size_t n = 0;
    return queue_pop(&w->woken, &item, 1, &n, mono_add_ms(mono_now(), ms)) == RESULT_OK &&
           w->chore.due(w->chore.context).ns == 0;
}

static uint64_t rounds_of(World *w)
{
    ScoringStats stats;
    scoring_stats(w->scoring, &stats);
    return stats.rounds;
}

/* The next round, the n-th, is over and has moved nothing. */
static bool a_round_moves_nothing(World *w, uint64_t n)
{
    return UNTIL(rounds_of(w) >= n) && !wait_for_moves(w, 0);
}

static void apply_moves(World *w)
{
    while (w->chore.due(w->chore.context).ns == 0) {
        commit_notice_delete(commit(w, NULL, true));
    }
}

/* Entries of the schedule; each must stand where its page's record says. */
static size_t count_entries(World *w)
{
    static ScheduleEntry entries[MANY + 100];
    ScheduleScan scan = {.started = false};
    size_t n = 0;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    CU_ASSERT_EQUAL(schedule_scan(w->ingest.tables.store.schedule, txn, &scan, entries,
                                  sizeof entries / sizeof *entries, &n),
                    RESULT_OK);
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < n; i++) {
        PageRef page = {.level = SCHEDULE_NO_LEVEL};
        if (page_db_get(w->ingest.tables.store.db, txn, entries[i].index, &page, &url) != 0 ||
            page.level != entries[i].level || page.host != entries[i].host) {
            CU_FAIL("record and schedule disagree");
        }
    }
    buffer_destroy(&url);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    return n;
}

/* Twenty pages link to one address, one page to another. */
static void grow_star(World *w)
{
    char url[64];
    const char *many[20];
    char names[20][64];
    for (size_t i = 0; i < 20; i++) {
        (void)snprintf(names[i], sizeof names[i], "http://a.example/%zu", i);
        many[i] = names[i];
    }
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    fetched(w, "http://a.example/", 0.0f, many, 20);
    for (size_t i = 0; i < 20; i++) {
        (void)snprintf(url, sizeof url, "http://c.example/%zu", i);
        FETCHED(w, names[i], "http://popular.example/", url);
    }
}

static void what_many_link_to_goes_up(void)
{
    World *w = set_up(SCORING_PAGERANK, false);
    grow_star(w);
    uint8_t popular = ingest_fixture_page(&w->ingest, "http://popular.example/").level;
    uint8_t other = ingest_fixture_page(&w->ingest, "http://c.example/7").level;
    CU_ASSERT_EQUAL(popular, other); /* one link from one page each, as far as was known */
    CU_ASSERT_EQUAL_FATAL(scoring_start(w->scoring, w->pages), RESULT_OK);
    CU_ASSERT_TRUE_FATAL(wait_for_moves(w, PATIENCE));
    CU_ASSERT_EQUAL(count_entries(w), 21);
    CommitNotice *notice = commit(w, NULL, true);
    apply_moves(w);
    CU_ASSERT_TRUE(ingest_fixture_page(&w->ingest, "http://popular.example/").level + 1 <
                   ingest_fixture_page(&w->ingest, "http://c.example/7").level);
    CU_ASSERT_EQUAL(count_entries(w), 21);
    bool told = false;
    for (size_t i = 0; i < notice->n_moved; i++) {
        told = told || (notice->moved[i].index ==
                            ingest_fixture_page(&w->ingest, "http://popular.example/").index &&
                        notice->moved[i].from == popular &&
                        notice->moved[i].to ==
                            ingest_fixture_page(&w->ingest, "http://popular.example/").level);
    }
    CU_ASSERT_TRUE(told);
    commit_notice_delete(notice);
    /* the same scores again move nothing */
    scoring_committed(w->scoring, w->pages + 1);
    CU_ASSERT_TRUE(a_round_moves_nothing(w, 2));
    tear_down(w);
}

static void a_new_page_takes_its_share_of_its_parent(void)
{
    World *w = set_up(SCORING_PAGERANK, false);
    grow_star(w);
    CU_ASSERT_EQUAL_FATAL(scoring_start(w->scoring, w->pages), RESULT_OK);
    CU_ASSERT_TRUE_FATAL(wait_for_moves(w, PATIENCE));
    apply_moves(w);
    FETCHED(w, "http://popular.example/", "http://d.example/rich");
    FETCHED(w, "http://c.example/3", "http://d.example/poor");
    uint8_t rich = ingest_fixture_page(&w->ingest, "http://d.example/rich").level;
    CU_ASSERT_TRUE(rich < ingest_fixture_page(&w->ingest, "http://d.example/poor").level);
    FETCHED(w, "http://c.example/4", "http://d.example/1", "http://d.example/2",
            "http://d.example/3", "http://d.example/4", "http://d.example/5", "http://d.example/6",
            "http://d.example/7", "http://d.example/8");
    CU_ASSERT_TRUE(ingest_fixture_page(&w->ingest, "http://d.example/poor").level <
                   ingest_fixture_page(&w->ingest, "http://d.example/5").level);
    tear_down(w);
}

static void what_moved_while_it_was_fetched_is_removed_where_it_stands(void)
{
    World *w = set_up(SCORING_PAGERANK, false);
    grow_star(w);
    CU_ASSERT_EQUAL_FATAL(scoring_start(w->scoring, w->pages), RESULT_OK);
    CU_ASSERT_TRUE_FATAL(wait_for_moves(w, PATIENCE));
    apply_moves(w);
    size_t before = count_entries(w);
    fetched(w, "http://popular.example/", 0.0f, NULL, 0);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://popular.example/").level,
                    SCHEDULE_NO_LEVEL);
    CU_ASSERT_EQUAL(count_entries(w), before - 1);
    tear_down(w);
}

static void what_was_fetched_meanwhile_does_not_come_back(void)
{
    World *w = set_up(SCORING_PAGERANK, false);
    grow_star(w);
    CU_ASSERT_EQUAL_FATAL(scoring_start(w->scoring, w->pages), RESULT_OK);
    CU_ASSERT_TRUE_FATAL(wait_for_moves(w, PATIENCE)); /* found, not applied */
    fetched(w, "http://popular.example/", 0.0f, NULL, 0);
    uint64_t removed = 0;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    CU_ASSERT_EQUAL(schedule_clear_host(w->ingest.tables.store.schedule, txn,
                                        ingest_fixture_page(&w->ingest, "http://c.example/3").host,
                                        &removed),
                    RESULT_OK); /* as for a host that was given up: its records do not know */
    store_fixture_commit(&w->ingest.tables, txn);
    CU_ASSERT_EQUAL(removed, 20);
    apply_moves(w);
    CU_ASSERT_EQUAL(count_entries(w), 0);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://popular.example/").level,
                    SCHEDULE_NO_LEVEL);
    tear_down(w);
}

static void a_piece_that_could_not_be_committed_is_done_again(void)
{
    World *w = set_up(SCORING_PAGERANK, false);
    grow_star(w);
    uint8_t before = ingest_fixture_page(&w->ingest, "http://popular.example/").level;
    CU_ASSERT_EQUAL_FATAL(scoring_start(w->scoring, w->pages), RESULT_OK);
    CU_ASSERT_TRUE_FATAL(wait_for_moves(w, PATIENCE));
    commit_notice_delete(commit(w, NULL, false));
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://popular.example/").level, before);
    CU_ASSERT_EQUAL(w->chore.due(w->chore.context).ns, 0);
    apply_moves(w);
    CU_ASSERT_TRUE(ingest_fixture_page(&w->ingest, "http://popular.example/").level < before);
    CU_ASSERT_FALSE(ingest_chore_holds(&w->chore));
    tear_down(w);
}

/* Many entries whose level is wrong. */
static void add_many(World *w)
{
    char url[64];
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    for (uint32_t i = 0; i < MANY; i++) {
        (void)snprintf(url, sizeof url, "http://h%u.example/%u", i % 97, i);
        store_fixture_add(&w->ingest.tables, txn, url, 3);
    }
    store_fixture_commit(&w->ingest.tables, txn);
}

static void many_moves_come_in_pieces(void)
{
    World *w = set_up(SCORING_PAGERANK, false);
    add_many(w);
    CU_ASSERT_EQUAL_FATAL(scoring_start(w->scoring, 1), RESULT_OK);
    CU_ASSERT_TRUE_FATAL(wait_for_moves(w, PATIENCE));
    size_t pieces = 0;
    size_t largest = 0;
    size_t moved = 0;
    int64_t longest_ns = 0;
    while (moved < MANY) {
        int64_t start = cpu_thread_ns();
        CommitNotice *notice = commit(w, NULL, true);
        int64_t ns = cpu_thread_ns() - start;
        longest_ns = ns > longest_ns ? ns : longest_ns;
        largest = notice->n_moved > largest ? notice->n_moved : largest;
        moved += notice->n_moved;
        pieces++;
        commit_notice_delete(notice);
        if (moved < MANY && w->chore.due(w->chore.context).ns != 0) {
            CU_ASSERT_TRUE_FATAL(wait_for_moves(w, PATIENCE));
        }
    }
    CU_ASSERT_TRUE(pieces >= 3);
    CU_ASSERT_TRUE(longest_ns < PIECE_NS); /* of the processor's time */
    CU_ASSERT_TRUE(largest <= 2048);
    CU_ASSERT_EQUAL(count_entries(w), MANY);
    ScoringStats stats;
    scoring_stats(w->scoring, &stats);
    CU_ASSERT_EQUAL(stats.moves, MANY);
    tear_down(w);
}

static void hits_steers_too(void)
{
    World *w = set_up(SCORING_HITS, false);
    grow_star(w);
    CU_ASSERT_EQUAL_FATAL(scoring_start(w->scoring, w->pages), RESULT_OK);
    CU_ASSERT_TRUE_FATAL(wait_for_moves(w, PATIENCE));
    apply_moves(w);
    CU_ASSERT_TRUE(ingest_fixture_page(&w->ingest, "http://popular.example/").level <
                   ingest_fixture_page(&w->ingest, "http://c.example/7").level);
    CU_ASSERT_EQUAL(count_entries(w), 21);
    tear_down(w);
}

static void content_scores_are_of_the_link_and_its_page(void)
{
    World *w = set_up(SCORING_CONTENT, true);
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    const char *const links[] = {"http://b.example/good 1", "http://b.example/bad 0.1"};
    fetched(w, "http://a.example/", 1.0f, links, 2);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://b.example/good").level,
                    0); /* 0.7 * 1 + 0.3 * 1 */
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://b.example/bad").level,
                    2); /* 0.7 * 0.1 + 0.3 */
    const char *const others[] = {"http://c.example/good 1", "http://c.example/bad 0.1"};
    fetched(w, "http://b.example/bad", 0.0f, others, 2);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://c.example/good").level, 1); /* 0.7 */
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://c.example/bad").level, 4);  /* 0.07 */
    tear_down(w);
}

static void a_restart_begins_with_the_last_scores(void)
{
    World *w = set_up(SCORING_PAGERANK, false);
    grow_star(w);
    CU_ASSERT_EQUAL_FATAL(scoring_start(w->scoring, w->pages), RESULT_OK);
    CU_ASSERT_TRUE_FATAL(wait_for_moves(w, PATIENCE));
    apply_moves(w);
    uint8_t level = ingest_fixture_page(&w->ingest, "http://popular.example/").level;
    scoring_stop(w->scoring);
    scoring_delete(w->scoring);
    ScoringOptions options = {
        .kind = SCORING_PAGERANK, .min_pages = 1, .damping = 0.85f, .precision = 1e-4f};
    CU_ASSERT_EQUAL_FATAL(scoring_new(&w->scoring, &options, w->ingest.tables.store.db,
                                      w->ingest.tables.store.schedule, on_wake, w),
                          RESULT_OK);
    (void)scoring_chore(w->scoring, &w->chore);
    w->ingest.options.scorer = scoring_scorer(w->scoring);
    CU_ASSERT_EQUAL_FATAL(scoring_start(w->scoring, w->pages), RESULT_OK); /* computes at once */
    CU_ASSERT_TRUE(a_round_moves_nothing(w, 1)); /* finds everything in its place */
    ScoringStats stats;
    scoring_stats(w->scoring, &stats);
    CU_ASSERT_EQUAL(stats.computations, 1);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://popular.example/").level, level);
    tear_down(w);
}

static void computations_wait_until_the_crawl_has_earned_them(void)
{
    World *w = set_up(SCORING_PAGERANK, false);
    ScoringOptions options = options_of(SCORING_PAGERANK, false);
    grow_star(w);
    options.share = -1e12; /* as if all that is free were spent */
    scoring_change(w->scoring, &options);
    CU_ASSERT_EQUAL_FATAL(scoring_start(w->scoring, 0), RESULT_OK);
    for (unsigned i = 0; i < 50; i++) {
        scoring_committed(w->scoring, ++w->pages);
        (void)sched_yield();
    }
    options.share = 1;
    scoring_change(w->scoring, &options);
    CU_ASSERT_TRUE_FATAL(wait_for_moves(w, PATIENCE));
    apply_moves(w);
    CU_ASSERT_TRUE(UNTIL(rounds_of(w) >= 1));
    CU_ASSERT_EQUAL(rounds_of(w), 1); /* one for all fifty */
    tear_down(w);
}

static void a_batch_need_not_be_larger_than_a_computation_asks_for(void)
{
    World *w = set_up(SCORING_PAGERANK, false);
    ScoringOptions options = options_of(SCORING_PAGERANK, false);
    grow_star(w);
    options.min_pages = 10;
    options.growth = 0.02;
    options.share = 1;
    scoring_change(w->scoring, &options);
    CU_ASSERT_EQUAL(scoring_enough_pages(w->scoring), 10);
    CU_ASSERT_EQUAL_FATAL(scoring_start(w->scoring, 2000), RESULT_OK);
    CU_ASSERT_TRUE_FATAL(wait_for_moves(w, PATIENCE));
    CU_ASSERT_EQUAL(scoring_enough_pages(w->scoring), 40);
    options.share = -1e12; /* as if all that is free were spent */
    scoring_change(w->scoring, &options);
    CU_ASSERT_EQUAL(scoring_enough_pages(w->scoring), SIZE_MAX);
    tear_down(w);
    w = set_up(SCORING_CONTENT, true);
    CU_ASSERT_EQUAL(scoring_enough_pages(w->scoring), SIZE_MAX); /* it computes nothing */
    tear_down(w);
}

static void it_stops_while_moves_wait(void)
{
    World *w = set_up(SCORING_PAGERANK, false);
    grow_star(w);
    CU_ASSERT_EQUAL_FATAL(scoring_start(w->scoring, w->pages), RESULT_OK);
    CU_ASSERT_TRUE_FATAL(wait_for_moves(w, PATIENCE));
    scoring_stop(w->scoring);
    CU_ASSERT_TRUE(w->chore.due(w->chore.context).ns == MONO_NEVER.ns);
    CU_ASSERT_EQUAL(count_entries(w), 21);
    tear_down(w);
}

UNIT_MAIN("scoring",
          {"what many link to goes up, and only what changes moves", what_many_link_to_goes_up},
          {"a new page takes its share of its parent", a_new_page_takes_its_share_of_its_parent},
          {"what moved while it was fetched is removed where it stands",
           what_moved_while_it_was_fetched_is_removed_where_it_stands},
          {"what was fetched meanwhile does not come back",
           what_was_fetched_meanwhile_does_not_come_back},
          {"a piece that could not be committed is done again",
           a_piece_that_could_not_be_committed_is_done_again},
          {"many moves come in pieces", many_moves_come_in_pieces},
          {"hits steers too", hits_steers_too},
          {"content scores are of the link and its page",
           content_scores_are_of_the_link_and_its_page},
          {"a restart begins with the last scores", a_restart_begins_with_the_last_scores},
          {"computations wait until the crawl has earned them",
           computations_wait_until_the_crawl_has_earned_them},
          {"a batch need not be larger than a computation asks for",
           a_batch_need_not_be_larger_than_a_computation_asks_for},
          {"it stops while moves wait", it_stops_while_moves_wait})
