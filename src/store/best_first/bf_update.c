#include "store/best_first/bf_update.h"

#include <math.h>
#include <stdlib.h>

#include "store/best_first/bf_turn.h"
#include "store/pages/page_db_read.h"
#include "store/schedule/schedule_read.h"

/* Reloading: the schedule made to agree with the pages. */

#define RELOAD_AT_ONCE 4096u

Result bf_reload_pages(BFScheduler *sch, MDB_txn *txn, uint64_t first, uint64_t end, Buffer *url)
{
    BFSchedulerState *state = sch->state;
    for (uint64_t index = first; index < end; index++) {
        PageRef page;
        int rc = page_db_get(sch->page_db, txn, index, &page, url);
        if (rc != page_db_error_ok) {
            return RESULT_INTERNAL;
        }
        bool is_wanted =
            page.n_crawls == 0 && (sch->max_crawl_depth == 0 || page.depth <= sch->max_crawl_depth);
        uint8_t level = page.level;
        if (!is_wanted) {
            level = PAGE_DB_NO_LEVEL;
        } else if (level == PAGE_DB_NO_LEVEL) {
            float old = 0.0f;
            float score = 0.0f;
            bool is_scored = sch->scorer->get != NULL &&
                             sch->scorer->get(sch->scorer->state, index, &old, &score) == 0 &&
                             score > 0.0f;
            level = is_scored ? bf_scored_level(sch, score) : bf_link_level(state, page.score);
        }
        Result result = RESULT_OK;
        if (page.level != PAGE_DB_NO_LEVEL && level != page.level) {
            BFOrder old = bf_entry(state, page.level, page.score, index);
            result = schedule_remove(state->schedule, txn, page.host, bf_order_level(old),
                                     bf_order_value(old));
        }
        if (result == RESULT_OK && level != PAGE_DB_NO_LEVEL) {
            BFOrder order = bf_entry(state, level, page.score, index);
            result = schedule_put(state->schedule, txn, page.host, bf_order_level(order),
                                  bf_order_value(order));
        }
        if (result == RESULT_OK && level != page.level &&
            page_db_set_state(sch->page_db, txn, index, page.status, level, page.tries) !=
                page_db_error_ok) {
            result = RESULT_INTERNAL;
        }
        if (result != RESULT_OK) {
            return result;
        }
    }
    return RESULT_OK;
}

BFSchedulerError bf_scheduler_reload(BFScheduler *sch)
{
    Buffer url;
    if (sch == NULL) {
        return bf_scheduler_error_invalid;
    }
    buffer_init(&url, BUFFER_NO_LIMIT);
    BFSchedulerError code = bf_scheduler_error_ok;
    bool is_done = false;
    for (uint64_t first = 0; code == bf_scheduler_error_ok && !is_done;) {
        MDB_txn *txn = NULL;
        code = bf_begin(sch, BF_WRITER, &txn);
        if (code != bf_scheduler_error_ok) {
            break;
        }
        uint64_t n_pages = page_db_n_pages(sch->page_db, txn);
        uint64_t end = n_pages - first < RELOAD_AT_ONCE ? n_pages : first + RELOAD_AT_ONCE;
        Result rc = bf_reload_pages(sch, txn, first, end, &url);
        if (rc != RESULT_OK) {
            bf_abort(sch, BF_WRITER, txn);
            if (rc == RESULT_FULL && page_db_grow(sch->page_db) == page_db_error_ok) {
                continue;
            }
            code = bf_fail_result(sch, rc, "bf_scheduler_reload: the schedule cannot be written");
            break;
        }
        uint64_t turn = 0;
        code = bf_commit(sch, BF_WRITER, txn, &turn);
        bf_turn_begin(sch->state, turn);
        is_done = end == n_pages;
        if (is_done) {
            bf_front_clear(sch->state->front);
        }
        bf_turn_end(sch->state);
        first = end;
    }
    buffer_destroy(&url);
    return code;
}

/* ---- Best-first scheduler, updating ---- */

#define SCAN_AT_ONCE   1024u /* entries read in one transaction */
#define UPDATE_MOST    4096u /* moves in a transaction of its own */
#define SHORTEST_PAUSE 10    /* ms between two of them */
#define LONGEST_PAUSE  10000 /* when the disk is slow */
#define PAUSE_PER_TXN  10.0  /* times as long as the last one took */

typedef struct Sweep {
    BFScheduler *sch;
    bool is_urgent; /* somebody waits for its end: writers are not waited for */
    ScheduleScan scan;
    ScheduleEntry entries[SCAN_AT_ONCE];
    BFMove *moves; /* [BF_MOVES] found and not offered yet */
    size_t n_moves;
    int64_t pause_ms; /* before the next transaction of its own */
} Sweep;

static bool bf_scheduler_update_is_stopping(const BFScheduler *sch)
{
    return atomic_load(&sch->state->stopping);
}

/* ---- Finding moves ---- */

static void bf_scheduler_update_compare(Sweep *sweep, size_t n)
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
            sweep->moves[sweep->n_moves++] =
                (BFMove){index, from, bf_order(level, index), entry->host};
        }
    }
}

