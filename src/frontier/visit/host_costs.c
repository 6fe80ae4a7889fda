#include "frontier/visit/host_costs.h"

#define PRICE_MAX    (UINT32_C(1) << 20)
#define BYTES_PER_US 4u  /* at the slowest: a page of 40 kB can never be dear */
#define LINK_US      10u /* of ingest, for each */

static uint64_t place_of(uint32_t host)
{
    return host * UINT32_C(2654435761) % HOST_COSTS_PLACES;
}

void host_costs_note_wait(HostCosts *costs, int64_t waited_ms, MonoTime now)
{
    if (waited_ms > atomic_load_explicit(&costs->longest_ms, memory_order_relaxed)) {
        atomic_store_explicit(&costs->longest_ms, waited_ms, memory_order_relaxed);
    }
    int64_t due_ns = atomic_load_explicit(&costs->next_step_ns, memory_order_relaxed);
    if (now.ns >= due_ns &&
        atomic_compare_exchange_strong(&costs->next_step_ns, &due_ns,
                                       mono_add_ms(now, HOST_COSTS_STEP_MS).ns)) {
        /* One of those that come by at the end of a step sets the price for the next one. */
        int64_t longest_ms = atomic_exchange(&costs->longest_ms, 0);
        int64_t patience_ms = atomic_load(&costs->patience_ms);
        unsigned price = atomic_load(&costs->price);
        bool is_long = patience_ms > 0 && longest_ms > patience_ms;
        if (is_long && now.ns >= atomic_load(&costs->next_rise_ns)) {
            price += price / 4 + HOST_COSTS_PRICE_UNIT;
            atomic_store(&costs->next_rise_ns, mono_add_ms(now, HOST_COSTS_RISE_MS).ns);
        } else if (!is_long) {
            price -= price / 256 + (price > 0);
        }
        atomic_store(&costs->price, price < PRICE_MAX ? price : PRICE_MAX);
    }
}

void host_costs_note_page(HostCosts *costs, uint32_t host, int64_t took_us, size_t bytes,
                          size_t links)
{
    uint64_t most_us = bytes / BYTES_PER_US;
    uint64_t us = took_us < 0 ? 0 : (uint64_t)took_us;
    us = (us < most_us ? us : most_us) + LINK_US * (uint64_t)links;
    us = us < UINT32_MAX ? us : UINT32_MAX;
    _Atomic uint64_t *place = &costs->costs[place_of(host)];
    uint64_t there = atomic_load_explicit(place, memory_order_relaxed);
    uint64_t before_us = there >> 32 == host ? (there & UINT32_MAX) / 2 : 0;
    us = us > before_us ? us : before_us;
    if (us >= HOST_COSTS_LEAST_US) {
        atomic_store_explicit(place, (uint64_t)host << 32 | us, memory_order_relaxed);
    } else if (before_us > 0) {
        atomic_store_explicit(place, 0, memory_order_relaxed);
    }
}

int64_t host_costs_wait_ms(const HostCosts *costs, uint32_t host)
{
    uint64_t there = atomic_load_explicit(&costs->costs[place_of(host)], memory_order_relaxed);
    uint64_t us = there >> 32 == host ? there & UINT32_MAX : 0;
    uint64_t price = atomic_load_explicit(&costs->price, memory_order_relaxed);
    uint64_t spread = 1024 + 3 * (host * UINT32_C(2654435761) >> 22); /* 1 to 4 times 1024 */
    int64_t wait_ms = (int64_t)(us * price / HOST_COSTS_PRICE_UNIT * spread / 1024 / 1000);
    return wait_ms < HOST_COSTS_WAIT_MAX_MS ? wait_ms : HOST_COSTS_WAIT_MAX_MS;
}
