#include "store/best_first/bf_update.h"

#include <math.h>
#include <stdlib.h>

#include "store/best_first/bf_state.h"
#include "store/schedule/schedule_read.h"

#define BF_SCAN_AT_ONCE   1024u /* entries read in one transaction */
#define BF_UPDATE_MOST    4096u /* moves in a transaction of its own */
#define BF_SHORTEST_PAUSE 10    /* ms between two of them */
#define BF_LONGEST_PAUSE  10000 /* when the disk is slow */
#define BF_PAUSE_PER_TXN  10.0  /* times as long as the last one took */

typedef struct BFSweep {
    BFScheduler *sch;
    bool is_urgent; /* a caller waits for its end: silence is not waited for */
    ScheduleScan scan;
    ScheduleEntry entries[BF_SCAN_AT_ONCE];
    size_t n_moves;   /* found and not offered yet */
    int64_t pause_ms; /* before the next transaction of its own */
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
            sch->state->moves[sweep->n_moves++] = (BFMove){
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
    Result result =
        schedule_scan(sch->state->schedule, txn, &sweep->scan, sweep->entries, BF_SCAN_AT_ONCE, &n);
    page_db_txn_abort(sch->page_db, txn);
    *is_end = n < BF_SCAN_AT_ONCE;
    if (result == RESULT_OK) {
        bf_sweep_compare(sweep, n);
    }
    return bf_fail_result(sch, result, "bf_scheduler_update: the schedule cannot be read");
}

/* ---- Making them, when nobody else does ---- */

/* Waits until other writers have made all moves (false, also at a stop), or until none of them has
 * come for pause_ms (true). An urgent sweep waits only for those who have asked already. */
static bool bf_sweep_wait(BFSweep *sweep)
{
    BFSchedulerState *state = sweep->sch->state;
    bool is_silent = false;
    MonoTime since = bf_time(state); /* no writer has come */
    mutex_lock(&state->mutex);
    while (state->n_made < state->n_moves && !bf_is_stopping(sweep->sch) && !is_silent) {
        if (sweep->is_urgent && bf_writers(state) == 0) {
            break;
        }
        uint64_t asked = atomic_load(&state->asked);
        int64_t pause_ms = bf_disk_is_slow(state) ? BF_LONGEST_PAUSE : sweep->pause_ms;
        bool in_time = timekeeper_wait_until(state->time, &state->wake, &state->mutex,
                                             mono_add_ms(since, pause_ms));
        bool came = atomic_load(&state->asked) != asked || bf_writers(state) > 0;
        is_silent = !in_time && !came;
        if (came) {
            since = bf_time(state);
            if (sweep->pause_ms < BF_SCHEDULER_SILENCE_MS) {
                sweep->pause_ms = BF_SCHEDULER_SILENCE_MS;
            }
        }
    }
    bool is_up_to_us = state->n_made < state->n_moves && !bf_is_stopping(sweep->sch);
    mutex_unlock(&state->mutex);
    return is_up_to_us;
}

/* One short transaction. Given up when somebody waits for it: he makes these moves as well. */
static BFSchedulerError bf_sweep_move_some(BFSweep *sweep)
{
    BFScheduler *sch = sweep->sch;
    BFSchedulerState *state = sch->state;
    MDB_txn *txn = NULL;
    BFSchedulerError code = bf_begin(sch, &txn);
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    MonoTime start = bf_time(state);
    Result rc = bf_moves_make(sch, txn, BF_UPDATE_MOST, BF_SCHEDULER_UPDATE_TXN_MS, true);
    if (rc != RESULT_OK || bf_writers(state) > 1) {
        bf_abort(sch, txn);
        return bf_fail_result(sch, rc, "bf_scheduler_update: the schedule cannot be written");
    }
    code = bf_commit(sch, txn);
    double ms = (double)(bf_time(state).ns - start.ns) / 1e6;
    bf_moves_end_locked(state, 0, code == bf_scheduler_error_ok);
    state->counts.update_txns++;
    state->counts.longest_update_ms = fmax(state->counts.longest_update_ms, ms);
    bf_end(state);
    double pause_ms = fmin(ms * BF_PAUSE_PER_TXN, BF_LONGEST_PAUSE);
    sweep->pause_ms = pause_ms > BF_SHORTEST_PAUSE ? (int64_t)pause_ms : BF_SHORTEST_PAUSE;
    return code;
}

/* Offers what was found and sees to it that it is made. */
static BFSchedulerError bf_sweep_see_through(BFSweep *sweep)
{
    BFSchedulerError code = bf_scheduler_error_ok;
    thread_step("moving pages");
    bf_moves_offer(sweep->sch->state, sweep->n_moves);
    sweep->n_moves = 0;
    while (code == bf_scheduler_error_ok && bf_sweep_wait(sweep)) {
        code = bf_sweep_move_some(sweep);
        if (code == bf_scheduler_error_full &&
            page_db_grow(sweep->sch->page_db) == page_db_error_ok) {
            code = bf_scheduler_error_ok;
        }
    }
    bf_moves_offer(sweep->sch->state, 0); /* what a stop or an error has left is found again */
    return code;
}

static BFSchedulerError bf_sweep_schedule(BFScheduler *sch, bool is_urgent)
{
    BFSchedulerError code = bf_scheduler_error_ok;
    bool is_end = false;
    BFSweep *sweep = calloc(1, sizeof *sweep);
    if (sch->state->moves == NULL) { /* no writer looks at it: none was offered */
        sch->state->moves = malloc(BF_MOVES * sizeof *sch->state->moves);
    }
    if (sweep == NULL || sch->state->moves == NULL) {
        free(sweep);
        return bf_fail(sch, bf_scheduler_error_memory, "bf_scheduler_update: out of memory");
    }
    *sweep = (BFSweep){.sch = sch, .is_urgent = is_urgent, .pause_ms = BF_SCHEDULER_SILENCE_MS};
    while (code == bf_scheduler_error_ok && !is_end && !bf_is_stopping(sch)) {
        code = bf_sweep_scan(sweep, &is_end);
        if (code == bf_scheduler_error_ok &&
            (is_end || sweep->n_moves > BF_MOVES - BF_SCAN_AT_ONCE)) {
            code = bf_sweep_see_through(sweep);
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
