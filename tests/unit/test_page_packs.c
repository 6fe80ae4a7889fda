/* Records by index against a plain array of them: appended, replaced by longer and shorter ones,
 * with a journal and without, in packs of both widths; and what is no pack. */
#include "store/format/page_packs.h"

#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "folder_fixture.h"
#include "unit.h"

enum { RECORDS = 200, MOST_STEPS = 30, SHORT = 90, LONG = 30000 };

/* A record is its length in bytes that are all alike. */
typedef struct ModelRecord {
    size_t length;
    uint8_t byte;
} ModelRecord;

typedef struct Model {
    ModelRecord records[RECORDS];
    size_t n;
} Model;

typedef struct World {
    char dir[FOLDER_BYTES];
    MDB_env *env;
    MDB_dbi dbi;
    Journal *journal; /* NULL: none */
    MDB_txn *txn;
    Dice dice;
    Model model;
    uint8_t bytes[LONG];
} World;

static int sweep_row(void *context, Journal *journal, MDB_txn *txn, uint64_t word,
                     const MDB_val *row)
{
    const World *w = context;
    PagePackEditor editor;
    (void)journal;
    page_pack_editor_begin(&editor, txn, w->dbi, NULL);
    page_pack_editor_set(&editor, word, row);
    return page_pack_editor_end(&editor, 0);
}

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

static World *set_up(size_t journal_rows)
{
    World *w = calloc(1, sizeof *w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    folder_make(w->dir);
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&w->env), 0);
    (void)mdb_env_set_maxdbs(w->env, 4);
    (void)mdb_env_set_mapsize(w->env, (size_t)256 << 20);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(w->env, w->dir, MDB_NOSYNC, 0644), 0);
    begin(w);
    CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(w->txn, "records", MDB_CREATE | MDB_INTEGERKEY, &w->dbi), 0);
    if (journal_rows > 0) {
        JournalTarget target = {.context = w, .apply = sweep_row};
        CU_ASSERT_EQUAL(journal_create(w->txn), 0);
        CU_ASSERT_EQUAL_FATAL(journal_open(&w->journal, w->txn, false), 0);
        journal_set_target(w->journal, JOURNAL_PAGES, &target);
        journal_set_rows(w->journal, journal_rows);
    }
    CU_ASSERT_EQUAL_FATAL(mdb_txn_commit(w->txn), 0);
    journal_settle(w->journal, true);
    return w;
}

static void tear_down(World *w)
{
    journal_close(w->journal);
    mdb_env_close(w->env);
    folder_remove(w->dir);
    free(w);
}

/* ---- the model ---- */

/* Draws a new content of a record; the bytes are valid until the next one is drawn. */
static MDB_val draw_record(World *w, size_t index, size_t most)
{
    ModelRecord *record = &w->model.records[index];
    record->length = dice_below(&w->dice, 8) == 0 ? 0 : dice_below(&w->dice, most);
    record->byte = (uint8_t)dice_next(&w->dice);
    memset(w->bytes, record->byte, record->length);
    return (MDB_val){record->length, w->bytes};
}

static bool is_record(const ModelRecord *expected, const MDB_val *record)
{
    const char *bytes = record->mv_data;
    size_t length = expected->length;
    return record->mv_size == length &&
           (length == 0 ||
            ((uint8_t)bytes[0] == expected->byte && memcmp(bytes, bytes + 1, length - 1) == 0));
}

