#include "base/thread/distribution.h"
#include "unit.h"

static void without_values_all_is_zero(void)
{
    Distribution d = {.count = {0}};
    CU_ASSERT_EQUAL(distribution_quantile(&d, 0.5), 0);
    distribution_add(&d, 0);
    CU_ASSERT_EQUAL(distribution_quantile(&d, 1.0), 0);
}

static void quantiles_are_right_within_a_factor_of_two(void)
{
    Distribution d = {.count = {0}};
    for (uint64_t i = 1; i <= 1000; i++) {
        distribution_add(&d, i);
    }
    for (unsigned percent = 10; percent < 100; percent += 10) {
        uint64_t found = distribution_quantile(&d, percent / 100.0);
        CU_ASSERT_TRUE(found >= percent * 10 / 2 && found <= percent * 10 * 2);
    }
    CU_ASSERT_TRUE(distribution_quantile(&d, 0.5) > 480 && distribution_quantile(&d, 0.5) < 520);
    distribution_add(&d, UINT64_MAX);
    CU_ASSERT_TRUE(distribution_quantile(&d, 1.0) >= UINT64_C(1) << 63);
}

static void a_value_that_changes_counts_once(void)
{
    Distribution d = {.count = {0}};
    for (uint64_t i = 0; i < 100; i++) {
        distribution_move(&d, 0, 3);
        distribution_move(&d, 3, 2);
        distribution_move(&d, 2, 1000);
    }
    CU_ASSERT_TRUE(distribution_quantile(&d, 0.01) >= 512);
    for (uint64_t i = 0; i < 90; i++) {
        distribution_move(&d, 1000, 1);
    }
    CU_ASSERT_TRUE(distribution_quantile(&d, 0.5) == 1 || distribution_quantile(&d, 0.5) == 2);
    CU_ASSERT_TRUE(distribution_quantile(&d, 0.99) >= 512);
    for (uint64_t i = 0; i < 90; i++) {
        distribution_move(&d, 1, 0);
    }
    CU_ASSERT_TRUE(distribution_quantile(&d, 0.01) >= 512);
}

UNIT_MAIN("distribution", {"without values all is zero", without_values_all_is_zero},
          {"a value that changes counts once", a_value_that_changes_counts_once},
          {"quantiles are right within a factor of two",
           quantiles_are_right_within_a_factor_of_two})
