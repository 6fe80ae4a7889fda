/* The places of the seeds of a crawl that is resumed: theirs, and those of what they redirect to.
 */
#include "ingest/page/seed_places.h"

#include <stdio.h>
#include <string.h>

#include "ingest_fixture.h"
#include "store/pages/page_db.h"
#include "unit.h"

enum { MANY = 600 }; /* seeds: more than are read at once */

static void set_up(IngestFixture *fixture)
{
    *fixture = (IngestFixture){.options = {.config.schedule_levels = SCHEDULE_DEFAULT_LEVELS,
                                           .config.score_depth_factor = 0.5,
                                           .config.scope_depth = 30,
                                           .config.fetch_max_redirects = 5}};
    ingest_fixture_open(fixture);
}

/* The page has answered with this status, and links to another one (NULL: to none). */
static void answer(IngestFixture *fixture, const char *url, int status, const char *target)
{
    PageDB *db = fixture->tables.store.db;
    CrawledPage *page = crawled_page_new(url);
    if (target != NULL) {
        CU_ASSERT_EQUAL(crawled_page_add_link(page, target, 1), 0);
    }
    PageWrite write = {.page = page, .status = status};
    MDB_txn *txn = store_fixture_begin(&fixture->tables, false);
    CU_ASSERT_EQUAL(page_db_write(db, txn, &write, 1, NULL), 0);
    store_fixture_commit(&fixture->tables, txn);
    crawled_page_delete(page);
}

static StaySet *load(IngestFixture *fixture, unsigned max_redirects, Result expected)
{
    StaySet *set = NULL;
    CU_ASSERT_EQUAL_FATAL(stay_set_new(&set, STAY_HOST), RESULT_OK);
    CU_ASSERT_EQUAL(seed_places_load(&fixture->tables.store, set, max_redirects), expected);
    return set;
}

static bool has(const StaySet *set, const char *url)
{
    return stay_set_has(set, url, strlen(url));
}

static bool stands(const StaySet *set, const char *url)
{
    return stay_set_stands_for_seed(set, url, strlen(url));
}

static void seeds_and_what_they_redirect_to_are_places(void)
{
    IngestFixture fixture;
    set_up(&fixture);
    ingest_fixture_seed(&fixture, "http://a.example/");
    ingest_fixture_seed(&fixture, "http://ok.example/");
    ingest_fixture_seed(&fixture, "http://new.example/");
    answer(&fixture, "http://a.example/", 301, "http://b.example/");
    answer(&fixture, "http://b.example/", 302, "http://c.example/");
    answer(&fixture, "http://c.example/", 200, "http://linked.example/");
    answer(&fixture, "http://ok.example/", 200, "http://linked.example/");
    StaySet *set = load(&fixture, 5, RESULT_OK);
    CU_ASSERT_TRUE(has(set, "http://a.example/x") && has(set, "http://b.example/x"));
    CU_ASSERT_TRUE(has(set, "http://c.example/x") && has(set, "http://new.example/x"));
    CU_ASSERT_FALSE(has(set, "http://linked.example/")); /* a link is no redirect */
    CU_ASSERT_TRUE(stands(set, "http://b.example/") && stands(set, "http://c.example/"));
    CU_ASSERT_FALSE(stands(set, "http://a.example/") || stands(set, "http://b.example/x"));
    stay_set_delete(set);
    ingest_fixture_close(&fixture);
}

/* Two that redirect to each other, and one whose target is not known. */
static void redirects_end(void)
{
    IngestFixture fixture;
    set_up(&fixture);
    ingest_fixture_seed(&fixture, "http://a.example/");
    ingest_fixture_seed(&fixture, "http://lost.example/");
    answer(&fixture, "http://a.example/", 301, "http://b.example/");
    answer(&fixture, "http://b.example/", 301, "http://a.example/");
    answer(&fixture, "http://lost.example/", 301, NULL);
    StaySet *set = load(&fixture, 3, RESULT_OK);
    CU_ASSERT_TRUE(has(set, "http://a.example/") && has(set, "http://b.example/"));
    CU_ASSERT_TRUE(has(set, "http://lost.example/"));
    stay_set_delete(set);
    ingest_fixture_close(&fixture);
}

static void a_long_chain_is_followed_as_far_as_a_crawl_does(void)
{
    IngestFixture fixture;
    set_up(&fixture);
    ingest_fixture_seed(&fixture, "http://h0.example/");
    for (unsigned i = 0; i < 6; i++) {
        char from[64];
        char to[64];
        (void)snprintf(from, sizeof from, "http://h%u.example/", i);
        (void)snprintf(to, sizeof to, "http://h%u.example/", i + 1);
        answer(&fixture, from, 301, to);
    }
    StaySet *set = load(&fixture, 2, RESULT_OK);
    CU_ASSERT_TRUE(has(set, "http://h2.example/"));
    CU_ASSERT_FALSE(has(set, "http://h4.example/"));
    stay_set_delete(set);
    ingest_fixture_close(&fixture);
}

static void all_seeds_are_read(void)
{
    IngestFixture fixture;
    char url[64];
    unsigned n = 0;
    set_up(&fixture);
    Batch batch;
    static LinkInfo seeds[MANY];
    static char urls[MANY][64];
    uint64_t added = 0;
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(urls[i], sizeof urls[i], "http://h%u.example/", i);
        seeds[i] = (LinkInfo){.url = urls[i], .score = 1};
    }
    MDB_txn *txn = store_fixture_begin(&fixture.tables, false);
    CU_ASSERT_EQUAL_FATAL(batch_init(&batch, &fixture.options, &fixture.tables.store, fixture.log,
                                     &fixture.totals, txn, NULL, 0),
                          RESULT_OK);
    CU_ASSERT_EQUAL(page_way_seed(&batch, seeds, NULL, MANY, &added), RESULT_OK);
    CU_ASSERT_EQUAL(batch_finish(&batch), RESULT_OK);
    store_fixture_commit(&fixture.tables, txn);
    batch_destroy(&batch);
    StaySet *set = load(&fixture, 5, RESULT_OK);
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(url, sizeof url, "http://h%u.example/x", i);
        n += has(set, url);
    }
    CU_ASSERT_EQUAL(n, MANY);
    stay_set_delete(set);
    ingest_fixture_close(&fixture);
}

static void a_seed_that_is_no_page_is_damage(void)
{
    IngestFixture fixture;
    set_up(&fixture);
    MDB_txn *txn = store_fixture_begin(&fixture.tables, false);
    CU_ASSERT_EQUAL(seed_rows_put(fixture.tables.store.seeds, txn, 9, NULL), RESULT_OK);
    store_fixture_commit(&fixture.tables, txn);
    stay_set_delete(load(&fixture, 5, RESULT_DAMAGED));
    fixture.tables.store.seeds = 0; /* nobody has kept which are seeds */
    stay_set_delete(load(&fixture, 5, RESULT_OK));
    ingest_fixture_close(&fixture);
}

UNIT_MAIN("seed_places",
          {"seeds, and what they redirect to, are places",
           seeds_and_what_they_redirect_to_are_places},
          {"redirects end", redirects_end},
          {"a long chain is followed as far as a crawl does",
           a_long_chain_is_followed_as_far_as_a_crawl_does},
          {"all seeds are read", all_seeds_are_read},
          {"a seed that is no page is damage", a_seed_that_is_no_page_is_damage})
