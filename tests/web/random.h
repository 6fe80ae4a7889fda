/* Seeded pseudo-random numbers (splitmix64): the same seed gives the same web on every machine.
 *
 * A Random is a value; every page makes its own from the hash of its name, so that a page is the
 * same whenever it is asked for. Not for secrets. */
#ifndef TESTS_WEB_RANDOM_H
#define TESTS_WEB_RANDOM_H

#include <math.h>
#include <stdint.h>

#include "base/core/hash.h"

typedef struct Random {
    uint64_t state;
} Random;

static inline uint64_t random_next(Random *random)
{
    random->state += UINT64_C(0x9E3779B97F4A7C15);
    return hash_mix(random->state);
}

/* Uniform in [0, 1). */
static inline double random_unit(Random *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

/* Uniform in [0, bound); bound at least 1. */
static inline uint32_t random_below(Random *random, uint32_t bound)
{
    return (uint32_t)(((random_next(random) >> 32) * bound) >> 32);
}

/* Normal with mean 0 and deviation 1 (Box and Muller). */
static inline double random_normal(Random *random)
{
    double radius = sqrt(-2.0 * log(1.0 - random_unit(random)));
    return radius * cos(2.0 * 3.14159265358979323846 * random_unit(random));
}

#endif
