#include "report/count/histogram.h"

static unsigned histogram_bin_of(uint64_t value)
{
    return value == 0 ? 0 : 64u - (unsigned)__builtin_clzll(value);
}

void histogram_add(Histogram *histogram, uint64_t value)
{
    histogram->count[histogram_bin_of(value)]++;
    histogram->least = histogram->n == 0 || value < histogram->least ? value : histogram->least;
    histogram->most = value > histogram->most ? value : histogram->most;
    histogram->sum += (double)value;
    histogram->n++;
}

uint64_t histogram_from(unsigned bin)
{
    return bin == 0 ? 0 : UINT64_C(1) << (bin - 1);
}

uint64_t histogram_to(unsigned bin)
{
    return bin == 0 ? 0 : bin == 64 ? UINT64_MAX : (UINT64_C(1) << bin) - 1;
}

double histogram_quantile(const Histogram *histogram, double share)
{
    double wanted = share * (double)histogram->n;
    double below = 0;
    for (unsigned i = 0; i < HISTOGRAM_BINS; i++) {
        double here = (double)histogram->count[i];
        if (here > 0 && below + here >= wanted) {
            double from = (double)histogram_from(i);
            double to = (double)histogram_to(i);
            from = from < (double)histogram->least ? (double)histogram->least : from;
            to = to > (double)histogram->most ? (double)histogram->most : to;
            return from + (to - from) * (wanted - below) / here;
        }
        below += here;
    }
    return (double)histogram->most;
}
