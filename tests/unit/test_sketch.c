/* Sketches of texts beside the sets that they stand for. */
#include <math.h>

#include "dice.h"
#include "parse/text/sketch.h"
#include "unit.h"

#define SEED   20261128u
#define ROUNDS 40u

/* Two texts of n shingles each that share so many. */
static void draw_pair(Dice *dice, size_t n, size_t shared, TextSketch *a, TextSketch *b)
{
    static SketchBins of_a, of_b;
    of_a = of_b = (SketchBins){.most = {0}};
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = dice_next(dice);
        sketch_add(&of_a, hash);
        sketch_add(&of_a, hash); /* as often as it likes */
        sketch_add(&of_b, i < shared ? hash : dice_next(dice));
    }
    *a = sketch_of_bins(&of_a, n);
    *b = sketch_of_bins(&of_b, n);
}

static void the_estimate_is_near_the_share_of_the_sets(void)
{
    static const size_t sizes[] = {64, 200, 1000, 20000};
    Dice dice = {SEED};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (unsigned tenths = 0; tenths <= 10; tenths++) {
            TextSketch a, b;
            size_t n = sizes[s];
            size_t shared = n * tenths / 10;
            double exact = (double)shared / (double)(2 * n - shared);
            draw_pair(&dice, n, shared, &a, &b);
            double found = sketch_similarity(&a, &b);
            CU_ASSERT_TRUE(found >= 0 && found <= 1 && fabs(found - exact) < 0.08);
            CU_ASSERT_EQUAL(found, sketch_similarity(&b, &a));
            CU_ASSERT_EQUAL(sketch_similarity(&a, &a), 1);
        }
    }
}

static void a_short_text_has_none(void)
{
    Dice dice = {SEED};
    TextSketch a, b;
    draw_pair(&dice, SKETCH_MIN_WORDS - 1, SKETCH_MIN_WORDS - 1, &a, &b);
    CU_ASSERT_FALSE(a.exists);
    CU_ASSERT_EQUAL(sketch_similarity(&a, &b), 0);
    SketchBins none = {.most = {0}};
    CU_ASSERT_FALSE(sketch_of_bins(&none, 1000).exists);
    for (unsigned band = 0; band < SKETCH_BANDS; band++) { /* of nothing: it ends */
        CU_ASSERT_EQUAL(sketch_band(&a, band), sketch_band(&b, band));
    }
}

static unsigned bands_in_common(const TextSketch *a, const TextSketch *b)
{
    unsigned n = 0;
    for (unsigned band = 0; band < SKETCH_BANDS; band++) {
        n += sketch_band(a, band) == sketch_band(b, band);
    }
    return n;
}

static void near_texts_meet_in_a_band_and_others_do_not(void)
{
    Dice dice = {SEED};
    unsigned near = 0;
    unsigned far = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        TextSketch a, b;
        draw_pair(&dice, 3000, 2850, &a, &b); /* 0.905 in common */
        near += bands_in_common(&a, &b) > 0;
        CU_ASSERT_EQUAL(bands_in_common(&a, &a), SKETCH_BANDS);
        draw_pair(&dice, 3000, 1000, &a, &b); /* 0.2 */
        far += bands_in_common(&a, &b) > 0;
    }
    CU_ASSERT_TRUE(near >= ROUNDS - 2 && far <= 2);
}

UNIT_MAIN("sketch",
          {"the estimate is near the share of the sets",
           the_estimate_is_near_the_share_of_the_sets},
          {"a short text has none", a_short_text_has_none},
          {"near texts meet in a band, and others do not",
           near_texts_meet_in_a_band_and_others_do_not})
