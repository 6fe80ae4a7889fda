/* The end of a crawl that is found by agents, and those of whom it is too late to ask. */
#include "bucket_fixture.h"
#include "cluster/desk/end_desk.h"
#include "parse/host/domain.h"
#include "unit.h"

#define SESSION 7 /* of agent 1, whose desk it is */

typedef struct Desk {
    BucketSeen seen;
    Transport transport;
    unsigned n_requests;
    uint64_t request;
    NodeLink link;
    Members members;
    ClusterTable table;
    EndDesk end;
    EndReport report;
    int64_t ms;
} Desk;

static Desk desk;

static Result request(void *state, const char *subject, const void *bytes, size_t length,
                      uint64_t token)
{
    (void)state;
    (void)subject;
    (void)bytes;
    (void)length;
    desk.n_requests++;
    desk.request = token;
    return RESULT_OK;
}

static MonoTime now(void)
{
    return (MonoTime){.ns = desk.ms * 1000000};
}

/* Of agents 0 and 1; who they are is in the table. */
static void begin(bool idle)
{
    const uint8_t uuid[CLUSTER_UUID_BYTES] = {1};
    desk = (Desk){.report = {.idle = idle}, .ms = 1000};
    desk.transport =
        (Transport){.state = &desk.seen, .get = bucket_get, .put = bucket_put, .request = request};
    node_link_init(&desk.link, &desk.transport, "test");
    desk.link.up = true;
    desk.link.head.from = 1;
    desk.link.head.session = SESSION;
    members_init(&desk.members, &desk.link);
    CU_ASSERT_EQUAL_FATAL(members_resize(&desk.members, 2, (MonoTime){0}), RESULT_OK);
    desk.table = (ClusterTable){.epoch = 0};
    CU_ASSERT_EQUAL_FATAL(cluster_table_create(&desk.table, uuid, domain_list_sha1(), 2),
                          RESULT_OK);
    desk.table.agents[0].claimed = desk.table.agents[1].claimed = 1;
    desk.link.table = &desk.table;
    desk.link.members = &desk.members;
    end_desk_init(&desk.end, &desk.link);
    CU_ASSERT_EQUAL_FATAL(end_desk_set(&desk.end), RESULT_OK);
    end_desk_up(&desk.end, now());
}

static void end(void)
{
    end_desk_destroy(&desk.end);
    members_destroy(&desk.members);
    node_link_destroy(&desk.link);
    cluster_table_destroy(&desk.table);
}

static void pass(int64_t ms)
{
    desk.ms += ms;
    key_work(&desk.end.key, now());
    end_desk_work(&desk.end, &desk.report, now());
}

static EndVerdict take(const TransportEvent *event)
{
    NodeMessage in;
    CU_ASSERT_TRUE(node_link_open(&desk.link, event, &in));
    return end_desk_take(&desk.end, &in, &desk.report, now());
}

/* The desk looks, and sees a verdict for sessions of agents 0 and 1; or no verdict. */
static uint64_t revision = 4;

static EndVerdict see(EndVerdict verdict, uint64_t first, uint64_t second)
{
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    WireWriter writer = wire_writer(&bytes);
    wire_put_number(&writer, verdict, 1);
    wire_put_varint(&writer, 2);
    for (uint16_t i = 0; i < 2; i++) {
        wire_put_number(&writer, i, 2);
        wire_put_number(&writer, i == 0 ? first : second, 8);
    }
    key_changed(&desk.end.key, now());
    pass(1);
    TransportEvent *event = transport_event_new(TRANSPORT_VALUE, desk.seen.last_get, NULL, NULL,
                                                bytes.data, bytes.length);
    event->revision = revision;
    EndVerdict told = take(event);
    transport_event_delete(event);
    buffer_destroy(&bytes);
    return told;
}

/* What the desk has put is there. */
static void stored(uint64_t as)
{
    TransportEvent *event =
        transport_event_new(TRANSPORT_STORED, desk.seen.last, NULL, NULL, NULL, 0);
    event->revision = as;
    CU_ASSERT_EQUAL(take(event), END_NOT_YET);
    transport_event_delete(event);
}

