#include "fetch/transfer/crowding.h"

#include <stdlib.h>

#include "base/memory/array.h"
#include "fetch/transfer/transfer.h"
#include "frontier/visit/visit_turn.h"

/* ---- Transfer pool ---- */

static Transfer *transfer_pool_make(TransferPool *pool)
{
    Transfer *transfer = NULL;
    if (transfer_new(&transfer, pool->shared) == RESULT_OK &&
        array_add(&pool->transfers, &pool->n_transfers, sizeof(Transfer *), &transfer) !=
            RESULT_OK) {
        transfer_delete(transfer);
        return NULL;
    }
    return transfer;
}

Transfer *transfer_pool_take(TransferPool *pool)
{
    Transfer *transfer = pool->free_list;
    if (transfer != NULL) {
        pool->free_list = transfer->next_free;
    } else {
        transfer = transfer_pool_make(pool);
    }
    pool->n_active += transfer != NULL;
    return transfer;
}

void transfer_pool_give_back(TransferPool *pool, Transfer *transfer)
{
    transfer_reset(transfer);
    transfer->next_free = pool->free_list;
    pool->free_list = transfer;
    pool->n_active--;
}

void transfer_pool_destroy(TransferPool *pool)
{
    for (size_t i = 0; i < pool->n_transfers; i++) {
        transfer_delete(pool->transfers[i]);
    }
    free(pool->transfers);
}

/* ---- Crowding ---- */

void crowding_init(Crowding *crowding, const FetcherOptions *options, const TransferPool *pool)
{
    crowding->options = options;
    crowding->pool = pool;
}

/* Closed for all; or for large bodies, which hold connections that others wait for. */
static bool is_gate_closed(const Crowding *crowding)
{
    ByteGate *gate = crowding->options->gate;
    ByteGateFor kind = crowding->has_waiting ? BYTE_GATE_LARGE : BYTE_GATE_ANY;
    return gate != NULL && !byte_gate_is_open_for(gate, kind);
}

/* For how long it has run; what it waited for the gate does not count. */
static int64_t age_ms(const Transfer *transfer, MonoTime now)
{
    const TransferTimer *timer = &transfer->timer;
    return mono_ms_between(timer->start, timer->paused.ns != 0 ? timer->paused : now);
}

/* For how long its answer has been coming, or asked for while there is none. */
static int64_t crowding_answer_ms(const Transfer *transfer, MonoTime now)
{
    const TransferTimer *timer = &transfer->timer;
    MonoTime start = timer->phase == PHASE_RECEIVING ? timer->phase_start : timer->start;
    return mono_ms_between(start, timer->paused.ns != 0 ? timer->paused : now);
}

/* Bytes a second while it ran. A body is measured from its first byte on. */
static double rate_of(const Transfer *transfer, MonoTime now)
{
    int64_t ms = crowding_answer_ms(transfer, now);
    return (double)transfer->timer.bytes * 1e3 / (double)(ms > 0 ? ms : 1);
}

/* It has had its time, and has used it badly. A host that was never heard of is a matter of
 * new_patience. */
static bool crowding_is_slow(const Crowding *crowding, const Transfer *transfer, MonoTime now)
{
    const TransferTimer *timer = &transfer->timer;
    bool is_receiving = timer->phase == PHASE_RECEIVING;
    bool was_heard = is_receiving || transfer->visit_state->politeness.standing.has_answered;
    bool is_new = transfer->visit_state->turn.standing == STANDING_NEW;
    bool drips = is_receiving && standing_drips(crowding_answer_ms(transfer, now),
                                                is_new ? crowding->patience_ms : STANDING_DRIP_MS,
                                                timer->bytes, transfer->most_bytes_s);
    return drips || (was_heard &&
                     standing_is_slow(age_ms(transfer, now), timer->bytes, transfer->most_bytes_s));
}

/* Those that have turned slow give up their places. */
static bool crowding_slow_down(const Crowding *crowding, MonoTime now)
{
    bool has_slowed = false;
    for (size_t i = 0; i < crowding->pool->n_transfers; i++) {
        Transfer *transfer = crowding->pool->transfers[i];
        if (transfer->visit_state != NULL && crowding_is_slow(crowding, transfer, now) &&
            visit_turn_slow_down(transfer->visit_state, crowding->options->shares)) {
            has_slowed = true;
        }
    }
    return has_slowed;
}

bool crowding_look(Crowding *crowding, const FetchCrowd *crowd, MonoTime now)
{
    unsigned threads = crowding->options->threads;
    crowding->next = mono_add_ms(now, CROWDING_LOOK_MS);
    crowding->crowd = *crowd;
    crowding->patience_ms = standing_drip_ms(crowd->n_new, crowd->most_new);
    crowding->has_waiting = crowd->n_new > 0 || crowd->n_proven > 0;
    bool is_closed = is_gate_closed(crowding);
    if (!is_closed || crowding->closed.ns == 0) {
        crowding->closed = is_closed ? now : (MonoTime){0};
    }
    crowding->stalls = is_closed && mono_ms_between(crowding->closed, now) >= CROWDING_STALL_MS;
    crowding->is_crowded = crowding->has_waiting || is_closed;
    crowding->has_slowed = crowding->is_crowded && crowding_slow_down(crowding, now);
    crowding->crowd.n_new = (crowd->n_new + threads - 1) / threads; /* the others look, too */
    crowding->crowd.n_proven = (crowd->n_proven + threads - 1) / threads;
    return crowding->is_crowded;
}

int64_t crowding_wait_ms(const Crowding *crowding)
{
    return crowding->is_crowded ? CROWDING_LOOK_MS : RUN_CLOCK_STEP_MS;
}

