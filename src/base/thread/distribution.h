/* Distribution: of which size values are, counted while a crawl runs.
 *
 * What: a count for each power of two, so that quantiles are right within a factor of two, and in
 * between by interpolation.
 * Threads: any. Counters are atomics with relaxed order: they are figures, and decide nothing. */
#pragma once

#include <stdint.h>

#define DISTRIBUTION_BINS 65u

typedef struct Distribution {
    _Atomic uint64_t count[DISTRIBUTION_BINS]; /* [0]: value 0; [i]: 2^(i-1) to 2^i - 1 */
} Distribution;

/* Half, nine tenths and 99 % of the values lie below. */
typedef struct DistributionSpread {
    uint64_t half;
    uint64_t most;
    uint64_t nearly_all;
} DistributionSpread;

void distribution_add(Distribution *distribution, uint64_t value);
/* One of the values has changed. 0 stands for none: a value begins at 0, and ends there. */
void distribution_move(Distribution *distribution, uint64_t from, uint64_t to);
/* The value below which a share (0 to 1) of all values lies; 0 without values. */
uint64_t distribution_quantile(const Distribution *distribution, double share);
DistributionSpread distribution_spread(const Distribution *distribution);
