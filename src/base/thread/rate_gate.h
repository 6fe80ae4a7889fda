/* A gate that lets a number of bytes a second pass.
 *
 * What: who has taken bytes says so afterwards (rate_gate_take), and that closes the gate for as
 * long as they take at the rate; a burst of RATE_GATE_BURST_MS is free. Who wants more asks first
 * whether it is open. So the average is kept whatever one piece is as large as.
 *
 * Owns: two numbers.
 * Threads: any; lock-free. Time is a parameter.
 * Source: the generic cell rate algorithm, a leaky bucket kept as one time. */
#pragma once

#include <stdatomic.h>

#include "base/core/clock.h"

#define RATE_GATE_BURST_MS 100

typedef struct RateGate {
    _Atomic int64_t bytes_s;  /* 0: it is always open */
    _Atomic int64_t paid_ns;  /* all that passed is paid for at this time */
    _Atomic uint64_t n_waits; /* times that somebody had to wait */
    _Atomic uint64_t passed;  /* bytes */
} RateGate;

void rate_gate_init(RateGate *gate, int64_t bytes_s);
/* May change while it is used. */
void rate_gate_set(RateGate *gate, int64_t bytes_s);
int64_t rate_gate_limit(const RateGate *gate);
void rate_gate_take(RateGate *gate, size_t bytes, MonoTime now);
bool rate_gate_is_open(const RateGate *gate, MonoTime now);
/* When it opens; a time that has passed while it is open. */
MonoTime rate_gate_time(const RateGate *gate);

/* How fast bytes have passed lately. */
typedef struct RateMeter {
    uint64_t passed; /* by the gate, at `since` */
    MonoTime since;
    int64_t limit_s; /* the gate's rate then */
    int64_t rate_s;  /* the last that was measured */
} RateMeter;

/* Bytes a second, as measured over RATE_METER_MS or more; the gate's rate while nothing was
 * measured since that was changed, and when nearly so much passes. Called by one thread. */
#define RATE_METER_MS 1000
int64_t rate_meter_read(RateMeter *meter, const RateGate *gate, MonoTime now);
