#include "store/best_first/bf_turn.h"
#include "store/lmdb/lmdb_result.h"
#include "store/page_tables/page_store.h"
#include "store/schedule/schedule_read.h"

#include <math.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- Bf moves ---- */

#define STEP      128u /* moves that are written to the schedule together */
#define AT_LEAST  16   /* moves in a transaction, on the slowest of disks */
#define AT_FIRST  128  /* while nothing is known of the disk */
#define AT_MOST   4096
#define SHARE_NS  INT64_C(20000000) /* of a commit, that moves may take */
#define SLOW_NS   INT64_C(25000000) /* of the shortest commit, on a disk that is too slow */
#define REMEMBERS 8                 /* commits, for the shortest */

void bf_moves_init(BFSchedulerState *state)
{
    condition_init(&state->moved);
    state->most_moves = AT_FIRST;
}

void bf_moves_offer(BFSchedulerState *state, BFMove *moves, size_t n)
{
    mutex_lock(&state->mutex);
    free(state->moves);
    state->moves = moves;
    state->n_moves = n;
    state->n_taken = 0;
    state->n_ended = 0;
    atomic_store(&state->has_moves, n > 0);
    mutex_unlock(&state->mutex);
}

static uint8_t bf_moves_level_of(const ScheduleChange *change)
{
    return change->to != SCHEDULE_NO_LEVEL ? change->to : change->from;
}

/* In the order of the table. A page that is discovered and crawled in one batch enters and leaves.
 */
static int bf_moves_by_place(const void *a, const void *b)
{
    const ScheduleChange *x = a;
    const ScheduleChange *y = b;
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    if (bf_moves_level_of(x) != bf_moves_level_of(y)) {
        return bf_moves_level_of(x) < bf_moves_level_of(y) ? -1 : 1;
    }
    if (x->index != y->index) {
        return x->index < y->index ? -1 : 1;
    }
    return (x->to == SCHEDULE_NO_LEVEL) - (y->to == SCHEDULE_NO_LEVEL);
}

Result bf_write_changes(BFScheduler *sch, MDB_txn *txn, ScheduleChange *changes, size_t n)
{
    qsort(changes, n, sizeof *changes, bf_moves_by_place);
    return schedule_change(sch->state->schedule, txn, changes, n);
}

/* Writes the level into the record, unless the page was crawled or moved since it was looked at. */
static int bf_moves_move_record(const BFSchedulerState *state, PagePackEditor *infos, Buffer *copy,
                                const BFMove *move, bool *holds)
{
    MDB_val value;
    PageRecord record;
    *holds = false;
    int rc = page_level_read(infos, move->index, &value, &record);
    if (rc != 0) {
        return rc == MDB_NOTFOUND ? 0 : rc;
    }
    if (record.level == PAGE_DB_NO_LEVEL ||
        bf_entry(state, record.level, record.score, move->index) != move->from) {
        return 0;
    }
    rc = page_level_write(infos, move->index, &value, &record, (uint8_t)bf_order_level(move->to),
                          copy);
    *holds = rc == 0;
    return rc;
}

/* How long a piece may take. */
typedef struct Patience {
    BFWriter writer;
    int64_t cpu_end_ns; /* of the thread's time; looked at after every step */
    MonoTime until;     /* by the clock: records may have to be read from the disk first */
} Patience;

static bool is_time_up(const BFSchedulerState *state, const Patience *patience)
{
    return !mono_before(bf_time(state), patience->until) ||
           (patience->writer == BF_UPDATE &&
            (bf_is_awaited(state) || atomic_load(&state->stopping)));
}

/* Moves up to *n <= STEP pages, then *n is how many it looked at: no more than one when time is up.
 * Those that held are the first *n_held afterwards. */
static Result move_pages(BFScheduler *sch, MDB_txn *txn, const Patience *patience, BFMove *moves,
                         size_t *n, size_t *n_held)
{
    PagePackEditor infos;
    Buffer copy;
    ScheduleChange changes[2 * STEP];
    size_t held = 0;
    buffer_init(&copy, BUFFER_NO_LIMIT);
    int rc = page_pack_editor_begin(&infos, txn, sch->page_db->store->tables.idx2info,
                                    sch->page_db->store->journal);
    size_t i = 0;
    for (; rc == 0 && i < *n && (i == 0 || !is_time_up(sch->state, patience)); i++) {
        bool holds = false;
        rc = bf_moves_move_record(sch->state, &infos, &copy, &moves[i], &holds);
        if (holds) {
            BFMove move = moves[held] = moves[i];
            changes[2 * held] = (ScheduleChange){.index = bf_order_value(move.from),
                                                 .host = move.host,
                                                 .from = (uint8_t)bf_order_level(move.from),
                                                 .to = SCHEDULE_NO_LEVEL};
            changes[2 * held + 1] = (ScheduleChange){.index = bf_order_value(move.to),
                                                     .host = move.host,
                                                     .from = SCHEDULE_NO_LEVEL,
                                                     .to = (uint8_t)bf_order_level(move.to)};
            held++;
        }
    }
    rc = page_pack_editor_end(&infos, rc);
    buffer_destroy(&copy);
    *n = i;
    *n_held = held;
    if (rc != 0) {
        return rc == ENOMEM ? RESULT_MEMORY : lmdb_result(rc, "move pages between levels");
    }
    return bf_write_changes(sch, txn, changes, 2 * held);
}

