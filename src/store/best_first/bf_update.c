#include "store/best_first/bf_update.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "store/best_first/bf_state.h"
#include "store/page_tables/page_store.h"
#include "store/schedule/schedule_read.h"

#define BF_LONGEST_PAUSE 10000 /* ms */
#define BF_PAUSE_PER_TXN 9.0   /* times as long as the transaction: others have nine tenths */

typedef struct BFSweep {
    BFScheduler *sch;
    bool is_urgent; /* a caller waits for its end: no pauses */
    ScheduleScan scan;
    ScheduleEntry entries[BF_SCHEDULER_UPDATE_BATCH_SIZE];
    BFMove moves[BF_SCHEDULER_UPDATE_BATCH_SIZE];
    size_t n_moves;
} BFSweep;

static bool bf_is_stopping(const BFScheduler *sch)
{
    return atomic_load(&sch->state->stopping);
}

/* ---- Finding moves ---- */

static void bf_sweep_compare(BFSweep *sweep, size_t n)
{
    BFScheduler *sch = sweep->sch;
    const Scorer *scorer = sch->scorer;
    float scale = scorer->scale == NULL ? 1.0f : scorer->scale(scorer->state);
    sweep->n_moves = 0;
    for (size_t i = 0; i < n; i++) {
        const ScheduleEntry *entry = &sweep->entries[i];
        BFOrder from = bf_order(entry->level, entry->index);
        uint64_t index = bf_order_index(from);
        float old = 0.0f;
        float score = 0.0f;
        if (scorer->get(scorer->state, index, &old, &score) != 0 || !(score > 0.0f)) {
            continue; /* newer than the update: its estimate stands */
        }
        unsigned level = schedule_level(sch->state->schedule, score * scale);
        if (level != entry->level) {
            sweep->moves[sweep->n_moves++] = (BFMove){
                .index = index, .from = from, .to = bf_order(level, index), .host = entry->host};
        }
    }
}

/* Reads the next piece of the schedule and finds what is to be moved. *is_end: it was the last. */
static BFSchedulerError bf_sweep_scan(BFSweep *sweep, bool *is_end)
{
    BFScheduler *sch = sweep->sch;
    MDB_txn *txn = NULL;
    size_t n = 0;
    int rc = page_db_txn_begin(sch->page_db, true, &txn);
    if (rc != page_db_error_ok) {
        return bf_fail_page_db(sch, rc, "bf_scheduler_update: the schedule cannot be read");
    }
    Result result = schedule_scan(sch->state->schedule, txn, &sweep->scan, sweep->entries,
                                  BF_SCHEDULER_UPDATE_BATCH_SIZE, &n);
    page_db_txn_abort(sch->page_db, txn);
    *is_end = n < BF_SCHEDULER_UPDATE_BATCH_SIZE;
    if (result == RESULT_OK) {
        bf_sweep_compare(sweep, n);
    }
    return bf_fail_result(sch, result, "bf_scheduler_update: the schedule cannot be read");
}

/* ---- Making them ---- */

/* In the records of the pages and in the schedule. A page that was crawled or moved since the scan
 * stays where it is. */
static Result bf_sweep_write(BFSweep *sweep, MDB_txn *txn)
{
    BFScheduler *sch = sweep->sch;
    PagePackEditor infos;
    ScheduleChange changes[2 * BF_SCHEDULER_UPDATE_BATCH_SIZE];
    size_t n = 0;
    page_pack_editor_begin(&infos, txn, sch->page_db->store->tables.idx2info,
                           sch->page_db->store->journal);
    for (size_t i = 0; i < sweep->n_moves; i++) {
        BFMove *move = &sweep->moves[i];
        uint8_t from = (uint8_t)bf_order_level(move->from);
        uint8_t to = (uint8_t)bf_order_level(move->to);
        move->holds = bf_relevel(sch, &infos, move->index, move->from, to);
        if (move->holds) {
            changes[n++] =
                schedule_move(move->host, from, SCHEDULE_NO_LEVEL, bf_order_value(move->from));
            changes[n++] =
                schedule_move(move->host, SCHEDULE_NO_LEVEL, to, bf_order_value(move->to));
        }
    }
    int rc = page_pack_editor_end(&infos, 0);
    if (rc != 0) {
        return rc == ENOMEM ? RESULT_MEMORY : lmdb_result(rc, "move pages between levels");
    }
    return schedule_change_all(sch->state->schedule, txn, changes, n);
}

