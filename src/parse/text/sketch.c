#include "parse/text/sketch.h"

#include <math.h>
#include <string.h>

#include "base/core/hash.h"

static unsigned sketch_bin(const TextSketch *sketch, unsigned bin)
{
    return sketch->bytes[bin / 2] >> bin % 2 * 4 & 15;
}

TextSketch sketch_of_bins(const SketchBins *bins, uint64_t n_words)
{
    TextSketch sketch = {.exists = false};
    for (unsigned i = 0; i < SKETCH_BINS && n_words >= SKETCH_MIN_WORDS; i++) {
        if (bins->most[i] != 0) {
            uint64_t value = 1 + hash_mix(bins->most[i]) % SKETCH_VALUES;
            sketch.bytes[i / 2] |= (uint8_t)(value << i % 2 * 4);
            sketch.exists = true;
        }
    }
    return sketch;
}

/* A bit for each of sixteen bins that is not empty. */
static uint64_t sketch_filled(uint64_t bins)
{
    return (bins | bins >> 1 | bins >> 2 | bins >> 3) & UINT64_C(0x1111111111111111);
}

double sketch_similarity(const TextSketch *a, const TextSketch *b)
{
    unsigned any = 0;
    unsigned both = 0;
    unsigned same = 0;
    for (size_t i = 0; i < sizeof a->bytes; i += sizeof(uint64_t)) {
        uint64_t of_a;
        uint64_t of_b;
        memcpy(&of_a, a->bytes + i, sizeof of_a);
        memcpy(&of_b, b->bytes + i, sizeof of_b);
        uint64_t filled = sketch_filled(of_a) & sketch_filled(of_b);
        any += (unsigned)__builtin_popcountll(sketch_filled(of_a | of_b));
        both += (unsigned)__builtin_popcountll(filled);
        same += (unsigned)__builtin_popcountll(filled & ~sketch_filled(of_a ^ of_b));
    }
    /* One in SKETCH_VALUES of those that differ looks alike. */
    double common = both - (both - same) / (1 - 1.0 / SKETCH_VALUES);
    return a->exists && b->exists ? fmax(common, 0) / any : 0;
}

uint64_t sketch_band(const TextSketch *sketch, unsigned band)
{
    uint8_t rows[2 * SKETCH_ROWS];
    for (unsigned i = 0; i < SKETCH_ROWS; i++) {
        unsigned bin = band * SKETCH_ROWS + i;
        uint8_t away = 0;
        while (away < UINT8_MAX && sketch_bin(sketch, (bin + away) % SKETCH_BINS) == 0) {
            away++;
        }
        rows[2 * i] = (uint8_t)sketch_bin(sketch, (bin + away) % SKETCH_BINS);
        rows[2 * i + 1] = away;
    }
    return hash_64(rows, sizeof rows, band);
}
