/* Pauses between requests, each judged by the one before it; what was in force, and what is due. */
#include <string.h>

#include "audit/audit_delays.h"
#include "dice.h"
#include "folder_fixture.h"
#include "unit.h"

#define DAY INT64_C(1769860800000000)

typedef struct World {
    AuditDelays delays;
    AuditPauses pauses;
    AuditFindings findings;
    AuditHosts hosts;
    AuditHost *host;
    AuditAddress *address;
} World;

static void begin(World *world)
{
    *world = (World){.delays = {.is_known = false}};
    world->pauses.delays = &world->delays;
    bool is_new = false;
    IpAddress ip;
    CU_ASSERT_EQUAL(ip_address_parse("192.0.2.1", 9, &ip), RESULT_OK);
    world->host = audit_hosts_find(&world->hosts, (LogText){"http://a", 8}, &is_new);
    world->address = audit_hosts_find_address(&world->hosts, &ip, &is_new);
    CU_ASSERT_TRUE_FATAL(world->host != NULL && world->address != NULL);
}

static void end(World *world)
{
    audit_findings_destroy(&world->findings);
    audit_hosts_destroy(&world->hosts);
}

/* A request in [start, end] ms that owes so much behind it; nothing else is known. */
static AuditFetch fetch_of(World *world, int64_t start, int64_t stop, int64_t owes)
{
    return (AuditFetch){.host = world->host,
                        .address = world->address,
                        .place = {.line = (uint64_t)start + 1},
                        .boot = 1,
                        .mono_start = start * 1000,
                        .mono_end = stop * 1000,
                        .at_once = -1,
                        .burst = -1,
                        .keep_alive_ms = -1,
                        .start = {DAY + start * 1000},
                        .end = {DAY + stop * 1000},
                        .owed = -1,
                        .given = -1,
                        .owes_host = owes,
                        .owes_ip = owes,
                        .host_asks = -1,
                        .ip_asks = -1,
                        .status = 200,
                        .learned_ms = -1,
                        .delay_ms = -1,
                        .crawl_delay = -1,
                        .is_selected = true};
}

static void a_pause_is_as_long_as_the_request_before_it_left(void)
{
    for (int64_t given = 998; given <= 1001; given++) {
        World world;
        begin(&world);
        AuditFetch first = fetch_of(&world, 0, 10, 1000);
        AuditFetch second = fetch_of(&world, 10 + given, 2000, 1000);
        AuditPause none = audit_pauses_add(&world.pauses, &first, &world.findings);
        CU_ASSERT_TRUE(none.host == -1 && none.address == -1);
        AuditPause pause = audit_pauses_add(&world.pauses, &second, &world.findings);
        CU_ASSERT_TRUE(pause.host == given && pause.host_owed == 1000);
        CU_ASSERT_TRUE(pause.address == given && pause.address_owed == 1000);
        CU_ASSERT_EQUAL(world.findings.count[BREACH_HOST_PAUSE], given < 1000);
        CU_ASSERT_EQUAL(world.findings.count[BREACH_IP_PAUSE], given < 1000);
        CU_ASSERT_EQUAL(audit_findings_total(&world.findings), given < 1000 ? 2 : 0);
        CU_ASSERT_EQUAL(world.host->subject.closest.slack, given - 1000);
        CU_ASSERT_TRUE(world.pauses.judged_hosts == 1 && world.pauses.judged_addresses == 1);
        end(&world);
    }
}

