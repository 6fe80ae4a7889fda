/* A directory joins a cluster: what becomes of one that a server has forgotten. */
#include <stdio.h>
#include <string.h>

#include "bucket_fixture.h"
#include "cluster/desk/members.h"
#include "cluster/node/node_join.h"
#include "parse/host/domain.h"
#include "cluster/message/membership.h"
#include "store_fixture.h"
#include "unit.h"

typedef struct Joining {
    BucketSeen seen;
    Transport transport;
    NodeLink link;
    NodeJoin join;
    ClusterTable ours;
    ClusterTable theirs;
    Buffer bytes;
} Joining;

/* The directory is agent 1 of a cluster of which it has the table, or not; the server has that of
 * another cluster. */
static void begin(Joining *j, bool has_table)
{
    const uint8_t old[CLUSTER_UUID_BYTES] = {1};
    const uint8_t new[CLUSTER_UUID_BYTES] = {2};
    MemberRecord record = {.life = 1};
    NodeIdentity identity = {.known = true, .self = 1, .life = 1, .token = 7};
    MonoTime now = {.ns = 1000};
    *j = (Joining){.transport = {.state = &j->seen,
                                 .get = bucket_get,
                                 .put = bucket_put,
                                 .request = bucket_request,
                                 .listen = bucket_listen}};
    memcpy(identity.uuid, old, sizeof old);
    j->ours = (ClusterTable){.epoch = 0};
    j->theirs = (ClusterTable){.epoch = 0};
    buffer_init(&j->bytes, BUFFER_NO_LIMIT);
    if (has_table) {
        CU_ASSERT_EQUAL_FATAL(cluster_table_create(&j->ours, old, domain_list_sha1(), 2),
                              RESULT_OK);
    }
    CU_ASSERT_EQUAL_FATAL(cluster_table_create(&j->theirs, new, domain_list_sha1(), 2), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(cluster_table_write(&j->theirs, &j->bytes), RESULT_OK);
    node_link_init(&j->link, &j->transport, "test");
    j->link.up = true;
    node_join_init(&j->join, &j->link, &identity, &j->ours, &record, "", 42);
    node_join_up(&j->join, now);
    node_join_work(&j->join, now);
}

static void answer(Joining *j, const void *bytes, size_t length, uint64_t revision)
{
    MonoTime now = {.ns = 2000};
    TransportEvent *event =
        transport_event_new(TRANSPORT_VALUE, j->seen.last, NULL, NULL, bytes, length);
    event->revision = revision;
    node_join_take(&j->join, event, now);
    transport_event_delete(event);
    node_join_work(&j->join, now);
}

/* What comes of the question to the former process. */
static void former(Joining *j, TransportEventKind kind)
{
    MonoTime now = {.ns = 2500};
    TransportEvent *event = transport_event_new(kind, j->seen.last, NULL, NULL, "", 0);
    node_join_take(&j->join, event, now);
    transport_event_delete(event);
    node_join_work(&j->join, now);
}

static void end(Joining *j)
{
    node_join_destroy(&j->join);
    node_link_destroy(&j->link);
    cluster_table_destroy(&j->ours);
    cluster_table_destroy(&j->theirs);
    buffer_destroy(&j->bytes);
}

static void without_a_table(void)
{
    Joining j;
    begin(&j, false);
    answer(&j, j.bytes.data, j.bytes.length, 1);
    CU_ASSERT_EQUAL(j.join.step, JOIN_RECORD);
    CU_ASSERT_FALSE(j.join.identity.known);
    CU_ASSERT_EQUAL(j.join.identity.self, 0); /* the first that is free */
    CU_ASSERT_EQUAL(memcmp(j.join.identity.uuid, j.theirs.uuid, CLUSTER_UUID_BYTES), 0);
    end(&j);
}

static void with_a_table(void)
{
    Joining j;
    begin(&j, true);
    answer(&j, j.bytes.data, j.bytes.length, 1);
    CU_ASSERT_TRUE(j.join.identity.known);
    answer(&j, NULL, 0, 0); /* nobody has a record */
    CU_ASSERT_EQUAL(j.join.step, JOIN_REFUSED);
    CU_ASSERT_PTR_NOT_NULL(strstr(j.join.why, "another crawl"));
    end(&j);
}

static void without_a_cluster(void)
{
    Joining j;
    begin(&j, false);
    answer(&j, NULL, 0, 0);
    CU_ASSERT_EQUAL(j.join.step, JOIN_REFUSED);
    CU_ASSERT_PTR_NOT_NULL(strstr(j.join.why, "`ragno cluster init` (again"));
    end(&j);
}

/* The server may have answered out of date: it looks again before it believes that. */
static void by_a_look_out_of_date(void)
{
    Joining j;
    MonoTime later = {.ns = INT64_C(5000000000)};
    begin(&j, false);
    j.join.stale_ms = 4000;
    answer(&j, NULL, 0, 0);
    CU_ASSERT_EQUAL(j.join.step, JOIN_TABLE);
    node_join_work(&j.join, later);
    TransportEvent *event = transport_event_new(TRANSPORT_VALUE, j.seen.last, NULL, NULL, NULL, 0);
    node_join_take(&j.join, event, later);
    transport_event_delete(event);
    CU_ASSERT_EQUAL(j.join.step, JOIN_REFUSED);
    end(&j);
}

static void answer_record(Joining *j, uint64_t token)
{
    MemberRecord record = {.life = 1, .incarnation = 1, .token = token, .machine = "other"};
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(member_record_write(&record, &(Buffer){.length = 0}, &bytes), RESULT_OK);
    answer(j, bytes.data, bytes.length, 3);
    buffer_destroy(&bytes);
}

/* Its claim was forgotten, and another directory has become its agent since. */
static void whose_agent_is_anothers(void)
{
    for (int has_table = 0; has_table <= 1; has_table++) {
        Joining j;
        begin(&j, has_table != 0);
        memcpy(j.join.identity.uuid, j.theirs.uuid, sizeof j.theirs.uuid);
        memcpy(j.ours.uuid, j.theirs.uuid, sizeof j.theirs.uuid);
        answer(&j, j.bytes.data, j.bytes.length, 1);
        CU_ASSERT_TRUE(j.join.identity.known && j.join.step == JOIN_RECORD);
        answer_record(&j, 99);
        CU_ASSERT_EQUAL(j.join.step, has_table ? JOIN_REFUSED : JOIN_RECORD);
        CU_ASSERT_EQUAL(j.join.identity.known, has_table != 0);
        CU_ASSERT_EQUAL(j.join.identity.self, has_table ? 1 : 0); /* the first that is free */
        end(&j);
    }
}

/* What a directory is that has written down which agent it is about to be, by token 5, and died. */
static void begin_again(Joining *j, uint64_t recorded)
{
    StoreFixture fixture;
    NodeIdentity identity = {.known = true, .self = 0, .life = 1, .next_token = 5};
    ClusterTable none = {.epoch = 0};
    begin(j, false);
    memcpy(identity.uuid, j->theirs.uuid, sizeof identity.uuid);
    store_fixture_open(&fixture);
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_EQUAL(node_place_write_identity(txn, fixture.store.crawl, &identity), RESULT_OK);
    CU_ASSERT_EQUAL(node_place_read(txn, fixture.store.crawl, &j->join.identity, &none), RESULT_OK);
    CU_ASSERT_FALSE(j->join.identity.known); /* whether it is an agent, the cluster knows */
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
    j->join.wanted = CLUSTER_NOBODY;
    answer(j, j->bytes.data, j->bytes.length, 1);
    CU_ASSERT_EQUAL(j->join.step, JOIN_RECORD);
    if (recorded != 0) {
        answer_record(j, recorded);
    } else {
        answer(j, NULL, 0, 0);
    }
}

static void of_two_that_begin(void)
{
    Joining j;
    begin_again(&j, 99); /* another directory was faster */
    CU_ASSERT_EQUAL(j.join.step, JOIN_RECORD);
    CU_ASSERT_EQUAL(j.join.identity.self, 1);
    end(&j);
    begin_again(&j, 5); /* its record had arrived */
    CU_ASSERT_EQUAL(j.join.step, JOIN_ALIVE);
    former(&j, TRANSPORT_NOBODY);
    CU_ASSERT_EQUAL(j.join.step, JOIN_SETTINGS);
    CU_ASSERT_EQUAL(j.join.identity.self, 0);
    CU_ASSERT_EQUAL(j.join.identity.token, 5);
    end(&j);
    begin_again(&j, 0); /* it is still on its way */
    CU_ASSERT_EQUAL(j.join.step, JOIN_SETTINGS);
    answer(&j, "", 0, 1); /* the settings are ours */
    CU_ASSERT_EQUAL(j.join.step, JOIN_SAVE);
    CU_ASSERT_EQUAL(j.join.identity.tried, 5);
    end(&j);
}

/* What the last put, or the question, has come to. */
static void came(Joining *j, TransportEventKind kind, uint64_t revision)
{
    MonoTime now = {.ns = 3000};
    TransportEvent *event = transport_event_new(kind, j->seen.last, NULL, NULL, "", 0);
    event->revision = revision;
    node_join_take(&j->join, event, now);
    transport_event_delete(event);
    node_join_work(&j->join, now);
}

static void save(Joining *j)
{
    CU_ASSERT_EQUAL_FATAL(j->join.step, JOIN_SAVE);
    node_join_saved(&j->join, (MonoTime){.ns = 3000});
    node_join_work(&j->join, (MonoTime){.ns = 3000});
}

/* The settings of the crawl are these, and another agent says that it runs, or is not there. */
static JoinStep join_with(const char *theirs, TransportEventKind other, uint8_t *wire)
{
    static char ours[64];
    Joining j;
    (void)snprintf(ours, sizeof ours, SETTINGS_WIRE "%u\na.b = 1\n", NODE_WIRE);
    begin_again(&j, 0);
    j.join.settings = ours;
    answer(&j, theirs, strlen(theirs), 1);
    CU_ASSERT_EQUAL(j.join.step, JOIN_EDICTS);
    answer(&j, "", 0, 0);
    CU_ASSERT_EQUAL(j.join.step, JOIN_OTHERS);
    came(&j, other, 0);
    *wire = j.link.wire;
    JoinStep step = j.join.step;
    end(&j);
    return step;
}

static void neighbours_speak_as_the_crawl_was_begun(void)
{
    static const struct {
        int wire; /* of the crawl, but for ours */
        const char *rest;
        JoinStep step; /* when another agent runs */
    } rows[] = {{-1, "a.b = 1\n", JOIN_SAVE},
                {-1, "a.b = 1\nc.d = 2\n", JOIN_SAVE}, /* an option that is not known here */
                {-1, "a.b = 1\n[site \"x\"] a.b = 2\n", JOIN_REFUSED},
                {-1, "a.b = 2\n", JOIN_REFUSED},
                {-2, "a.b = 1\n", JOIN_REFUSED},
                {1, "a.b = 1\n", JOIN_REFUSED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char theirs[128];
        uint8_t wire = 0;
        (void)snprintf(theirs, sizeof theirs, SETTINGS_WIRE "%d\n%s", (int)NODE_WIRE + rows[i].wire,
                       rows[i].rest);
        CU_ASSERT_EQUAL(join_with(theirs, TRANSPORT_ANSWER, &wire), rows[i].step);
        CU_ASSERT_TRUE(rows[i].step != JOIN_SAVE || wire == NODE_WIRE - 1);
        /* Nobody runs: the crawl speaks as we do. */
        CU_ASSERT_EQUAL(join_with(theirs, TRANSPORT_NOBODY, &wire), JOIN_PUT_SETTINGS);
    }
}

/* Its start is recorded and its life claimed, with the settings of revision 1; it can be asked. */
static void be_heard(Joining *j)
{
    begin_again(j, 0);
    answer(j, "", 0, 1);
    save(j);
    CU_ASSERT_EQUAL(j->join.step, JOIN_PUT);
    came(j, TRANSPORT_STORED, 4);
    save(j);
    CU_ASSERT_EQUAL(j->join.step, JOIN_CLAIM);
    came(j, TRANSPORT_STORED, 5);
    CU_ASSERT_EQUAL(j->seen.n_listens, 0);
    CU_ASSERT_EQUAL(cluster_table_claim(&j->theirs, 0), RESULT_OK);
    buffer_reset(&j->bytes);
    CU_ASSERT_EQUAL(cluster_table_write(&j->theirs, &j->bytes), RESULT_OK);
    answer(j, j->bytes.data, j->bytes.length, 5);
    CU_ASSERT_EQUAL(j->seen.n_listens, 1);
    CU_ASSERT_EQUAL(j->join.step, JOIN_SETTINGS);
}

/* Another one, that has looked at the settings and asked all agents before this one was heard,
 * comes too late with its own settings, or was faster. */
static void of_two_with_other_settings(void)
{
    Joining j;
    be_heard(&j);
    answer(&j, "", 0, 1);
    CU_ASSERT_EQUAL(j.join.step, JOIN_HOLD);
    CU_ASSERT_EQUAL(j.seen.expected, 1);
    came(&j, TRANSPORT_STORED, 6); /* whoever has seen revision 1 cannot replace it now */
    CU_ASSERT_EQUAL(j.join.step, JOIN_DONE);
    end(&j);
    for (int others = 0; others <= 1; others++) {
        be_heard(&j);
        answer(&j, "", 0, 1);
        came(&j, TRANSPORT_CONFLICT, 0);
        CU_ASSERT_EQUAL(j.join.step, JOIN_SETTINGS);
        answer(&j, "robots.agent = x\n", 17, 2);
        CU_ASSERT_EQUAL(j.join.step, JOIN_EDICTS);
        answer(&j, NULL, 0, 0);
        CU_ASSERT_EQUAL(j.join.step, JOIN_OTHERS);
        came(&j, others ? TRANSPORT_ANSWER : TRANSPORT_NOBODY, 0);
        CU_ASSERT_EQUAL(j.join.step, others ? JOIN_REFUSED : JOIN_PUT_SETTINGS);
        CU_ASSERT_EQUAL(j.seen.expected, others ? 1 : 2);
        end(&j);
    }
}

/* A server has forgotten the settings: members put them back, and nobody others meanwhile. */
static void without_settings(void)
{
    Joining j;
    begin_again(&j, 0);
    answer(&j, NULL, 0, 0);
    CU_ASSERT_EQUAL(j.join.step, JOIN_OTHERS);
    came(&j, TRANSPORT_ANSWER, 0);
    CU_ASSERT_EQUAL(j.join.step, JOIN_SETTINGS);
    CU_ASSERT_EQUAL(j.seen.n_puts, 0);
    end(&j);
    begin_again(&j, 0);
    answer(&j, NULL, 0, 0);
    came(&j, TRANSPORT_NOBODY, 0);
    CU_ASSERT_EQUAL(j.join.step, JOIN_PUT_SETTINGS);
    end(&j);
    be_heard(&j); /* it has agreed about some already */
    answer(&j, NULL, 0, 0);
    CU_ASSERT_EQUAL(j.join.step, JOIN_HOLD);
    CU_ASSERT_EQUAL(j.seen.expected, 0);
    end(&j);
}

/* What a member finds there; false: it must not go on. */
static bool find_settings(Members *members, const BucketSeen *seen, TransportEventKind kind,
                          const char *text, uint64_t revision)
{
    MonoTime now = {.ns = 5000};
    key_doubt(&members->settings, now);
    key_work(&members->settings, now);
    TransportEvent *event = transport_event_new(kind, seen->last, NULL, NULL, text, strlen(text));
    event->revision = revision;
    bool good = members_take_settings(members, event, now);
    transport_event_delete(event);
    return good;
}

static void held_by_members(void)
{
    Joining j;
    Members members;
    begin(&j, true);
    members_init(&members, &j.link);
    members_hold(&members, "a = 1\n", 6);
    CU_ASSERT_TRUE(find_settings(&members, &j.seen, TRANSPORT_VALUE, "a = 1\n", 6));
    CU_ASSERT_EQUAL(j.seen.n_puts, 0);
    CU_ASSERT_TRUE(find_settings(&members, &j.seen, TRANSPORT_VALUE, "a = 2\n", 5)); /* older */
    CU_ASSERT_EQUAL(j.seen.n_puts, 1);
    CU_ASSERT_EQUAL(j.seen.expected, 5);
    CU_ASSERT_TRUE(find_settings(&members, &j.seen, TRANSPORT_CONFLICT, "", 0));
    CU_ASSERT_TRUE(find_settings(&members, &j.seen, TRANSPORT_VALUE, "", 0)); /* forgotten */
    CU_ASSERT_EQUAL(j.seen.n_puts, 2);
    CU_ASSERT_EQUAL(j.seen.expected, 0);
    CU_ASSERT_EQUAL(memcmp(j.seen.value, "a = 1\n", 6), 0);
    CU_ASSERT_TRUE(find_settings(&members, &j.seen, TRANSPORT_STORED, "", 1));
    CU_ASSERT_TRUE(find_settings(&members, &j.seen, TRANSPORT_VALUE, "a = 1\n", 2));
    /* A stranger's; and one that was put while this one was cut off. */
    CU_ASSERT_TRUE(find_settings(&members, &j.seen, TRANSPORT_VALUE, "a = 2\n", 3));
    CU_ASSERT_EQUAL(j.seen.n_puts, 3);
    CU_ASSERT_EQUAL(j.seen.expected, 3);
    key_up(&members.settings, (MonoTime){.ns = 5000});
    CU_ASSERT_FALSE(find_settings(&members, &j.seen, TRANSPORT_VALUE, "a = 2\n", 4));
    CU_ASSERT_EQUAL(j.seen.n_puts, 3);
    members_destroy(&members);
    end(&j);
}

/* A running directory was copied: both have the token of the process that runs. That one stays. */
static void of_a_copy_while_it_runs(void)
{
    Joining j;
    begin_again(&j, 5);
    former(&j, TRANSPORT_FAILED); /* no answer yet: it is asked again */
    CU_ASSERT_EQUAL(j.join.step, JOIN_ALIVE);
    former(&j, TRANSPORT_ANSWER);
    CU_ASSERT_EQUAL(j.join.step, JOIN_REFUSED);
    CU_ASSERT_PTR_NOT_NULL(strstr(j.join.why, "runs already"));
    end(&j);
}

/* What it has tried twice may arrive all the same. */
static void of_a_record_that_comes_late(void)
{
    const NodeIdentity identity = {.known = true, .token = 1, .next_token = 3, .tried = 2};
    NodeIdentity read = {.known = false};
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(member_identity_write(&identity, &bytes), RESULT_OK);
    CU_ASSERT_EQUAL(member_identity_read(&read, bytes.data, bytes.length), RESULT_OK);
    for (uint64_t token = 0; token < 5; token++) {
        CU_ASSERT_EQUAL(member_is_token_of(&read, token), token >= 1 && token <= 3);
    }
    buffer_destroy(&bytes);
}

/* What has come of the members' last look or put. */
static MemberNews hear(Members *members, const BucketSeen *seen, TransportEventKind kind,
                       const MemberRecord *record, uint64_t revision)
{
    MonoTime now = {.ns = 3000};
    uint16_t agent = 0;
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(member_record_write(record, &(Buffer){.length = 0}, &bytes), RESULT_OK);
    TransportEvent *event =
        transport_event_new(kind, seen->last, NULL, NULL, bytes.data, bytes.length);
    event->revision = revision;
    MemberNews news = members_take(members, event, now, &agent);
    transport_event_delete(event);
    buffer_destroy(&bytes);
    return news;
}

/* A process has stopped and says so, and what it says arrives when the next process has put its own
 * record: in the place of that it would make a stranger of the next but one. */
static void of_a_stop_that_comes_late(void)
{
    BucketSeen seen = {.last = 0};
    const Transport transport = {.state = &seen, .get = bucket_get, .put = bucket_put};
    MemberRecord record = {.session = 5};
    NodeLink link;
    Members members;
    node_link_init(&link, &transport, "test");
    link.head.from = 1;
    members_init(&members, &link);
    CU_ASSERT_EQUAL_FATAL(members_resize(&members, 2, (MonoTime){0}), RESULT_OK);
    members.self = (MemberRecord){.session = 5, .state = MEMBER_STOPPED};
    link.up = true;
    members_up(&members, 41, (MonoTime){.ns = 0});
    members_put_self(&members, (MonoTime){.ns = 0});
    CU_ASSERT_EQUAL(seen.expected, 41); /* nothing but its own is replaced */
    CU_ASSERT_EQUAL(hear(&members, &seen, TRANSPORT_CONFLICT, &record, 0), MEMBER_NOTHING);
    key_work(&members.own, (MonoTime){.ns = 4000});
    CU_ASSERT_EQUAL(seen.last, seen.last_get); /* it looks what is there: */
    CU_ASSERT_EQUAL(hear(&members, &seen, TRANSPORT_VALUE, &record, 42), MEMBER_NOTHING);
    CU_ASSERT_EQUAL(seen.n_puts, 2); /* its own, put back meanwhile */
    CU_ASSERT_EQUAL(seen.expected, 42);
    CU_ASSERT_EQUAL(hear(&members, &seen, TRANSPORT_STORED, &record, 43), MEMBER_WRITTEN);
    key_doubt(&members.own, (MonoTime){.ns = 4000});
    key_work(&members.own, (MonoTime){.ns = 4000});
    record.session = 6;
    CU_ASSERT_EQUAL(hear(&members, &seen, TRANSPORT_VALUE, &record, 44), MEMBER_LOST);
    CU_ASSERT_EQUAL(seen.n_puts, 2);
    members_destroy(&members);
    node_link_destroy(&link);
}

UNIT_MAIN("node_join",
          {"of two directories that begin as one agent, the slower takes another",
           of_two_that_begin},
          {"neighbours speak as the crawl was begun", neighbours_speak_as_the_crawl_was_begun},
          {"of two that begin with other settings, one sees the other", of_two_with_other_settings},
          {"settings that a server has forgotten are those of who runs", without_settings},
          {"members put settings back, and go when they were changed", held_by_members},
          {"a copy of a directory that runs is refused", of_a_copy_while_it_runs},
          {"a record that comes late is known again", of_a_record_that_comes_late},
          {"a stop that arrives late does not take the place of the next start",
           of_a_stop_that_comes_late},
          {"a directory that has crawled nothing joins the cluster that was made anew",
           without_a_table},
          {"one that has crawled belongs to its own", with_a_table},
          {"one that has crawled nothing takes another agent when its own is another's",
           whose_agent_is_anothers},
          {"a cluster that the server has forgotten is to be made again", without_a_cluster},
          {"a look out of date refuses nobody", by_a_look_out_of_date})
