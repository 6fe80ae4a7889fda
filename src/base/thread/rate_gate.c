#include "base/thread/rate_gate.h"

#define BURST_NS  (RATE_GATE_BURST_MS * INT64_C(1000000))
#define SECOND_NS INT64_C(1000000000)

void rate_gate_init(RateGate *gate, int64_t bytes_s)
{
    atomic_init(&gate->bytes_s, bytes_s);
    atomic_init(&gate->paid_ns, 0);
    atomic_init(&gate->n_waits, 0);
}

void rate_gate_set(RateGate *gate, int64_t bytes_s)
{
    int64_t before = atomic_exchange(&gate->bytes_s, bytes_s);
    if (before != bytes_s) {
        atomic_store(&gate->paid_ns, 0); /* debts at the old rate are forgiven */
    }
}

void rate_gate_take(RateGate *gate, size_t bytes, MonoTime now)
{
    int64_t bytes_s = atomic_load_explicit(&gate->bytes_s, memory_order_relaxed);
    if (bytes_s == 0) {
        return;
    }
    int64_t cost_ns = (int64_t)((double)bytes * (double)SECOND_NS / (double)bytes_s);
    int64_t paid = atomic_load_explicit(&gate->paid_ns, memory_order_relaxed);
    int64_t next = 0;
    do {
        next = (paid > now.ns ? paid : now.ns) + cost_ns;
    } while (!atomic_compare_exchange_weak(&gate->paid_ns, &paid, next));
}

bool rate_gate_is_open(const RateGate *gate, MonoTime now)
{
    return rate_gate_time(gate).ns <= now.ns;
}

MonoTime rate_gate_time(const RateGate *gate)
{
    if (atomic_load_explicit(&gate->bytes_s, memory_order_relaxed) == 0) {
        return (MonoTime){0};
    }
    return (MonoTime){atomic_load_explicit(&gate->paid_ns, memory_order_relaxed) - BURST_NS};
}