static void an_overlap_is_a_breach_and_a_rounding_is_none(void)
{
    static const struct {
        int64_t start_us; /* of the second; the first ends at 10 000 */
        bool is_exact;
        bool is_breach;
    } rows[] = {
        {10000, true, false}, {9999, true, true}, {9001, false, false}, {9000, false, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        World world;
        begin(&world);
        AuditFetch first = fetch_of(&world, 0, 10, 0);
        AuditFetch second = fetch_of(&world, 10, 20, 0);
        second.mono_start = rows[i].start_us;
        second.is_exact = rows[i].is_exact;
        (void)audit_pauses_add(&world.pauses, &first, &world.findings);
        (void)audit_pauses_add(&world.pauses, &second, &world.findings);
        CU_ASSERT_EQUAL(world.findings.count[BREACH_AT_ONCE], rows[i].is_breach);
        end(&world);
    }
}

static void what_is_stated_is_held_against_the_times_and_the_settings(void)
{
    World world;
    begin(&world);
    AuditFetch first = fetch_of(&world, 0, 10, 500);
    first.host_asks = 501; /* it left less than it had to */
    (void)audit_pauses_add(&world.pauses, &first, &world.findings);
    CU_ASSERT_EQUAL(world.findings.count[BREACH_OWED], 1);
    AuditFetch second = fetch_of(&world, 610, 620, 0);
    second.owed = 500;
    second.given = 602; /* 600 by its times */
    (void)audit_pauses_add(&world.pauses, &second, &world.findings);
    CU_ASSERT_EQUAL(world.findings.count[BREACH_STATED], 1);
    AuditFetch third = fetch_of(&world, 700, 710, 0);
    third.given = 70; /* a request in between is not in the log */
    third.is_selected = false;
    (void)audit_pauses_add(&world.pauses, &third, &world.findings);
    CU_ASSERT_EQUAL(world.pauses.missing, 0); /* nobody asks about it */
    AuditFetch fourth = fetch_of(&world, 800, 810, -1);
    fourth.given = 70;
    (void)audit_pauses_add(&world.pauses, &fourth, &world.findings);
    CU_ASSERT_EQUAL(world.pauses.missing, 1);
    AuditFetch fifth = fetch_of(&world, 810, 820, 0);
    AuditPause pause = audit_pauses_add(&world.pauses, &fifth, &world.findings);
    CU_ASSERT_TRUE(pause.host_owed == -1 && world.pauses.not_owed == 2);
    CU_ASSERT_EQUAL(audit_findings_total(&world.findings), 2);
    end(&world);
}

/* Intervals that were made for n connections fit them, whatever the order, and one more does not.
 */
static void no_more_are_in_flight_than_may_be(void)
{
    Dice dice = {.state = 31};
    for (unsigned round = 0; round < 200; round++) {
        World world;
        begin(&world);
        unsigned n = 2 + (unsigned)dice_below(&dice, 3);
        int64_t free_at[4] = {0};
        AuditFetch last = {0};
        for (int64_t stop = 1; stop < 40; stop++) { /* in the order of their ends */
            size_t i = (size_t)dice_below(&dice, n);
            int64_t start = free_at[i] + (int64_t)dice_below(&dice, (uint64_t)(stop - free_at[i]));
            last = fetch_of(&world, start, stop, 0);
            last.at_once = n;
            (void)audit_pauses_add(&world.pauses, &last, &world.findings);
            free_at[i] = stop;
        }
        CU_ASSERT_EQUAL(audit_findings_total(&world.findings), 0);
        for (unsigned i = 0; i < n; i++) { /* n at the same time, and one too many */
            AuditFetch more = fetch_of(&world, 100, 200 + i, 0);
            more.at_once = n;
            (void)audit_pauses_add(&world.pauses, &more, &world.findings);
        }
        CU_ASSERT_EQUAL(audit_findings_total(&world.findings), 0);
        AuditFetch more = fetch_of(&world, 199, 300, 0);
        more.at_once = n;
        (void)audit_pauses_add(&world.pauses, &more, &world.findings);
        CU_ASSERT_EQUAL(world.findings.count[BREACH_AT_ONCE], 1);
        end(&world);
    }
}

static void over_a_restart_of_the_machine_the_wall_clock_counts(void)
{
    World world;
    begin(&world);
    AuditFetch first = fetch_of(&world, 5000, 5010, 1000);
    AuditFetch second = fetch_of(&world, 0, 10, 0);
    second.boot = 2;
    second.start = (WallTime){DAY + 6010 * 1000};
    (void)audit_pauses_add(&world.pauses, &first, &world.findings);
    AuditPause pause = audit_pauses_add(&world.pauses, &second, &world.findings);
    CU_ASSERT_EQUAL(pause.host, 1000);
    CU_ASSERT_EQUAL(world.pauses.by_wall_clock, 2);
    CU_ASSERT_EQUAL(audit_findings_total(&world.findings), 0);
    end(&world);
}

#define CONFIG                                                                                     \
    "[politeness]\nhost_delay = 2s\nip_delay = 500ms\ncrawl_delay_max = 1m\n"                      \
    "[site \"slow.example\"]\npoliteness.host_delay = 9s\n"
#define LOG                                                                                        \
    "2026-01-31T11:00:00.000Z INFO  main config: is new x=1\n"                                     \
    "2026-01-31T12:00:10.000Z INFO  main config: changed key=politeness.host_delay old=\"5s\" "    \
    "new=\"2s\" who=uid=0\n"                                                                       \
    "2026-01-31T12:00:20.000Z INFO  main agent: host changed by an operator host=a wish=visit "    \
    "who=uid=0\n"                                                                                  \
    "2026-01-31T12:00:21.000Z INFO  main agent: host changed by an operator host=b wish=drop\n"

static void what_was_in_force_is_found_by_going_back(void)
{
    char folder[FOLDER_BYTES];
    Buffer error = {.limit = 4096};
    World world;
    begin(&world);
    folder_make(folder);
    CU_ASSERT_EQUAL(audit_delays_read(&world.delays, folder, &error), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(audit_delays_now(&world.delays, "http://a").least_ms, -1);
    CU_ASSERT_EQUAL(audit_delays_of_robots(&world.delays, 5), -1);
    audit_delays_destroy(&world.delays);
    folder_put(folder, "in-force.ini", CONFIG, sizeof CONFIG - 1);
    folder_put(folder, "ragno.log", LOG, sizeof LOG - 1);
    CU_ASSERT_EQUAL_FATAL(audit_delays_read(&world.delays, folder, &error), RESULT_OK);
    const AuditDelays *delays = &world.delays;
    CU_ASSERT_EQUAL(audit_delays_now(delays, "http://a").least_ms, 2000);
    CU_ASSERT_EQUAL(audit_delays_now(delays, "http://slow.example:81").least_ms, 9000);
    CU_ASSERT_EQUAL(audit_delays_of_robots(delays, 59999), 59999);
    CU_ASSERT_EQUAL(audit_delays_of_robots(delays, 60001), 60000);
    CU_ASSERT_EQUAL(audit_delays_of_robots(delays, -1), -1);
    world.host->force = audit_delays_now(delays, "http://a");
    static const struct {
        int64_t from_s;
        int64_t until_s;
        int64_t least_ms;
        int64_t most_ms;
    } rows[] = {{0, 8, 5000, 5000},
                {0, 9, 2000, 5000},
                {5, 15, 2000, 5000},
                {11, 12, 2000, 5000},
                {12, 30, 2000, 2000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AuditForce force =
            audit_delays_in_force(delays, world.host, (WallTime){DAY + rows[i].from_s * 1000000},
                                  (WallTime){DAY + rows[i].until_s * 1000000});
        CU_ASSERT_EQUAL(force.least_ms, rows[i].least_ms);
        CU_ASSERT_EQUAL(force.most_ms, rows[i].most_ms);
        CU_ASSERT_EQUAL(force.has_changed, rows[i].least_ms != rows[i].most_ms);
    }
    AuditFetch fetch = fetch_of(&world, 12000, 12010, 0);
    WallTime before = {DAY + 9000000};
    CU_ASSERT_EQUAL(audit_delays_due(delays, &fetch, before, 5000), 2000); /* it was shortened */
    CU_ASSERT_EQUAL(audit_delays_due(delays, &fetch, before, 1000), 1000);
    CU_ASSERT_EQUAL(audit_delays_due(delays, &fetch, before, 60000), 60000); /* a rest */
    CU_ASSERT_EQUAL(audit_delays_due(delays, &fetch, before, -1), -1);
    fetch.crawl_delay = 4000;
    CU_ASSERT_EQUAL(audit_delays_due(delays, &fetch, before, 5000), 4000);
    CU_ASSERT_EQUAL(audit_delays_ordered(delays, &fetch, before), -1);
    AuditFetch wanted = fetch_of(&world, 20500, 20510, 0);
    CU_ASSERT_EQUAL(audit_delays_ordered(delays, &wanted, (WallTime){DAY + 15000000}), 2000);
    CU_ASSERT_EQUAL(audit_delays_ordered(delays, &wanted, (WallTime){DAY + 20400000}), -1);
    CU_ASSERT_EQUAL(delays->changes.n_orders, 1);
    audit_delays_destroy(&world.delays);
    folder_remove(folder);
    buffer_destroy(&error);
    end(&world);
}

UNIT_MAIN("audit_delays",
          {"a pause is as long as the request before it left",
           a_pause_is_as_long_as_the_request_before_it_left},
          {"an overlap is a breach and a rounding is none",
           an_overlap_is_a_breach_and_a_rounding_is_none},
          {"what is stated is held against the times and the settings",
           what_is_stated_is_held_against_the_times_and_the_settings},
          {"no more are in flight than may be", no_more_are_in_flight_than_may_be},
          {"over a restart of the machine the wall clock counts",
           over_a_restart_of_the_machine_the_wall_clock_counts},
          {"what was in force is found by going back", what_was_in_force_is_found_by_going_back})
