/* Journal: whatever is put, swept, aborted, closed and opened again, a reader sees the rows of its
 * snapshot. A model beside it keeps what the last commit has. */
#include "dice.h"
#include "folder_fixture.h"
#include "unit.h"

#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/lmdb/journal.h"

#define WORDS 1000u
#define ROWS  1500u /* of a generation */
#define TURNS 3000u

/* The content of a row: a number, or nothing of a row that never was. */
typedef struct Model {
    uint64_t pages[WORDS];
    uint64_t hosts[WORDS];
} Model;

typedef struct World {
    char path[FOLDER_BYTES];
    MDB_env *env;
    Journal *journal;
    MDB_dbi tables[JOURNAL_TABLES];
    Model now;       /* as of this transaction */
    Model committed; /* as of the last one */
    uint64_t swept;  /* rows */
    uint64_t last;   /* content that was put */
} World;

typedef struct Target {
    World *world;
    JournalTable table;
} Target;

static int apply(void *context, Journal *journal, MDB_txn *txn, uint64_t word, const MDB_val *row)
{
    (void)journal;
    const Target *target = context;
    MDB_val key = {sizeof word, &word};
    MDB_val value = *row;
    target->world->swept++;
    return mdb_put(txn, target->world->tables[target->table], &key, &value, 0);
}

static Target targets[JOURNAL_TABLES];

static MDB_txn *begin(const World *w, bool read_only)
{
    MDB_txn *txn = NULL;
    CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(w->env, NULL, read_only ? MDB_RDONLY : 0, &txn), 0);
    return txn;
}

static void open_world(World *w)
{
    static const char *const names[JOURNAL_TABLES] = {NULL, "pages", "hosts", "schedule", "bodies"};
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&w->env), 0);
    CU_ASSERT_EQUAL(mdb_env_set_mapsize(w->env, (size_t)64 << 20), 0);
    CU_ASSERT_EQUAL(mdb_env_set_maxdbs(w->env, 8), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(w->env, w->path, MDB_NOTLS | MDB_NOSYNC, 0600), 0);
    MDB_txn *txn = begin(w, false);
    CU_ASSERT_EQUAL(journal_create(txn), 0);
    CU_ASSERT_EQUAL_FATAL(journal_open(&w->journal, txn, false), 0);
    for (unsigned i = 1; i < JOURNAL_TABLES; i++) {
        CU_ASSERT_EQUAL(mdb_dbi_open(txn, names[i], MDB_CREATE | MDB_INTEGERKEY, &w->tables[i]), 0);
        targets[i] = (Target){w, (JournalTable)i};
        JournalTarget target = {.context = &targets[i], .apply = apply};
        journal_set_target(w->journal, (JournalTable)i, &target);
    }
    journal_set_rows(w->journal, ROWS);
    CU_ASSERT_EQUAL_FATAL(mdb_txn_commit(txn), 0);
    journal_settle(w->journal, true);
}

static void close_world(World *w)
{
    journal_close(w->journal);
    mdb_env_close(w->env);
}

static void make_world(World *w, const char *name)
{
    *w = (World){.last = 0};
    folder_name(w->path, name);
    folder_remove(w->path);
    CU_ASSERT_EQUAL_FATAL(mkdir(w->path, 0700), 0);
    open_world(w);
}

/* What a reader finds: in the journal, or else in the table; 0: nothing. */
static uint64_t look(const World *w, Journal *journal, MDB_txn *txn, JournalTable table,
                     uint64_t word)
{
    uint64_t number = 0;
    MDB_val key = {sizeof word, &word};
    MDB_val value = {0, NULL};
    int rc = journal_get(journal, txn, table, word, &value);
    if (rc == MDB_NOTFOUND) {
        rc = mdb_get(txn, w->tables[table], &key, &value);
    }
    CU_ASSERT(rc == 0 || rc == MDB_NOTFOUND);
    if (rc == 0) {
        CU_ASSERT_EQUAL_FATAL(value.mv_size, sizeof number);
        memcpy(&number, value.mv_data, sizeof number);
    }
    return number;
}

static unsigned differences(const World *w, Journal *journal, MDB_txn *txn, const Model *model)
{
    unsigned n = 0;
    for (uint64_t word = 0; word < WORDS; word++) {
        n += look(w, journal, txn, JOURNAL_PAGES, word) != model->pages[word];
        n += look(w, journal, txn, JOURNAL_HOSTS, word) != model->hosts[word];
    }
    return n;
}

static void put(World *w, MDB_txn *txn, JournalTable table, uint64_t word)
{
    uint64_t number = ++w->last;
    MDB_val value = {sizeof number, &number};
    CU_ASSERT_EQUAL(journal_put(w->journal, txn, table, word, &value), 0);
    *(table == JOURNAL_PAGES ? &w->now.pages[word] : &w->now.hosts[word]) = number;
}

static void end(World *w, MDB_txn *txn, bool commit)
{
    if (commit) {
        CU_ASSERT_EQUAL_FATAL(mdb_txn_commit(txn), 0);
        w->committed = w->now;
    } else {
        mdb_txn_abort(txn);
        w->now = w->committed;
    }
    journal_settle(w->journal, commit);
}

