/* Alerts: what is told, once, and what becomes of the command. */
#include "crawl/run/alerts.h"

#include <poll.h>
#include <string.h>

#include "folder_fixture.h"
#include "unit.h"

#define PATIENCE_MS 60000

typedef struct World {
    char directory[FOLDER_BYTES];
    char command[256];
    char told[65536];
    Stats stats;
    Alerts alerts;
    StatusSample before;
    StatusSample now;
} World;

static World world;

static MonoTime after_s(int64_t seconds)
{
    return mono_add_ms(world.before.mono, seconds * 1000);
}

/* The command runs in the directory. */
static void set_up(const char *command)
{
    memset(&world, 0, sizeof world);
    folder_make(world.directory);
    if (*command != '\0') {
        (void)snprintf(world.command, sizeof world.command, "cd %s && { %s; }", world.directory,
                       command);
    }
    world.before = (StatusSample){.stats = &world.stats, .mono = mono_now(), .urls_queued = 5};
    world.now = world.before;
    alerts_init(&world.alerts, world.command, "my-crawl", PATIENCE_MS, world.before.mono);
}

static void tear_down(void)
{
    alerts_destroy(&world.alerts);
    folder_remove(world.directory);
}

/* What the command has written so far, when all that waits was told. */
static const char *told(void)
{
    char path[128];
    while (world.alerts.next.ns != MONO_NEVER.ns) {
        alerts_tick(&world.alerts, world.now.mono);
        (void)poll(NULL, 0, 1);
    }
    (void)snprintf(path, sizeof path, "%s/told", world.directory);
    FILE *file = fopen(path, "r");
    size_t n = file == NULL ? 0 : fread(world.told, 1, sizeof world.told - 1, file);
    world.told[n] = '\0';
    if (file != NULL) {
        (void)fclose(file);
        CU_ASSERT_EQUAL(remove(path), 0);
    }
    return world.told;
}

static void look_at_s(int64_t seconds)
{
    world.now.mono = after_s(seconds);
    alerts_look(&world.alerts, &world.before, &world.now);
}

static bool tells(const char *event, const char *state)
{
    char words[128];
    (void)snprintf(words, sizeof words, "{\"event\": \"%s\", \"state\": \"%s\", ", event, state);
    return strncmp(told(), words, strlen(words)) == 0 &&
           strchr(world.told, '\n') == world.told + strlen(world.told) - 1;
}

static void each_condition_is_told_when_it_begins_and_when_it_is_over(void)
{
    set_up("cat >> told");
    look_at_s(10);
    CU_ASSERT_STRING_EQUAL(told(), "");
    world.now.disk_low = true;
    look_at_s(20);
    CU_ASSERT_TRUE(tells("disk", "begins"));
    CU_ASSERT_PTR_NOT_NULL(strstr(world.told, "\"directory\": \"my-crawl\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(world.told, "\"limit\": \"disk\""));
    look_at_s(30);
    CU_ASSERT_STRING_EQUAL(told(), "");
    world.now.disk_low = false;
    world.now.pages = 1;
    look_at_s(40);
    CU_ASSERT_TRUE(tells("disk", "over"));
    look_at_s(99);
    CU_ASSERT_STRING_EQUAL(told(), "");
    look_at_s(101); /* no page for more than a minute */
    CU_ASSERT_TRUE(tells("stalled", "begins"));
    world.now.pages = 2;
    look_at_s(110);
    CU_ASSERT_TRUE(tells("stalled", "over"));
    world.now.network.state = OUTAGE_OUT;
    look_at_s(120);
    look_at_s(179);
    CU_ASSERT_STRING_EQUAL(told(), "");
    look_at_s(180);
    CU_ASSERT_TRUE(tells("network", "begins"));
    world.now.network.state = OUTAGE_CLEAR;
    world.now.pages = 3;
    look_at_s(190);
    CU_ASSERT_TRUE(tells("network", "over"));
    CU_ASSERT_EQUAL(world.alerts.n_told, 6);
    tear_down();
}

static void an_outage_that_is_short_is_not_told(void)
{
    set_up("cat >> told");
    world.now.resolver.outage = OUTAGE_OUT;
    look_at_s(10);
    world.now.resolver.outage = OUTAGE_CLEAR;
    look_at_s(50);
    world.now.resolver.outage = OUTAGE_OUT;
    look_at_s(55);
    look_at_s(100);
    CU_ASSERT_STRING_EQUAL(told(), "");
    tear_down();
}

static void a_crawl_that_is_paused_or_done_does_not_stall(void)
{
    set_up("cat >> told");
    world.now.state = STATE_PAUSED;
    look_at_s(1000);
    world.now.state = STATE_RUNNING;
    look_at_s(1010);
    CU_ASSERT_STRING_EQUAL(told(), "");
    world.now.urls_queued = 0;
    look_at_s(2000);
    CU_ASSERT_STRING_EQUAL(told(), "");
    tear_down();
}