/* Takes up to most of the moves that wait, to behind those that held. */
static size_t bf_moves_take(BFSchedulerState *state, BFPiece *piece, size_t most)
{
    mutex_lock(&state->mutex);
    size_t n = state->n_moves - state->n_taken;
    most = most < state->most_moves ? most : state->most_moves;
    most = most > piece->n_taken ? most - piece->n_taken : 0;
    n = n < most ? n : most;
    n = n < STEP ? n : STEP;
    if (n > 0) {
        memcpy(piece->moves + piece->n_held, state->moves + state->n_taken,
               n * sizeof *piece->moves);
    }
    state->n_taken += n;
    atomic_store(&state->has_moves, state->n_taken < state->n_moves);
    mutex_unlock(&state->mutex);
    piece->n_taken += n;
    return n;
}

/* The last n that were taken wait again. They are still the last ones: nobody else may take any. */
static void bf_moves_put_back(BFSchedulerState *state, BFPiece *piece, size_t n)
{
    if (n > 0) {
        mutex_lock(&state->mutex);
        state->n_taken -= n;
        atomic_store(&state->has_moves, true);
        mutex_unlock(&state->mutex);
    }
    piece->n_taken -= n;
}

Result bf_piece_make(BFScheduler *sch, BFWriter writer, MDB_txn *txn, size_t most, int64_t cpu_ms,
                     BFPiece *piece)
{
    if (!atomic_load(&sch->state->has_moves)) {
        return RESULT_OK;
    }
    most = most < AT_MOST ? most : AT_MOST;
    piece->moves = malloc(most * sizeof *piece->moves);
    if (piece->moves == NULL) {
        return writer == BF_UPDATE ? RESULT_MEMORY : RESULT_OK; /* another writer has some */
    }
    int64_t start_ns = cpu_thread_ns();
    const Patience patience = {.writer = writer,
                               .cpu_end_ns = start_ns + cpu_ms * 1000000,
                               .until = mono_add_ms(bf_time(sch->state), BF_SCHEDULER_PIECE_MS)};
    Result rc = RESULT_OK;
    int64_t now_ns = start_ns;
    while (rc == RESULT_OK && now_ns < patience.cpu_end_ns && !is_time_up(sch->state, &patience)) {
        size_t n_taken = bf_moves_take(sch->state, piece, most);
        if (n_taken == 0) {
            break;
        }
        size_t n = n_taken;
        size_t n_held = 0;
        rc = move_pages(sch, txn, &patience, piece->moves + piece->n_held, &n, &n_held);
        piece->n_held += n_held;
        bf_moves_put_back(sch->state, piece, n_taken - n);
        now_ns = cpu_thread_ns();
    }
    piece->cpu_ns = now_ns - start_ns;
    return rc;
}

static void destroy(BFPiece *piece)
{
    free(piece->moves);
    *piece = (BFPiece){0};
}

void bf_piece_give_back(BFSchedulerState *state, BFPiece *piece)
{
    bf_moves_put_back(state, piece, piece->n_taken);
    destroy(piece);
}

bool bf_disk_is_slow_locked(const BFSchedulerState *state)
{
    return state->shortest_commit_ns > SLOW_NS;
}

/* What the commit took tells how many moves the next may have. */
static void learn_locked(BFSchedulerState *state, const BFPiece *piece)
{
    size_t n = piece->n_held + piece->n_others;
    if (n == 0) {
        return; /* nothing was written */
    }
    int64_t more_ns = piece->commit_ns - state->shortest_commit_ns;
    state->shortest_commit_ns +=
        state->shortest_commit_ns == 0 || more_ns < 0 ? more_ns : more_ns / REMEMBERS;
    /* The number that would take their share, were they as dear as what was written just now. */
    int64_t fit = SHARE_NS * (int64_t)n / (piece->commit_ns + 1);
    int64_t most = (int64_t)state->most_moves;
    if (fit < most) {
        most = fit > AT_LEAST ? fit : AT_LEAST;
    } else if (fit / 2 >= most && (int64_t)piece->n_held >= most / 2) {
        most = most * 2 < AT_MOST ? most * 2 : AT_MOST;
    }
    state->most_moves = (size_t)most;
}

void bf_piece_end_locked(BFSchedulerState *state, BFPiece *piece, bool is_committed)
{
    Result rc = RESULT_OK;
    learn_locked(state, piece);
    for (size_t i = 0; is_committed && rc == RESULT_OK && i < piece->n_held; i++) {
        const BFMove *move = &piece->moves[i];
        bf_front_withdraw(state->front, move->host, move->from);
        rc = bf_front_offer(state->front, move->host, move->to);
    }
    if (rc != RESULT_OK) {
        bf_front_clear(state->front); /* the schedule tells it */
    }
    state->counts.moves += is_committed ? piece->n_held : 0;
    state->n_ended += piece->n_taken;
    if (piece->n_taken > 0 && state->n_ended == state->n_moves) {
        condition_broadcast(&state->moved);
    }
    destroy(piece);
}
