/* A gate that lets so many bytes a second pass.
 *
 * What: who has taken bytes says so afterwards (rate_gate_take), and that closes the gate for as
 * long as they take at the rate; a burst of RATE_GATE_BURST_MS is free. Who wants more asks first
 * whether it is open. So the average is kept whatever one piece is as large as.
 *
 * Owns: two numbers.
 * Threads: any; lock-free. Time is a parameter.
 * Source: the generic cell rate algorithm, a leaky bucket kept as one time. */
#ifndef BASE_THREAD_RATE_GATE_H
#define BASE_THREAD_RATE_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/clock.h"

#define RATE_GATE_BURST_MS 100

typedef struct RateGate {
    _Atomic int64_t bytes_s;  /* 0: it is always open */
    _Atomic int64_t paid_ns;  /* all that passed is paid for at this time */
    _Atomic uint64_t n_waits; /* times that somebody had to wait */
} RateGate;

void rate_gate_init(RateGate *gate, int64_t bytes_s);
/* May change while it is used. */
void rate_gate_set(RateGate *gate, int64_t bytes_s);
void rate_gate_take(RateGate *gate, size_t bytes, MonoTime now);
bool rate_gate_is_open(const RateGate *gate, MonoTime now);
/* When it opens; a time that has passed while it is open. */
MonoTime rate_gate_time(const RateGate *gate);

#endif