/* Behind the commit. What the front cannot take for want of memory it reads from the schedule. */
static void bf_sweep_tell_front_locked(BFSweep *sweep)
{
    BFSchedulerState *state = sweep->sch->state;
    Result rc = RESULT_OK;
    for (size_t i = 0; i < sweep->n_moves; i++) {
        const BFMove *move = &sweep->moves[i];
        if (!move->holds) {
            continue;
        }
        state->counts.moves++;
        bf_front_withdraw(state->front, move->host, move->from);
        if (rc == RESULT_OK) {
            rc = bf_front_offer(state->front, move->host, move->to);
        }
    }
    if (rc != RESULT_OK) {
        bf_front_clear(state->front);
    }
}

/* One short transaction; *ms: what it took, with its commit. */
static BFSchedulerError bf_sweep_move(BFSweep *sweep, double *ms)
{
    BFScheduler *sch = sweep->sch;
    BFSchedulerState *state = sch->state;
    MDB_txn *txn = NULL;
    BFSchedulerError code = bf_begin(sch, &txn);
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    MonoTime start = bf_time(state);
    Result rc = bf_sweep_write(sweep, txn);
    if (rc != RESULT_OK) {
        bf_abort(sch, txn);
        return bf_fail_result(sch, rc, "bf_scheduler_update: the schedule cannot be written");
    }
    code = bf_commit(sch, txn);
    *ms = (double)(bf_time(state).ns - start.ns) / 1e6;
    if (code == bf_scheduler_error_ok) {
        bf_sweep_tell_front_locked(sweep);
        state->counts.update_txns++;
        state->counts.longest_update_ms = fmax(state->counts.longest_update_ms, *ms);
    }
    bf_end(state);
    return code;
}

static BFSchedulerError bf_sweep_make_moves(BFSweep *sweep)
{
    double ms = 0.0;
    BFSchedulerError code = bf_scheduler_error_full;
    while (code == bf_scheduler_error_full) {
        code = bf_sweep_move(sweep, &ms);
        if (code == bf_scheduler_error_full &&
            page_db_grow(sweep->sch->page_db) != page_db_error_ok) {
            break;
        }
    }
    if (code == bf_scheduler_error_ok && !sweep->is_urgent) {
        /* Leaves the write transaction to others; a stop ends the pause. */
        BFSchedulerState *state = sweep->sch->state;
        double pause_ms = fmin(ceil(ms * BF_PAUSE_PER_TXN), BF_LONGEST_PAUSE);
        MonoTime until = mono_add_ms(bf_time(state), (int64_t)pause_ms);
        mutex_lock(&state->mutex);
        while (!bf_is_stopping(sweep->sch) && mono_before(bf_time(state), until)) {
            (void)timekeeper_wait_until(state->time, &state->wake, &state->mutex, until);
        }
        mutex_unlock(&state->mutex);
    }
    return code;
}

static BFSchedulerError bf_sweep_schedule(BFScheduler *sch, bool is_urgent)
{
    BFSchedulerError code = bf_scheduler_error_ok;
    bool is_end = false;
    BFSweep *sweep = calloc(1, sizeof *sweep);
    if (sweep == NULL) {
        return bf_fail(sch, bf_scheduler_error_memory, "bf_scheduler_update: out of memory");
    }
    *sweep = (BFSweep){.sch = sch, .is_urgent = is_urgent};
    thread_step("moving pages");
    while (code == bf_scheduler_error_ok && !is_end && !bf_is_stopping(sch)) {
        code = bf_sweep_scan(sweep, &is_end);
        if (code == bf_scheduler_error_ok && sweep->n_moves > 0) {
            code = bf_sweep_make_moves(sweep);
        }
    }
    free(sweep);
    return code;
}

