/* A number kept between two bounds.
 *
 * What: the value, or the bound that it is beyond; one function for each kind of number, so that
 * nothing is converted unseen.
 * Threads: pure functions.
 * Invariants: least <= most. */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline int64_t bounds_int64(int64_t value, int64_t least, int64_t most)
{
    int64_t below = value < most ? value : most;
    return below > least ? below : least;
}

static inline size_t bounds_size(size_t value, size_t least, size_t most)
{
    size_t below = value < most ? value : most;
    return below > least ? below : least;
}

static inline double bounds_double(double value, double least, double most)
{
    double below = value < most ? value : most;
    return below > least ? below : least;
}