static Transfer *longest_silent(const Crowding *crowding, MonoTime now)
{
    Transfer *found = NULL;
    int64_t most_ms = atomic_load(&crowding->options->shares->new_patience_ms) - 1;
    for (size_t i = 0; i < crowding->pool->n_transfers; i++) {
        Transfer *transfer = crowding->pool->transfers[i];
        if (transfer->visit_state != NULL && transfer->timer.phase != PHASE_RECEIVING &&
            transfer->visit_state->todo.standing == STANDING_NEW &&
            !transfer->visit_state->politeness.standing.has_answered &&
            age_ms(transfer, now) > most_ms) {
            most_ms = age_ms(transfer, now);
            found = transfer;
        }
    }
    return found;
}

/* The transfers that are slower than a rate. */
typedef struct SlowOnes {
    Transfer *slowest;
    size_t count;
    size_t bytes; /* that they hold in memory */
} SlowOnes;

static SlowOnes slow_ones(const Crowding *crowding, int64_t least_bytes_s, MonoTime now)
{
    SlowOnes slow = {.count = 0};
    double least = (double)least_bytes_s;
    for (size_t i = 0; i < crowding->pool->n_transfers; i++) {
        Transfer *transfer = crowding->pool->transfers[i];
        bool is_young = transfer->visit_state == NULL ||
                        mono_ms_between(transfer->begun, now) < STANDING_SLOW_MS;
        double rate = is_young ? (double)least_bytes_s : rate_of(transfer, now);
        if (rate < (double)least_bytes_s) {
            slow.bytes += transfer->result->cost.share.bytes;
            slow.count++;
        }
        if (rate < least) {
            least = rate;
            slow.slowest = transfer;
        }
    }
    return slow;
}

/* What holds a connection that somebody waits for, beyond what slow ones may hold. */
static Transfer *slow_connection(const Crowding *crowding, MonoTime now)
{
    const FetchCrowd *crowd = &crowding->crowd;
    const LiveShares *shares = crowding->options->shares;
    size_t slow = crowd->n_ill;
    for (size_t s = 0; s < STANDINGS; s++) {
        slow += atomic_load(&shares->slowed[s]);
    }
    if (slow <= crowd->most_ill || (crowd->n_new == 0 && crowd->n_proven == 0)) {
        return NULL;
    }
    Transfer *slowest = NULL;
    for (size_t i = 0; i < crowding->pool->n_transfers; i++) {
        Transfer *transfer = crowding->pool->transfers[i];
        const VisitState *visit_state = transfer->visit_state;
        if (visit_state != NULL && visit_state->turn.slowed &&
            crowding_is_slow(crowding, transfer, now) &&
            (crowd->n_proven > 0 || visit_state->turn.standing == STANDING_NEW) &&
            (slowest == NULL || rate_of(transfer, now) < rate_of(slowest, now))) {
            slowest = transfer;
        }
    }
    return slowest;
}

/* The body that holds most; NULL: it has to have its turn, or there is none. */
static Transfer *largest_body(const Crowding *crowding)
{
    Transfer *largest = NULL;
    size_t most = CROWDING_LITTLE;
    for (size_t i = 0; i < crowding->pool->n_transfers; i++) {
        Transfer *transfer = crowding->pool->transfers[i];
        if (transfer->visit_state != NULL && transfer->result->cost.share.bytes > most) {
            most = transfer->result->cost.share.bytes;
            largest = transfer;
        }
    }
    return most < byte_gate_limit(crowding->options->gate) / 2 ? largest : NULL;
}

/* What holds the gate closed, and for what it goes. */
static Transfer *held_body(Crowding *crowding, MonoTime now, TransferLate *late)
{
    const FetcherOptions *options = crowding->options;
    *late = LATE_SLOW;
    if (!is_gate_closed(crowding) || !byte_gate_runs_dry(options->gate)) {
        return NULL;
    }
    SlowOnes slow = slow_ones(crowding, STANDING_SLOW_BYTES, now);
    StandingShares shares = standing_shares(options->shares);
    size_t most =
        standing_most(&shares, STANDING_ILL, byte_gate_limit(options->gate)) / options->threads;
    if (slow.bytes > most) {
        return slow.slowest;
    }
    Transfer *largest = crowding->stalls ? largest_body(crowding) : NULL;
    crowding->stalls = false;
    if (largest != NULL && largest->visit_state->turn.standing != STANDING_ILL) {
        *late = LATE_ROOM;
    }
    return largest;
}

Transfer *crowding_next(Crowding *crowding, MonoTime now)
{
    Transfer *transfer = crowding->crowd.n_new > 0 ? longest_silent(crowding, now) : NULL;
    if (transfer != NULL) {
        crowding->crowd.n_new--;
        transfer->late = transfer->timer.phase == PHASE_CONNECTING ? LATE_CONNECT : LATE_FIRST_BYTE;
        atomic_fetch_add_explicit(&crowding->n_new, 1, memory_order_relaxed);
        return transfer;
    }
    TransferLate late = LATE_SLOW;
    transfer = slow_connection(crowding, now);
    if (transfer == NULL) {
        transfer = held_body(crowding, now, &late);
    } else if (transfer->visit_state->turn.standing == STANDING_NEW && crowding->crowd.n_new > 0) {
        crowding->crowd.n_new--;
    } else {
        crowding->crowd.n_proven--;
    }
    if (transfer != NULL) {
        transfer->late = late;
        transfer->made_room = true;
        atomic_fetch_add_explicit(&crowding->n_slow, 1, memory_order_relaxed);
    }
    return transfer;
}
