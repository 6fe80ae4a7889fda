/* Which priority level is served next: the bias between front queues.
 *
 * What: strict serves the best level that has anything. weighted does so most of the time, but
 * every few turns (lower_share of them) one of the other levels is served, the k-th best of them
 * with a weight of 1 / k. So every level that has anything is served at least once in about levels
 * * log(levels) / lower_share turns, and nothing starves. Tickets count turns. Their shares are met
 * closely also over short runs, since they follow a golden-ratio sequence and no random numbers.
 * Threads: pure functions; the same ticket gives the same choice.
 * Source: seed 002, front queues. */
#pragma once

#include <stdint.h>

#include "base/core/words.h"

/* clang-format off */
#define LEVEL_BIAS_WORDS(WORD) \
    WORD(LEVEL_BIAS_STRICT, "strict") \
    WORD(LEVEL_BIAS_WEIGHTED, "weighted")
/* clang-format on */
typedef enum LevelBiasKind { WORDS_ENUM(LEVEL_BIAS_WORDS) } LevelBiasKind;

typedef struct LevelBias {
    LevelBiasKind kind;
    double lower_share; /* of the turns for all but the best level; 0..1, default 0.2 */
} LevelBias;

#define LEVEL_BIAS_DEFAULT_LOWER_SHARE 0.2

/* The share of turns that all levels but the best one get together. */
static inline double level_bias_lower_share(const LevelBias *bias)
{
    return bias->kind == LEVEL_BIAS_WEIGHTED ? bias->lower_share : 0;
}
/* levels: bit l is set when level l (0..63, 0 is best) has anything. Returns a level whose bit is
 * set, or SCHEDULE_NO_LEVEL (255) when none is. */
unsigned level_bias_choose(const LevelBias *bias, uint64_t levels, uint64_t ticket);
