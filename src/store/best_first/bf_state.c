#include "store/best_first/bf_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "store/format/page_record.h"
#include "store/lmdb/lmdb_result.h"
#include "store/page_tables/page_store.h"
#include "store/schedule/schedule_read.h"

/* ---- Errors ---- */

BFSchedulerError bf_fail(BFScheduler *sch, BFSchedulerError code, const char *what)
{
    error_clean(sch->error);
    error_set(sch->error, (int)code, what);
    return code;
}

static BFSchedulerError bf_code_of(int code)
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
    (void)bf_fail(sch, bf_code_of(code), what);
    const char *words = error_message(sch->page_db->error);
    if (words != NULL) {
        error_add(sch->error, words);
    }
    return bf_code_of(code);
}

BFSchedulerError bf_fail_result(BFScheduler *sch, Result result, const char *what)
{
    if (result == RESULT_OK) {
        return bf_scheduler_error_ok;
    }
    BFSchedulerError code = bf_scheduler_error_internal;
    if (result == RESULT_MEMORY) {
        code = bf_scheduler_error_memory;
    } else if (result == RESULT_FULL) {
        code = bf_scheduler_error_full;
    }
    return bf_fail(sch, code, what);
}

/* ---- How a page stands in the schedule ---- */

#define BF_FINE_STEPS ((1u << (BF_VALUE_BITS - BF_INDEX_BITS)) - 1)

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
        fine = far < 1.0 ? (uint64_t)(far * BF_FINE_STEPS) : BF_FINE_STEPS;
    }
    return bf_order(level, fine << BF_INDEX_BITS | index);
}

int bf_relevel(const BFScheduler *sch, PagePackEditor *infos, Buffer *copy, uint64_t index,
               BFOrder from, uint8_t level_byte, bool *holds)
{
    MDB_val value;
    PageRecord record;
    *holds = false;
    int rc = page_level_read(infos, index, &value, &record);
    if (rc != 0) {
        return rc == MDB_NOTFOUND ? 0 : rc;
    }
    if (record.level == PAGE_DB_NO_LEVEL ||
        bf_entry(sch->state, record.level, record.score, index) != from) {
        return 0;
    }
    rc = page_level_write(infos, index, &value, &record, level_byte, copy);
    *holds = rc == 0;
    return rc;
}

/* In the order of the table. A page that is discovered and crawled in one batch enters and leaves.
 */
static int bf_change_compare(const void *a, const void *b)
{
    const ScheduleChange *x = a;
    const ScheduleChange *y = b;
    bool x_leaves = x->to == SCHEDULE_NO_LEVEL;
    bool y_leaves = y->to == SCHEDULE_NO_LEVEL;
    uint8_t x_level = x_leaves ? x->from : x->to;
    uint8_t y_level = y_leaves ? y->from : y->to;
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    if (x_level != y_level) {
        return x_level < y_level ? -1 : 1;
    }
    if (x->index != y->index) {
        return x->index < y->index ? -1 : 1;
    }
    return x_leaves - y_leaves;
}

Result bf_write_changes(BFScheduler *sch, MDB_txn *txn, ScheduleChange *changes, size_t n)
{
    if (n > 1) {
        qsort(changes, n, sizeof *changes, bf_change_compare);
    }
    return schedule_change(sch->state->schedule, txn, changes, n);
}

/* ---- Write transactions ---- */

uint64_t bf_writers(const BFSchedulerState *state)
{
    uint64_t served = atomic_load(&state->served); /* first: asked is never less */
    return atomic_load(&state->asked) - served;
}

static void bf_serve_locked(BFSchedulerState *state)
{
    atomic_fetch_add(&state->served, 1);
    condition_broadcast(&state->wake);
    mutex_unlock(&state->mutex);
}

BFSchedulerError bf_begin(BFScheduler *sch, MDB_txn **txn)
{
    BFSchedulerState *state = sch->state;
    atomic_fetch_add(&state->asked, 1);
    int rc = page_db_txn_begin(sch->page_db, false, txn);
    if (rc != page_db_error_ok) {
        mutex_lock(&state->mutex);
        bf_serve_locked(state);
        return bf_fail_page_db(sch, rc, "bf_scheduler: no transaction can be begun");
    }
    mutex_lock(&state->commits);
    state->n_tried = 0;
    return bf_scheduler_error_ok;
}

BFSchedulerError bf_commit(BFScheduler *sch, MDB_txn *txn)
{
    BFSchedulerState *state = sch->state;
    MonoTime start = bf_time(state);
    int rc = page_db_txn_commit(sch->page_db, txn);
    state->commit_ns = bf_time(state).ns - start.ns;
    mutex_lock(&state->mutex);
    return bf_fail_page_db(sch, rc, "bf_scheduler: the transaction cannot be committed");
}

void bf_end(BFSchedulerState *state)
{
    bf_serve_locked(state);
    mutex_unlock(&state->commits);
}

void bf_abort(BFScheduler *sch, MDB_txn *txn)
{
    page_db_txn_abort(sch->page_db, txn);
    mutex_lock(&sch->state->mutex);
    bf_end(sch->state);
}

/* ---- Moves ---- */

#define BF_STEP      128u /* moves that are written to the schedule together */
#define BF_AT_LEAST  16   /* moves in a transaction, on the slowest of disks */
#define BF_AT_MOST   4096
#define BF_SHARE_NS  INT64_C(20000000) /* of a commit, that moves may take */
#define BF_SLOW_NS   INT64_C(25000000) /* of the shortest commit, on a disk that is too slow */
#define BF_REMEMBERS 8                 /* commits, for the shortest */

