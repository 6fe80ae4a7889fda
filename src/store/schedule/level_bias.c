#include "store/schedule/level_bias.h"

#include "store/schedule/schedule.h"

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15) /* 2^64 over the golden ratio */

/* The level of the k-th set bit, k from 0. */
static unsigned nth_level(uint64_t levels, unsigned k)
{
    for (; k > 0; k--) {
        levels &= levels - 1;
    }
    return (unsigned)__builtin_ctzll(levels);
}

unsigned level_bias_choose(const LevelBias *bias, uint64_t levels, uint64_t ticket)
{
    if (levels == 0) {
        return SCHEDULE_NO_LEVEL;
    }
    unsigned n = (unsigned)__builtin_popcountll(levels);
    double share = bias->kind == LEVEL_BIAS_WEIGHTED ? bias->lower_share : 0.0;
    double u = (double)((ticket * GOLDEN) >> 11) * 0x1p-53;
    if (n == 1 || !(u < share)) {
        return nth_level(levels, 0);
    }
    double weights = 0.0;
    for (unsigned k = 1; k < n; k++) {
        weights += 1.0 / k;
    }
    double left = u / share * weights; /* u is spread evenly over [0, share) */
    for (unsigned k = 1; k < n; k++) {
        left -= 1.0 / k;
        if (left < 0.0) {
            return nth_level(levels, k);
        }
    }
    return nth_level(levels, n - 1);
}
