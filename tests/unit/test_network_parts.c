#include "crawl/parts/network_parts.h"
#include "unit.h"

static void with_enough_descriptors_everybody_gets_what_is_asked_for(void)
{
    DescriptorShare share = descriptors_share(DESCRIPTORS_NO_LIMIT, 1000, 5000, 2);
    CU_ASSERT_EQUAL(share.busy, 1000);
    CU_ASSERT_EQUAL(share.kept, 3500);
    share = descriptors_share(1048576, 10000, 5000, 4);
    CU_ASSERT_EQUAL(share.busy, 10000);
    CU_ASSERT_EQUAL(share.kept, 11250);
}

static void connections_never_need_more_than_there_are(void)
{
    static const uint64_t limits[] = {1, 2, 5, 16, 64, 256, 1024, 4096, 65536};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        for (size_t threads = 1; threads <= 16; threads *= 2) {
            DescriptorShare share = descriptors_share(limits[i], 1000, 5000, threads);
            CU_ASSERT_TRUE(share.busy >= 1 && share.busy <= 1000);
            CU_ASSERT_TRUE(share.kept >= 1);
            if (limits[i] >= 256) {
                CU_ASSERT_TRUE(share.busy + threads * share.kept <= limits[i] - 64);
            }
        }
    }
}

static void a_thousand_connections_do_not_fit_into_1024_descriptors(void)
{
    DescriptorShare share = descriptors_share(1024, 1000, 5000, 2);
    CU_ASSERT_EQUAL(share.busy, 576);
    CU_ASSERT_EQUAL(share.most, 576);
    CU_ASSERT_EQUAL(descriptors_share(1024, 10, 0, 2).most, 576);
    CU_ASSERT_EQUAL(share.kept, 96);
}

UNIT_MAIN("network_parts",
          {"with enough descriptors everybody gets what is asked for",
           with_enough_descriptors_everybody_gets_what_is_asked_for},
          {"connections never need more than there are",
           connections_never_need_more_than_there_are},
          {"a thousand connections do not fit into 1024 descriptors",
           a_thousand_connections_do_not_fit_into_1024_descriptors})
