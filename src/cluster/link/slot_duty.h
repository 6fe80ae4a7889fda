/* Slot duty: what this agent has to do about slots that have moved, and what of it is done.
 *
 *                                                         task
 *   OWNED by us, its stubs are not scheduled yet          SLOT_ADOPT       --> adopted
 *   MOVING from us                                        SLOT_LEAVE
 *   the same, before it was adopted, or to be told again  SLOT_LEAVE_ALL   --> told
 *   another's, who has lost what we had sent              SLOT_TELL        --> told
 *   another's, and this older copy has not left it yet    SLOT_LEAVE       --> told
 *   MOVING to us                                          none: it waits for its former owner
 *
 * What: the duties follow from the cluster table and from two things that the directory keeps: the
 * slots that were adopted, and those that are to be told to their owner again, since it runs from
 * an older copy of its directory, or an empty one (cluster/desk/greet_desk.h). So a process that
 * dies in the middle of a move finds what is left to do at its next start. Stored in the table
 * `crawl` under SLOT_DUTY_KEY.
 *
 * Owns: nothing but itself.
 * Threads: an object belongs to its caller.
 * Invariants:
 *  1. A slot is adopted if every page of the slot that is known here is scheduled, or done, or was
 *     refused. Once another agent owns it, its hosts are closed first of all.
 *  2. A slot is to be told again until a walk that began with that has put every stub of it into
 * the outbox, whoever owns it by then.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_DAMAGED.
 * Source: MANY-MACHINES 3 and 7. */
#pragma once

#include <lmdb.h>

#include "cluster/table/cluster_table.h"

#define SLOT_DUTY_KEY "slot_duty"

typedef struct SlotDuty {
    uint8_t adopted[SLOT_COUNT / 8];
    uint8_t none;                  /* on disk: a list of former versions, empty */
    uint8_t again[SLOT_COUNT / 8]; /* to be told to its owner again */
    uint8_t left[SLOT_COUNT / 8];  /* everything of it was sent away, until a table says so */
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
    unsigned adopts;           /* slots of each kind */
    unsigned leaves;
    unsigned settles; /* those of `leaves` that are ours until all of them have come */
    unsigned tells;
    unsigned awaits; /* that are MOVING to us */
} SlotPlan;

/* Reads it. RESULT_NOT_FOUND: the directory has none; it was an agent before there was any, or is
 * about to become one: then slot_duty_begin. */
Result slot_duty_read(SlotDuty *duty, MDB_txn *txn, MDB_dbi crawl);
Result slot_duty_write(const SlotDuty *duty, MDB_txn *txn, MDB_dbi crawl);
/* Everything that the agent has is adopted, and everybody is told. */
void slot_duty_begin(SlotDuty *duty, const ClusterTable *table, uint16_t self);
/* A newer table: what we have left is not ours any more. A slot that another agent owns and we have
 * not left was moved by a process that this directory, put back since, does not know of. */
void slot_duty_follow(SlotDuty *duty, const ClusterTable *table, uint16_t self);
/* The agent has lost what we had sent: its slots, and those that leave it, are to be told again. */
void slot_duty_tell_again(SlotDuty *duty, const ClusterTable *table, uint16_t agent);
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
void slot_duty_done(SlotDuty *duty, const SlotPlan *plan, const ClusterTable *table, uint16_t self);
