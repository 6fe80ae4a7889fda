#include "base/thread/rate_gate.h"

#define BURST_NS  (RATE_GATE_BURST_MS * INT64_C(1000000))
#define SECOND_NS INT64_C(1000000000)

void rate_gate_init(RateGate *gate, int64_t bytes_s)
{
    atomic_init(&gate->bytes_s, bytes_s);
    atomic_init(&gate->paid_ns, 0);
    atomic_init(&gate->n_waits, 0);
    atomic_init(&gate->passed, 0);
}

void rate_gate_set(RateGate *gate, int64_t bytes_s)
{
    int64_t before = atomic_exchange(&gate->bytes_s, bytes_s);
    if (before != bytes_s) {
        atomic_store(&gate->paid_ns, 0); /* debts at the old rate are forgiven */
    }
}

int64_t rate_gate_limit(const RateGate *gate)
{
    return atomic_load_explicit(&gate->bytes_s, memory_order_relaxed);
}

void rate_gate_take(RateGate *gate, size_t bytes, MonoTime now)
{
    int64_t bytes_s = atomic_load_explicit(&gate->bytes_s, memory_order_relaxed);
    if (bytes_s == 0) {
        return;
    }
    atomic_fetch_add_explicit(&gate->passed, bytes, memory_order_relaxed);
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

int64_t rate_meter_read(RateMeter *meter, const RateGate *gate, MonoTime now)
{
    uint64_t passed = atomic_load_explicit(&gate->passed, memory_order_relaxed);
    int64_t limit = atomic_load_explicit(&gate->bytes_s, memory_order_relaxed);
    int64_t elapsed_ms = mono_ms_between(meter->since, now);
    if (limit != meter->limit_s) {
        *meter = (RateMeter){.passed = passed, .since = now, .limit_s = limit, .rate_s = limit};
    } else if (elapsed_ms >= RATE_METER_MS) {
        meter->rate_s = (int64_t)((double)(passed - meter->passed) * 1000 / (double)elapsed_ms);
        meter->passed = passed;
        meter->since = now;
    }
    return meter->rate_s > limit - limit / 16 ? limit : meter->rate_s;
}
