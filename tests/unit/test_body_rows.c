/* The first page of each body, with a journal in front of its table and without, against a naive
 * list. */
#include "store/tables/body_rows.h"

#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "folder_fixture.h"
#include "store/lmdb/lmdb_result.h"
#include "unit.h"

enum { WORDS = 4, SECONDS = 5, PAGES = 6, BATCHES = 250, MOST_STEPS = 25 };

/* owner.page is NONE: nobody has the fingerprint; or the page has no row of its own. */
#define NONE UINT64_MAX

typedef struct Model {
    BodyOwner owners[WORDS][SECONDS];
    uint64_t own[PAGES][2];
} Model;

typedef struct World {
    char dir[FOLDER_BYTES];
    MDB_env *env;
    Journal *journal; /* NULL: none */
    BodyRows *rows;
    MDB_txn *txn;
    Dice dice;
    Model model;
    unsigned found; /* how often a body was known */
} World;

static void begin(World *w)
{
    CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(w->env, NULL, 0, &w->txn), 0);
}

static void end(World *w, bool really)
{
    if (w->journal != NULL) {
        CU_ASSERT_EQUAL(journal_sweep(w->journal, w->txn), 0);
    }
    if (really) {
        CU_ASSERT_EQUAL_FATAL(mdb_txn_commit(w->txn), 0);
    } else {
        mdb_txn_abort(w->txn);
    }
    journal_settle(w->journal, really);
}

static void open_tables(World *w, size_t journal_rows, bool is_new, size_t map_bytes)
{
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&w->env), 0);
    (void)mdb_env_set_maxdbs(w->env, 4);
    (void)mdb_env_set_mapsize(w->env, map_bytes);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(w->env, w->dir, MDB_NOSYNC, 0644), 0);
    begin(w);
    if (journal_rows > 0) {
        CU_ASSERT_EQUAL(is_new ? journal_create(w->txn) : 0, 0);
        CU_ASSERT_EQUAL_FATAL(journal_open(&w->journal, w->txn, false), 0);
        journal_set_rows(w->journal, journal_rows);
    }
    CU_ASSERT_EQUAL_FATAL(body_rows_open(&w->rows, w->txn, w->journal), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(mdb_txn_commit(w->txn), 0);
    journal_settle(w->journal, true);
}

static void close_tables(World *w)
{
    body_rows_close(w->rows);
    journal_close(w->journal);
    w->journal = NULL;
    mdb_env_close(w->env);
}

/* Words that differ in their first bytes and in their last, as those of hosts do. */
static void print_number(unsigned word, unsigned second, uint64_t print[2])
{
    static const uint64_t words[WORDS] = {0, 1, UINT64_C(0x0100000000000000), UINT64_MAX};
    print[0] = words[word];
    print[1] = second * UINT64_C(0x9E3779B97F4A7C15);
}

/* The fingerprint of a page that begins with a word; SECONDS: it has none. */
static unsigned second_of(const World *w, unsigned word, uint64_t page)
{
    unsigned second = 0;
    while (second < SECONDS && w->model.owners[word][second].page != page) {
        second++;
    }
    return second;
}

static void step_enter(World *w, unsigned word, unsigned second, uint64_t page)
{
    uint64_t print[2];
    BodyOwner *known = &w->model.owners[word][second];
    BodyOwner owner = {.page = page, .links_hash = dice_next(&w->dice)};
    BodyOwner given = owner;
    bool found = known->page == NONE;
    /* The host and 32 bits of two contents of one page are never the same, but by chance. */
    if (known->page == NONE && second_of(w, word, page) < SECONDS) {
        return;
    }
    print_number(word, second, print);
    CU_ASSERT_EQUAL(body_rows_enter(w->rows, w->txn, print, &owner, &found), RESULT_OK);
    CU_ASSERT_EQUAL(found, known->page != NONE);
    *known = known->page == NONE ? given : *known;
    CU_ASSERT_TRUE(owner.page == known->page && owner.links_hash == known->links_hash);
    w->found += found;
}

static void step_forget(World *w, unsigned word, unsigned second, uint64_t page)
{
    uint64_t print[2];
    BodyOwner *known = &w->model.owners[word][second];
    print_number(word, second, print);
    CU_ASSERT_EQUAL(body_rows_forget(w->rows, w->txn, print, page), RESULT_OK);
    known->page = known->page == page ? NONE : known->page;
}

static void step_forget_word(World *w, unsigned word, unsigned second, uint64_t page)
{
    uint64_t print[2];
    (void)second;
    unsigned known = second_of(w, word, page);
    print_number(word, 0, print);
    CU_ASSERT_EQUAL(body_rows_forget_word(w->rows, w->txn, print[0], page), RESULT_OK);
    if (known < SECONDS) {
        w->model.owners[word][known].page = NONE;
    }
}

static void step_own(World *w, unsigned word, unsigned second, uint64_t page)
{
    uint64_t print[2];
    uint64_t *own = w->model.own[page];
    if (dice_below(&w->dice, 3) == 0) {
        CU_ASSERT_EQUAL(body_rows_remove_own(w->rows, w->txn, page), RESULT_OK);
        own[1] = NONE;
        return;
    }
    print_number(word, second, print);
    CU_ASSERT_EQUAL(body_rows_put_own(w->rows, w->txn, page, print), RESULT_OK);
    memcpy(own, print, sizeof print);
}