/* Reads the next piece of the schedule and finds what is to be moved. *is_end: it was the last. */
static BFSchedulerError scan_piece(Sweep *sweep, bool *is_end)
{
    BFScheduler *sch = sweep->sch;
    MDB_txn *txn = NULL;
    size_t n = 0;
    int rc = page_db_txn_begin(sch->page_db, true, &txn);
    if (rc != page_db_error_ok) {
        return bf_fail_page_db(sch, rc, "bf_scheduler_update: the schedule cannot be read");
    }
    Result result =
        schedule_scan(sch->state->schedule, txn, &sweep->scan, sweep->entries, SCAN_AT_ONCE, &n);
    page_db_txn_abort(sch->page_db, txn);
    *is_end = n < SCAN_AT_ONCE;
    if (result == RESULT_OK) {
        bf_scheduler_update_compare(sweep, n);
    }
    return bf_fail_result(sch, result, "bf_scheduler_update: the schedule cannot be read");
}

/* ---- Making them, when nobody else does ---- */

/* Waits until all moves have ended, made by others. True: for so long nobody came, or it is urgent;
 * false: none wait, or stop. */
static bool wait_for_writers(Sweep *sweep)
{
    BFSchedulerState *state = sweep->sch->state;
    bool is_silent = sweep->is_urgent;
    MonoTime since = bf_time(state); /* nobody has come */
    mutex_lock(&state->mutex);
    while (state->n_ended < state->n_moves && !bf_scheduler_update_is_stopping(sweep->sch) &&
           !(is_silent && state->n_taken < state->n_moves)) {
        uint64_t asked = atomic_load(&state->asked);
        int64_t pause_ms = bf_disk_is_slow_locked(state) ? LONGEST_PAUSE : sweep->pause_ms;
        MonoTime until = mono_add_ms(since, pause_ms);
        bool in_time = timekeeper_wait_until(state->time, &state->moved, &state->mutex, until);
        bool came = atomic_load(&state->asked) != asked || atomic_load(&state->served) != asked;
        is_silent = sweep->is_urgent || (!in_time && !came);
        since = in_time && !came ? since : bf_time(state);
        if (came && sweep->pause_ms < BF_SCHEDULER_SILENCE_MS) {
            sweep->pause_ms = BF_SCHEDULER_SILENCE_MS;
        }
    }
    bool is_up_to_us =
        state->n_taken < state->n_moves && !bf_scheduler_update_is_stopping(sweep->sch);
    mutex_unlock(&state->mutex);
    return is_up_to_us;
}

/* Commits a piece and tells the front. */
static BFSchedulerError commit_piece(Sweep *sweep, MDB_txn *txn, BFPiece *piece, MonoTime start)
{
    BFSchedulerState *state = sweep->sch->state;
    uint64_t turn = 0;
    int64_t cpu_ns = cpu_thread_ns() - piece->cpu_ns;
    MonoTime commit_start = bf_time(state);
    BFSchedulerError code = bf_commit(sweep->sch, BF_UPDATE, txn, &turn);
    piece->commit_ns = bf_time(state).ns - commit_start.ns;
    double ms = (double)(bf_time(state).ns - start.ns) / 1e6;
    double cpu_ms = (double)(cpu_thread_ns() - cpu_ns) / 1e6;
    bf_turn_begin(state, turn);
    bf_piece_end_locked(state, piece, code == bf_scheduler_error_ok);
    state->counts.update_txns++;
    state->counts.longest_update_ms = fmax(state->counts.longest_update_ms, ms);
    state->counts.longest_update_cpu_ms = fmax(state->counts.longest_update_cpu_ms, cpu_ms);
    bf_turn_end(state);
    double pause_ms = fmin(ms * PAUSE_PER_TXN, LONGEST_PAUSE);
    sweep->pause_ms = pause_ms > SHORTEST_PAUSE ? (int64_t)pause_ms : SHORTEST_PAUSE;
    return code;
}

/* One short transaction. Given up when somebody waits for it: he makes these moves as well. */
static BFSchedulerError bf_scheduler_update_move_some(Sweep *sweep)
{
    BFScheduler *sch = sweep->sch;
    MDB_txn *txn = NULL;
    BFPiece piece = {0};
    if (!sweep->is_urgent && bf_is_awaited(sch->state)) {
        return bf_scheduler_error_ok;
    }
    BFSchedulerError code = bf_begin(sch, BF_UPDATE, &txn);
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    MonoTime start = bf_time(sch->state);
    Result rc = bf_piece_make(sch, BF_UPDATE, txn, UPDATE_MOST, BF_SCHEDULER_UPDATE_TXN_MS, &piece);
    bool gives_way = !sweep->is_urgent && bf_is_awaited(sch->state);
    if (rc == RESULT_OK && !gives_way) {
        return commit_piece(sweep, txn, &piece, start);
    }
    bf_piece_give_back(sch->state, &piece);
    bf_abort(sch, BF_UPDATE, txn);
    return bf_fail_result(sch, rc, "bf_scheduler_update: the schedule cannot be written");
}

