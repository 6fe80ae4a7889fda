#include <string.h>

#include "rules/dedup.h"
#include "store_fixture.h"
#include "unit.h"

static DedupSteps steps_of(const char *text)
{
    DedupSteps steps;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(dedup_parse_steps(text, &steps, &error), RESULT_OK);
    CU_ASSERT_EQUAL(error.length, 0);
    buffer_destroy(&error);
    return steps;
}

static void steps_are_words(void)
{
    CU_ASSERT_FALSE(steps_of("").on);
    CU_ASSERT_FALSE(steps_of(" , ").on);
    DedupSteps steps = steps_of("escapes");
    CU_ASSERT_TRUE(steps.on);
    CU_ASSERT_FALSE(steps.key.session_ids || steps.key.tracking || steps.key.index_pages ||
                    steps.key.sorted_query);
    steps = steps_of("tracking,sorted_query  session_ids");
    CU_ASSERT_TRUE(steps.on && steps.key.tracking && steps.key.sorted_query &&
                   steps.key.session_ids && !steps.key.index_pages);
}

static void an_unknown_step_is_named(void)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"tracking, session_id", "'session_id' is not a step of a dedup key, did you mean "
                                 "'session_ids'?"},
        {"everything", "'everything' is not a step of a dedup key; there are escapes, session_ids, "
                       "tracking, index_pages, sorted_query"},
        {"trackings", "'trackings' is not a step of a dedup key, did you mean 'tracking'?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        DedupSteps steps;
        Buffer error;
        buffer_init(&error, BUFFER_NO_LIMIT);
        CU_ASSERT_EQUAL(dedup_parse_steps(cases[i].text, &steps, &error), RESULT_INVALID);
        CU_ASSERT_STRING_EQUAL(buffer_string(&error), cases[i].message);
        buffer_destroy(&error);
    }
}

static Hash128 key_of(const char *steps, const char *url)
{
    DedupSteps chosen = steps_of(steps);
    DedupScratch scratch;
    Hash128 key = {0};
    dedup_scratch_init(&scratch);
    CU_ASSERT_EQUAL(dedup_key(&chosen, &scratch, url, strlen(url), &key), RESULT_OK);
    dedup_scratch_destroy(&scratch);
    return key;
}

static bool same_key(const char *steps, const char *a, const char *b)
{
    Hash128 x = key_of(steps, a);
    Hash128 y = key_of(steps, b);
    return x.high == y.high && x.low == y.low;
}

static void keys_follow_the_steps(void)
{
    const char *plain = "http://h/a?b=1";
    CU_ASSERT_TRUE(same_key("escapes", "http://h/%7ea", "http://h/~a"));
    CU_ASSERT_FALSE(same_key("escapes", plain, "http://h/a?b=1&utm_source=x"));
    CU_ASSERT_TRUE(same_key("tracking", plain, "http://h/a?b=1&utm_source=x"));
    CU_ASSERT_TRUE(same_key("index_pages", "http://h/", "http://h/index.html"));
    CU_ASSERT_FALSE(same_key("tracking", "http://h/", "http://h/index.html"));
    CU_ASSERT_FALSE(same_key("index_pages", "http://h/", "http://g/"));
}

/* Runs dedup_check in a transaction of its own. */
static Result check(StoreFixture *f, const char *text, bool has_pages, Buffer *error)
{
    DedupSteps steps = steps_of(text);
    MDB_txn *txn = store_fixture_begin(f, false);
    Result rc = dedup_check(&steps, txn, f->store.crawl, has_pages, error);
    store_fixture_commit(f, txn);
    return rc;
}

static void a_crawl_keeps_the_steps_it_began_with(void)
{
    StoreFixture f = {.path = ""};
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    store_fixture_open(&f);
    CU_ASSERT_EQUAL(check(&f, "", true, &error), RESULT_OK); /* from before there was a record */
    CU_ASSERT_EQUAL(check(&f, "tracking", false, &error), RESULT_OK);
    CU_ASSERT_EQUAL(check(&f, "tracking escapes", true, &error), RESULT_OK);
    CU_ASSERT_EQUAL(error.length, 0);
    CU_ASSERT_EQUAL(check(&f, "", true, &error), RESULT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "begun with 'escapes tracking'"));
    CU_ASSERT_EQUAL(check(&f, "tracking, index_pages", true, &error), RESULT_INVALID);
    CU_ASSERT_EQUAL(check(&f, "tracking, index_pages", false, &error), RESULT_OK);
    CU_ASSERT_EQUAL(check(&f, "tracking, index_pages", true, &error), RESULT_OK);
    buffer_destroy(&error);
    store_fixture_close(&f, true);
}

