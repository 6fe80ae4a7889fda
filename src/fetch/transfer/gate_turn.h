/* Gate turn: which of the paused transfers may go on while the gate is closed.
 *
 * What: transfers whose body has to grow while the gate (base/thread/byte_gate.h) is closed are
 * paused. When nothing else would open the gate, one paused transfer of each thread is favoured: it
 * need not wait, so that what holds the gate closed can leave, and a body larger than the gate
 * passes alone. Its turn ends with it, or when it is slow. While the rate of all bytes
 * (base/thread/rate_gate.h) is used up, all wait, and go on in the order in which they began to.
 *
 * Owns: the heap of paused transfers, ordered by when each began to wait; the transfers are the
 * fetcher's.
 * Threads: one fetching thread. Time is a parameter. */
#ifndef FETCH_TRANSFER_GATE_TURN_H
#define FETCH_TRANSFER_GATE_TURN_H

#include "fetch/transfer/transfer_types.h"

typedef struct GateTurn {
    ByteGate *gate;     /* NULL: never closed; borrowed */
    RateGate *rate;     /* of all bytes; NULL: there is none; borrowed */
    ByteQuota *quota;   /* for what begins; NULL: there is none; borrowed */
    Heap paused;        /* transfers that wait for the gate */
    Transfer *favoured; /* the one that need not wait, or NULL */
    MonoTime end;       /* of the favoured one's turn */
    size_t length;      /* of its body when its turn began */
} GateTurn;

void gate_turn_init(GateTurn *turn, ByteGate *gate, RateGate *rate, ByteQuota *quota);
void gate_turn_destroy(GateTurn *turn);
/* Whether something new may be begun. */
bool gate_turn_is_open(const GateTurn *turn, MonoTime now);
/* Ends the turn of a favoured transfer that was too slow. Call before the first gate_turn_next. */
void gate_turn_review(GateTurn *turn, MonoTime now);
/* The paused transfer that may go on now (transfer_continue), or NULL. */
Transfer *gate_turn_next(GateTurn *turn, MonoTime now);
/* The transfer has ended. */
void gate_turn_forget(GateTurn *turn, const Transfer *transfer);
/* When gate_turn_review has something to do, or the rate lets go on who waits; MONO_NEVER. waits:
 * there is somebody who wants to begin. */
MonoTime gate_turn_time(const GateTurn *turn, bool waits);

#endif
