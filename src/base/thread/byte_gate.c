#include "base/thread/byte_gate.h"

void byte_gate_init(ByteGate *gate, size_t limit, void (*on_room)(void *context), void *context)
{
    atomic_init(&gate->limit, limit);
    atomic_init(&gate->held, 0);
    atomic_init(&gate->handed_on, 0);
    atomic_init(&gate->closed[BYTE_GATE_ANY], false);
    atomic_init(&gate->closed[BYTE_GATE_LARGE], false);
    atomic_init(&gate->n_closed, 0);
    mutex_init(&gate->mutex, RANK_QUEUE);
    condition_init(&gate->opened);
    gate->on_room = on_room;
    gate->context = context;
}

void byte_gate_destroy(ByteGate *gate)
{
    condition_destroy(&gate->opened);
    mutex_destroy(&gate->mutex);
}

static size_t byte_gate_limit_for(const ByteGate *gate, ByteGateFor kind)
{
    return kind == BYTE_GATE_LARGE ? byte_gate_limit(gate) / 2 : byte_gate_limit(gate);
}

static bool byte_gate_open_when_low(ByteGate *gate, ByteGateFor kind)
{
    size_t limit = byte_gate_limit_for(gate, kind);
    if (!atomic_load(&gate->closed[kind]) || atomic_load(&gate->held) > limit - limit / 4) {
        return false;
    }
    mutex_lock(&gate->mutex);
    bool opened = atomic_exchange(&gate->closed[kind], false);
    if (opened) {
        condition_broadcast(&gate->opened);
    }
    mutex_unlock(&gate->mutex);
    return opened;
}

/* Whoever turns closed into open wakes the others: once for each closing. */
static bool open_when_low(ByteGate *gate)
{
    bool any = byte_gate_open_when_low(gate, BYTE_GATE_ANY);
    return byte_gate_open_when_low(gate, BYTE_GATE_LARGE) || any;
}

bool byte_gate_runs_dry(const ByteGate *gate)
{
    return atomic_load(&gate->handed_on) < byte_gate_limit(gate) / 4 + 1;
}

static void byte_gate_leave(const ByteShare *share)
{
    ByteGate *gate = share->gate;
    bool was_dry = byte_gate_runs_dry(gate);
    if (share->handed_on) {
        (void)atomic_fetch_sub(&gate->handed_on, share->bytes);
    }
    (void)atomic_fetch_sub(&gate->held, share->bytes);
    bool opened = open_when_low(gate);
    bool ran_dry = !was_dry &&
                   (atomic_load(&gate->closed[BYTE_GATE_ANY]) ||
                    atomic_load(&gate->closed[BYTE_GATE_LARGE])) &&
                   byte_gate_runs_dry(gate);
    if ((opened || ran_dry) && gate->on_room != NULL) {
        gate->on_room(gate->context);
    }
}

void byte_gate_set(ByteGate *gate, size_t limit)
{
    atomic_store(&gate->limit, limit);
    if (open_when_low(gate) && gate->on_room != NULL) {
        gate->on_room(gate->context);
    }
}

void byte_gate_move(ByteShare *share, ByteGate *gate, size_t bytes)
{
    ByteShare before = *share;
    *share = (ByteShare){.gate = gate, .bytes = gate == NULL ? 0 : bytes};
    if (gate != NULL) {
        (void)atomic_fetch_add(&gate->held, bytes);
    }
    if (before.gate != NULL) {
        byte_gate_leave(&before);
    }
}

void byte_gate_hand_on(ByteShare *share)
{
    if (share->gate != NULL && !share->handed_on) {
        share->handed_on = true;
        (void)atomic_fetch_add(&share->gate->handed_on, share->bytes);
    }
}

bool byte_gate_is_open_for(ByteGate *gate, ByteGateFor kind)
{
    if (atomic_load(&gate->closed[kind])) {
        return false;
    }
    if (atomic_load(&gate->held) < byte_gate_limit_for(gate, kind)) {
        return true;
    }
    if (!atomic_exchange(&gate->closed[kind], true)) {
        (void)atomic_fetch_add_explicit(&gate->n_closed, 1, memory_order_relaxed);
    }
    /* The last bytes may have left before it was closed: then nobody else would open it. */
    if (open_when_low(gate) && gate->on_room != NULL) {
        gate->on_room(gate->context); /* others may have found it closed meanwhile */
    }
    return !atomic_load(&gate->closed[kind]);
}

bool byte_gate_is_open(ByteGate *gate)
{
    return byte_gate_is_open_for(gate, BYTE_GATE_ANY);
}

void byte_gate_wait(ByteGate *gate, ByteGateFor kind)
{
    while (!byte_gate_is_open_for(gate, kind)) {
        mutex_lock(&gate->mutex);
        while (atomic_load(&gate->closed[kind])) {
            condition_wait(&gate->opened, &gate->mutex);
        }
        mutex_unlock(&gate->mutex);
    }
}

size_t byte_gate_held(const ByteGate *gate)
{
    return atomic_load_explicit(&gate->held, memory_order_relaxed);
}

uint64_t byte_gate_closings(const ByteGate *gate)
{
    return atomic_load_explicit(&gate->n_closed, memory_order_relaxed);
}
