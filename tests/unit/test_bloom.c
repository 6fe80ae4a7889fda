#include <math.h>

#include "frontier/sieve/sieve_bloom.h"
#include "unit.h"

static Hash128 fingerprint(uint64_t number)
{
    return hash_128(&number, sizeof number);
}

static void what_was_added_is_always_found(void)
{
    Bloom *bloom;
    CU_ASSERT_EQUAL_FATAL(bloom_new(&bloom, 20000, 0.01, SIZE_MAX - 1), RESULT_OK);
    size_t lost = 0;
    for (uint64_t i = 0; i < 40000; i++) {
        (void)bloom_add(bloom, fingerprint(i));
    }
    for (uint64_t i = 0; i < 40000; i++) {
        lost += !bloom_contains(bloom, fingerprint(i));
        lost += !bloom_add(bloom, fingerprint(i));
    }
    CU_ASSERT_EQUAL(lost, 0);
    bloom_delete(bloom);
}

static double measured_rate(const Bloom *bloom, uint64_t tries)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < tries; i++) {
        wrong += bloom_contains(bloom, fingerprint((UINT64_C(1) << 40) + i));
    }
    return (double)wrong / (double)tries;
}

static void the_rate_is_what_was_asked_for_and_what_it_reports(void)
{
    const double rates[3] = {0.1, 0.01, 0.001};
    for (int r = 0; r < 3; r++) {
        const uint64_t n = 200000, tries = 500000;
        Bloom *bloom;
        CU_ASSERT_EQUAL_FATAL(bloom_new(&bloom, n, rates[r], SIZE_MAX - 1), RESULT_OK);
        CU_ASSERT_EQUAL(bloom_rate(bloom), 0);
        uint64_t taken_for_seen = 0;
        for (uint64_t i = 0; i < n; i++) {
            taken_for_seen += bloom_add(bloom, fingerprint(i));
        }
        double measured = measured_rate(bloom, tries);
        double deviation = sqrt(rates[r] / (double)tries); /* of the measurement */
        CU_ASSERT_DOUBLE_EQUAL(measured, rates[r], 0.05 * rates[r] + 5 * deviation);
        CU_ASSERT_DOUBLE_EQUAL(bloom_rate(bloom), measured, 0.05 * rates[r] + 5 * deviation);
        CU_ASSERT_EQUAL(bloom_count(bloom), n - taken_for_seen);
        /* While it fills up fewer are lost than at the end. */
        CU_ASSERT((double)taken_for_seen < rates[r] * (double)n);
        bloom_delete(bloom);
    }
}

static void a_filter_that_is_too_full_says_so(void)
{
    Bloom *bloom;
    CU_ASSERT_EQUAL_FATAL(bloom_new(&bloom, 20000, 0.001, SIZE_MAX - 1), RESULT_OK);
    for (uint64_t i = 0; i < 60000; i++) {
        (void)bloom_add(bloom, fingerprint(i));
    }
    double measured = measured_rate(bloom, 100000);
    CU_ASSERT(measured > 0.05);
    CU_ASSERT_DOUBLE_EQUAL(bloom_rate(bloom), measured, 0.1 * measured);
    bloom_delete(bloom);
}

static void the_size_follows_from_the_parameters_and_keeps_the_limit(void)
{
    Bloom *bloom;
    /* 9.585 bits and 7 probes for one per cent. */
    CU_ASSERT_DOUBLE_EQUAL((double)bloom_bytes_for(1000000, 0.01), 9.585 * 1e6 / 8, 200);
    CU_ASSERT_EQUAL_FATAL(bloom_new(&bloom, 1000000, 0.01, 1300000), RESULT_OK);
    CU_ASSERT_EQUAL(bloom_probes(bloom), 7);
    CU_ASSERT_EQUAL(bloom_bytes(bloom), bloom_bytes_for(1000000, 0.01));
    bloom_delete(bloom);
    CU_ASSERT_EQUAL(bloom_new(&bloom, 1000000, 0.01, 1000000), RESULT_LIMIT);
    CU_ASSERT_PTR_NULL(bloom);
    CU_ASSERT_EQUAL(bloom_new(&bloom, 0, 0.01, SIZE_MAX - 1), RESULT_INVALID);
    CU_ASSERT_EQUAL(bloom_new(&bloom, 10, 0, SIZE_MAX - 1), RESULT_INVALID);
    CU_ASSERT_EQUAL(bloom_new(&bloom, 10, 1, SIZE_MAX - 1), RESULT_INVALID);
    CU_ASSERT_EQUAL(bloom_new(&bloom, 10, (double)NAN, SIZE_MAX - 1), RESULT_INVALID);
    CU_ASSERT_EQUAL(bloom_bytes_for(UINT64_MAX, 1e-9), SIZE_MAX);
    bloom_delete(NULL);
}

static void one_element_and_an_extreme_rate_work(void)
{
    Bloom *bloom;
    CU_ASSERT_EQUAL_FATAL(bloom_new(&bloom, 1, 1e-30, SIZE_MAX - 1), RESULT_OK);
    CU_ASSERT_FALSE(bloom_add(bloom, (Hash128){0, 0}));
    CU_ASSERT_TRUE(bloom_add(bloom, (Hash128){0, 0}));
    CU_ASSERT_FALSE(bloom_contains(bloom, fingerprint(1)));
    bloom_delete(bloom);
    CU_ASSERT_EQUAL_FATAL(bloom_new(&bloom, 100, 0.99, SIZE_MAX - 1), RESULT_OK);
    CU_ASSERT_EQUAL(bloom_probes(bloom), 1);
    bloom_delete(bloom);
}

UNIT_MAIN("bloom", {"what was added is always found", what_was_added_is_always_found},
          {"the rate is what was asked for and what it reports",
           the_rate_is_what_was_asked_for_and_what_it_reports},
          {"a filter that is too full says so", a_filter_that_is_too_full_says_so},
          {"the size follows from the parameters and keeps the limit",
           the_size_follows_from_the_parameters_and_keeps_the_limit},
          {"one element and an extreme rate work", one_element_and_an_extreme_rate_work})
