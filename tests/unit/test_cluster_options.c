/* The [cluster] section as options of the node. */
#include <string.h>

#include "command/cluster/console.h"
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

/* ---- what agents know of each other ---- */

static void what_peers_know_is_compared(void)
{
    ConsolePeer peers[2][2] = {{{0, 0}}};
    ConsoleView views[2] = {{.peers = peers[0]}, {.peers = peers[1]}};
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    console_view_take(&views[0], 2, "agent\t0\t7\t99\t3");
    console_view_take(&views[0], 2, "peer\t1\t40\t50");
    CU_ASSERT_EQUAL(console_compare(views, views, 2, &out), 0); /* the other has said nothing */
    console_view_take(&views[1], 2, "agent\t1\t7\t99\t0");
    console_view_take(&views[1], 2, "peer\t0\t50\t40");
    console_view_take(&views[1], 2, "peer\t2\t1\t1"); /* there is none */
    CU_ASSERT_EQUAL(console_compare(views, views, 2, &out), 0);
    peers[1][0].taken = 49;
    CU_ASSERT_EQUAL(console_compare(views, views, 2, &out), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&out), "agent 1 has 49 messages of agent 0"));
    peers[1][0].taken = 50;
    views[1].table = 98;
    CU_ASSERT_EQUAL(console_compare(views, views, 2, &out), 1);
    views[1].epoch = 6;
    CU_ASSERT_EQUAL(console_compare(views, views, 2, &out), 1);
    buffer_destroy(&out);
}

UNIT_MAIN("cluster_options", {"what peers know is compared", what_peers_know_is_compared},
          {"an address rests for the longest delay of any site after its holder's death",
           sites_delay})