/* Sees to it that the moves that were offered are made. */
static BFSchedulerError see_through(Sweep *sweep)
{
    BFSchedulerError code = bf_scheduler_error_ok;
    thread_step("moving pages");
    while (code == bf_scheduler_error_ok && wait_for_writers(sweep)) {
        code = bf_scheduler_update_move_some(sweep);
        if (code == bf_scheduler_error_full &&
            page_db_grow(sweep->sch->page_db) == page_db_error_ok) {
            code = bf_scheduler_error_ok;
        }
    }
    return code;
}

/* Offers what was found, after what was offered before. */
static BFSchedulerError offer(Sweep *sweep)
{
    BFSchedulerError code = see_through(sweep);
    if (code == bf_scheduler_error_ok && !bf_scheduler_update_is_stopping(sweep->sch) &&
        sweep->n_moves > 0) {
        bf_moves_offer(sweep->sch->state, sweep->moves, sweep->n_moves);
        sweep->moves = malloc(BF_MOVES * sizeof *sweep->moves);
        sweep->n_moves = 0;
        if (sweep->moves == NULL) {
            code = bf_fail(sweep->sch, bf_scheduler_error_memory,
                           "bf_scheduler_update: out of memory");
        }
    }
    return code;
}

static BFSchedulerError sweep_schedule(BFScheduler *sch, bool is_urgent)
{
    Sweep *sweep = calloc(1, sizeof *sweep);
    BFMove *moves = malloc(BF_MOVES * sizeof *moves);
    if (sweep == NULL || moves == NULL) {
        free(sweep);
        free(moves);
        return bf_fail(sch, bf_scheduler_error_memory, "bf_scheduler_update: out of memory");
    }
    sweep->sch = sch;
    sweep->is_urgent = is_urgent;
    sweep->moves = moves;
    sweep->pause_ms = BF_SCHEDULER_SILENCE_MS;
    BFSchedulerError code = bf_scheduler_error_ok;
    bool is_end = false;
    while (code == bf_scheduler_error_ok && !is_end && !bf_scheduler_update_is_stopping(sch)) {
        code = scan_piece(sweep, &is_end);
        if (code == bf_scheduler_error_ok && (is_end || sweep->n_moves > BF_MOVES - SCAN_AT_ONCE)) {
            code = offer(sweep);
        }
    }
    if (code == bf_scheduler_error_ok) {
        code = see_through(sweep);
    }
    free(sweep->moves);
    free(sweep);
    return code;
}

/* What the thread does, and what a caller does without it. */
static BFSchedulerError update(BFScheduler *sch, bool is_urgent)
{
    const Scorer *scorer = sch->scorer;
    if (scorer->update == NULL || scorer->get == NULL) {
        return bf_scheduler_error_ok;
    }
    /* A scorer that has not reached its precision has told so in its own error; its scores are the
     * best there are. One that has none leaves the entries where they are. */
    int rc = scorer->update(scorer->state);
    if (bf_scheduler_update_is_stopping(sch)) {
        return bf_scheduler_error_ok;
    }
    BFSchedulerError code = sweep_schedule(sch, is_urgent);
    if (code == bf_scheduler_error_ok && rc == 0) {
        mutex_lock(&sch->state->mutex);
        sch->state->counts.updates++;
        mutex_unlock(&sch->state->mutex);
    }
    return code != bf_scheduler_error_ok || rc == 0
               ? code
               : bf_fail(sch, bf_scheduler_error_internal,
                         "bf_scheduler_update: the scorer failed; its error says why");
}

BFSchedulerError bf_scheduler_update(BFScheduler *sch)
{
    if (sch == NULL) {
        return bf_scheduler_error_invalid;
    }
    return update(sch, true);
}

/* ---- The thread ---- */

static bool has_enough_pages_locked(const BFSchedulerState *state)
{
    double old = (double)state->n_updated_at;
    double new = (double)state->n_added;
    return new >= old + BF_SCHEDULER_UPDATE_NUM_PAGES &&new >=
           old *(1.0 + BF_SCHEDULER_UPDATE_PER_PAGES);
}

/* Waits for a reason to update; false: stop. */
static bool bf_scheduler_update_wait_for_pages(BFSchedulerState *state, MonoTime last)
{
    mutex_lock(&state->mutex);
    while (!atomic_load(&state->stopping) && !has_enough_pages_locked(state)) {
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

static void *update_main(void *argument)
{
    BFScheduler *sch = argument;
    BFSchedulerState *state = sch->state;
    MonoTime last = bf_time(state);
    thread_step("waiting for pages");
    while (bf_scheduler_update_wait_for_pages(state, last)) {
        thread_step("updating scores");
        BFSchedulerError code = update(sch, false);
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
    if (thread_start(&state->thread, "bf-update", update_main, sch) != RESULT_OK) {
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
    condition_broadcast(&state->was_served);
    condition_broadcast(&state->moved);
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
