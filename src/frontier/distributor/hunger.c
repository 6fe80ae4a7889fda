#include "frontier/distributor/hunger.h"

void hunger_init(Hunger *hunger, size_t first, size_t step, size_t most)
{
    hunger->step = step;
    hunger->most = most;
    atomic_init(&hunger->required, first);
    atomic_init(&hunger->starved, 0);
    atomic_init(&hunger->fed_until_ns, 0);
    atomic_init(&hunger->is_told, false);
}

size_t hunger_required(const Hunger *hunger)
{
    return atomic_load_explicit(&hunger->required, memory_order_relaxed);
}

bool hunger_starve(Hunger *hunger, size_t front, MonoTime now)
{
    size_t required = hunger_required(hunger);
    atomic_fetch_add_explicit(&hunger->starved, 1, memory_order_relaxed);
    if (front >= required && required < hunger->most) {
        size_t left = hunger->most - required;
        required += hunger->step < left ? hunger->step : left;
        atomic_store_explicit(&hunger->required, required, memory_order_relaxed);
    }
    int64_t fed_until = atomic_load_explicit(&hunger->fed_until_ns, memory_order_relaxed);
    return front < required && now.ns >= fed_until && !atomic_exchange(&hunger->is_told, true);
}

void hunger_heard(Hunger *hunger)
{
    atomic_store(&hunger->is_told, false);
}

void hunger_fed(Hunger *hunger, bool is_hungry, MonoTime next_walk, MonoTime now)
{
    MonoTime until = {0};
    if (is_hungry) {
        until = mono_later(next_walk, mono_add_ms(now, HUNGER_PAUSE_MS));
    }
    atomic_store_explicit(&hunger->fed_until_ns, until.ns, memory_order_relaxed);
}
