/* Seeded random numbers for model tests: the same seed gives the same run (splitmix64). */
#ifndef TESTS_UNIT_DICE_H
#define TESTS_UNIT_DICE_H

#include <stdint.h>

#include "base/core/hash.h"

typedef struct Dice {
    uint64_t state;
} Dice;

static inline uint64_t dice_next(Dice *dice)
{
    dice->state += UINT64_C(0x9E3779B97F4A7C15);
    return hash_mix(dice->state);
}

/* 0 .. n-1 */
static inline uint64_t dice_below(Dice *dice, uint64_t n)
{
    return dice_next(dice) % n;
}

#endif