/* The record of agent 0 was looked at: it says which process was the last. */
static void tell_record(uint64_t session)
{
    MemberRecord record = {.session = session, .state = MEMBER_STOPPED};
    uint16_t agent = 0;
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(member_record_write(&record, &(Buffer){.length = 0}, &bytes), RESULT_OK);
    TransportEvent *event = transport_event_new(TRANSPORT_VALUE, desk.seen.last_get, NULL, NULL,
                                                bytes.data, bytes.length);
    event->revision = 3;
    (void)members_take(&desk.members, event, now(), &agent);
    transport_event_delete(event);
    buffer_destroy(&bytes);
}

/* Agent 0 is asked, and is not there: its record is looked at. */
static void nobody(uint64_t session)
{
    TransportEvent *event = transport_event_new(TRANSPORT_NOBODY, desk.request, NULL, NULL, "", 0);
    (void)take(event);
    transport_event_delete(event);
    tell_record(session);
}

/* All that the desk says and hears in a round with agent 0 away, whose last process was this. */
static void round_with(uint64_t session)
{
    unsigned before = desk.n_requests;
    pass(1000);
    CU_ASSERT_EQUAL(desk.n_requests, before + 1);
    nobody(session);
    pass(1);
}

static void it_is_final_for_whom_it_names(void)
{
    begin(true);
    CU_ASSERT_EQUAL(see(END_LIMIT, 5, SESSION), END_NOT_YET); /* somebody may veto it */
    pass(END_GRACE_MS - 10);
    CU_ASSERT_EQUAL(see(END_LIMIT, 5, SESSION), END_NOT_YET);
    revision = 5; /* it was written again: it has to stand again */
    pass(END_GRACE_MS);
    CU_ASSERT_EQUAL(see(END_FINISHED, 5, SESSION), END_NOT_YET);
    pass(END_GRACE_MS);
    CU_ASSERT_EQUAL(see(END_FINISHED, 5, SESSION), END_FINISHED);
    revision = 4;
    CU_ASSERT_EQUAL(desk.seen.n_puts, 0);
    end();
}

/* Whoever has written it: those who have ended since are those who have stopped. */
static void who_has_work_vetoes_it(void)
{
    begin(false);
    CU_ASSERT_EQUAL(see(END_FINISHED, 5, SESSION), END_NOT_YET);
    CU_ASSERT_EQUAL(desk.seen.n_puts, 1);
    CU_ASSERT_EQUAL(desk.seen.expected, 4);
    TransportEvent *event =
        transport_event_new(TRANSPORT_VALUE, 0, NULL, NULL, desk.seen.value, desk.seen.length);
    stored(5);
    pass(END_GRACE_MS + 1);
    event->token = desk.seen.last_get;
    event->revision = 5;
    desk.report.idle = true;
    CU_ASSERT_EQUAL(take(event), END_NOT_YET);
    transport_event_delete(event);
    pass(END_ALONE_MS);
    members_look_at(&desk.members, 0);
    tell_record(5); /* agent 0 has stopped: it believed the verdict */
    round_with(5);
    round_with(5);
    CU_ASSERT_EQUAL(desk.end.found, END_FINISHED);
    end();
}

static void it_is_nothing_to_a_process_that_was_started_since(void)
{
    for (int idle = 0; idle <= 1; idle++) {
        begin(idle != 0);
        CU_ASSERT_EQUAL(see(END_LIMIT, 5, SESSION - 1), END_NOT_YET);
        CU_ASSERT_EQUAL(see(END_FINISHED, 5, SESSION - 1), END_NOT_YET);
        CU_ASSERT_EQUAL(desk.seen.n_puts, 0);
        end();
    }
}