/* What stands for a URL when all steps but sorting are taken. */
static void expect_first(StoreFixture *f, MDB_txn *txn, const char *url, const char *from,
                         const char *expected)
{
    Arena arena;
    const char *first = NULL;
    Hash128 key = key_of("session_ids tracking index_pages", url);
    arena_init(&arena, 4096, SIZE_MAX);
    CU_ASSERT_EQUAL(dedup_first(txn, f->store.keys, &key, url, from, &arena, &first), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(first, expected);
    arena_destroy(&arena);
}

static void the_first_spelling_stands_for_all(void)
{
    StoreFixture f = {.path = ""};
    store_fixture_open(&f);
    MDB_txn *txn = store_fixture_begin(&f, false);
    expect_first(&f, txn, "http://h/?utm_source=a", NULL, "http://h/?utm_source=a");
    expect_first(&f, txn, "http://h/", NULL, "http://h/?utm_source=a");
    expect_first(&f, txn, "http://h/index.html", "http://h/x", "http://h/?utm_source=a");
    expect_first(&f, txn, "http://h/?utm_source=a", NULL, "http://h/?utm_source=a");
    /* A redirect from the first one hands its place on, and back. */
    expect_first(&f, txn, "http://h/", "http://h/?utm_source=a", "http://h/");
    expect_first(&f, txn, "http://h/index.html", NULL, "http://h/");
    expect_first(&f, txn, "http://h/?utm_source=a", "http://h/", "http://h/?utm_source=a");
    page_db_txn_abort(f.store.db, txn);
    store_fixture_close(&f, true);
}

static void who_is_forbidden_gives_up_its_place(void)
{
    StoreFixture f = {.path = ""};
    store_fixture_open(&f);
    MDB_txn *txn = store_fixture_begin(&f, false);
    Hash128 key = key_of("tracking", "http://h/");
    expect_first(&f, txn, "http://h/?utm_source=a", NULL, "http://h/?utm_source=a");
    CU_ASSERT_EQUAL(dedup_release(txn, f.store.keys, &key, "http://h/"), RESULT_OK);
    expect_first(&f, txn, "http://h/", NULL, "http://h/?utm_source=a");
    CU_ASSERT_EQUAL(dedup_release(txn, f.store.keys, &key, "http://h/?utm_source=a"), RESULT_OK);
    CU_ASSERT_EQUAL(dedup_release(txn, f.store.keys, &key, "http://h/?utm_source=a"), RESULT_OK);
    expect_first(&f, txn, "http://h/", NULL, "http://h/");
    page_db_txn_abort(f.store.db, txn);
    store_fixture_close(&f, true);
}

static void a_forged_hash_merges_nothing_of_another_host(void)
{
    StoreFixture f = {.path = ""};
    Arena arena;
    const char *first = NULL;
    Hash128 key = {.high = 1, .low = 2};
    store_fixture_open(&f);
    arena_init(&arena, 4096, SIZE_MAX);
    MDB_txn *txn = store_fixture_begin(&f, false);
    CU_ASSERT_EQUAL(dedup_first(txn, f.store.keys, &key, "http://evil/", NULL, &arena, &first),
                    RESULT_OK);
    CU_ASSERT_EQUAL(dedup_first(txn, f.store.keys, &key, "http://good/", NULL, &arena, &first),
                    RESULT_OK);
    CU_ASSERT_STRING_EQUAL(first, "http://good/");
    page_db_txn_abort(f.store.db, txn);
    arena_destroy(&arena);
    store_fixture_close(&f, true);
}

UNIT_MAIN("dedup", {"steps are words", steps_are_words},
          {"an unknown step is named", an_unknown_step_is_named},
          {"keys follow the steps", keys_follow_the_steps},
          {"a crawl keeps the steps it began with", a_crawl_keeps_the_steps_it_began_with},
          {"the first spelling stands for all", the_first_spelling_stands_for_all},
          {"who is forbidden gives up its place", who_is_forbidden_gives_up_its_place},
          {"a forged hash merges nothing of another host",
           a_forged_hash_merges_nothing_of_another_host})
