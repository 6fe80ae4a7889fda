/* Histogram: how many values there are of each size: 0, 1, 2-3, 4-7, 8-15, ...
 *
 * What: one bin for each power of two, and the sum, the least and the greatest value.
 * Threads: one at a time; pure. */
#ifndef REPORT_COUNT_HISTOGRAM_H
#define REPORT_COUNT_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BINS 65u

typedef struct Histogram {
    uint64_t count[HISTOGRAM_BINS]; /* [0]: value 0; [i]: 2^(i-1) to 2^i - 1 */
    uint64_t n;
    double sum;
    uint64_t least; /* when n > 0 */
    uint64_t most;
} Histogram;

void histogram_add(Histogram *histogram, uint64_t value);
/* The least and greatest value of a bin. */
uint64_t histogram_from(unsigned bin);
uint64_t histogram_to(unsigned bin);
/* The value below which a share of all values lies, by interpolation inside its bin; 0 without
 * values. */
double histogram_quantile(const Histogram *histogram, double share);

#endif
