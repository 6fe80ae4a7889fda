#include <string.h>

#include "dice.h"
#include "store/tables/revisit_rows.h"
#include "store_fixture.h"
#include "unit.h"

#define N_PAGES 50u

typedef struct World {
    StoreFixture fixture;
    RevisitRows *table;
    MDB_txn *txn;
} World;

static void set_up(World *w)
{
    store_fixture_open(&w->fixture);
    w->txn = store_fixture_begin(&w->fixture, false);
    RevisitRows *none = NULL;
    CU_ASSERT_EQUAL(revisit_rows_open(&none, w->txn, false), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL_FATAL(revisit_rows_open(&w->table, w->txn, true), RESULT_OK);
}

static void tear_down(World *w)
{
    store_fixture_commit(&w->fixture, w->txn);
    revisit_rows_close(w->table);
    store_fixture_close(&w->fixture, true);
}

/* Random puts, moves and removals against an array. */
static void pages_have_one_due_time_in_order(void)
{
    World w;
    set_up(&w);
    Dice dice = {.state = 1};
    double times[N_PAGES] = {0};
    for (int step = 0; step < 5000; step++) {
        uint64_t index = dice_below(&dice, N_PAGES);
        if (dice_below(&dice, 4) == 0) {
            CU_ASSERT_EQUAL(revisit_rows_remove(w.table, w.txn, index), RESULT_OK);
            times[index] = 0;
        } else {
            RevisitDue due = {
                .time_s = 1.7e9 + (double)dice_below(&dice, 30), .index = index, .freq = 1};
            CU_ASSERT_EQUAL(revisit_rows_put(w.table, w.txn, &due), RESULT_OK);
            times[index] = due.time_s;
        }
    }
    uint64_t n = 0;
    uint64_t expected = 0;
    for (uint64_t i = 0; i < N_PAGES; i++) {
        RevisitDue due;
        Result rc = revisit_rows_get(w.table, w.txn, i, &due);
        CU_ASSERT_EQUAL(rc, times[i] > 0 ? RESULT_OK : RESULT_NOT_FOUND);
        CU_ASSERT_TRUE(rc != RESULT_OK || due.time_s == times[i]);
        expected += times[i] > 0;
    }
    CU_ASSERT_EQUAL(revisit_rows_count(w.table, w.txn, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, expected);
    RevisitDue at = {.time_s = 0};
    RevisitDue before = at;
    uint64_t walked = 0;
    while (revisit_rows_next(w.table, w.txn, &at) == RESULT_OK) {
        CU_ASSERT_TRUE(at.time_s > before.time_s ||
                       (at.time_s == before.time_s && at.index > before.index));
        before = at;
        walked++;
    }
    CU_ASSERT_EQUAL(walked, expected);
    CU_ASSERT_EQUAL(revisit_rows_page_count(w.table, w.txn, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, expected);
    CU_ASSERT_EQUAL(revisit_rows_clear(w.table, w.txn), RESULT_OK);
    CU_ASSERT_EQUAL(revisit_rows_count(w.table, w.txn, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, 0);
    tear_down(&w);
}

static void lines_are_first_come_first_served_by_host(void)
{
    World w;
    set_up(&w);
    bool is_empty = false;
    for (uint64_t i = 0; i < 10; i++) {
        RevisitDue due = {.time_s = 1.7e9 + (double)(i * 7 % 10), .index = i};
        CU_ASSERT_EQUAL(revisit_rows_line_put(w.table, w.txn, i % 2, &due), RESULT_OK);
        CU_ASSERT_EQUAL(revisit_rows_line_put(w.table, w.txn, i % 2, &due), RESULT_OK);
    }
    uint64_t n = 0;
    CU_ASSERT_EQUAL(revisit_rows_line_count(w.table, w.txn, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, 10);
    double before = 0;
    RevisitDue due;
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(revisit_rows_line_take(w.table, w.txn, 1, &due), RESULT_OK);
        CU_ASSERT_EQUAL(due.index % 2, 1);
        CU_ASSERT_TRUE(due.time_s > before);
        before = due.time_s;
    }
    CU_ASSERT_EQUAL(revisit_rows_line_take(w.table, w.txn, 1, &due), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(revisit_rows_line_is_empty(w.table, w.txn, 1, &is_empty), RESULT_OK);
    CU_ASSERT_TRUE(is_empty);
    CU_ASSERT_EQUAL(revisit_rows_line_is_empty(w.table, w.txn, 0, &is_empty), RESULT_OK);
    CU_ASSERT_FALSE(is_empty);
    tear_down(&w);
}

static size_t note_bytes(const World *w, uint64_t index)
{
    MDB_dbi dbi = 0;
    MDB_val key = {sizeof index, &index};
    MDB_val value = {0};
    CU_ASSERT_EQUAL(mdb_dbi_open(w->txn, "revisit_notes", 0, &dbi), 0);
    CU_ASSERT_EQUAL(mdb_get(w->txn, dbi, &key, &value), 0);
    return value.mv_size;
}

static void notes_come_back_and_empty_ones_are_none(void)
{
    static const char longest[] =
        "0123456789012345678901234567890123456789012345678901234567890123";
    static const struct {
        uint8_t misses;
        float freq; /* below 0: a hint */
        const char *date;
        const char *etag;
        size_t bytes;
    } notes[] = {
        {0, 0, "", "\"e\"", 4},
        {0, 0, "Sun, 06 Nov 1994 08:49:37 GMT", "", 6},
        {0, 0, "Fri, 20 Nov 2026 16:59:00 GMT", "W/\"x\"", 11},
        {0, 0, "Mon, 06 Nov 1994 08:49:37 GMT", "", 31}, /* it was a Sunday: kept as it is */
        {0, 0, "1794-11-20", "", 12},
        {3, 0, "", "", 2},
        {0, -0.25f, "", "", 5},
        {255, 0.25f, "Sunday, 06-Nov-94 08:49:37 GMT", "\"e\"", 40},
        {0, 1, longest, "\"e\"", 73},
    };
    World w;
    set_up(&w);
    RevisitNote note;
    RevisitNote found;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        memset(&note, 0, sizeof note);
        note.misses = notes[i].misses;
        note.fixed_freq = notes[i].freq > 0 ? notes[i].freq : 0;
        note.hint_freq = notes[i].freq < 0 ? -notes[i].freq : 0;
        memcpy(note.last_modified, notes[i].date, strlen(notes[i].date));
        memcpy(note.etag, notes[i].etag, strlen(notes[i].etag));
        CU_ASSERT_EQUAL(revisit_rows_note_put(w.table, w.txn, 7, &note), RESULT_OK);
        CU_ASSERT_EQUAL(revisit_rows_note_get(w.table, w.txn, 7, &found), RESULT_OK);
        CU_ASSERT_EQUAL(memcmp(&note, &found, sizeof note), 0);
        CU_ASSERT_EQUAL(note_bytes(&w, 7), notes[i].bytes);
    }
    freq_seen_update(&note.seen, 4, 2, 1e9, 1e9 + 600); /* what visits found: two bins */
    freq_seen_update(&note.seen, 5, 3, 1e9, 1e9 + 7200);
    memset(note.etag, 'e', REVISIT_ETAG_BYTES);
    CU_ASSERT_EQUAL(revisit_rows_note_put(w.table, w.txn, 7, &note), RESULT_OK);
    CU_ASSERT_EQUAL(revisit_rows_note_get(w.table, w.txn, 7, &found), RESULT_OK);
    CU_ASSERT_EQUAL(memcmp(&note, &found, sizeof note), 0);
    memset(&note, 0, sizeof note);
    CU_ASSERT_EQUAL(revisit_rows_note_put(w.table, w.txn, 7, &note), RESULT_OK);
    MDB_dbi dbi = 0;
    MDB_stat stat;
    CU_ASSERT_EQUAL(mdb_dbi_open(w.txn, "revisit_notes", 0, &dbi), 0);
    CU_ASSERT_EQUAL(mdb_stat(w.txn, dbi, &stat), 0);
    CU_ASSERT_EQUAL(stat.ms_entries, 0);
    uint64_t settled = 1;
    CU_ASSERT_EQUAL(revisit_rows_settled_get(w.table, w.txn, &settled), RESULT_OK);
    CU_ASSERT_EQUAL(settled, 0);
    CU_ASSERT_EQUAL(revisit_rows_settled_put(w.table, w.txn, 99), RESULT_OK);
    CU_ASSERT_EQUAL(revisit_rows_settled_get(w.table, w.txn, &settled), RESULT_OK);
    CU_ASSERT_EQUAL(settled, 99);
    tear_down(&w);
}

static void damaged_notes_are_told(void)
{
    World w;
    set_up(&w);
    RevisitNote note;
    MDB_dbi dbi = 0;
    uint64_t index = 3;
    static const struct {
        uint8_t bytes[3];
        size_t length;
    } damaged[] = {{{0}, 0}, {{1}, 1},         {{2, 1, 1}, 3}, {{4, 1, 1}, 3},
                   {{8}, 1}, {{8, 200, 1}, 3}, {{16, 1}, 2}};
    uint8_t bytes[300];
    CU_ASSERT_EQUAL(mdb_dbi_open(w.txn, "revisit_notes", 0, &dbi), 0);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        MDB_val key = {sizeof index, &index};
        memcpy(bytes, damaged[i].bytes, sizeof damaged[i].bytes);
        MDB_val value = {damaged[i].length, bytes};
        CU_ASSERT_EQUAL(mdb_put(w.txn, dbi, &key, &value, 0), 0);
        CU_ASSERT_EQUAL(revisit_rows_note_get(w.table, w.txn, index, &note), RESULT_DAMAGED);
    }
    memset(bytes, 0, sizeof bytes); /* a longer ETag than any that was written */
    MDB_val key = {sizeof index, &index};
    MDB_val value = {sizeof bytes, bytes};
    CU_ASSERT_EQUAL(mdb_put(w.txn, dbi, &key, &value, 0), 0);
    CU_ASSERT_EQUAL(revisit_rows_note_get(w.table, w.txn, index, &note), RESULT_DAMAGED);
    tear_down(&w);
}

UNIT_MAIN("revisit_rows", {"pages have one due time, in order", pages_have_one_due_time_in_order},
          {"lines are first come, first served, by host",
           lines_are_first_come_first_served_by_host},
          {"notes come back, and empty ones are none", notes_come_back_and_empty_ones_are_none},
          {"damaged notes are told", damaged_notes_are_told})