static void check(World *w)
{
    MDB_val record;
    unsigned wrong = 0;
    for (size_t i = 0; i < w->model.n; i++) {
        wrong += page_pack_find(w->txn, w->dbi, w->journal, i, &record) != 0 ||
                 !is_record(&w->model.records[i], &record);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(page_pack_find(w->txn, w->dbi, w->journal, w->model.n, &record), MDB_NOTFOUND);
    CU_ASSERT_EQUAL(page_pack_find(w->txn, w->dbi, w->journal, w->model.n + 100, &record),
                    MDB_NOTFOUND);
}

static void step(World *w, PagePackEditor *editor, size_t most)
{
    MDB_val record;
    size_t n = w->model.n;
    size_t index = n == 0 ? 0 : dice_below(&w->dice, n);
    uint64_t what = dice_below(&w->dice, 5);
    if ((what < 2 || n == 0) && n < RECORDS) {
        record = draw_record(w, n, most);
        page_pack_editor_append(editor, n, &record);
        w->model.n++;
    } else if (what < 4) {
        record = draw_record(w, index, most);
        page_pack_editor_set(editor, index, &record);
    } else {
        CU_ASSERT_TRUE(page_pack_editor_get(editor, index, &record));
        CU_ASSERT_TRUE(is_record(&w->model.records[index], &record));
    }
}

static void run_against_the_model(size_t journal_rows, size_t most, unsigned batches)
{
    World *w = set_up(journal_rows);
    unsigned n_journalled = 0;
    w->dice.state = journal_rows + most;
    for (unsigned i = 0; i < batches; i++) {
        Model saved = w->model;
        PagePackEditor editor;
        bool really = dice_below(&w->dice, 5) > 0;
        begin(w);
        page_pack_editor_begin(&editor, w->txn, w->dbi, w->journal);
        for (uint64_t n = dice_below(&w->dice, MOST_STEPS); n > 0; n--) {
            step(w, &editor, most);
        }
        CU_ASSERT_EQUAL(page_pack_editor_end(&editor, 0), 0);
        check(w);
        end(w, really);
        n_journalled += w->journal != NULL && journal_has(w->journal, JOURNAL_PAGES, 0);
        w->model = really ? w->model : saved;
        begin(w);
        check(w);
        mdb_txn_abort(w->txn);
        journal_settle(w->journal, false);
    }
    CU_ASSERT_TRUE(w->model.n > RECORDS / 2);
    CU_ASSERT_EQUAL(n_journalled > 0, w->journal != NULL);
    tear_down(w);
}

static void records_are_those_of_the_model(void)
{
    run_against_the_model(0, SHORT, 80);
}

static void a_journal_makes_no_difference(void)
{
    run_against_the_model(30, SHORT, 80);
}

static void packs_may_be_wide(void)
{
    run_against_the_model(0, LONG, 40);
}

/* ---- errors ---- */

static void after_a_failure_nothing_is_written(void)
{
    World *w = set_up(0);
    MDB_val record = {1, w->bytes};
    PagePackEditor editor;
    begin(w);
    page_pack_editor_begin(&editor, w->txn, w->dbi, NULL);
    CU_ASSERT_FALSE(page_pack_editor_get(&editor, 0, &record)); /* there is none, which is well */
    page_pack_editor_append(&editor, 0, &record);
    CU_ASSERT_EQUAL(page_pack_editor_end(&editor, 0), 0);
    /* A gap, within a pack. */
    page_pack_editor_begin(&editor, w->txn, w->dbi, NULL);
    page_pack_editor_append(&editor, 2, &record);
    page_pack_editor_append(&editor, 1, &record);
    CU_ASSERT_FALSE(page_pack_editor_get(&editor, 0, &record));
    CU_ASSERT_EQUAL(page_pack_editor_end(&editor, 0), MDB_CORRUPTED);
    CU_ASSERT_EQUAL(page_pack_find(w->txn, w->dbi, NULL, 1, &record), MDB_NOTFOUND);
    /* What went before has failed. */
    page_pack_editor_begin(&editor, w->txn, w->dbi, NULL);
    page_pack_editor_append(&editor, 1, &record);
    CU_ASSERT_EQUAL(page_pack_editor_end(&editor, MDB_MAP_FULL), MDB_MAP_FULL);
    CU_ASSERT_EQUAL(page_pack_find(w->txn, w->dbi, NULL, 1, &record), MDB_NOTFOUND);
    end(w, false);
    tear_down(w);
}

static void what_is_no_pack_is_damage(void)
{
    static const struct {
        const char *bytes;
        size_t length;
        size_t count;
    } rows[] = {
        {"", 0, 0},                          /* nothing */
        {"\x01", 1, 0},                      /* no width */
        {"\x00\x02", 2, 0},                  /* none */
        {"\x11\x02", 2, 0},                  /* seventeen */
        {"\x01\x03\x00\x00\x00", 5, 0},      /* no width that there is */
        {"\x02\x02\x00\x00", 4, 0},          /* an end is missing */
        {"\x01\x02\x00\x00", 4, 1},          /* an empty one */
        {"\x01\x02\x02\x00x", 5, 1},         /* it ends behind the pack */
        {"\x02\x02\x01\x00\x00\x00x", 7, 2}, /* the second ends before the first */
        {"\x01\x04\x01\x00\x00\x00x", 7, 1}, /* a wide one */
    };
    static const bool is_first_there[] = {false, false, false, false, false,
                                          false, true,  false, true,  true};
    World *w = set_up(0);
    for (uint64_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        MDB_val pack = {rows[i].length, (void *)(uintptr_t)rows[i].bytes};
        MDB_val record;
        CU_ASSERT_EQUAL(page_pack_count(&pack), rows[i].count);
        CU_ASSERT_EQUAL(page_pack_record(&pack, 0, &record), is_first_there[i]);
        CU_ASSERT_FALSE(page_pack_record(&pack, 1, &record));
        if (rows[i].count > 0 || rows[i].length == 0) {
            continue;
        }
        uint64_t number = i;
        MDB_val key = {sizeof number, &number};
        PagePackEditor editor;
        begin(w);
        CU_ASSERT_EQUAL(mdb_put(w->txn, w->dbi, &key, &pack, 0), 0);
        CU_ASSERT_EQUAL(page_pack_find(w->txn, w->dbi, NULL, i * PAGE_PACK_RECORDS, &record),
                        MDB_CORRUPTED);
        page_pack_editor_begin(&editor, w->txn, w->dbi, NULL);
        CU_ASSERT_FALSE(page_pack_editor_get(&editor, i * PAGE_PACK_RECORDS, &record));
        CU_ASSERT_EQUAL(page_pack_editor_end(&editor, 0), MDB_CORRUPTED);
        end(w, false);
    }
    tear_down(w);
}

UNIT_MAIN("page_packs", {"records are those of the model", records_are_those_of_the_model},
          {"a journal makes no difference", a_journal_makes_no_difference},
          {"packs may be wide", packs_may_be_wide},
          {"after a failure nothing is written", after_a_failure_nothing_is_written},
          {"what is no pack is damage", what_is_no_pack_is_damage})
