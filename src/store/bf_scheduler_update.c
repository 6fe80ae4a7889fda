#include <math.h>
#include <stdlib.h>

#include "store/bf_scheduler_internal.h"

#define SCAN_AT_ONCE 4096u /* entries read in one transaction */
#define FEWEST_MOVES                                                                               \
    256u               /* in one transaction, however long a commit takes: it may be the disk      \
                        */
#define LOOK_EVERY 16u /* moves between two looks at who waits */

/* A page whose level changes. */
typedef struct Move {
    uint64_t index;
    uint32_t host;
    BFOrder from;
    BFOrder to;
} Move;

typedef struct Sweep {
    BFScheduler *sch;
    ScheduleScan scan;
    ScheduleEntry entries[SCAN_AT_ONCE];
    Move moves[SCAN_AT_ONCE]; /* wanted; done ones have from == to again */
    size_t n_moves;
    size_t at_once; /* moves in one transaction */
    Buffer url;
} Sweep;

static bool is_stopping(const BFScheduler *sch)
{
    return atomic_load(&sch->state->stopping);
}

/* Reads the next piece of the schedule and finds what is to be moved. *is_end: it was the last. */
static BFSchedulerError scan_piece(Sweep *sweep, bool *is_end)
{
    BFScheduler *sch = sweep->sch;
    const Scorer *scorer = sch->scorer;
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
    sweep->n_moves = 0;
    float scale = scorer->scale == NULL ? 1.0f : scorer->scale(scorer->state);
    for (size_t i = 0; result == RESULT_OK && i < n; i++) {
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
                (Move){index, entry->host, from, bf_order(level, index)};
        }
    }
    return bf_fail_result(sch, result, "bf_scheduler_update: the schedule cannot be read");
}

/* Moves one page, unless it was crawled or moved since it was read. */
static Result move_page(Sweep *sweep, MDB_txn *txn, Move *move)
{
    BFScheduler *sch = sweep->sch;
    PageRef page;
    int rc = page_db_get(sch->page_db, txn, move->index, &page, &sweep->url);
    bool is_there = rc == page_db_error_ok && page.level != PAGE_DB_NO_LEVEL &&
                    bf_entry(sch->state, page.level, page.score, move->index) == move->from;
    if (!is_there) {
        move->to = move->from;
        return rc == page_db_error_ok || rc == page_db_error_no_page ? RESULT_OK : RESULT_INTERNAL;
    }
    ScheduleChange changes[] = {{.index = bf_order_value(move->from),
                                 .host = move->host,
                                 .from = (uint8_t)bf_order_level(move->from),
                                 .to = SCHEDULE_NO_LEVEL},
                                {.index = bf_order_value(move->to),
                                 .host = move->host,
                                 .from = SCHEDULE_NO_LEVEL,
                                 .to = (uint8_t)bf_order_level(move->to)}};
    Result result = schedule_change(sch->state->schedule, txn, changes, 2);
    if (result == RESULT_OK) {
        rc = page_db_set_state(sch->page_db, txn, move->index, page.status,
                               (uint8_t)bf_order_level(move->to), page.tries);
        result = rc == page_db_error_ok     ? RESULT_OK
                 : rc == page_db_error_full ? RESULT_FULL
                                            : RESULT_INTERNAL;
    }
    return result;
}

/* The front learns of moves [first, end). */
static void tell_front_locked(BFScheduler *sch, const Move *moves, size_t first, size_t end)
{
    BFFront *front = sch->state->front;
    Result rc = RESULT_OK;
    for (size_t i = first; rc == RESULT_OK && i < end; i++) {
        if (moves[i].from != moves[i].to) {
            bf_front_withdraw(front, moves[i].host, moves[i].from);
            rc = bf_front_offer(front, moves[i].host, moves[i].to);
            sch->state->n_moves++;
        }
    }
    if (rc != RESULT_OK) {
        bf_front_clear(front);
    }
}

/* The next transaction moves as many pages as would have taken the time that there is, by the last
 * one, its commit included: what a commit costs is known only afterwards. */
static void learn_pace(Sweep *sweep, size_t n_moved, double ms, double cpu_ms)
{
    BFSchedulerState *state = sweep->sch->state;
    double fitting = (double)n_moved * BF_SCHEDULER_UPDATE_TXN_MS / (ms > 0.1 ? ms : 0.1);
    double most = (double)sweep->at_once * 2.0;
    fitting = fitting < most ? fitting : most;
    fitting = fitting < SCAN_AT_ONCE ? fitting : SCAN_AT_ONCE;
    sweep->at_once = fitting > FEWEST_MOVES ? (size_t)fitting : FEWEST_MOVES;
    mutex_lock(&state->mutex);
    state->longest_update_ms = fmax(state->longest_update_ms, ms);
    state->longest_update_cpu_ms = fmax(state->longest_update_cpu_ms, cpu_ms);
    mutex_unlock(&state->mutex);
}

