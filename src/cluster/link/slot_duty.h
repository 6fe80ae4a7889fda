/* Slot duty: what this agent has to do about slots that have moved, and what of it is done.
 *
 *                                                         task
 *   OWNED by us, its stubs are not scheduled yet          SLOT_ADOPT       --> adopted
 *   MOVING from us                                        SLOT_LEAVE
 *   the same, before it was adopted                       SLOT_LEAVE_ALL
 *   another's, who has begun a new life since we sent     SLOT_TELL        --> told
 *   MOVING to us                                          none: it waits for its former owner
 *
 * What: the duties follow from the cluster table and from two things that the directory keeps: the
 * slots that were adopted, and for each agent the life to which everything was sent. So a process
 * that dies in the middle of a move finds what is left to do at its next start. Stored in the table
 * `crawl` under SLOT_DUTY_KEY.
 *
 * Owns: the list of lives.
 * Threads: an object belongs to its caller.
 * Invariants:
 *  1. A slot is adopted only if this agent has it (`from` of the table), and every page of the slot
 *     that it knows is scheduled, or done, or was refused.
 *  2. An agent that is seen for the first time has nothing to be told: all slots come to it from
 *     agents that know every URL of them.
 * Errors: RESULT_MEMORY, RESULT_FULL, RESULT_IO, RESULT_DAMAGED.
 * Source: MANY-MACHINES 3 and 7. */
#ifndef CLUSTER_LINK_SLOT_DUTY_H
#define CLUSTER_LINK_SLOT_DUTY_H

#include <lmdb.h>

#include "cluster/table/cluster_table.h"

#define SLOT_DUTY_KEY "slot_duty"

typedef struct SlotDuty {
    uint8_t adopted[SLOT_COUNT / 8];
    uint16_t *told; /* by agent: a life; owned */
    uint32_t n_told;
} SlotDuty;

typedef enum SlotTask {
    SLOT_NOTHING,
    SLOT_ADOPT,     /* schedule its stubs */
    SLOT_LEAVE,     /* send its hosts and pages to the new owner */
    SLOT_LEAVE_ALL, /* its stubs, too */
    SLOT_TELL       /* send its stubs to the owner again */
} SlotTask;

typedef struct SlotPlan {
    uint8_t tasks[SLOT_COUNT]; /* SlotTask */
    uint16_t to[SLOT_COUNT];   /* the other agent of leaving and telling */
    uint64_t lives;            /* fingerprint of the agents' lives */
    unsigned adopts;           /* slots of each kind */
    unsigned leaves;
    unsigned tells;
    unsigned awaits; /* that are MOVING to us */
} SlotPlan;

void slot_duty_init(SlotDuty *duty);
void slot_duty_destroy(SlotDuty *duty);
Result slot_duty_copy(SlotDuty *to, const SlotDuty *from);

/* Reads it. RESULT_NOT_FOUND: the directory has none; it was an agent before there was any, or is
 * about to become one: then slot_duty_begin. */
Result slot_duty_read(SlotDuty *duty, MDB_txn *txn, MDB_dbi crawl);
Result slot_duty_write(const SlotDuty *duty, MDB_txn *txn, MDB_dbi crawl);
/* Everything that the agent has is adopted, and everybody is told. */
Result slot_duty_begin(SlotDuty *duty, const ClusterTable *table, uint16_t self);
/* A newer table: what is not ours any more is not adopted, new agents need not be told. */
Result slot_duty_follow(SlotDuty *duty, const ClusterTable *table, uint16_t self);
/* Tables may have been lost in between, and with them a move that was begun here: a slot that was
 * on its way to another agent by the table before, and is ours again, or a third one's to be, is
 * not adopted any more. */
void slot_duty_take_back(SlotDuty *duty, const ClusterTable *before, const ClusterTable *table,
                         uint16_t self);

/* What is to be done by this table. */
void slot_duty_plan(const SlotDuty *duty, const ClusterTable *table, uint16_t self, SlotPlan *plan);
bool slot_plan_equal(const SlotPlan *a, const SlotPlan *b);
static inline bool slot_plan_is_empty(const SlotPlan *plan)
{
    return plan->adopts + plan->leaves + plan->tells == 0;
}
/* What the plan says of adopting and telling has been done. */
void slot_duty_done(SlotDuty *duty, const SlotPlan *plan, const ClusterTable *table);

#endif