/* In a transaction: asks for everything. */
static void check(World *w)
{
    for (uint64_t page = 0; page < PAGES; page++) {
        uint64_t print[2] = {0};
        const uint64_t *own = w->model.own[page];
        Result rc = body_rows_get_own(w->rows, w->txn, page, print);
        CU_ASSERT_EQUAL(rc, own[1] == NONE ? RESULT_NOT_FOUND : RESULT_OK);
        CU_ASSERT_TRUE(rc != RESULT_OK || memcmp(print, own, sizeof print) == 0);
    }
    for (unsigned word = 0; word < WORDS; word++) {
        for (unsigned second = 0; second < SECONDS; second++) {
            const BodyOwner *known = &w->model.owners[word][second];
            uint64_t print[2];
            bool found = false;
            BodyOwner owner = {.page = 1000};
            print_number(word, second, print);
            CU_ASSERT_EQUAL(body_rows_enter(w->rows, w->txn, print, &owner, &found), RESULT_OK);
            CU_ASSERT_EQUAL(found, known->page != NONE);
            CU_ASSERT_TRUE(!found ||
                           (owner.page == known->page && owner.links_hash == known->links_hash));
        }
    }
}

static void run_against_the_model(size_t journal_rows)
{
    static void (*const steps[])(World *, unsigned, unsigned, uint64_t) = {
        step_enter, step_enter, step_forget, step_forget_word, step_own};
    World *w = calloc(1, sizeof *w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    memset(&w->model, 0xff, sizeof w->model);
    w->dice.state = 25 + journal_rows;
    folder_make(w->dir);
    open_tables(w, journal_rows, true, (size_t)64 << 20);
    for (unsigned i = 0; i < BATCHES; i++) {
        Model saved = w->model;
        begin(w);
        for (uint64_t n = dice_below(&w->dice, MOST_STEPS); n > 0; n--) {
            steps[dice_below(&w->dice, 5)](w, (unsigned)dice_below(&w->dice, WORDS),
                                           (unsigned)dice_below(&w->dice, SECONDS),
                                           dice_below(&w->dice, PAGES));
        }
        bool really = dice_below(&w->dice, 4) > 0;
        end(w, really);
        w->model = really ? w->model : saved;
        begin(w);
        check(w);
        end(w, false); /* what it has entered */
        if (i % 50 == 49) {
            close_tables(w);
            open_tables(w, journal_rows, false, (size_t)64 << 20);
        }
    }
    CU_ASSERT_TRUE(w->found > 50);
    close_tables(w);
    folder_remove(w->dir);
    free(w);
}

static void rows_are_those_of_the_model(void)
{
    run_against_the_model(0);
}

static void a_journal_makes_no_difference(void)
{
    run_against_the_model(10);
    run_against_the_model(300);
}

static void a_full_map_is_told_and_changes_nothing(void)
{
    World *w = calloc(1, sizeof *w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    Result rc = RESULT_OK;
    uint64_t print[2] = {1, 0};
    BodyOwner owner = {.page = 1};
    bool found = false;
    folder_make(w->dir);
    open_tables(w, 0, true, (size_t)64 << 10);
    begin(w);
    for (; rc == RESULT_OK && print[1] < 100000; print[1]++) {
        rc = body_rows_enter(w->rows, w->txn, print, &owner, &found);
    }
    CU_ASSERT_EQUAL(rc, RESULT_FULL);
    end(w, false);
    begin(w);
    print[1] = 0;
    CU_ASSERT_EQUAL(body_rows_enter(w->rows, w->txn, print, &owner, &found), RESULT_OK);
    CU_ASSERT_FALSE(found);
    end(w, true);
    close_tables(w);
    folder_remove(w->dir);
    free(w);
}

static void a_row_of_another_size_is_damage(void)
{
    World *w = calloc(1, sizeof *w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    MDB_dbi dbi = 0;
    uint64_t print[2] = {5, 6};
    uint64_t page = 7;
    BodyOwner owner = {.page = 1};
    bool found = true;
    folder_make(w->dir);
    open_tables(w, 0, true, (size_t)1 << 20);
    begin(w);
    CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(w->txn, "bodies", 0, &dbi), 0);
    MDB_val value = lmdb_bytes("x", 1);
    MDB_val keys[] = {{sizeof print, print}, {sizeof page, &page}};
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(mdb_put(w->txn, dbi, &keys[i], &value, 0), 0);
    }
    CU_ASSERT_EQUAL(body_rows_enter(w->rows, w->txn, print, &owner, &found), RESULT_DAMAGED);
    CU_ASSERT_FALSE(found);
    CU_ASSERT_EQUAL(body_rows_forget(w->rows, w->txn, print, 1), RESULT_DAMAGED);
    CU_ASSERT_EQUAL(body_rows_get_own(w->rows, w->txn, page, print), RESULT_NOT_FOUND);
    end(w, false);
    close_tables(w);
    folder_remove(w->dir);
    free(w);
}

UNIT_MAIN("body_rows", {"rows are those of the model", rows_are_those_of_the_model},
          {"a journal makes no difference", a_journal_makes_no_difference},
          {"a full map is told, and changes nothing", a_full_map_is_told_and_changes_nothing},
          {"a row of another size is damage", a_row_of_another_size_is_damage})
