#include "base/thread/byte_quota.h"

static uint64_t look(const _Atomic uint64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void add(_Atomic uint64_t *number, uint64_t more)
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
}

void byte_quota_set(ByteQuota *quota, uint64_t most)
{
    atomic_store_explicit(&quota->most, most, memory_order_relaxed);
}

bool byte_quota_is_used_up(const ByteQuota *quota)
{
    uint64_t most = look(&quota->most);
    return most > 0 && look(&quota->received) >= most;
}

uint64_t byte_quota_received(const ByteQuota *quota)
{
    return look(&quota->received);
}

bool byte_quota_is_open(const ByteQuota *quota)
{
    uint64_t most = look(&quota->most);
    uint64_t n = look(&quota->n_in_flight);
    if (most == 0 || byte_quota_is_used_up(quota)) {
        return most == 0;
    }
    if (n == 0) {
        return true;
    }
    uint64_t mean = (look(&quota->ended) + BYTE_QUOTA_FIRST * BYTE_QUOTA_FIRST_MEAN) /
                    (look(&quota->n_ended) + BYTE_QUOTA_FIRST);
    uint64_t received = look(&quota->received);
    /* Of what is in flight nothing may have come yet. */
    return mean * (n + 1) <= most - received;
}

void byte_quota_begin(ByteQuota *quota)
{
    add(&quota->n_in_flight, 1);
}

void byte_quota_take(ByteQuota *quota, size_t bytes)
{
    add(&quota->received, bytes);
}

void byte_quota_end(ByteQuota *quota, uint64_t bytes, bool is_typical)
{
    if (is_typical) {
        add(&quota->ended, bytes);
        add(&quota->n_ended, 1);
    }
    (void)atomic_fetch_sub_explicit(&quota->n_in_flight, 1, memory_order_relaxed);
}
