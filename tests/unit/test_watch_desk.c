#include <string.h>

#include "cluster/desk/watch_desk.h"
#include "unit.h"

/* Two agents, whose questions and answers the test carries by hand. */

static uint64_t asked; /* token of the last question */
static unsigned n_asked;
static Members members;

static Result note_request(void *state, const char *subject, const void *bytes, size_t length,
                           uint64_t token)
{
    (void)state;
    (void)subject;
    (void)bytes;
    (void)length;
    asked = token;
    n_asked++;
    return RESULT_OK;
}

static const Transport transport = {.request = note_request};

static MonoTime at(int64_t ms)
{
    return (MonoTime){(1000 + ms) * 1000000};
}

static void begin(WatchDesk *desk, NodeLink *link)
{
    n_asked = 0;
    node_link_init(link, &transport, "x");
    link->head.from = 0;
    link->up = true;
    members_init(&members, link);
    CU_ASSERT_EQUAL(members_resize(&members, 2, at(0)), RESULT_OK);
    link->members = &members;
    watch_desk_init(desk, link, NULL);
    watch_desk_set(desk, at(0));
}

/* Agent 1 answers the last question, by its clock. */
static bool answers(WatchDesk *desk, NodeLink *link, int64_t clock_ms, MonoTime now)
{
    NodeLink other;
    node_link_init(&other, link->transport, "x");
    other.head = link->head;
    other.head.from = 1;
    WireWriter writer = node_link_begin(&other);
    wire_put_number(&writer, 0, 8);
    wire_put_string(&writer, "", 0);
    wire_put_number(&writer, (uint64_t)clock_ms, 8);
    TransportEvent *event =
        transport_event_new(TRANSPORT_ANSWER, asked, NULL, NULL, other.out.data, other.out.length);
    NodeMessage in;
    CU_ASSERT_TRUE(node_link_open(link, event, &in));
    bool slept = watch_desk_take(desk, &in, now);
    transport_event_delete(event);
    node_link_destroy(&other);
    return slept;
}

static void a_pause_that_our_clock_does_not_show_is_found(void)
{
    WatchDesk desk;
    NodeLink link;
    begin(&desk, &link);
    watch_desk_work(&desk, true, at(0));
    CU_ASSERT_EQUAL(n_asked, 1);
    CU_ASSERT_FALSE(answers(&desk, &link, 500000, at(3)));
    unsigned looks = n_asked;
    /* 20 s pass, of which our clock counts 400 ms: two looks. */
    for (int64_t ms = PULSE_MS; n_asked == looks; ms += PULSE_MS) {
        watch_desk_work(&desk, true, at(ms));
        CU_ASSERT_TRUE(ms <= 2 * PULSE_MS);
    }
    CU_ASSERT_TRUE(answers(&desk, &link, 520400, at(2 * PULSE_MS + 3)));
    /* Once. */
    watch_desk_work(&desk, true, at(4 * PULSE_MS));
    watch_desk_work(&desk, true, at(5 * PULSE_MS));
    CU_ASSERT_FALSE(answers(&desk, &link, 520900, at(5 * PULSE_MS + 3)));
    node_link_destroy(&link);
    members_destroy(&members);
}

static void slow_messages_are_no_pause(void)
{
    WatchDesk desk;
    NodeLink link;
    uint64_t clock_ms = 7;
    begin(&desk, &link);
    for (int64_t ms = 0; ms < 60000; ms += 100) {
        watch_desk_work(&desk, true, at(ms));
        /* Answers are up to a second on their way, there or back. */
        int64_t there = (ms * 7919) % 1000;
        if (ms % 1000 == 0) {
            clock_ms = (uint64_t)(ms + there);
            CU_ASSERT_FALSE(answers(&desk, &link, (int64_t)clock_ms, at(ms + 1000)));
        }
    }
    CU_ASSERT_TRUE(n_asked > 50);
    node_link_destroy(&link);
    members_destroy(&members);
}

static void another_process_of_the_other_is_no_pause(void)
{
    WatchDesk desk;
    NodeLink link;
    begin(&desk, &link);
    watch_desk_work(&desk, true, at(0));
    CU_ASSERT_FALSE(answers(&desk, &link, 900000, at(3)));
    watch_desk_work(&desk, true, at(200));
    watch_desk_work(&desk, true, at(400));
    CU_ASSERT_FALSE(answers(&desk, &link, 5, at(403))); /* its machine has begun anew */
    node_link_destroy(&link);
    members_destroy(&members);
}

