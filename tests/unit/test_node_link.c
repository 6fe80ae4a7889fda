/* How messages between agents begin: what is written is read, and what is of another crawl, of
 * another version, cut or changed is none. */
#include <stdio.h>
#include <string.h>

#include "cluster/message/node_link.h"
#include "dice.h"
#include "unit.h"

#define SEED 20261128u

static char subject[TRANSPORT_SUBJECT_BYTES];
static char sent[256];
static size_t sent_bytes;

static Result keep(void *state, const char *to, const void *bytes, size_t length)
{
    (void)state;
    (void)snprintf(subject, sizeof subject, "%s", to);
    sent_bytes = length < sizeof sent ? length : 0;
    memcpy(sent, bytes, sent_bytes);
    return RESULT_OK;
}

static Result keep_request(void *state, const char *to, const void *bytes, size_t length,
                           uint64_t token)
{
    (void)token;
    return keep(state, to, bytes, length);
}

static Result keep_listen(void *state, const char *to)
{
    return keep(state, to, "", 0);
}

static const Transport transport = {
    .publish = keep, .request = keep_request, .listen = keep_listen};

static void begin(NodeLink *link, uint16_t agent)
{
    node_link_init(link, &transport, "crawl-1");
    memset(link->head.uuid, 7, sizeof link->head.uuid);
    link->head.from = agent;
    link->head.session = UINT64_MAX;
    link->head.epoch = 3;
}

static bool open_sent(const NodeLink *link, size_t length, NodeMessage *in)
{
    static TransportEvent event;
    event = (TransportEvent){.kind = TRANSPORT_MESSAGE, .bytes = sent, .length = length};
    return node_link_open(link, &event, in);
}

