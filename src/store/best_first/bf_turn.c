#include "store/best_first/bf_turn.h"

#include <math.h>

/* ---- How the codes of PageDB and of the schedule become a BFScheduler's ---- */

BFSchedulerError bf_fail(BFScheduler *sch, BFSchedulerError code, const char *what)
{
    error_clean(sch->error);
    error_set(sch->error, (int)code, what);
    return code;
}

static BFSchedulerError bf_error_code_of(int code)
{
    switch (code) {
    case page_db_error_ok:
        return bf_scheduler_error_ok;
    case page_db_error_memory:
        return bf_scheduler_error_memory;
    case page_db_error_full:
        return bf_scheduler_error_full;
    case page_db_error_invalid_path:
        return bf_scheduler_error_invalid_path;
    case page_db_error_no_page:
        return bf_scheduler_error_no_page;
    case page_db_error_locked:
        return bf_scheduler_error_locked;
    default:
        return bf_scheduler_error_internal;
    }
}

BFSchedulerError bf_fail_page_db(BFScheduler *sch, int code, const char *what)
{
    if (code == page_db_error_ok) {
        return bf_scheduler_error_ok;
    }
    (void)bf_fail(sch, bf_error_code_of(code), what);
    const char *words = error_message(sch->page_db->error);
    if (words != NULL) {
        error_add(sch->error, words);
    }
    return bf_error_code_of(code);
}

BFSchedulerError bf_fail_result(BFScheduler *sch, Result result, const char *what)
{
    if (result == RESULT_OK) {
        return bf_scheduler_error_ok;
    }
    return bf_fail(sch,
                   result == RESULT_MEMORY ? bf_scheduler_error_memory
                   : result == RESULT_FULL ? bf_scheduler_error_full
                                           : bf_scheduler_error_internal,
                   what);
}

/* ---- How a page stands in the schedule ---- */

#define FINE_BITS  (BF_VALUE_BITS - BF_INDEX_BITS)
#define FINE_STEPS ((1u << FINE_BITS) - 1)

uint8_t bf_link_level(const BFSchedulerState *state, float score)
{
    return (uint8_t)(BF_EXACT_LEVEL | schedule_level(state->schedule, score));
}

uint8_t bf_scored_level(const BFScheduler *sch, float score)
{
    float scale = sch->scorer->scale == NULL ? 1.0f : sch->scorer->scale(sch->scorer->state);
    return (uint8_t)schedule_level(sch->state->schedule, score * scale);
}

BFOrder bf_entry(const BFSchedulerState *state, uint8_t level_byte, float score, uint64_t index)
{
    unsigned level = level_byte & (BF_EXACT_LEVEL - 1);
    uint64_t fine = 0;
    if ((level_byte & BF_EXACT_LEVEL) != 0) {
        float least = 0.0f;
        float below = 0.0f;
        schedule_level_range(state->schedule, level, &least, &below);
        /* how far from the best of the level, 0..1; above the first level's beginning: its share */
        double far = isinf(below) ? (double)least / (double)score
                                  : (double)(below - score) / (double)(below - least);
        far = far >= 0.0 ? far : 0.0;
        fine = far < 1.0 ? (uint64_t)(far * FINE_STEPS) : FINE_STEPS;
    }
    return bf_order(level, fine << BF_INDEX_BITS | index);
}

/* ---- The write transactions of a BFScheduler, and the order of what they tell the front */

MonoTime bf_time(const BFSchedulerState *state)
{
    return timekeeper_now(state->time);
}

double bf_now(const BFSchedulerState *state)
{
    return (double)bf_time(state).ns / 1e9;
}

/* Another writer has waited for the update thread. */
static void note_wait(BFSchedulerState *state, MonoTime start)
{
    int64_t waited_ns = bf_time(state).ns - start.ns;
    int_least64_t longest = atomic_load(&state->longest_wait_ns);
    while (waited_ns > longest &&
           !atomic_compare_exchange_weak(&state->longest_wait_ns, &longest, waited_ns)) {
    }
}

/* An update waits until all that have asked by now are served: not longer, so that it gets on while
 * others write all the time. */
static void yield_to_writers(BFSchedulerState *state)
{
    uint64_t asked = atomic_load(&state->asked);
    if (atomic_load(&state->served) >= asked) {
        return;
    }
    atomic_store(&state->yielding, true);
    mutex_lock(&state->mutex);
    while (atomic_load(&state->served) < asked && !atomic_load(&state->stopping)) {
        condition_wait(&state->was_served, &state->mutex);
    }
    mutex_unlock(&state->mutex);
    atomic_store(&state->yielding, false);
}

/* The writer has its transaction no more, or got none. */
static void end_writer(BFSchedulerState *state, BFWriter writer)
{
    if (writer == BF_UPDATE) {
        atomic_store(&state->updating, false);
        return;
    }
    atomic_fetch_add(&state->served, 1);
    if (atomic_load(&state->yielding)) {
        mutex_lock(&state->mutex);
        condition_broadcast(&state->was_served);
        mutex_unlock(&state->mutex);
    }
}

BFSchedulerError bf_begin(BFScheduler *sch, BFWriter writer, MDB_txn **txn)
{
    BFSchedulerState *state = sch->state;
    MonoTime start = bf_time(state);
    bool is_held_up = writer == BF_WRITER && atomic_load(&state->updating);
    if (writer == BF_UPDATE) {
        yield_to_writers(state);
        atomic_store(&state->updating, true);
    } else {
        atomic_fetch_add(&state->asked, 1);
    }
    int rc = page_db_txn_begin(sch->page_db, false, txn);
    if (rc != page_db_error_ok) {
        end_writer(state, writer);
    }
    if (is_held_up) {
        note_wait(state, start);
    }
    return bf_fail_page_db(sch, rc, "bf_scheduler: no transaction can be begun");
}

BFSchedulerError bf_commit(BFScheduler *sch, BFWriter writer, MDB_txn *txn, uint64_t *turn)
{
    *turn = atomic_fetch_add(&sch->state->turns, 1) + 1;
    int rc = page_db_txn_commit(sch->page_db, txn);
    end_writer(sch->state, writer);
    return bf_fail_page_db(sch, rc, "bf_scheduler: the transaction cannot be committed");
}

void bf_abort(BFScheduler *sch, BFWriter writer, MDB_txn *txn)
{
    page_db_txn_abort(sch->page_db, txn);
    end_writer(sch->state, writer);
}

bool bf_is_awaited(const BFSchedulerState *state)
{
    uint64_t served = atomic_load(&state->served);
    return atomic_load(&state->asked) > served;
}

void bf_turn_begin(BFSchedulerState *state, uint64_t turn)
{
    mutex_lock(&state->mutex);
    while (state->turn_done + 1 != turn) {
        condition_wait(&state->turn, &state->mutex);
    }
}

void bf_turn_end(BFSchedulerState *state)
{
    state->turn_done++;
    condition_broadcast(&state->turn);
    mutex_unlock(&state->mutex);
}
