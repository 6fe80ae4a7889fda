#include <stdlib.h>
#include <string.h>

#include "cluster/table/cluster_table.h"
#include "cluster/wire/wire.h"
#include "dice.h"
#include "parse/host/domain.h"
#include "unit.h"

static const uint8_t uuid[CLUSTER_UUID_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8};

static ClusterTable table_of(uint32_t agents)
{
    ClusterTable table = {.epoch = 0};
    CU_ASSERT_EQUAL(cluster_table_create(&table, uuid, domain_list_sha1(), agents), RESULT_OK);
    return table;
}

static unsigned slot_of(const char *host)
{
    return slot_of_host(host, strlen(host));
}

static unsigned slot_of_text(const char *url)
{
    return slot_of_url(url, strlen(url));
}

static void hosts_of_a_domain_share_a_slot(void)
{
    CU_ASSERT_EQUAL(slot_of("www.example.co.uk"), slot_of("shop.example.co.uk"));
    CU_ASSERT_EQUAL(slot_of("example.co.uk"), slot_of("shop.example.co.uk"));
    CU_ASSERT_NOT_EQUAL(slot_of("a.co.uk"), slot_of("b.co.uk"));
    CU_ASSERT_EQUAL(slot_of_text("http://user@www.example.com:81/x?y"), slot_of("example.com"));
    CU_ASSERT_EQUAL(slot_of_text("https://127.0.0.1/"), slot_of("127.0.0.1"));
    CU_ASSERT_EQUAL(slot_of_text("https://[::1]:8080/"), slot_of("[::1]"));
    CU_ASSERT_NOT_EQUAL(slot_of("127.0.0.1"), slot_of("127.0.0.2"));
}

/* Written down, since agents of all versions must agree; by an XXH64 of our own. */
static void slots_never_change(void)
{
    CU_ASSERT_EQUAL(slot_of("example.com"), 648);
    CU_ASSERT_EQUAL(slot_of("192.0.2.1"), 2932);
    CU_ASSERT_EQUAL(slot_of(""), 3828);
}

static void a_new_table_divides_evenly(void)
{
    ClusterTable table = table_of(3);
    CU_ASSERT_EQUAL(table.epoch, 1);
    for (uint16_t agent = 0; agent < 3; agent++) {
        unsigned n = cluster_table_share(&table, agent).owned;
        CU_ASSERT_TRUE(n == 1365 || n == 1366);
        CU_ASSERT_EQUAL(table.agents[agent].life, 1);
        CU_ASSERT_EQUAL(table.agents[agent].claimed, 0);
    }
    cluster_table_destroy(&table);
    CU_ASSERT_EQUAL(cluster_table_create(&table, uuid, "", 0), RESULT_INVALID);
    CU_ASSERT_EQUAL(cluster_table_create(&table, uuid, "", SLOT_COUNT + 1), RESULT_INVALID);
}

static bool same_table(const ClusterTable *a, const ClusterTable *b)
{
    return a->epoch == b->epoch && memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0 &&
           strcmp(a->psl, b->psl) == 0 && a->n_agents == b->n_agents &&
           memcmp(a->agents, b->agents, a->n_agents * sizeof *a->agents) == 0 &&
           memcmp(a->slots, b->slots, sizeof a->slots) == 0;
}

static void a_table_survives_its_bytes_and_no_other_does(void)
{
    ClusterTable table = table_of(5);
    ClusterTable again = {.epoch = 0};
    Buffer bytes;
    Dice dice = {7};
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    (void)cluster_table_move(&table, 1, 2, 100);
    CU_ASSERT_EQUAL(cluster_table_write(&table, &bytes), RESULT_OK);
    CU_ASSERT_EQUAL(cluster_table_read(&again, bytes.data, bytes.length), RESULT_OK);
    CU_ASSERT_TRUE(same_table(&table, &again));
    CU_ASSERT_TRUE(bytes.length < 130); /* 4096 slots, and agents, in runs */
    for (size_t i = 0; i < 2000; i++) {
        size_t place = dice_below(&dice, bytes.length);
        bytes.data[place] ^= (char)(1 + dice_below(&dice, 255));
        Result rc = cluster_table_read(&again, bytes.data, bytes.length);
        CU_ASSERT_TRUE(rc == RESULT_DAMAGED || (rc == RESULT_VERSION && place == 4));
        CU_ASSERT_NOT_EQUAL(cluster_table_read(&again, bytes.data, dice_below(&dice, bytes.length)),
                            RESULT_OK);
        buffer_reset(&bytes);
        (void)cluster_table_write(&table, &bytes);
    }
    CU_ASSERT_TRUE(same_table(&table, &again));
    CU_ASSERT_TRUE(cluster_table_equal(&table, &again));
    again.agents[4].seated = false;
    CU_ASSERT_FALSE(cluster_table_equal(&table, &again));
    again.agents[4].seated = true;
    again.slots[9].to = 4;
    CU_ASSERT_FALSE(cluster_table_equal(&table, &again));
    buffer_destroy(&bytes);
    cluster_table_destroy(&again);
    cluster_table_destroy(&table);
}

