/* The [cluster] section as options of the node. */
#include "crawl/cluster/cluster_options.h"
#include "unit.h"

static int64_t delay_with(const char *key, const char *value)
{
    Config config = {.crawl_contact = NULL};
    const ClusterNames names = {.machine = "m", .name = "n"};
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(config_init(&config), RESULT_OK);
    CU_ASSERT_EQUAL(options_set(&config.options, "politeness.ip_delay", "3s", "test", &error),
                    RESULT_OK);
    CU_ASSERT_EQUAL(options_add_site(&config.options, "*.test", key, value, "test", &error),
                    RESULT_OK);
    int64_t delay_ms = cluster_node_options(&config, &names).lease.delay_ms;
    buffer_destroy(&error);
    config_destroy(&config);
    return delay_ms;
}

static void sites_delay(void)
{
    CU_ASSERT_EQUAL(delay_with("politeness.ip_delay", "20s"), 20000);
    CU_ASSERT_EQUAL(delay_with("politeness.ip_delay", "1s"), 3000);
    CU_ASSERT_EQUAL(delay_with("politeness.host_delay", "20s"), 3000);
}

UNIT_MAIN("cluster_options",
          {"an address rests for the longest delay of any site after its holder's death",
           sites_delay})
