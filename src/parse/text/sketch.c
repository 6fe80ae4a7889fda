#include "parse/text/sketch.h"

#include <math.h>

#include "base/core/hash.h"

TextSketch sketch_of_bins(const SketchBins *bins, uint64_t n_words)
{
    TextSketch sketch = {.exists = false};
    uint64_t next = 0; /* of the bins behind, around the corner */
    unsigned away = 0; /* how far it is */
    if (n_words < SKETCH_MIN_WORDS) {
        return sketch;
    }
    for (unsigned i = 2 * SKETCH_BINS; i-- > 0;) {
        uint64_t own = bins->most[i % SKETCH_BINS];
        next = own == 0 ? next : own;
        away = own == 0 ? away + 1 : 0;
        if (i < SKETCH_BINS) {
            sketch.bytes[i] = (uint8_t)hash_mix(next + away);
        }
    }
    sketch.exists = next != 0;
    return sketch;
}

double sketch_similarity(const TextSketch *a, const TextSketch *b)
{
    unsigned n = 0;
    for (unsigned i = 0; i < SKETCH_BINS; i++) {
        n += a->bytes[i] == b->bytes[i];
    }
    /* One in 256 of those that differ looks alike. */
    double share = (n / (double)SKETCH_BINS - 1.0 / 256) / (1 - 1.0 / 256);
    return a->exists && b->exists ? fmax(share, 0) : 0;
}

uint64_t sketch_band(const TextSketch *sketch, unsigned band)
{
    return hash_64(sketch->bytes + (size_t)band * SKETCH_ROWS, SKETCH_ROWS, band);
}