/* In a span of control.alert_after; the one before says nothing any more. */
static void one_bad_answer_of_twenty_is_told(void)
{
    set_up("cat >> told");
    world.now.pages = world.now.by_status[2] = 1000;
    atomic_store(&world.stats.throttled, 50);
    look_at_s(60);
    CU_ASSERT_STRING_EQUAL(told(), "");
    world.now.pages = world.now.by_status[2] = 2000;
    atomic_store(&world.stats.throttled, 101);
    look_at_s(120);
    CU_ASSERT_TRUE(tells("throttled", "begins"));
    world.now.pages = world.now.by_status[2] = 3000;
    atomic_store(&world.stats.walls[WALL_FORBIDDEN], 51);
    look_at_s(180);
    (void)told();
    CU_ASSERT_PTR_NOT_NULL(strstr(world.told, "{\"event\": \"throttled\", \"state\": \"over\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(world.told, "{\"event\": \"walls\", \"state\": \"begins\""));
    tear_down();
}

static void a_command_that_hangs_is_ended(void)
{
    set_up("sleep 1000 & exec sleep 1000");
    world.now.disk_low = true;
    look_at_s(10);
    alerts_tick(&world.alerts, after_s(10));
    alerts_tick(&world.alerts, after_s(39));
    CU_ASSERT_EQUAL(world.alerts.n_failed, 0);
    alerts_tick(&world.alerts, after_s(41));
    CU_ASSERT_EQUAL(world.alerts.n_failed, 1);
    CU_ASSERT_EQUAL(world.alerts.next.ns, MONO_NEVER.ns);
    tear_down();
}

static void a_command_that_fails_is_counted(void)
{
    set_up("cat >> told; exit 3");
    world.now.disk_low = true;
    look_at_s(10);
    CU_ASSERT_TRUE(tells("disk", "begins"));
    CU_ASSERT_EQUAL(world.alerts.n_failed, 1);
    tear_down();
}

static void what_waits_is_bounded(void)
{
    set_up("exec sleep 1000");
    for (int i = 0; i < 100; i++) {
        world.now.disk_low = !world.now.disk_low;
        world.now.pages++;
        look_at_s(10 + i);
    }
    CU_ASSERT_EQUAL(world.alerts.n_failed, 100 - ALERTS_WAITING);
    tear_down();
}

static void who_is_in_a_hurry_does_not_wait(void)
{
    int ends[2];
    set_up("exec sleep 1000");
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL(write(ends[1], "x", 1), 1);
    alerts_end(&world.alerts, &world.before, &world.now);
    MonoTime begin = mono_now();
    alerts_wait(&world.alerts, ends[0]);
    CU_ASSERT_TRUE(mono_ms_between(begin, mono_now()) < ALERTS_COMMAND_MS / 2);
    CU_ASSERT_EQUAL(world.alerts.n_failed, 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
    tear_down();
}

/* All that is left waits for its hours: that is no trouble. */
static void a_night_without_hours_is_no_stall(void)
{
    set_up("cat >> told");
    world.now.hosts_with_work = world.now.hosts_waiting = 3;
    world.now.hosts_closed = 1;
    look_at_s(1000);
    CU_ASSERT_STRING_EQUAL(told(), "");
    world.now.hosts_closed = 0;
    look_at_s(1010);
    CU_ASSERT_TRUE(tells("stalled", "begins"));
    tear_down();
}

static void the_end_is_told_and_waited_for(void)
{
    set_up("sleep 0.2; cat >> told");
    world.now.state = STATE_FINISHED;
    alerts_end(&world.alerts, &world.before, &world.now);
    alerts_wait(&world.alerts, -1);
    CU_ASSERT_EQUAL(world.alerts.next.ns, MONO_NEVER.ns);
    CU_ASSERT_TRUE(tells("end", "ended"));
    CU_ASSERT_PTR_NOT_NULL(strstr(world.told, "\"state\": \"finished\""));
    tear_down();
    set_up("");
    alerts_end(&world.alerts, &world.before, &world.now); /* nobody wants to know */
    look_at_s(1000);
    CU_ASSERT_EQUAL(world.alerts.n_told + world.alerts.n_failed, 0);
    tear_down();
}

UNIT_MAIN("alerts",
          {"each condition is told when it begins and when it is over",
           each_condition_is_told_when_it_begins_and_when_it_is_over},
          {"an outage that is short is not told", an_outage_that_is_short_is_not_told},
          {"a crawl that is paused or done does not stall",
           a_crawl_that_is_paused_or_done_does_not_stall},
          {"one bad answer of twenty is told", one_bad_answer_of_twenty_is_told},
          {"a command that hangs is ended", a_command_that_hangs_is_ended},
          {"a command that fails is counted", a_command_that_fails_is_counted},
          {"what waits is bounded", what_waits_is_bounded},
          {"who is in a hurry does not wait", who_is_in_a_hurry_does_not_wait},
          {"a night without hours is no stall", a_night_without_hours_is_no_stall},
          {"the end is told and waited for", the_end_is_told_and_waited_for})