/* One transaction of some rows and a piece of a sweep. */
static void turn(World *w, Dice *dice)
{
    MDB_txn *txn = begin(w, false);
    for (uint64_t n = dice_below(dice, 60); n > 0; n--) {
        bool page = dice_below(dice, 2) == 0;
        put(w, txn, page ? JOURNAL_PAGES : JOURNAL_HOSTS, dice_below(dice, WORDS));
    }
    CU_ASSERT_EQUAL(journal_sweep(w->journal, txn), 0);
    if (dice_below(dice, 20) == 0) {
        CU_ASSERT_EQUAL(differences(w, w->journal, txn, &w->now), 0);
    }
    end(w, txn, dice_below(dice, 5) > 0);
}

static void rows_are_those_of_the_model(void)
{
    World w;
    Dice dice = {.state = 7};
    make_world(&w, "journal-model");
    for (unsigned i = 0; i < TURNS; i++) {
        turn(&w, &dice);
        if (i % 50 == 0) {
            MDB_txn *txn = begin(&w, true);
            CU_ASSERT_EQUAL(differences(&w, w.journal, txn, &w.committed), 0);
            mdb_txn_abort(txn);
        }
        if (dice_below(&dice, 100) == 0) { /* as after a kill: the transactions were whole */
            close_world(&w);
            open_world(&w);
        }
    }
    CU_ASSERT(w.swept > 10 * WORDS);
    close_world(&w);
    folder_remove(w.path);
}

/* Whatever is committed, and swept, meanwhile. */
static void a_reader_sees_its_snapshot(void)
{
    World w;
    Dice dice = {.state = 8};
    make_world(&w, "journal-snapshot");
    for (unsigned i = 0; i < 300; i++) {
        turn(&w, &dice);
        MDB_txn *reader = begin(&w, true);
        Model then = w.committed;
        for (uint64_t n = dice_below(&dice, 100); n > 0; n--) {
            turn(&w, &dice);
        }
        CU_ASSERT_EQUAL(differences(&w, w.journal, reader, &then), 0);
        mdb_txn_abort(reader);
    }
    close_world(&w);
    folder_remove(w.path);
}

/* The index of a process that only reads is that of its snapshots. */
static void another_process_follows(void)
{
    World w;
    Journal *other = NULL;
    Dice dice = {.state = 9};
    make_world(&w, "journal-follow");
    MDB_txn *txn = begin(&w, true);
    CU_ASSERT_EQUAL_FATAL(journal_open(&other, txn, true), 0);
    mdb_txn_abort(txn);
    for (unsigned i = 0; i < 500; i++) {
        for (uint64_t n = dice_below(&dice, 10); n > 0; n--) {
            turn(&w, &dice);
        }
        txn = begin(&w, true);
        CU_ASSERT_EQUAL(differences(&w, other, txn, &w.committed), 0);
        mdb_txn_abort(txn);
    }
    journal_close(other);
    close_world(&w);
    folder_remove(w.path);
}

/* Each key of a generation is written once, in order, and nothing is left at the end. */
static void a_drain_empties_it(void)
{
    World w;
    Dice dice = {.state = 10};
    bool done = false;
    make_world(&w, "journal-drain");
    for (unsigned i = 0; i < 300; i++) {
        turn(&w, &dice);
    }
    for (unsigned i = 0; i < 1000 && !done; i++) {
        MDB_txn *txn = begin(&w, false);
        CU_ASSERT_EQUAL(journal_drain(w.journal, txn, 37, &done), 0);
        end(&w, txn, i % 3 > 0); /* some pieces are lost, and written again */
    }
    CU_ASSERT(done);
    CU_ASSERT_EQUAL(journal_rows(w.journal), 0);
    MDB_txn *txn = begin(&w, true);
    CU_ASSERT_EQUAL(differences(&w, NULL, txn, &w.committed), 0);
    mdb_txn_abort(txn);
    close_world(&w);
    folder_remove(w.path);
}

/* Several rows of one word are told from new to old, over the end of a generation. */
static void rows_of_a_word_are_walked(void)
{
    World w;
    make_world(&w, "journal-walk");
    for (uint64_t number = 1; number <= 4; number++) {
        MDB_txn *txn = begin(&w, false);
        MDB_val value = {sizeof number, &number};
        CU_ASSERT_EQUAL(journal_put(w.journal, txn, JOURNAL_BODIES, 5, &value), 0);
        for (uint64_t i = 0; i < ROWS / 3; i++) {
            put(&w, txn, JOURNAL_PAGES, i);
        }
        end(&w, txn, true);
    }
    MDB_txn *txn = begin(&w, true);
    JournalWalk walk = {.generation = 0};
    MDB_val row = {0, NULL};
    for (uint64_t number = 4; number > 0; number--) {
        CU_ASSERT_EQUAL_FATAL(journal_find(w.journal, txn, JOURNAL_BODIES, 5, &walk, &row), 0);
        CU_ASSERT_EQUAL(memcmp(row.mv_data, &number, sizeof number), 0);
    }
    CU_ASSERT_EQUAL(journal_find(w.journal, txn, JOURNAL_BODIES, 5, &walk, &row), MDB_NOTFOUND);
    mdb_txn_abort(txn);
    close_world(&w);
    folder_remove(w.path);
}

UNIT_MAIN("journal", {"rows are those of the model", rows_are_those_of_the_model},
          {"a reader sees its snapshot", a_reader_sees_its_snapshot},
          {"another process follows", another_process_follows},
          {"a drain empties it", a_drain_empties_it},
          {"rows of a word are walked", rows_of_a_word_are_walked})