/* As ragno 0.2.0 wrote it: each agent and each slot by itself. */
static void the_format_before_is_read(void)
{
    ClusterTable table = table_of(5);
    ClusterTable again = {.epoch = 0};
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    WireWriter writer = wire_writer(&bytes);
    (void)cluster_table_move(&table, 1, 2, 100);
    wire_put_bytes(&writer, "RGCT\2", 5);
    wire_put_number(&writer, table.epoch, 8);
    wire_put_bytes(&writer, table.uuid, sizeof table.uuid);
    wire_put_string(&writer, table.psl, strlen(table.psl));
    wire_put_varint(&writer, table.n_agents);
    for (uint32_t i = 0; i < table.n_agents; i++) {
        wire_put_number(&writer, table.agents[i].life, 2);
        wire_put_number(&writer, table.agents[i].claimed, 2);
        wire_put_number(&writer, table.agents[i].seated, 1);
    }
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        wire_put_number(&writer, table.slots[slot].from, 2);
        wire_put_number(&writer, table.slots[slot].to, 2);
    }
    CU_ASSERT_EQUAL(wire_seal(&writer), RESULT_OK);
    CU_ASSERT_EQUAL(cluster_table_read(&again, bytes.data, bytes.length), RESULT_OK);
    CU_ASSERT_TRUE(same_table(&table, &again));
    buffer_destroy(&bytes);
    cluster_table_destroy(&again);
    cluster_table_destroy(&table);
}

static void a_new_agent_gets_its_share(void)
{
    ClusterTable table = table_of(3);
    uint16_t agent = 0;
    CU_ASSERT_EQUAL(cluster_table_add(&table, &agent), RESULT_OK);
    CU_ASSERT_EQUAL(agent, 3);
    CU_ASSERT_EQUAL(table.epoch, 2);
    CU_ASSERT_EQUAL(cluster_table_share(&table, 3).owned, 1024);
    for (uint16_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(cluster_table_share(&table, i).owned, 1024);
        CU_ASSERT_EQUAL(cluster_table_settle(&table, i, 3), RESULT_OK);
    }
    CU_ASSERT_EQUAL(table.epoch, 5);
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        CU_ASSERT_FALSE(cluster_slot_is_moving(table.slots[slot]));
    }
    CU_ASSERT_EQUAL(cluster_table_settle(&table, 0, 3), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(table.epoch, 5);
    cluster_table_destroy(&table);
}

