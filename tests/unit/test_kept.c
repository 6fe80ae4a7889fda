/* What an agent remembers of its cluster: marks of peers, whole or damaged. */
#include <string.h>

#include "cluster/link/kept.h"
#include "dice.h"
#include "folder_fixture.h"

#define SEED   20261128u
#define AGENTS 6u
#define STEPS  2000u

static const uint16_t agents[AGENTS] = {0, 1, 10, 11, 255, UINT16_MAX};

static MDB_txn *begin(MDB_env **env, MDB_dbi *crawl, char dir[FOLDER_BYTES])
{
    MDB_txn *txn = NULL;
    folder_make(dir);
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(env), 0);
    (void)mdb_env_set_maxdbs(*env, 1);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(*env, dir, MDB_NOSYNC, 0644), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(*env, NULL, 0, &txn), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(txn, "crawl", MDB_CREATE, crawl), 0);
    return txn;
}

static void end(MDB_env *env, MDB_txn *txn, const char *dir)
{
    mdb_txn_abort(txn);
    mdb_env_close(env);
    folder_remove(dir);
}

static void a_peer_is_counted_upwards_and_by_itself(void)
{
    char dir[FOLDER_BYTES];
    MDB_env *env = NULL;
    MDB_dbi crawl = 0;
    MDB_txn *txn = begin(&env, &crawl, dir);
    PeerMark model[AGENTS] = {{.taken = 0}};
    Dice dice = {SEED};
    for (unsigned step = 0; step < STEPS; step++) {
        size_t i = dice_below(&dice, AGENTS);
        PeerMark mark = {.taken = 99, .heard = 99};
        CU_ASSERT_EQUAL(peer_mark_read(txn, crawl, agents[i], &mark), RESULT_OK);
        CU_ASSERT_TRUE(mark.taken == model[i].taken && mark.heard == model[i].heard);
        uint64_t number = dice_below(&dice, 3000);
        if (dice_below(&dice, 2) == 0) {
            CU_ASSERT_EQUAL(peer_mark_take(txn, crawl, agents[i], &number), RESULT_OK);
            CU_ASSERT_EQUAL(number, ++model[i].taken);
        } else {
            CU_ASSERT_EQUAL(peer_mark_hear(txn, crawl, agents[i], number), RESULT_OK);
            model[i].heard = number > model[i].heard ? number : model[i].heard;
        }
    }
    PeerMark most = {.taken = UINT64_MAX - 1, .heard = UINT64_MAX};
    CU_ASSERT_EQUAL(peer_mark_write(txn, crawl, 1, &most), RESULT_OK);
    CU_ASSERT_EQUAL(peer_mark_hear(txn, crawl, 1, UINT64_MAX), RESULT_OK);
    CU_ASSERT_EQUAL(peer_mark_read(txn, crawl, 1, &model[1]), RESULT_OK);
    CU_ASSERT_TRUE(model[1].taken == most.taken && model[1].heard == most.heard);
    end(env, txn, dir);
}

static void another_length_is_damage_and_changes_nothing(void)
{
    char dir[FOLDER_BYTES];
    MDB_env *env = NULL;
    MDB_dbi crawl = 0;
    MDB_txn *txn = begin(&env, &crawl, dir);
    PeerMark mark = {.taken = 3, .heard = 4};
    MDB_val value;
    char bytes[64];
    CU_ASSERT_EQUAL(kept_find(txn, crawl, "peer.7", &value), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(peer_mark_write(txn, crawl, 7, &mark), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(kept_find(txn, crawl, "peer.7", &value), RESULT_OK);
    size_t whole = value.mv_size;
    CU_ASSERT_TRUE_FATAL(whole < sizeof bytes);
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, value.mv_data, whole);
    for (size_t length = 0; length <= whole + 1; length++) {
        uint64_t taken = 0;
        CU_ASSERT_EQUAL(kept_put(txn, crawl, "peer.7", bytes, length), RESULT_OK);
        Result rc = peer_mark_take(txn, crawl, 7, &taken);
        CU_ASSERT_EQUAL(rc, length == whole ? RESULT_OK : RESULT_DAMAGED);
        CU_ASSERT_EQUAL(peer_mark_hear(txn, crawl, 7, 9), rc);
        CU_ASSERT_EQUAL(kept_find(txn, crawl, "peer.7", &value), RESULT_OK);
        CU_ASSERT_EQUAL(value.mv_size, length);
    }
    end(env, txn, dir);
}

UNIT_MAIN("kept",
          {"a peer is counted upwards and by itself", a_peer_is_counted_upwards_and_by_itself},
          {"another length is damage and changes nothing",
           another_length_is_damage_and_changes_nothing})
