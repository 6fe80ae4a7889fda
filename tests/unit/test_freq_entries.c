/* The two tables of a FreqScheduler beside an array: random operations, then every look. */
#include <stdio.h>
#include <string.h>

#include "dice.h"
#include "folder_fixture.h"
#include "store/frequency/freq_entries.h"

#define SEED  20261128u
#define PAGES 40u
#define STEPS 4000u

typedef struct World {
    char dir[FOLDER_BYTES];
    MDB_env *env;
    MDB_txn *txn;
    FreqScheduler sch;
    FreqEntry entries[PAGES];
    bool is_there[PAGES];
} World;

static World world;

static void start(void)
{
    world = (World){.env = NULL};
    folder_make(world.dir);
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&world.env), 0);
    (void)mdb_env_set_maxdbs(world.env, 4);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(world.env, world.dir, MDB_NOSYNC, 0644), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(world.env, NULL, 0, &world.txn), 0);
    CU_ASSERT_EQUAL(freq_entries_open(&world.sch, world.txn, false), MDB_NOTFOUND);
    CU_ASSERT_EQUAL_FATAL(freq_entries_open(&world.sch, world.txn, true), 0);
}

static void end(void)
{
    mdb_txn_abort(world.txn);
    mdb_env_close(world.env);
    folder_remove(world.dir);
}

static bool are_same(const FreqEntry *a, const FreqEntry *b)
{
    return a->time == b->time && a->index == b->index && a->freq == b->freq &&
           a->out_until_s == b->out_until_s &&
           (a->out_until_s == 0.0 || a->out_crawls == b->out_crawls);
}

/* The first that is not before the place; PAGES: none. */
static unsigned naive_seek(double time, uint64_t index)
{
    unsigned best = PAGES;
    for (unsigned i = 0; i < PAGES; i++) {
        const FreqEntry *e = &world.entries[i];
        bool is_behind = e->time > time || (e->time == time && i >= index);
        if (world.is_there[i] && is_behind &&
            (best == PAGES || e->time < world.entries[best].time)) {
            best = i;
        }
    }
    return best;
}

static void both_tables_agree_with_an_array(void)
{
    Dice dice = {SEED};
    start();
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned i = (unsigned)dice_below(&dice, PAGES);
        FreqEntry found;
        int rc = freq_entry_find(&world.sch, world.txn, i, &found);
        CU_ASSERT_TRUE(world.is_there[i] ? rc == 0 && are_same(&found, &world.entries[i])
                                         : rc == MDB_NOTFOUND);
        if (rc == 0) {
            CU_ASSERT_EQUAL(freq_entry_delete(&world.sch, world.txn, &found), 0);
            world.is_there[i] = false;
        }
        if (dice_below(&dice, 4) > 0) {
            FreqEntry *e = &world.entries[i];
            bool is_out = dice_below(&dice, 3) == 0;
            *e = (FreqEntry){.time = (double)dice_below(&dice, 20) / 3,
                             .index = i,
                             .freq = 1e-30f + (float)dice_below(&dice, 9),
                             .out_until_s = is_out ? 1.7e9 : 0.0,
                             .out_crawls = is_out ? dice_next(&dice) : 0};
            CU_ASSERT_EQUAL(freq_entry_put(&world.sch, world.txn, e), 0);
            world.is_there[i] = true;
        }
        FreqEntry at = {.time = (double)dice_below(&dice, 22) / 3,
                        .index = dice_below(&dice, PAGES + 2)};
        unsigned expected = naive_seek(at.time, at.index);
        rc = freq_entry_seek(&world.sch, world.txn, &at);
        bool agrees = expected == PAGES ? rc == MDB_NOTFOUND
                                        : rc == 0 && are_same(&at, &world.entries[expected]);
        if (!agrees) {
            (void)fprintf(stderr, "seed %u step %u\n", SEED, step);
        }
        CU_ASSERT_TRUE(agrees);
        double clock = -1;
        unsigned first = naive_seek(0, 0);
        CU_ASSERT_EQUAL(freq_clock_read(&world.sch, world.txn, &clock), 0);
        CU_ASSERT_EQUAL(clock, first == PAGES ? 0.0 : world.entries[first].time);
    }
    end();
}

static void put(MDB_dbi table, void *key, size_t key_length, const void *bytes, size_t length)
{
    MDB_val k = {key_length, key};
    MDB_val v = {length, (void *)(uintptr_t)bytes};
    CU_ASSERT_EQUAL_FATAL(mdb_put(world.txn, table, &k, &v, 0), 0);
}

static void damage_is_told_as_such(void)
{
    unsigned char bytes[32] = {0};
    FreqEntry entry = {.time = 1, .index = 3, .freq = 1};
    start();
    CU_ASSERT_EQUAL(freq_entry_put(&world.sch, world.txn, &entry), 0);
    uint64_t index = 3;
    put(world.sch.pages, &index, sizeof index, bytes, 4); /* no time */
    CU_ASSERT_EQUAL(freq_entry_find(&world.sch, world.txn, 3, &entry), MDB_CORRUPTED);
    put(world.sch.schedule, bytes, 16, bytes, 5); /* no frequency */
    entry = (FreqEntry){.time = 0};
    CU_ASSERT_EQUAL(freq_entry_seek(&world.sch, world.txn, &entry), MDB_CORRUPTED);
    double clock = 0;
    CU_ASSERT_EQUAL(freq_clock_read(&world.sch, world.txn, &clock), MDB_CORRUPTED);
    for (size_t key = 0; key <= 17; key++) { /* of every length */
        for (size_t length = 0; length <= 21; length++) {
            MDB_val k = {key, bytes};
            unsigned char value[32];
            memset(value, 0x3f, sizeof value);
            MDB_val v = {length, value};
            bool is_one = key == 16 && (length == 4 || length == 20);
            CU_ASSERT_EQUAL(freq_entry_read(&k, &v, &entry), is_one);
        }
    }
    end();
}

UNIT_MAIN("freq_entries", {"both tables agree with an array", both_tables_agree_with_an_array},
          {"damage is told as such", damage_is_told_as_such})