/* The number of a message about leases that was written then. */
static uint64_t number_at(int64_t clock_ms)
{
    return (uint64_t)clock_ms * 1000000 >> LEASE_TICK_BITS;
}

/* A message about leases comes from agent 1. */
static bool hears(WatchDesk *desk, uint64_t number, MonoTime now)
{
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    WireWriter writer = wire_writer(&bytes);
    wire_put_number(&writer, number, 8);
    NodeMessage in = {
        .says = true, .head = {.from = 1}, .body = wire_reader(bytes.data, bytes.length)};
    bool slept = watch_desk_hear(desk, &in, now);
    buffer_destroy(&bytes);
    return slept;
}

static void messages_about_leases_show_a_pause(void)
{
    WatchDesk desk;
    NodeLink link;
    begin(&desk, &link);
    watch_desk_work(&desk, true, at(0));
    CU_ASSERT_FALSE(answers(&desk, &link, 500000, at(3)));
    for (int64_t ms = 20; ms < PULSE_FIRST_MS; ms += 20) {
        CU_ASSERT_FALSE(hears(&desk, number_at(500000 + ms - 20), at(ms)));
        watch_desk_work(&desk, true, at(ms));
    }
    CU_ASSERT_EQUAL(n_asked, 1);
    watch_desk_work(&desk, true, at(PULSE_FIRST_MS));
    CU_ASSERT_EQUAL(n_asked, 2); /* it must not become too old */
    CU_ASSERT_FALSE(answers(&desk, &link, 500000 + PULSE_FIRST_MS, at(PULSE_FIRST_MS + 3)));
    CU_ASSERT_FALSE(hears(&desk, 17, at(PULSE_FIRST_MS + 4))); /* no clock */
    CU_ASSERT_TRUE(hears(&desk, number_at(504000), at(PULSE_FIRST_MS + 5)));
    CU_ASSERT_FALSE(hears(&desk, number_at(504001), at(PULSE_FIRST_MS + 6)));
    node_link_destroy(&link);
    members_destroy(&members);
}

/* What it costs when the network ends with the pause: nobody can show it then. */
static void leases_are_not_used_for_long_without_a_word(void)
{
    WatchDesk desk;
    NodeLink link;
    begin(&desk, &link);
    CU_ASSERT_FALSE(watch_desk_work(&desk, true, at(0)));
    watch_desk_heard(&desk, at(1000));
    link.up = false;
    CU_ASSERT_FALSE(watch_desk_work(&desk, true, at(1000 + PULSE_DEAF_MS - 1)));
    CU_ASSERT_EQUAL(watch_desk_next(&desk).ns, at(1000 + PULSE_DEAF_MS).ns);
    CU_ASSERT_TRUE(watch_desk_work(&desk, true, at(1000 + PULSE_DEAF_MS)));
    CU_ASSERT_FALSE(watch_desk_work(&desk, true, at(1001 + PULSE_DEAF_MS))); /* once */
    CU_ASSERT_EQUAL(watch_desk_next(&desk).ns, MONO_NEVER.ns);
    /* Those that are held next are as good as the word that brought them. */
    CU_ASSERT_FALSE(watch_desk_work(&desk, false, at(20000)));
    CU_ASSERT_FALSE(watch_desk_work(&desk, true, at(30000)));
    CU_ASSERT_TRUE(watch_desk_work(&desk, true, at(30000 + PULSE_DEAF_MS)));
    watch_desk_heard(&desk, at(40000));
    CU_ASSERT_FALSE(watch_desk_work(&desk, true, at(40001)));
    node_link_destroy(&link);
    members_destroy(&members);
}

static void who_holds_nothing_asks_nothing(void)
{
    WatchDesk desk;
    NodeLink link;
    begin(&desk, &link);
    for (int64_t ms = 0; ms < 5000; ms += 100) {
        watch_desk_work(&desk, false, at(ms));
    }
    CU_ASSERT_EQUAL(n_asked, 0);
    node_link_destroy(&link);
    members_destroy(&members);
}

UNIT_MAIN("watch desk",
          {"a pause that our clock does not show is found",
           a_pause_that_our_clock_does_not_show_is_found},
          {"so do messages about leases, and little is asked then",
           messages_about_leases_show_a_pause},
          {"slow messages are no pause", slow_messages_are_no_pause},
          {"another process of the other is no pause", another_process_of_the_other_is_no_pause},
          {"leases are not used for long without a word",
           leases_are_not_used_for_long_without_a_word},
          {"who holds nothing asks nothing", who_holds_nothing_asks_nothing})