static void who_is_left_alone_ends_by_itself(void)
{
    static const EndVerdict verdicts[] = {END_FINISHED, END_LIMIT, END_TAIL};
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        begin(true);
        (void)see(verdicts[i], 5, SESSION - 1);
        members_look_at(&desk.members, 0);
        tell_record(5);
        pass(END_ALONE_MS - 2000);
        CU_ASSERT_EQUAL(desk.n_requests, 0); /* they may be on their way */
        pass(2000);
        nobody(5);
        pass(1);
        round_with(5);
        CU_ASSERT_EQUAL(desk.end.found, verdicts[i]);
        (void)see(verdicts[i], 5, SESSION - 1);
        CU_ASSERT_EQUAL_FATAL(desk.seen.n_puts, 1);
        CU_ASSERT_EQUAL(desk.seen.expected, 4);
        TransportEvent *event =
            transport_event_new(TRANSPORT_VALUE, 0, NULL, NULL, desk.seen.value, desk.seen.length);
        stored(5);
        pass(1);
        event->token = desk.seen.last_get;
        event->revision = 5;
        CU_ASSERT_EQUAL(take(event), END_NOT_YET);
        pass(END_GRACE_MS);
        event->token = desk.seen.last_get;
        CU_ASSERT_EQUAL(take(event), verdicts[i]);
        transport_event_delete(event);
        end();
    }
}

/* Agent 0 runs again, or was stopped by somebody: it is waited for. */
static void whom_it_does_not_name_is_waited_for(void)
{
    begin(true);
    (void)see(END_FINISHED, 5, SESSION - 1);
    members_look_at(&desk.members, 0);
    tell_record(5);
    pass(END_ALONE_MS + 1);
    CU_ASSERT_EQUAL(desk.n_requests, 1);
    for (unsigned i = 0; i < 20; i++) {
        nobody(6);
        pass(20000);
        CU_ASSERT_EQUAL(desk.end.found, END_NOT_YET);
    }
    end();
    begin(true);
    (void)see(END_NOT_YET, 5, SESSION - 1);
    members_look_at(&desk.members, 0);
    tell_record(5);
    pass(END_ALONE_MS + 20000);
    CU_ASSERT_EQUAL(desk.n_requests, 0); /* the lowest agent is not this one */
    end();
}

/* It has found the end, and cannot write it before there is work again. */
static void what_was_found_long_ago_is_not_written(void)
{
    begin(true);
    desk.end.owners.n = 1;
    desk.end.owners.agents[0] = 1;
    pass(1);
    pass(1000);
    CU_ASSERT_EQUAL(desk.end.found, END_FINISHED);
    pass(60000);
    CU_ASSERT_EQUAL(desk.end.found, END_FINISHED); /* again: nothing has changed */
    desk.report.idle = false;
    pass(1000);
    CU_ASSERT_EQUAL(see(END_NOT_YET, 0, 0), END_NOT_YET);
    CU_ASSERT_EQUAL(desk.seen.n_puts, 0);
    end();
}

/* Agent 0 was never started: a limit that is used up ends the crawl without it, nothing else does.
 */
static void one_that_never_started_is_waited_for_unless_a_limit_is_used_up(void)
{
    for (int spent = 0; spent <= 1; spent++) {
        begin(true);
        desk.table.agents[0].claimed = 0;
        desk.report = (EndReport){.idle = spent == 0, .spent = spent != 0};
        for (unsigned i = 0; i < 20; i++) {
            pass(600);
        }
        CU_ASSERT_EQUAL(desk.end.found, spent == 0 ? END_NOT_YET : END_LIMIT);
        end();
    }
}

UNIT_MAIN("end_desk", {"a verdict is final for whom it names", it_is_final_for_whom_it_names},
          {"who has work vetoes it", who_has_work_vetoes_it},
          {"it is nothing to a process that was started since",
           it_is_nothing_to_a_process_that_was_started_since},
          {"who is left alone ends by itself", who_is_left_alone_ends_by_itself},
          {"whom it does not name is waited for", whom_it_does_not_name_is_waited_for},
          {"what was found long ago is not written", what_was_found_long_ago_is_not_written},
          {"one that never started is waited for, unless a limit is used up",
           one_that_never_started_is_waited_for_unless_a_limit_is_used_up})