void bf_moves_offer(BFSchedulerState *state, size_t n)
{
    mutex_lock(&state->commits);
    mutex_lock(&state->mutex);
    state->n_moves = n;
    state->n_made = 0;
    mutex_unlock(&state->mutex);
    mutex_unlock(&state->commits);
}

/* How long a transaction may go on making moves. */
typedef struct BFPatience {
    int64_t cpu_end_ns; /* of the thread's time; looked at after every step */
    MonoTime until;     /* by the clock: records may have to be read from the disk first */
    bool gives_way;     /* to other writers, and to a stop */
} BFPatience;

static bool bf_time_is_up(const BFSchedulerState *state, const BFPatience *patience)
{
    return !mono_before(bf_time(state), patience->until) ||
           (patience->gives_way && (bf_writers(state) > 1 || atomic_load(&state->stopping)));
}

/* Makes up to *n <= BF_STEP moves; then *n is how many it looked at, no more than one when time is
 * up. */
static Result bf_moves_step(BFScheduler *sch, MDB_txn *txn, const BFPatience *patience,
                            BFMove *moves, size_t *n)
{
    PagePackEditor infos;
    Buffer copy;
    ScheduleChange changes[2 * BF_STEP];
    size_t n_changes = 0;
    size_t i = 0;
    buffer_init(&copy, BUFFER_NO_LIMIT);
    int rc = page_pack_editor_begin(&infos, txn, sch->page_db->store->tables.idx2info,
                                    sch->page_db->store->journal);
    while (rc == 0 && i < *n && (i == 0 || !bf_time_is_up(sch->state, patience))) {
        BFMove *move = &moves[i++];
        uint8_t from = (uint8_t)bf_order_level(move->from);
        uint8_t to = (uint8_t)bf_order_level(move->to);
        rc = bf_relevel(sch, &infos, &copy, move->index, move->from, to, &move->holds);
        if (move->holds) {
            changes[n_changes++] = (ScheduleChange){.index = bf_order_value(move->from),
                                                    .host = move->host,
                                                    .from = from,
                                                    .to = SCHEDULE_NO_LEVEL};
            changes[n_changes++] = (ScheduleChange){.index = bf_order_value(move->to),
                                                    .host = move->host,
                                                    .from = SCHEDULE_NO_LEVEL,
                                                    .to = to};
        }
    }
    rc = page_pack_editor_end(&infos, rc);
    buffer_destroy(&copy);
    *n = i;
    if (rc != 0) {
        return rc == ENOMEM ? RESULT_MEMORY : lmdb_result(rc, "move pages between levels");
    }
    return bf_write_changes(sch, txn, changes, n_changes);
}

Result bf_moves_make(BFScheduler *sch, MDB_txn *txn, size_t most, int64_t cpu_ms, bool gives_way)
{
    BFSchedulerState *state = sch->state;
    size_t n_waiting = state->n_moves - state->n_made;
    if (n_waiting == 0) {
        return RESULT_OK;
    }
    const BFPatience patience = {.cpu_end_ns = cpu_thread_ns() + cpu_ms * 1000000,
                                 .until = mono_add_ms(bf_time(state), BF_SCHEDULER_PIECE_MS),
                                 .gives_way = gives_way};
    most = most < state->most_moves ? most : state->most_moves;
    most = most < n_waiting ? most : n_waiting;
    while (state->n_tried < most && cpu_thread_ns() < patience.cpu_end_ns &&
           !bf_time_is_up(state, &patience)) {
        size_t n = most - state->n_tried < BF_STEP ? most - state->n_tried : BF_STEP;
        Result rc =
            bf_moves_step(sch, txn, &patience, state->moves + state->n_made + state->n_tried, &n);
        if (rc != RESULT_OK) {
            return rc;
        }
        state->n_tried += n;
    }
    return RESULT_OK;
}

bool bf_disk_is_slow(const BFSchedulerState *state)
{
    return state->shortest_commit_ns > BF_SLOW_NS;
}

/* What the commit of n entries took tells how many moves the next may have. */
static void bf_moves_learn(BFSchedulerState *state, size_t n_held, size_t n_others)
{
    int64_t n = (int64_t)(n_held + n_others);
    if (n == 0) {
        return; /* nothing was written */
    }
    int64_t more_ns = state->commit_ns - state->shortest_commit_ns;
    state->shortest_commit_ns +=
        state->shortest_commit_ns == 0 || more_ns < 0 ? more_ns : more_ns / BF_REMEMBERS;
    /* The number that would take their share, were they as dear as what was written just now. */
    int64_t fit = BF_SHARE_NS * n / (state->commit_ns + 1);
    int64_t most = (int64_t)state->most_moves;
    if (fit < most) {
        most = fit > BF_AT_LEAST ? fit : BF_AT_LEAST;
    } else if (fit / 2 >= most && (int64_t)n_held >= most / 2) {
        most = most * 2 < BF_AT_MOST ? most * 2 : BF_AT_MOST;
    }
    state->most_moves = (size_t)most;
}

void bf_moves_end_locked(BFSchedulerState *state, size_t n_others, bool is_committed)
{
    size_t n_held = 0;
    Result rc = RESULT_OK;
    for (size_t i = 0; i < state->n_tried; i++) {
        const BFMove *move = &state->moves[state->n_made + i];
        if (!is_committed || !move->holds) {
            continue;
        }
        n_held++;
        bf_front_withdraw(state->front, move->host, move->from);
        if (rc == RESULT_OK) {
            rc = bf_front_offer(state->front, move->host, move->to);
        }
    }
    if (rc != RESULT_OK) {
        bf_front_clear(state->front); /* the schedule tells it */
    }
    bf_moves_learn(state, n_held, n_others);
    state->counts.moves += n_held;
    state->n_made += state->n_tried;
}