/* What the thread does, and what a caller does without it. */
static BFSchedulerError bf_update(BFScheduler *sch, bool is_urgent)
{
    const Scorer *scorer = sch->scorer;
    if (scorer->update == NULL || scorer->get == NULL) {
        return bf_scheduler_error_ok;
    }
    /* A scorer that has not reached its precision has told so in its own error; its scores are the
     * best there are. One that has none leaves the entries where they are. */
    int rc = scorer->update(scorer->state);
    if (bf_is_stopping(sch)) {
        return bf_scheduler_error_ok;
    }
    BFSchedulerError code = bf_sweep_schedule(sch, is_urgent);
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    if (rc != 0) {
        return bf_fail(sch, bf_scheduler_error_internal,
                       "bf_scheduler_update: the scorer failed; its error says why");
    }
    mutex_lock(&sch->state->mutex);
    sch->state->counts.updates++;
    mutex_unlock(&sch->state->mutex);
    return bf_scheduler_error_ok;
}

BFSchedulerError bf_scheduler_update(BFScheduler *sch)
{
    return sch == NULL ? bf_scheduler_error_invalid : bf_update(sch, true);
}

/* ---- The thread ---- */

static bool bf_has_enough_pages(const BFSchedulerState *state)
{
    double least = (double)state->n_updated_at + BF_SCHEDULER_UPDATE_NUM_PAGES;
    double share = (double)state->n_updated_at * (1.0 + BF_SCHEDULER_UPDATE_PER_PAGES);
    return (double)state->n_added >= fmax(least, share);
}

/* Waits for a reason to update; false: stop. */
static bool bf_wait_for_pages(BFSchedulerState *state, MonoTime last)
{
    mutex_lock(&state->mutex);
    while (!atomic_load(&state->stopping) && !bf_has_enough_pages(state)) {
        MonoTime deadline = state->interval_s > 0
                                ? mono_add_ms(last, (int64_t)state->interval_s * 1000)
                                : MONO_NEVER;
        if (!timekeeper_wait_until(state->time, &state->wake, &state->mutex, deadline)) {
            break;
        }
    }
    state->n_updated_at = state->n_added;
    mutex_unlock(&state->mutex);
    return !atomic_load(&state->stopping);
}

static void *bf_update_main(void *argument)
{
    BFScheduler *sch = argument;
    BFSchedulerState *state = sch->state;
    MonoTime last = bf_time(state);
    thread_step("waiting for pages");
    while (bf_wait_for_pages(state, last)) {
        thread_step("updating scores");
        BFSchedulerError code = bf_update(sch, false);
        mutex_lock(&state->mutex);
        state->thread_error = code != bf_scheduler_error_ok ? code : state->thread_error;
        mutex_unlock(&state->mutex);
        last = bf_time(state);
        thread_step("waiting for pages");
    }
    return NULL;
}

BFSchedulerError bf_scheduler_update_start(BFScheduler *sch)
{
    if (sch == NULL) {
        return bf_scheduler_error_invalid;
    }
    BFSchedulerState *state = sch->state;
    if (state->is_started) {
        return bf_scheduler_error_ok;
    }
    state->thread_error = bf_scheduler_error_ok;
    if (thread_start(&state->thread, "bf-update", bf_update_main, sch) != RESULT_OK) {
        return bf_fail(sch, bf_scheduler_error_thread,
                       "bf_scheduler_update_start: no thread can be had");
    }
    state->is_started = true;
    return bf_scheduler_error_ok;
}

BFSchedulerError bf_scheduler_update_stop(BFScheduler *sch)
{
    if (sch == NULL) {
        return bf_scheduler_error_invalid;
    }
    BFSchedulerState *state = sch->state;
    if (!state->is_started) {
        return bf_scheduler_error_ok;
    }
    mutex_lock(&state->mutex);
    atomic_store(&state->stopping, true);
    condition_broadcast(&state->wake);
    mutex_unlock(&state->mutex);
    if (sch->scorer->stop != NULL) {
        sch->scorer->stop(sch->scorer->state, true);
    }
    thread_join(&state->thread);
    if (sch->scorer->stop != NULL) {
        sch->scorer->stop(sch->scorer->state, false);
    }
    atomic_store(&state->stopping, false);
    state->is_started = false;
    return state->thread_error;
}
