#include <stdlib.h>

#include "cluster/link/slot_duty.h"
#include "store_fixture.h"
#include "unit.h"

static const uint8_t uuid[CLUSTER_UUID_BYTES] = {3};

typedef struct World {
    ClusterTable table;
    SlotDuty duty;
    SlotPlan plan;
} World;

static World *set_up(uint32_t agents, uint16_t self)
{
    World *w = calloc(1, sizeof *w);
    CU_ASSERT_EQUAL_FATAL(cluster_table_create(&w->table, uuid, "", agents), RESULT_OK);
    slot_duty_begin(&w->duty, &w->table, self);
    return w;
}

static void tear_down(World *w)
{
    cluster_table_destroy(&w->table);
    free(w);
}

static void plan(World *w, uint16_t self)
{
    slot_duty_follow(&w->duty, &w->table, self);
    slot_duty_plan(&w->duty, &w->table, self, &w->plan);
}

static void nothing_is_to_be_done_at_first(void)
{
    World *w = set_up(3, 1);
    plan(w, 1);
    CU_ASSERT_TRUE(slot_plan_is_empty(&w->plan) && w->plan.awaits == 0);
    tear_down(w);
}

static void who_gives_leaves_and_who_gets_waits_then_adopts(void)
{
    World *from = set_up(2, 0);
    World *to = set_up(2, 1);
    CU_ASSERT_EQUAL(cluster_table_move(&from->table, 0, 1, 10), RESULT_OK);
    CU_ASSERT_EQUAL(cluster_table_copy(&to->table, &from->table), RESULT_OK);
    plan(from, 0);
    CU_ASSERT_TRUE(from->plan.leaves == 10 && from->plan.adopts == 0 && from->plan.tells == 0);
    CU_ASSERT_TRUE(from->plan.tasks[0] == SLOT_LEAVE && from->plan.to[0] == 1);
    plan(to, 1);
    CU_ASSERT_TRUE(slot_plan_is_empty(&to->plan) && to->plan.awaits == 10);
    slot_duty_done(&from->duty, &from->plan, &from->table, 0); /* all of it was sent away */
    CU_ASSERT_EQUAL(cluster_table_settle(&from->table, 0, 1), RESULT_OK);
    CU_ASSERT_EQUAL(cluster_table_copy(&to->table, &from->table), RESULT_OK);
    plan(from, 0);
    CU_ASSERT_TRUE(slot_plan_is_empty(&from->plan));
    plan(to, 1);
    CU_ASSERT_TRUE(to->plan.adopts == 10 && to->plan.awaits == 0);
    slot_duty_done(&to->duty, &to->plan, &to->table, 1);
    plan(to, 1);
    CU_ASSERT_TRUE(slot_plan_is_empty(&to->plan));
    /* And back again: what went away is not adopted any more. */
    CU_ASSERT_EQUAL(cluster_table_move(&from->table, 1, 0, 5), RESULT_OK);
    CU_ASSERT_EQUAL(cluster_table_settle(&from->table, 1, 0), RESULT_OK);
    plan(from, 0);
    CU_ASSERT_EQUAL(from->plan.adopts, 5);
    tear_down(from);
    tear_down(to);
}

/* The server forgot the table that said so, and others went on from the one before it. */
static void a_move_that_was_lost_is_taken_back(void)
{
    World *w = set_up(3, 0);
    ClusterTable moving = {.epoch = 0};
    CU_ASSERT_EQUAL(cluster_table_copy(&moving, &w->table), RESULT_OK);
    CU_ASSERT_EQUAL(cluster_table_move(&moving, 0, 1, 10), RESULT_OK);
    slot_duty_take_back(&w->duty, &w->table, &moving, 0);
    slot_duty_take_back(&w->duty, &moving, &moving, 0);
    slot_duty_plan(&w->duty, &moving, 0, &w->plan);
    CU_ASSERT_TRUE(w->plan.leaves == 10 && w->plan.tasks[0] == SLOT_LEAVE);
    CU_ASSERT_EQUAL(cluster_table_move(&w->table, 0, 2, 3), RESULT_OK);
    slot_duty_take_back(&w->duty, &moving, &w->table, 0);
    plan(w, 0);
    CU_ASSERT_TRUE(w->plan.adopts == 7 && w->plan.leaves == 3);
    CU_ASSERT_EQUAL(w->plan.tasks[0], SLOT_LEAVE_ALL);
    cluster_table_destroy(&moving);
    tear_down(w);
}

