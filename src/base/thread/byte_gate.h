/* A gate that counts the bytes between two stages and closes when there are too many.
 *
 *   stage that makes bytes --byte_gate_move--> [gate] --byte_gate_move--> stage that uses them up
 *
 * What: what exists is always counted, so the count may pass the limit by what makers had begun
 * when the gate closed; makers ask before they begin something new. A closed gate opens when the
 * count has fallen to three quarters of the limit, so that makers are not woken for every byte.
 *
 * What is large has half of it: it finds the gate closed from half of the limit on, whoever holds
 * that half, and open again below three eighths. So a few large things leave room for many small
 * ones.
 *
 * A thread that must not block asks byte_gate_is_open, and is told by a callback when to ask again;
 * a thread that may block waits. Some makers hand things on only when they are complete. Such a
 * maker must let one thing grow while the gate is closed, or nothing would ever leave: whenever
 * little of what is counted has been handed on (byte_gate_runs_dry). So a thing larger than the
 * limit passes alone, and the count stays below five quarters of the limit plus what such makers
 * have in hand.
 *
 * Owns: nothing but its counters.
 * Threads: any. Counting is lock-free; the mutex is for those who wait. */
#pragma once

#include <stdatomic.h>

#include "base/thread/mutex.h"

/* For whom it is closed. */
typedef enum ByteGateFor { BYTE_GATE_ANY, BYTE_GATE_LARGE, BYTE_GATE_KINDS } ByteGateFor;

typedef struct ByteGate {
    atomic_size_t limit;
    atomic_size_t held;                  /* bytes counted now */
    atomic_size_t handed_on;             /* those of them that leave by themselves */
    atomic_bool closed[BYTE_GATE_KINDS]; /* until held falls to three quarters of the limit */
    _Atomic uint64_t n_closed;           /* times it closed, for any or for what is large */
    Mutex mutex;                         /* RANK_QUEUE; guards the wait for closed */
    Condition opened;
    void (*on_room)(void *context); /* it opened or runs dry; NULL = none; must not block */
    void *context;
} ByteGate;

/* The place of one object at a gate: which gate counts it, and with how many bytes. A member of the
 * object. All zeroes: not counted. */
typedef struct ByteShare {
    ByteGate *gate;
    size_t bytes;
    bool handed_on;
} ByteShare;

/* on_room may be NULL. */
void byte_gate_init(ByteGate *gate, size_t limit, void (*on_room)(void *context), void *context);
void byte_gate_destroy(ByteGate *gate);
/* Changes the limit; any thread. */
void byte_gate_set(ByteGate *gate, size_t limit);

/* Moves a share to gate, where it counts with bytes from now on. gate NULL: the share is no longer
 * counted. */
void byte_gate_move(ByteShare *share, ByteGate *gate, size_t bytes);

/* Says that what the share counts is complete and leaves the gate without its maker. */
void byte_gate_hand_on(ByteShare *share);

bool byte_gate_is_open(ByteGate *gate);
bool byte_gate_is_open_for(ByteGate *gate, ByteGateFor kind);
/* Whether less than a quarter of the limit has been handed on. */
bool byte_gate_runs_dry(const ByteGate *gate);
/* Waits until it is open for that kind. */
void byte_gate_wait(ByteGate *gate, ByteGateFor kind);
static inline size_t byte_gate_limit(const ByteGate *gate)
{
    return atomic_load_explicit(&gate->limit, memory_order_relaxed);
}
size_t byte_gate_held(const ByteGate *gate);
/* Times it closed, for any or for what is large. */
uint64_t byte_gate_closings(const ByteGate *gate);
