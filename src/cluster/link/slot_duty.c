#include "cluster/link/slot_duty.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "cluster/wire/wire.h"
#include "store/lmdb/lmdb_result.h"

void slot_duty_init(SlotDuty *duty)
{
    *duty = (SlotDuty){.told = NULL};
}

void slot_duty_destroy(SlotDuty *duty)
{
    free(duty->told);
    slot_duty_init(duty);
}

static Result slot_duty_resize(SlotDuty *duty, uint32_t n)
{
    uint16_t *told = reallocarray(duty->told, n == 0 ? 1 : n, sizeof *told);
    if (told == NULL) {
        return RESULT_MEMORY;
    }
    duty->told = told;
    return RESULT_OK;
}

Result slot_duty_copy(SlotDuty *to, const SlotDuty *from)
{
    if (slot_duty_resize(to, from->n_told) != RESULT_OK) {
        return RESULT_MEMORY;
    }
    memcpy(to->adopted, from->adopted, sizeof to->adopted);
    if (from->n_told > 0) {
        memcpy(to->told, from->told, from->n_told * sizeof *to->told);
    }
    to->n_told = from->n_told;
    return RESULT_OK;
}

static bool is_adopted(const SlotDuty *duty, unsigned slot)
{
    return (duty->adopted[slot / 8] >> (slot % 8) & 1) != 0;
}

static void set_adopted(SlotDuty *duty, unsigned slot, bool adopted)
{
    uint8_t bit = (uint8_t)(1u << (slot % 8));
    duty->adopted[slot / 8] =
        (uint8_t)(adopted ? duty->adopted[slot / 8] | bit : duty->adopted[slot / 8] & ~bit);
}

/* ---- on disk ---- */

static MDB_val slot_duty_key_of(void)
{
    return (MDB_val){sizeof SLOT_DUTY_KEY - 1, (char *)(uintptr_t)SLOT_DUTY_KEY};
}

Result slot_duty_read(SlotDuty *duty, MDB_txn *txn, MDB_dbi crawl)
{
    MDB_val key = slot_duty_key_of();
    MDB_val value;
    int code = mdb_get(txn, crawl, &key, &value);
    if (code != MDB_SUCCESS) {
        return code == MDB_NOTFOUND ? RESULT_NOT_FOUND : lmdb_result(code, "read slot_duty");
    }
    WireReader reader = wire_reader(value.mv_data, value.mv_size);
    const uint8_t *adopted = wire_get_bytes(&reader, sizeof duty->adopted);
    uint64_t n = wire_get_varint(&reader);
    if (reader.bad || n > CLUSTER_AGENTS_MAX) {
        return RESULT_DAMAGED;
    }
    Result rc = slot_duty_resize(duty, (uint32_t)n);
    for (uint32_t i = 0; rc == RESULT_OK && i < n; i++) {
        duty->told[i] = wire_get_16(&reader);
    }
    if (rc == RESULT_OK) {
        duty->n_told = (uint32_t)n;
        memcpy(duty->adopted, adopted, sizeof duty->adopted);
    }
    return rc == RESULT_OK && !wire_reader_ended(&reader) ? RESULT_DAMAGED : rc;
}

Result slot_duty_write(const SlotDuty *duty, MDB_txn *txn, MDB_dbi crawl)
{
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    WireWriter writer = wire_writer(&bytes);
    wire_put_bytes(&writer, duty->adopted, sizeof duty->adopted);
    wire_put_varint(&writer, duty->n_told);
    for (uint32_t i = 0; i < duty->n_told; i++) {
        wire_put_16(&writer, duty->told[i]);
    }
    MDB_val key = slot_duty_key_of();
    MDB_val value = {bytes.length, bytes.data};
    Result rc = writer.rc;
    if (rc == RESULT_OK) {
        rc = lmdb_result(mdb_put(txn, crawl, &key, &value, 0), "write slot_duty");
    }
    buffer_destroy(&bytes);
    return rc;
}

/* ---- tables ---- */

Result slot_duty_begin(SlotDuty *duty, const ClusterTable *table, uint16_t self)
{
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        set_adopted(duty, slot, table->slots[slot].from == self);
    }
    return slot_duty_follow(duty, table, self);
}

Result slot_duty_follow(SlotDuty *duty, const ClusterTable *table, uint16_t self)
{
    if (table->n_agents > duty->n_told) {
        if (slot_duty_resize(duty, table->n_agents) != RESULT_OK) {
            return RESULT_MEMORY;
        }
        while (duty->n_told < table->n_agents) {
            duty->told[duty->n_told] = table->agents[duty->n_told].life;
            duty->n_told++;
        }
    }
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        if (table->slots[slot].from != self) {
            set_adopted(duty, slot, false);
        }
    }
    return RESULT_OK;
}

void slot_duty_take_back(SlotDuty *duty, const ClusterTable *before, const ClusterTable *table,
                         uint16_t self)
{
    for (unsigned slot = 0; before->epoch > 0 && slot < SLOT_COUNT; slot++) {
        ClusterSlot was = before->slots[slot];
        bool was_leaving = was.from == self && was.to != self;
        if (was_leaving && table->slots[slot].from == self && table->slots[slot].to != was.to) {
            set_adopted(duty, slot, false);
        }
    }
}

static SlotTask slot_duty_task_of(const SlotDuty *duty, const ClusterTable *table, uint16_t self,
                                  unsigned slot)
{
    uint16_t from = table->slots[slot].from;
    uint16_t to = table->slots[slot].to;
    bool is_new = to < duty->n_told && duty->told[to] < table->agents[to].life;
    if (from == self && to == self) {
        return is_adopted(duty, slot) ? SLOT_NOTHING : SLOT_ADOPT;
    }
    if (from == self) {
        return is_adopted(duty, slot) && !is_new ? SLOT_LEAVE : SLOT_LEAVE_ALL;
    }
    return is_new && to != self ? SLOT_TELL : SLOT_NOTHING;
}

void slot_duty_plan(const SlotDuty *duty, const ClusterTable *table, uint16_t self, SlotPlan *plan)
{
    memset(plan, 0, sizeof *plan);
    for (uint32_t i = 0; i < table->n_agents; i++) {
        plan->lives = hash_mix(plan->lives + table->agents[i].life);
    }
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        SlotTask task = slot_duty_task_of(duty, table, self, slot);
        plan->tasks[slot] = (uint8_t)task;
        plan->to[slot] = table->slots[slot].to;
        plan->adopts += task == SLOT_ADOPT;
        plan->leaves += task == SLOT_LEAVE || task == SLOT_LEAVE_ALL;
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
    return a->lives == b->lives || (a->tells == 0 && a->leaves == 0);
}

void slot_duty_done(SlotDuty *duty, const SlotPlan *plan, const ClusterTable *table)
{
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        if (plan->tasks[slot] == SLOT_ADOPT) {
            set_adopted(duty, slot, true);
        }
    }
    for (uint32_t i = 0; i < duty->n_told && i < table->n_agents; i++) {
        duty->told[i] = table->agents[i].life;
    }
}
