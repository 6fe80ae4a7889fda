#include "cluster/link/slot_duty.h"

#include <string.h>

#include "base/memory/bits.h"
#include "cluster/link/kept.h"

static void slot_duty_set(uint8_t *bits, unsigned slot, bool value)
{
    uint8_t bit = (uint8_t)(1u << (slot % 8));
    bits[slot / 8] = (uint8_t)(value ? bits[slot / 8] | bit : bits[slot / 8] & ~bit);
}

/* ---- on disk ---- */

static const WireField duty_fields[] = {
    WIRE_FIELD(SlotDuty, adopted, WIRE_BYTES, 0), WIRE_FIELD(SlotDuty, none, 1, 0),
    WIRE_FIELD(SlotDuty, again, WIRE_BYTES, 0), WIRE_FIELD(SlotDuty, left, WIRE_BYTES, 0)};
static const WireRecord slot_duty = WIRE_RECORD(SlotDuty, duty_fields);

Result slot_duty_read(SlotDuty *duty, MDB_txn *txn, MDB_dbi crawl)
{
    return kept_get_record(txn, crawl, SLOT_DUTY_KEY, &slot_duty, duty);
}

Result slot_duty_write(const SlotDuty *duty, MDB_txn *txn, MDB_dbi crawl)
{
    return kept_put_record(txn, crawl, SLOT_DUTY_KEY, &slot_duty, duty);
}

/* ---- tables ---- */

void slot_duty_begin(SlotDuty *duty, const ClusterTable *table, uint16_t self)
{
    *duty = (SlotDuty){.adopted = {0}};
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        slot_duty_set(duty->adopted, slot, table->slots[slot].from == self);
    }
}

void slot_duty_follow(SlotDuty *duty, const ClusterTable *table, uint16_t self)
{
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        bool ours = table->slots[slot].from == self;
        if (!ours && bits_has(duty->left, slot)) {
            slot_duty_set(duty->adopted, slot, false);
        }
        if (!ours || table->slots[slot].to == self) {
            slot_duty_set(duty->left, slot, false);
        }
    }
}

void slot_duty_tell_again(SlotDuty *duty, const ClusterTable *table, uint16_t agent)
{
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        if (table->slots[slot].from == agent || table->slots[slot].to == agent) {
            slot_duty_set(duty->again, slot, true);
        }
    }
}

void slot_duty_take_back(SlotDuty *duty, const ClusterTable *before, const ClusterTable *table,
                         uint16_t self)
{
    for (unsigned slot = 0; before->epoch > 0 && slot < SLOT_COUNT; slot++) {
        ClusterSlot was = before->slots[slot];
        bool was_leaving = was.from == self && was.to != self;
        bool comes = was.from != self; /* back to a copy that had begun to leave it */
        if (table->slots[slot].from == self &&
            (comes || (was_leaving && table->slots[slot].to != was.to))) {
            slot_duty_set(duty->adopted, slot, false);
        }
    }
}

static SlotTask slot_duty_task_of(const SlotDuty *duty, const ClusterTable *table, uint16_t self,
                                  unsigned slot)
{
    uint16_t from = table->slots[slot].from;
    uint16_t to = table->slots[slot].to;
    bool adopted = bits_has(duty->adopted, slot);
    bool again = bits_has(duty->again, slot);
    if (from == self && to == self) {
        return adopted ? SLOT_NOTHING : SLOT_ADOPT;
    }
    if (from == self) {
        return adopted && !again ? SLOT_LEAVE : SLOT_LEAVE_ALL;
    }
    if (adopted && to != self) {
        return SLOT_LEAVE;
    }
    return again && to != self ? SLOT_TELL : SLOT_NOTHING;
}

void slot_duty_plan(const SlotDuty *duty, const ClusterTable *table, uint16_t self, SlotPlan *plan)
{
    memset(plan, 0, sizeof *plan);
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        SlotTask task = slot_duty_task_of(duty, table, self, slot);
        plan->tasks[slot] = (uint8_t)task;
        plan->to[slot] = table->slots[slot].to;
        plan->adopts += task == SLOT_ADOPT;
        plan->leaves += task == SLOT_LEAVE || task == SLOT_LEAVE_ALL;
        plan->settles += task != SLOT_NOTHING && table->slots[slot].from == self &&
                         table->slots[slot].to != self;
        plan->tells += task == SLOT_TELL;
        plan->awaits += table->slots[slot].to == self && table->slots[slot].from != self;
    }
}

/* Where slots go that are nothing to us does not matter. */
bool slot_plan_equal(const SlotPlan *a, const SlotPlan *b)
{
    if (memcmp(a->tasks, b->tasks, sizeof a->tasks) != 0) {
        return false;
    }
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        if (a->tasks[slot] != SLOT_NOTHING && a->to[slot] != b->to[slot]) {
            return false;
        }
    }
    return true;
}

void slot_duty_done(SlotDuty *duty, const SlotPlan *plan, const ClusterTable *table, uint16_t self)
{
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        SlotTask task = (SlotTask)plan->tasks[slot];
        bool leaves = task == SLOT_LEAVE || task == SLOT_LEAVE_ALL;
        if (task == SLOT_ADOPT) {
            slot_duty_set(duty->adopted, slot, true);
        } else if (leaves && table->slots[slot].from == self) {
            slot_duty_set(duty->left, slot, true);
        } else if (leaves) {
            slot_duty_set(duty->adopted, slot, false);
        }
    }
    memset(duty->again, 0, sizeof duty->again);
}