static void a_drained_agent_has_nothing(void)
{
    ClusterTable table = table_of(4);
    CU_ASSERT_EQUAL(cluster_table_drain(&table, 2), RESULT_OK);
    CU_ASSERT_EQUAL(cluster_table_share(&table, 2).owned, 0);
    CU_ASSERT_TRUE(cluster_table_has(&table, 2)); /* it is sending still */
    for (uint16_t i = 0; i < 4; i++) {
        (void)cluster_table_settle(&table, 2, i);
    }
    CU_ASSERT_FALSE(cluster_table_has(&table, 2));
    CU_ASSERT_EQUAL(cluster_table_drain(&table, 2), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(cluster_table_drain(&table, 9), RESULT_NOT_FOUND);
    cluster_table_destroy(&table);
    table = table_of(1);
    CU_ASSERT_EQUAL(cluster_table_drain(&table, 0), RESULT_INVALID);
    cluster_table_destroy(&table);
}

static void one_slot_moves(void)
{
    ClusterTable table = table_of(3);
    CU_ASSERT_EQUAL(cluster_table_move_slot(&table, 5, 0), RESULT_NOT_FOUND); /* it is there */
    CU_ASSERT_EQUAL(cluster_table_move_slot(&table, 5, 3), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(table.epoch, 1);
    CU_ASSERT_EQUAL(cluster_table_move_slot(&table, 5, 2), RESULT_OK);
    CU_ASSERT_EQUAL(table.epoch, 2);
    CU_ASSERT_EQUAL(cluster_table_move_slot(&table, 5, 1), RESULT_EXISTS);
    ClusterShare share = cluster_table_share(&table, 0);
    CU_ASSERT_TRUE(share.leaving == 1 && share.coming == 0);
    share = cluster_table_share(&table, 2);
    CU_ASSERT_TRUE(share.leaving == 0 && share.coming == 1);
    CU_ASSERT_EQUAL(cluster_table_settle(&table, 0, 2), RESULT_OK);
    CU_ASSERT_TRUE(cluster_table_owner(&table, 5) == 2);
    cluster_table_destroy(&table);
}

static void a_lost_agent_gets_back_what_it_was_sending(void)
{
    ClusterTable table = table_of(2);
    CU_ASSERT_EQUAL(cluster_table_claim(&table, 0), RESULT_OK);
    CU_ASSERT_EQUAL(cluster_table_claim(&table, 0), RESULT_EXISTS);
    CU_ASSERT_EQUAL(cluster_table_move(&table, 0, 1, 10), RESULT_OK);
    CU_ASSERT_EQUAL(cluster_table_restore(&table, 0), RESULT_OK);
    CU_ASSERT_EQUAL(cluster_table_share(&table, 0).owned, 2048);
    CU_ASSERT_TRUE(table.slots[0].from == 1 && table.slots[0].to == 0);
    CU_ASSERT_EQUAL(table.agents[0].life, 2);
    CU_ASSERT_EQUAL(cluster_table_claim(&table, 0), RESULT_OK);
    CU_ASSERT_EQUAL(table.epoch, 5);
    cluster_table_destroy(&table);
}

/* However it changes, every slot has an owner, and moves lose none. */
static void random_changes_keep_every_slot(void)
{
    ClusterTable table = table_of(4);
    Dice dice = {3};
    for (size_t i = 0; i < 300; i++) {
        uint64_t epoch = table.epoch;
        uint16_t a = (uint16_t)dice_below(&dice, table.n_agents);
        uint16_t b = (uint16_t)dice_below(&dice, table.n_agents);
        uint16_t fresh = 0;
        Result rc = RESULT_OK;
        switch (dice_below(&dice, 5)) {
        case 0:
            rc = table.n_agents < 20 ? cluster_table_add(&table, &fresh) : RESULT_LIMIT;
            break;
        case 1:
            rc = cluster_table_move(&table, a, b, (unsigned)dice_below(&dice, 600) + 1);
            break;
        case 2:
            rc = cluster_table_drain(&table, a);
            break;
        case 3:
            rc = cluster_table_restore(&table, a);
            break;
        default:
            rc = cluster_table_settle(&table, a, b);
        }
        CU_ASSERT_EQUAL(table.epoch, epoch + (rc == RESULT_OK));
        unsigned sum = 0;
        for (uint32_t agent = 0; agent < table.n_agents; agent++) {
            sum += cluster_table_share(&table, (uint16_t)agent).owned;
        }
        CU_ASSERT_EQUAL(sum, SLOT_COUNT);
    }
    cluster_table_destroy(&table);
}

static IpAddress address_of(uint32_t number)
{
    struct in_addr in = {number};
    return ip_address_v4(&in);
}

static void an_agent_that_comes_takes_its_share_of_addresses_and_no_other(void)
{
    ClusterTable table = table_of(8);
    Arbiters before, after;
    uint16_t fresh = 0;
    unsigned count[9] = {0};
    CU_ASSERT_EQUAL(arbiters_of_table(&before, &table), RESULT_OK);
    (void)cluster_table_add(&table, &fresh);
    CU_ASSERT_EQUAL(arbiters_of_table(&after, &table), RESULT_OK);
    CU_ASSERT_TRUE(before.n == 8 && after.n == 9 && !arbiters_equal(&before, &after));
    for (uint32_t i = 0; i < 9000; i++) {
        IpAddress address = address_of(i * 7919);
        uint16_t old = arbiters_find(&before, &address);
        uint16_t now = arbiters_find(&after, &address);
        CU_ASSERT_TRUE(now == old || now == fresh);
        count[now]++;
    }
    for (size_t i = 0; i < 9; i++) {
        CU_ASSERT_TRUE(count[i] > 850 && count[i] < 1150);
    }
    Arbiters none = {.n = 0};
    IpAddress address = address_of(1);
    CU_ASSERT_EQUAL(arbiters_find(&none, &address), CLUSTER_NOBODY);
    CU_ASSERT_TRUE(arbiters_have(&after, 8) && !arbiters_have(&before, 8));
    arbiters_destroy(&before);
    arbiters_destroy(&after);
    cluster_table_destroy(&table);
}

UNIT_MAIN("cluster table", {"hosts of a domain share a slot", hosts_of_a_domain_share_a_slot},
          {"slots never change", slots_never_change},
          {"a new table divides evenly", a_new_table_divides_evenly},
          {"a table survives its bytes, and no other does",
           a_table_survives_its_bytes_and_no_other_does},
          {"the format before is read", the_format_before_is_read},
          {"a new agent gets its share", a_new_agent_gets_its_share},
          {"a drained agent has nothing", a_drained_agent_has_nothing},
          {"one slot moves", one_slot_moves},
          {"a lost agent gets back what it was sending",
           a_lost_agent_gets_back_what_it_was_sending},
          {"random changes keep every slot", random_changes_keep_every_slot},
          {"an agent that comes takes its share of addresses, and no other",
           an_agent_that_comes_takes_its_share_of_addresses_and_no_other})
