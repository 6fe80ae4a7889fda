/* Sketch of a text: 512 bytes by which two texts show how much they have in common.
 *
 * What: a text is the set of its shingles (digest.h), each counted once however often it comes. The
 * hash of a shingle falls into one of SKETCH_BINS bins, which keeps the least it has seen, as four
 * bits; 0 is a bin that got none. Of the bins in which at least one of two texts has something, the
 * share in which they agree estimates the Jaccard similarity of the two sets, |A and B| / |A or B|:
 * with a standard error of 0.01 at 0.9, and nearly exactly for short texts, whose shingles have
 * bins of their own.
 *
 * The search: SKETCH_BANDS groups of SKETCH_ROWS bins, where an empty bin stands for the next one
 * that is not. Two texts that share nine tenths agree in all rows of at least one band with a
 * chance of 0.99, two that share a half with one of 0.02. So a look-up by the key of each band
 * finds candidates, and the sketches tell which of them are near.
 *
 * Owns: nothing; pure functions.
 * Source: A. Broder 1997; P. Li, A. Owen, C.-H. Zhang 2012 (one permutation, and its estimate
 * beside empty bins); A. Shrivastava, P. Li 2014 (empty bins of bands by rotation). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKETCH_BINS      1024u
#define SKETCH_VALUES    15u /* of a bin that is not empty */
#define SKETCH_BANDS     10u
#define SKETCH_ROWS      9u
#define SKETCH_NEAR      0.91 /* texts with at least this in common are near, by the estimate */
#define SKETCH_MIN_WORDS 64u  /* shorter texts have no sketch: too much of them is a template */

/* While a text is read. All zero is empty. */
typedef struct SketchBins {
    uint64_t most[SKETCH_BINS]; /* ~ of the least hash; 0: none */
} SketchBins;

typedef struct TextSketch {
    uint8_t bytes[SKETCH_BINS / 2];
    bool exists;
} TextSketch;

static inline void sketch_add(SketchBins *bins, uint64_t hash)
{
    uint64_t *most = &bins->most[hash % SKETCH_BINS];
    *most = ~hash > *most ? ~hash : *most;
}

/* Of a text of n_words words. */
TextSketch sketch_of_bins(const SketchBins *bins, uint64_t n_words);
/* What two texts have in common, 0 to 1. */
double sketch_similarity(const TextSketch *a, const TextSketch *b);
/* The key of a band, 0 to SKETCH_BANDS - 1. */
uint64_t sketch_band(const TextSketch *sketch, unsigned band);
