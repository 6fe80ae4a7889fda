#include "base/thread/byte_quota.h"
#include "unit.h"

static void what_is_in_flight_counts_with_the_mean(void)
{
    ByteQuota quota;
    byte_quota_init(&quota, 10000);
    CU_ASSERT_TRUE(byte_quota_is_open(&quota)); /* the first may always begin */
    byte_quota_begin(&quota);
    CU_ASSERT_FALSE(byte_quota_is_open(&quota)); /* how large are such things? */
    byte_quota_end(&quota, 1000, true);
    for (unsigned i = 0; i < 100000; i++) { /* of so many a first guess does not count */
        byte_quota_begin(&quota);
        byte_quota_end(&quota, 1000, true);
    }
    unsigned begun = 0;
    while (byte_quota_is_open(&quota)) {
        byte_quota_begin(&quota);
        begun++;
    }
    CU_ASSERT_EQUAL(begun, 9);
    byte_quota_take(&quota, 200);
    byte_quota_end(&quota, 200, true); /* it was small: there is room for another one */
    CU_ASSERT_TRUE(byte_quota_is_open(&quota));
    CU_ASSERT_FALSE(byte_quota_is_used_up(&quota));
}

static void a_quota_is_used_up_by_what_comes(void)
{
    ByteQuota quota;
    byte_quota_init(&quota, 0);
    byte_quota_take(&quota, 5000);
    CU_ASSERT_TRUE(byte_quota_is_open(&quota));
    CU_ASSERT_FALSE(byte_quota_is_used_up(&quota));
    byte_quota_set(&quota, 5000);
    CU_ASSERT_TRUE(byte_quota_is_used_up(&quota));
    CU_ASSERT_FALSE(byte_quota_is_open(&quota));
    byte_quota_set(&quota, 6000);
    CU_ASSERT_TRUE(byte_quota_is_open(&quota));
}

static void of_a_shared_one_nothing_begins_that_is_not_expected_to_fit(void)
{
    ByteQuota quota;
    byte_quota_init(&quota, 5000);
    byte_quota_share(&quota);
    CU_ASSERT_TRUE(byte_quota_is_open(&quota)); /* the very first */
    for (unsigned i = 0; i < 100000; i++) {
        byte_quota_begin(&quota);
        byte_quota_end(&quota, 1000, true);
    }
    byte_quota_take(&quota, 3000);
    CU_ASSERT_TRUE(byte_quota_is_open(&quota));
    byte_quota_take(&quota, 1500);
    CU_ASSERT_TRUE(byte_quota_is_idle(&quota));
    CU_ASSERT_FALSE(byte_quota_is_open(&quota));
    CU_ASSERT_FALSE(byte_quota_is_used_up(&quota));
    byte_quota_take(&quota, 1000); /* more than there is */
    CU_ASSERT_FALSE(byte_quota_is_open(&quota));
}

UNIT_MAIN("byte_quota",
          {"what is in flight counts with the mean", what_is_in_flight_counts_with_the_mean},
          {"a quota is used up by what comes", a_quota_is_used_up_by_what_comes},
          {"of a shared one nothing begins that is not expected to fit",
           of_a_shared_one_nothing_begins_that_is_not_expected_to_fit})