/* Moves pages from move *first on; sooner or later somebody else wants to write. */
static Result move_pages(Sweep *sweep, MDB_txn *txn, size_t *first, MonoTime deadline)
{
    BFSchedulerState *state = sweep->sch->state;
    size_t end =
        sweep->n_moves - *first > sweep->at_once ? *first + sweep->at_once : sweep->n_moves;
    Result rc = RESULT_OK;
    for (size_t n = 1; rc == RESULT_OK && *first < end; n++) {
        rc = move_page(sweep, txn, &sweep->moves[*first]);
        *first += rc == RESULT_OK;
        if (n % LOOK_EVERY == 0 && (bf_is_awaited(state) || is_stopping(sweep->sch) ||
                                    !mono_before(mono_now(), deadline))) {
            break;
        }
    }
    return rc;
}

/* One short transaction, from move *first on. */
static BFSchedulerError move_some(Sweep *sweep, size_t *first)
{
    BFScheduler *sch = sweep->sch;
    MDB_txn *txn = NULL;
    BFSchedulerError code = bf_begin(sch, false, &txn);
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    MonoTime start = mono_now();
    int64_t cpu_start_ns = cpu_thread_ns();
    size_t end = *first;
    Result rc = move_pages(sweep, txn, &end, mono_add_ms(start, BF_SCHEDULER_UPDATE_TXN_MS));
    if (rc != RESULT_OK) {
        page_db_txn_abort(sch->page_db, txn);
        atomic_store(&sch->state->updating, false);
        return bf_fail_result(sch, rc, "bf_scheduler_update: the schedule cannot be written");
    }
    uint64_t turn = 0;
    code = bf_commit(sch, txn, &turn);
    atomic_store(&sch->state->updating, false);
    double ms = (double)(mono_now().ns - start.ns) / 1e6;
    double cpu_ms = (double)(cpu_thread_ns() - cpu_start_ns) / 1e6;
    bf_turn_begin(sch->state, turn);
    if (code == bf_scheduler_error_ok) {
        tell_front_locked(sch, sweep->moves, *first, end);
    }
    bf_turn_end(sch->state);
    learn_pace(sweep, end - *first, ms, cpu_ms);
    *first = end;
    return code;
}

static BFSchedulerError sweep_schedule(BFScheduler *sch)
{
    Sweep *sweep = calloc(1, sizeof *sweep);
    if (sweep == NULL) {
        return bf_fail(sch, bf_scheduler_error_memory, "bf_scheduler_update: out of memory");
    }
    sweep->sch = sch;
    sweep->at_once = BF_SCHEDULER_UPDATE_BATCH_SIZE;
    buffer_init(&sweep->url, BUFFER_NO_LIMIT);
    BFSchedulerError code = bf_scheduler_error_ok;
    bool is_end = false;
    while (code == bf_scheduler_error_ok && !is_end && !is_stopping(sch)) {
        code = scan_piece(sweep, &is_end);
        size_t first = 0;
        while (code == bf_scheduler_error_ok && first < sweep->n_moves && !is_stopping(sch)) {
            code = move_some(sweep, &first);
            if (code == bf_scheduler_error_full && page_db_grow(sch->page_db) == page_db_error_ok) {
                code = bf_scheduler_error_ok;
            }
        }
    }
    buffer_destroy(&sweep->url);
    free(sweep);
    return code;
}

BFSchedulerError bf_scheduler_update(BFScheduler *sch)
{
    const Scorer *scorer = sch->scorer;
    if (scorer->update == NULL || scorer->get == NULL) {
        return bf_scheduler_error_ok;
    }
    /* A scorer that has not reached its precision has told so in its own error; its scores are the
     * best there are. One that has none leaves the entries where they are. */
    int rc = scorer->update(scorer->state);
    if (is_stopping(sch)) {
        return bf_scheduler_error_ok;
    }
    BFSchedulerError code = sweep_schedule(sch);
    if (code == bf_scheduler_error_ok && rc == 0) {
        mutex_lock(&sch->state->mutex);
        sch->state->n_updates++;
        mutex_unlock(&sch->state->mutex);
    }
    return code != bf_scheduler_error_ok || rc == 0
               ? code
               : bf_fail(sch, bf_scheduler_error_internal,
                         "bf_scheduler_update: the scorer failed; its error says why");
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
static bool wait_for_pages(BFSchedulerState *state, MonoTime last)
{
    mutex_lock(&state->mutex);
    while (!atomic_load(&state->stopping) && !has_enough_pages_locked(state)) {
        MonoTime deadline = state->interval_s > 0
                                ? mono_add_ms(last, (int64_t)state->interval_s * 1000)
                                : MONO_NEVER;
        if (!condition_wait_until(&state->wake, &state->mutex, deadline)) {
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
    MonoTime last = mono_now();
    thread_step("waiting for pages");
    while (wait_for_pages(state, last)) {
        thread_step("updating scores");
        BFSchedulerError code = bf_scheduler_update(sch);
        mutex_lock(&state->mutex);
        state->thread_error = code != bf_scheduler_error_ok ? code : state->thread_error;
        mutex_unlock(&state->mutex);
        last = mono_now();
        thread_step("waiting for pages");
    }
    return NULL;
}

BFSchedulerError bf_scheduler_update_start(BFScheduler *sch)
{
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
    BFSchedulerState *state = sch->state;
    if (!state->is_started) {
        return bf_scheduler_error_ok;
    }
    mutex_lock(&state->mutex);
    atomic_store(&state->stopping, true);
    condition_broadcast(&state->wake);
    condition_broadcast(&state->served);
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
