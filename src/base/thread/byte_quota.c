#include "base/thread/byte_quota.h"

static uint64_t byte_quota_look(const _Atomic uint64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void byte_quota_add(_Atomic uint64_t *number, uint64_t more)
{
    (void)atomic_fetch_add_explicit(number, more, memory_order_relaxed);
}

void byte_quota_init(ByteQuota *quota, uint64_t most)
{
    atomic_init(&quota->most, most);
    atomic_init(&quota->received, 0);
    atomic_init(&quota->ended, 0);
    atomic_init(&quota->n_ended, 0);
    atomic_init(&quota->n_in_flight, 0);
    atomic_init(&quota->shared, false);
}

void byte_quota_share(ByteQuota *quota)
{
    atomic_store_explicit(&quota->shared, true, memory_order_relaxed);
}

void byte_quota_set(ByteQuota *quota, uint64_t most)
{
    atomic_store_explicit(&quota->most, most, memory_order_relaxed);
}

bool byte_quota_is_used_up(const ByteQuota *quota)
{
    uint64_t most = byte_quota_look(&quota->most);
    return most > 0 && byte_quota_look(&quota->received) >= most;
}

uint64_t byte_quota_received(const ByteQuota *quota)
{
    return byte_quota_look(&quota->received);
}

uint64_t byte_quota_mean(const ByteQuota *quota)
{
    return (byte_quota_look(&quota->ended) + BYTE_QUOTA_FIRST * BYTE_QUOTA_FIRST_MEAN) /
           (byte_quota_look(&quota->n_ended) + BYTE_QUOTA_FIRST);
}

bool byte_quota_is_idle(const ByteQuota *quota)
{
    return byte_quota_look(&quota->n_in_flight) == 0;
}

bool byte_quota_is_open(const ByteQuota *quota)
{
    uint64_t most = byte_quota_look(&quota->most);
    uint64_t n = byte_quota_look(&quota->n_in_flight);
    if (most == 0 || byte_quota_is_used_up(quota)) {
        return most == 0;
    }
    uint64_t received = byte_quota_look(&quota->received);
    bool shared = atomic_load_explicit(&quota->shared, memory_order_relaxed);
    if (n == 0 && (!shared || received == 0)) {
        return true;
    }
    /* Of what is in flight nothing may have come yet. */
    return received < most && byte_quota_mean(quota) * (n + 1) <= most - received;
}

void byte_quota_begin(ByteQuota *quota)
{
    byte_quota_add(&quota->n_in_flight, 1);
}

void byte_quota_take(ByteQuota *quota, size_t bytes)
{
    byte_quota_add(&quota->received, bytes);
}

void byte_quota_end(ByteQuota *quota, uint64_t bytes, bool is_typical)
{
    if (is_typical) {
        byte_quota_add(&quota->ended, bytes);
        byte_quota_add(&quota->n_ended, 1);
    }
    (void)atomic_fetch_sub_explicit(&quota->n_in_flight, 1, memory_order_relaxed);
}
