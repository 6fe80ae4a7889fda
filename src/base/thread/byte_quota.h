/* A quota of bytes: how many may be received in all, with those in flight.
 *
 * What: who wants to begin something asks first. Each thing in flight counts with the mean of what
 * has ended, as if nothing had come of it yet. So the sum ends near the quota, however many are in
 * flight: above it by what the last ones are larger than the mean.
 *
 * Owns: a few numbers.
 * Threads: any; lock-free. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The mean begins as if this number of answers of this size had ended: the first ones may be small.
 */
#define BYTE_QUOTA_FIRST      16u
#define BYTE_QUOTA_FIRST_MEAN 65536u

typedef struct ByteQuota {
    _Atomic uint64_t most;     /* 0: there is none */
    _Atomic uint64_t received; /* in all */
    _Atomic uint64_t ended;    /* received by typical things that have ended */
    _Atomic uint64_t n_ended;
    _Atomic uint64_t n_in_flight;
    atomic_bool shared; /* `most` is a part of what several have */
} ByteQuota;

void byte_quota_init(ByteQuota *quota, uint64_t most);
/* May change while it is used. */
void byte_quota_set(ByteQuota *quota, uint64_t most);

/* From now on no transfer begins when an answer of the mean size would pass what is left: others
 * may have a use for that. */
void byte_quota_share(ByteQuota *quota);

/* Whether something may begin. The first may always, while the quota is not used up; of a shared
 * one the very first. */
bool byte_quota_is_open(const ByteQuota *quota);
/* What a thing is expected to bring. */
uint64_t byte_quota_mean(const ByteQuota *quota);
bool byte_quota_is_idle(const ByteQuota *quota); /* nothing is in flight */
bool byte_quota_is_used_up(const ByteQuota *quota);
uint64_t byte_quota_received(const ByteQuota *quota);
void byte_quota_begin(ByteQuota *quota);
/* Bytes have come. */
void byte_quota_take(ByteQuota *quota, size_t bytes);
/* bytes: what came of it, all taken before. is_typical: it counts in the mean. */
void byte_quota_end(ByteQuota *quota, uint64_t bytes, bool is_typical);
