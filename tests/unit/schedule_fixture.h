/* A schedule in an LMDB environment of its own, without PageDB; and dice for random operations on
 * it. Header only; every test program has its own. */
#ifndef TESTS_UNIT_SCHEDULE_FIXTURE_H
#define TESTS_UNIT_SCHEDULE_FIXTURE_H

#include "base/core/hash.h"
#include "folder_fixture.h"
#include "store/schedule/schedule.h"
#include "unit.h"

typedef struct ScheduleFixture {
    char dir[FOLDER_BYTES];
    MDB_env *env;
    Schedule *schedule;
    Journal *journal; /* NULL: none */
    uint64_t seed;
    size_t journal_rows; /* of a generation; 0: it has none */
} ScheduleFixture;

static inline uint64_t schedule_fixture_draw(ScheduleFixture *f, uint64_t below)
{
    f->seed += UINT64_C(0x9E3779B97F4A7C15);
    return hash_mix(f->seed) % below;
}

static inline MDB_txn *schedule_fixture_begin(ScheduleFixture *f, unsigned flags)
{
    MDB_txn *txn = NULL;
    CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(f->env, NULL, flags, &txn), 0);
    return txn;
}

/* Opens what is in f->dir. */
static inline Result schedule_fixture_open(ScheduleFixture *f, const ScheduleOptions *options,
                                           size_t map_bytes)
{
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&f->env), 0);
    (void)mdb_env_set_maxdbs(f->env, 4);
    (void)mdb_env_set_mapsize(f->env, map_bytes);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(f->env, f->dir, MDB_NOSYNC, 0644), 0);
    MDB_txn *txn = schedule_fixture_begin(f, 0);
    if (f->journal_rows > 0) {
        CU_ASSERT_EQUAL(journal_create(txn), 0);
        CU_ASSERT_EQUAL_FATAL(journal_open(&f->journal, txn, false), 0);
        journal_set_rows(f->journal, f->journal_rows);
    }
    Result rc = schedule_open(&f->schedule, txn, options, f->journal);
    CU_ASSERT_EQUAL_FATAL(mdb_txn_commit(txn), 0);
    journal_settle(f->journal, true);
    return rc;
}

static inline void schedule_fixture_close(ScheduleFixture *f)
{
    schedule_close(f->schedule);
    journal_close(f->journal);
    f->journal = NULL;
    mdb_env_close(f->env);
}

static inline void schedule_fixture_start(ScheduleFixture *f, uint64_t seed)
{
    *f = (ScheduleFixture){.seed = seed};
    folder_make(f->dir);
    CU_ASSERT_EQUAL_FATAL(schedule_fixture_open(f, NULL, (size_t)1 << 30), RESULT_OK);
}

static inline void schedule_fixture_end(ScheduleFixture *f)
{
    schedule_fixture_close(f);
    folder_remove(f->dir);
}

#endif
