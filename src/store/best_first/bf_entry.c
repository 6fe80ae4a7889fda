#include "store/best_first/bf_entry.h"

#include <math.h>

#define FINE_BITS  (BF_VALUE_BITS - BF_INDEX_BITS)
#define FINE_STEPS ((1u << FINE_BITS) - 1)

uint8_t bf_link_level(const BFSchedulerState *state, float score)
{
    return (uint8_t)(BF_EXACT_LEVEL | schedule_level(state->schedule, score));
}

uint8_t bf_scored_level(const BFScheduler *sch, float score)
{
    float scale = sch->scorer->scale == NULL ? 1.0f : sch->scorer->scale(sch->scorer->state);
    return (uint8_t)schedule_level(sch->state->schedule, score * scale);
}

BFOrder bf_entry(const BFSchedulerState *state, uint8_t level_byte, float score, uint64_t index)
{
    unsigned level = level_byte & (BF_EXACT_LEVEL - 1);
    uint64_t fine = 0;
    if ((level_byte & BF_EXACT_LEVEL) != 0) {
        float least = 0.0f;
        float below = 0.0f;
        schedule_level_range(state->schedule, level, &least, &below);
        /* how far from the best of the level, 0..1; above the first level's beginning: its share */
        double far = isinf(below) ? (double)least / (double)score
                                  : (double)(below - score) / (double)(below - least);
        far = far >= 0.0 ? far : 0.0;
        fine = far < 1.0 ? (uint64_t)(far * FINE_STEPS) : FINE_STEPS;
    }
    return bf_order(level, fine << BF_INDEX_BITS | index);
}
