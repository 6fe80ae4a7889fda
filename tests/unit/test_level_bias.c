#include <string.h>

#include "store/schedule/level_bias.h"
#include "store/schedule/schedule.h"
#include "unit.h"

static void strict_serves_the_best_level(void)
{
    const LevelBias bias = {LEVEL_BIAS_STRICT, 0.5};
    for (uint64_t ticket = 0; ticket < 1000; ticket++) {
        CU_ASSERT_EQUAL(level_bias_choose(&bias, UINT64_C(0xF0), ticket), 4);
        CU_ASSERT_EQUAL(level_bias_choose(&bias, UINT64_C(1) << 63, ticket), 63);
    }
    CU_ASSERT_EQUAL(level_bias_choose(&bias, 0, 1), SCHEDULE_NO_LEVEL);
}

static void weighted_lets_a_share_of_lower_levels_through(void)
{
    const LevelBias bias = {LEVEL_BIAS_WEIGHTED, LEVEL_BIAS_DEFAULT_LOWER_SHARE};
    const uint64_t levels =
        UINT64_C(1) << 2 | UINT64_C(1) << 5 | UINT64_C(1) << 9 | UINT64_C(1) << 63;
    unsigned counts[64] = {0};
    for (uint64_t ticket = 0; ticket < 11000; ticket++) {
        unsigned level = level_bias_choose(&bias, levels, ticket);
        CU_ASSERT_FATAL(level < 64 && (levels >> level & 1) != 0);
        counts[level]++;
    }
    CU_ASSERT_DOUBLE_EQUAL(counts[2], 8800.0, 30.0);
    CU_ASSERT_DOUBLE_EQUAL(counts[5], 1200.0, 30.0);
    CU_ASSERT_DOUBLE_EQUAL(counts[9], 600.0, 30.0);
    CU_ASSERT_DOUBLE_EQUAL(counts[63], 400.0, 30.0);
}

static void no_level_starves_however_many_there_are(void)
{
    const LevelBias bias = {LEVEL_BIAS_WEIGHTED, 0.1};
    uint64_t last[64] = {0};
    uint64_t longest = 0;
    for (uint64_t ticket = 1; ticket < 200000; ticket++) {
        unsigned level = level_bias_choose(&bias, UINT64_MAX, ticket);
        CU_ASSERT_FATAL(level < 64);
        uint64_t waited = ticket - last[level];
        longest = waited > longest ? waited : longest;
        last[level] = ticket;
    }
    CU_ASSERT(longest < 12000);
    for (int level = 0; level < 64; level++) {
        CU_ASSERT(last[level] > 200000 - 12000);
    }
}

static void only_one_level_is_always_served(void)
{
    const LevelBias bias = {LEVEL_BIAS_WEIGHTED, 1.0};
    for (uint64_t ticket = 0; ticket < 100; ticket++) {
        CU_ASSERT_EQUAL(level_bias_choose(&bias, 8, ticket), 3);
        CU_ASSERT_EQUAL(level_bias_choose(&bias, 9, ticket), 3); /* the best has no share left */
    }
}

UNIT_MAIN("level_bias", {"strict serves the best level", strict_serves_the_best_level},
          {"weighted lets a share of lower levels through",
           weighted_lets_a_share_of_lower_levels_through},
          {"no level starves however many there are", no_level_starves_however_many_there_are},
          {"only one level is always served", only_one_level_is_always_served})