static void what_was_not_adopted_leaves_with_its_stubs(void)
{
    World *w = set_up(2, 1);
    (void)cluster_table_move(&w->table, 0, 1, 4);
    (void)cluster_table_settle(&w->table, 0, 1);
    (void)cluster_table_move(&w->table, 1, 0, 2);
    plan(w, 1);
    CU_ASSERT_TRUE(w->plan.tasks[0] == SLOT_LEAVE_ALL && w->plan.tasks[2] == SLOT_ADOPT);
    CU_ASSERT_TRUE(w->plan.leaves == 2 && w->plan.adopts == 2);
    tear_down(w);
}

static void who_has_lost_it_is_told_again_and_a_new_agent_is_not(void)
{
    World *w = set_up(3, 0);
    uint16_t fresh = 0;
    CU_ASSERT_EQUAL(cluster_table_restore(&w->table, 2), RESULT_OK);
    slot_duty_tell_again(&w->duty, &w->table, 2);
    plan(w, 0);
    CU_ASSERT_TRUE(w->plan.tells == cluster_table_share(&w->table, 2).owned && w->plan.adopts == 0);
    slot_duty_done(&w->duty, &w->plan, &w->table, 0);
    plan(w, 0);
    CU_ASSERT_EQUAL(w->plan.tells, 0);
    CU_ASSERT_EQUAL(cluster_table_add(&w->table, &fresh), RESULT_OK);
    plan(w, 0);
    CU_ASSERT_EQUAL(w->plan.tells, 0);
    CU_ASSERT_EQUAL(cluster_table_move(&w->table, 1, fresh, 3), RESULT_OK);
    slot_duty_tell_again(&w->duty, &w->table, fresh); /* now it has been lost */
    plan(w, 0);
    CU_ASSERT_TRUE(w->plan.tells >= 3);
    tear_down(w);
}

/* What is not ours to do may change without disturbing what is. */
static void plans_are_compared_by_what_is_to_be_done(void)
{
    World *w = set_up(3, 0);
    SlotPlan before;
    (void)cluster_table_move(&w->table, 0, 1, 7);
    plan(w, 0);
    before = w->plan;
    (void)cluster_table_move(&w->table, 1, 2, 7);
    CU_ASSERT_EQUAL(cluster_table_claim(&w->table, 1), RESULT_OK);
    plan(w, 0);
    CU_ASSERT_TRUE(slot_plan_equal(&before, &w->plan));
    slot_duty_tell_again(&w->duty, &w->table, 1);
    plan(w, 0);
    CU_ASSERT_FALSE(slot_plan_equal(&before, &w->plan));
    tear_down(w);
}

static void it_is_the_same_after_a_restart(void)
{
    World *w = set_up(3, 0);
    StoreFixture store;
    SlotDuty read = {.none = 0};
    store_fixture_open(&store);
    MDB_txn *txn = store_fixture_begin(&store, false);
    CU_ASSERT_EQUAL(slot_duty_read(&read, txn, store.store.crawl), RESULT_NOT_FOUND);
    (void)cluster_table_move(&w->table, 1, 0, 3);
    (void)cluster_table_settle(&w->table, 1, 0);
    slot_duty_tell_again(&w->duty, &w->table, 2);
    CU_ASSERT_EQUAL(slot_duty_write(&w->duty, txn, store.store.crawl), RESULT_OK);
    store_fixture_commit(&store, txn);
    txn = store_fixture_begin(&store, true);
    CU_ASSERT_EQUAL(slot_duty_read(&read, txn, store.store.crawl), RESULT_OK);
    page_db_txn_abort(store.store.db, txn);
    SlotPlan again;
    plan(w, 0);
    slot_duty_plan(&read, &w->table, 0, &again);
    CU_ASSERT_TRUE(slot_plan_equal(&w->plan, &again) && again.adopts == 3 && again.tells > 0);
    store_fixture_close(&store, true);
    tear_down(w);
}

UNIT_MAIN("slot duty", {"nothing is to be done at first", nothing_is_to_be_done_at_first},
          {"who gives leaves, who gets waits and then adopts",
           who_gives_leaves_and_who_gets_waits_then_adopts},
          {"what was not adopted leaves with its stubs",
           what_was_not_adopted_leaves_with_its_stubs},
          {"a move that was lost is taken back", a_move_that_was_lost_is_taken_back},
          {"who has lost what it was sent is told again, a new agent is not",
           who_has_lost_it_is_told_again_and_a_new_agent_is_not},
          {"plans are compared by what is to be done", plans_are_compared_by_what_is_to_be_done},
          {"it is the same after a restart", it_is_the_same_after_a_restart})
