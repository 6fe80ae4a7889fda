#include "base/thread/distribution.h"

#include <stdatomic.h>

static unsigned distribution_bin_of(uint64_t value)
{
    return value == 0 ? 0 : 64u - (unsigned)__builtin_clzll(value);
}

void distribution_add(Distribution *distribution, uint64_t value)
{
    atomic_fetch_add_explicit(&distribution->count[distribution_bin_of(value)], 1,
                              memory_order_relaxed);
}

void distribution_move(Distribution *distribution, uint64_t from, uint64_t to)
{
    unsigned old = distribution_bin_of(from);
    unsigned new = distribution_bin_of(to);
    if (old != new &&old > 0) {
        atomic_fetch_sub_explicit(&distribution->count[old], 1, memory_order_relaxed);
    }
    if (old != new &&new > 0) {
        atomic_fetch_add_explicit(&distribution->count[new], 1, memory_order_relaxed);
    }
}

uint64_t distribution_quantile(const Distribution *distribution, double share)
{
    uint64_t counts[DISTRIBUTION_BINS];
    uint64_t n = 0;
    for (unsigned i = 0; i < DISTRIBUTION_BINS; i++) {
        counts[i] = atomic_load_explicit(&distribution->count[i], memory_order_relaxed);
        n += counts[i];
    }
    double wanted = share * (double)n;
    double before = 0;
    for (unsigned i = 0; i < DISTRIBUTION_BINS; i++) {
        double here = (double)counts[i];
        if (here > 0 && before + here >= wanted) {
            double from = i == 0 ? 0 : (double)(UINT64_C(1) << (i - 1));
            double value = from + from * (wanted - before) / here;
            return value < (double)UINT64_MAX ? (uint64_t)value : UINT64_MAX;
        }
        before += here;
    }
    return 0;
}

DistributionSpread distribution_spread(const Distribution *distribution)
{
    return (DistributionSpread){.half = distribution_quantile(distribution, 0.5),
                                .most = distribution_quantile(distribution, 0.9),
                                .nearly_all = distribution_quantile(distribution, 0.99)};
}