static void names_are_letters_digits_and_two_signs(void)
{
    static const char *const good[] = {"a", "Crawl_1-x", "0", "-", "_"};
    static const char *const bad[] = {"",         "a.b", "a b", "a*",   ">",
                                      "\xc3\xbc", "a\n", "a/b", "a\x7f"};
    char name[NODE_CRAWL_BYTES + 1];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CU_ASSERT_TRUE(node_link_is_name(good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_FALSE(node_link_is_name(bad[i]));
    }
    memset(name, 'x', sizeof name);
    name[NODE_CRAWL_BYTES] = '\0';
    CU_ASSERT_FALSE(node_link_is_name(name));
    name[NODE_CRAWL_BYTES - 1] = '\0';
    CU_ASSERT_TRUE(node_link_is_name(name));
    NodeLink link; /* the longest subject fits */
    node_link_init(&link, &transport, name);
    link.head.from = UINT16_MAX - 1;
    CU_ASSERT_EQUAL(node_link_publish(&link, "lease", UINT16_MAX), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(subject + strlen("ragno.") + strlen(name), ".lease.65535");
    CU_ASSERT_EQUAL(node_link_listen(&link), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(subject + strlen("ragno.") + strlen(name), ".*.65534");
    node_link_destroy(&link);
}

static void a_token_is_of_a_part_and_has_a_number(void)
{
    static const uint64_t numbers[] = {0, 1, (UINT64_C(1) << 56) - 1, UINT64_C(1) << 55};
    for (unsigned part = NODE_PART_JOIN; part <= NODE_PART_SETTINGS; part++) {
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            uint64_t token = node_token((NodePart)part, numbers[i]);
            CU_ASSERT_TRUE(node_token_part(token) == part &&
                           node_token_number(token) == numbers[i]);
        }
    }
    CU_ASSERT_EQUAL(node_token_part(node_token(NODE_PART_JOIN, UINT64_MAX)), NODE_PART_JOIN);
}

static void it_speaks_this_version_and_the_one_before(void)
{
    static const unsigned others[] = {0, NODE_WIRE - 2, NODE_WIRE + 1, NODE_WIRE + 256};
    static const char *const bad[] = {
        "", SETTINGS_WIRE, SETTINGS_WIRE "x", "wire=1", "\n", SETTINGS_WIRE "99999999999999999999"};
    char settings[64];
    NodeLink link;
    begin(&link, 1);
    for (unsigned wire = NODE_WIRE - 1; wire <= NODE_WIRE; wire++) {
        (void)snprintf(settings, sizeof settings, SETTINGS_WIRE "%u\nx = y\n", wire);
        CU_ASSERT_TRUE(node_link_speak(&link, settings));
        CU_ASSERT_EQUAL(link.wire, wire);
        (void)snprintf(settings, sizeof settings, "\n" SETTINGS_WIRE "%u", wire);
        CU_ASSERT_FALSE(node_link_speak(&link, settings)); /* it is not the first line */
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        (void)snprintf(settings, sizeof settings, SETTINGS_WIRE "%u", others[i]);
        CU_ASSERT_FALSE(node_link_speak(&link, settings));
        CU_ASSERT_EQUAL(link.wire, NODE_WIRE);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_FALSE(node_link_speak(&link, bad[i]));
    }
    node_link_destroy(&link);
}

static void a_head_is_read_as_it_was_written(void)
{
    NodeLink a;
    NodeLink b;
    NodeMessage in;
    begin(&a, 65535);
    begin(&b, 2);
    for (unsigned wire = NODE_WIRE - 2; wire <= NODE_WIRE + 1; wire++) {
        bool is_known = wire + 1 == NODE_WIRE || wire == NODE_WIRE;
        a.wire = (uint8_t)wire;
        WireWriter writer = node_link_question(&a, NODE_ASK_STATUS);
        CU_ASSERT_EQUAL(node_link_ask(&a, &writer, 2, 9), RESULT_OK);
        CU_ASSERT_STRING_EQUAL(subject, "ragno.crawl-1.ask.2");
        CU_ASSERT_EQUAL(open_sent(&b, sent_bytes, &in), is_known);
        CU_ASSERT_EQUAL(in.says, is_known);
        if (in.says) {
            CU_ASSERT_TRUE(in.head.from == 65535 && in.head.session == UINT64_MAX &&
                           in.head.epoch == 3);
            CU_ASSERT_EQUAL(wire_get_number(&in.body, 1), NODE_ASK_STATUS);
            CU_ASSERT_TRUE(wire_reader_ended(&in.body));
        }
    }
    node_link_destroy(&a);
    node_link_destroy(&b);
}

static void what_is_cut_or_of_another_crawl_is_none(void)
{
    NodeLink a;
    NodeLink b;
    NodeMessage in;
    begin(&a, 1);
    begin(&b, 2);
    WireWriter writer = node_link_begin(&a);
    size_t head = a.out.length;
    wire_put_number(&writer, 77, 4);
    node_link_reply(&a, &writer, "inbox");
    CU_ASSERT_STRING_EQUAL(subject, "inbox");
    for (size_t n = 0; n <= sent_bytes; n++) {
        CU_ASSERT_EQUAL(open_sent(&b, n, &in), n >= head);
    }
    for (size_t i = 0; i < 3 + CLUSTER_UUID_BYTES; i++) { /* magic, version, crawl */
        sent[i] ^= 0x40;
        CU_ASSERT_FALSE(open_sent(&b, sent_bytes, &in));
        sent[i] ^= 0x40;
    }
    CU_ASSERT_TRUE(open_sent(&b, sent_bytes, &in));
    sent_bytes = 0;
    writer.rc = RESULT_MEMORY; /* what could not be written is not sent */
    node_link_reply(&a, &writer, "inbox");
    CU_ASSERT_EQUAL(sent_bytes, 0);
    CU_ASSERT_EQUAL(node_link_ask(&a, &writer, 2, 9), RESULT_MEMORY);
    TransportEvent nobody = {.kind = TRANSPORT_NOBODY, .token = node_token(NODE_PART_MASS, 5)};
    CU_ASSERT_TRUE(node_link_open(&b, &nobody, &in) && !in.says && in.number == 5);
    node_link_destroy(&a);
    node_link_destroy(&b);
}

static void any_bytes_are_read_to_their_end_and_no_further(void)
{
    Dice dice = {SEED};
    NodeLink link;
    begin(&link, 1);
    for (unsigned round = 0; round < 20000; round++) {
        NodeMessage in;
        size_t length = dice_below(&dice, 60);
        for (size_t i = 0; i < length; i++) {
            sent[i] = (char)dice_next(&dice);
        }
        CU_ASSERT_FALSE(open_sent(&link, length, &in));
        CU_ASSERT_TRUE(wire_left(&in.body) <= length);
    }
    node_link_destroy(&link);
}

UNIT_MAIN("node_link",
          {"names are letters, digits and two signs", names_are_letters_digits_and_two_signs},
          {"a token is of a part and has a number", a_token_is_of_a_part_and_has_a_number},
          {"it speaks this version and the one before", it_speaks_this_version_and_the_one_before},
          {"a head is read as it was written", a_head_is_read_as_it_was_written},
          {"what is cut, or of another crawl, is none", what_is_cut_or_of_another_crawl_is_none},
          {"any bytes are read to their end and no further",
           any_bytes_are_read_to_their_end_and_no_further})
