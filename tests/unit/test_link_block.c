#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/wire/link_block.h"
#include "dice.h"
#include "unit.h"

#define RECORDS 3000u
#define URL     200u

static const uint8_t uuid[ENVELOPE_UUID_BYTES] = {9, 8, 7};

/* Records as pages of a crawl give them: many links of one page, one after the other. */
static void make_records(Dice *dice, LinkRecord *records, char (*urls)[URL], size_t n)
{
    LinkRecord page = {.hop = 'L', .agent = 3, .estimate = -1};
    for (size_t i = 0; i < n; i++) {
        if (dice_below(dice, 10) == 0) {
            page.parent += dice_below(dice, 1000);
            page.depth = dice_below(dice, 300);
            page.hop = (uint8_t)("LRESM"[dice_below(dice, 5)]);
            page.redirects = (uint8_t)dice_below(dice, 3);
            page.agent = (uint16_t)(dice_below(dice, 20) == 0 ? dice_below(dice, 65535) : 3);
            page.estimate = dice_below(dice, 2) == 0 ? -1 : (float)dice_below(dice, 100) / 64;
        }
        records[i] = page;
        records[i].score = (float)dice_below(dice, 5) / 4;
        records[i].parent = dice_below(dice, 15) == 0 ? LINK_NO_PARENT : page.parent;
        int length = snprintf(urls[i], URL, "http%s://h%u.example/d%u/%llu",
                              dice_below(dice, 3) == 0 ? "s" : "", (unsigned)dice_below(dice, 30),
                              (unsigned)dice_below(dice, 9), (unsigned long long)dice_next(dice));
        records[i].url = urls[i];
        records[i].length = (size_t)length;
        records[i].done = dice_below(dice, 4) == 0;
    }
}

static bool same_record(const LinkRecord *a, const LinkRecord *b)
{
    return a->length == b->length && memcmp(a->url, b->url, a->length) == 0 && a->hop == b->hop &&
           a->depth == b->depth && a->redirects == b->redirects &&
           fabsf(a->score - b->score) < 1e-6f && fabsf(a->estimate - b->estimate) < 1e-6f &&
           a->agent == b->agent && a->parent == b->parent && a->done == b->done;
}

/* Reads a block and compares; its number of records. */
static size_t check_block(const Buffer *block, const LinkRecord *expected)
{
    BlockHeader header;
    LinkBlockReader reader;
    LinkRecord record;
    const void *body = NULL;
    size_t n = 0;
    WireReader in = wire_reader(block->data, block->length);
    CU_ASSERT_EQUAL_FATAL(block_read(&in, &header, &body), BLOCK_GOOD);
    CU_ASSERT_TRUE(wire_reader_ended(&in));
    CU_ASSERT_TRUE(header.kind == BLOCK_LINKS && header.epoch == 77);
    link_block_reader_init(&reader, &header, body);
    Result rc = RESULT_OK;
    while ((rc = link_block_next(&reader, &record)) == RESULT_OK) {
        CU_ASSERT_TRUE(same_record(&record, &expected[n]));
        n++;
    }
    CU_ASSERT_EQUAL(rc, RESULT_CLOSED);
    CU_ASSERT_EQUAL(n, header.records);
    link_block_reader_destroy(&reader);
    return n;
}

static void records_come_out_as_they_went_in(void)
{
    static LinkRecord records[RECORDS];
    static char urls[RECORDS][URL];
    LinkBlockWriter writer;
    Dice dice = {1};
    link_block_writer_init(&writer);
    for (size_t round = 0; round < 20; round++) {
        size_t n = dice_below(&dice, RECORDS) + 1;
        make_records(&dice, records, urls, n);
        link_block_writer_reset(&writer);
        for (size_t i = 0; i < n; i++) {
            CU_ASSERT_EQUAL(link_block_append(&writer, &records[i]), RESULT_OK);
        }
        CU_ASSERT_EQUAL(link_block_finish(&writer, 77), RESULT_OK);
        CU_ASSERT_EQUAL(check_block(&writer.block, records), n);
    }
    link_block_writer_destroy(&writer);
}

static void a_full_block_says_so_and_stays_whole(void)
{
    LinkBlockWriter writer;
    static char urls[1000][3000];
    static LinkRecord records[1000];
    size_t n = 0;
    Dice dice = {5};
    Result rc = RESULT_OK;
    link_block_writer_init(&writer);
    CU_ASSERT_EQUAL(link_block_finish(&writer, 77), RESULT_INVALID);
    for (size_t i = 0; i < 1000 && rc == RESULT_OK; i++) {
        int head = snprintf(urls[i], sizeof urls[i], "http://a.example/");
        for (size_t k = (size_t)head; k < sizeof urls[i]; k++) {
            urls[i][k] = (char)('a' + dice_below(&dice, 26));
        }
        records[i] = (LinkRecord){.url = urls[i], .length = sizeof urls[i], .hop = 'L'};
        rc = link_block_append(&writer, &records[i]);
        n += rc == RESULT_OK;
    }
    CU_ASSERT_EQUAL(rc, RESULT_LIMIT);
    CU_ASSERT_TRUE(n > 150 && n < 200);
    CU_ASSERT_EQUAL(link_block_finish(&writer, 77), RESULT_OK);
    CU_ASSERT_EQUAL(check_block(&writer.block, records), n);
    link_block_writer_reset(&writer);
    LinkRecord small = {.url = "http://a/", .length = 9, .hop = 'L'};
    for (n = 0; link_block_append(&writer, &small) == RESULT_OK; n++) {
    }
    CU_ASSERT_EQUAL(n, BLOCK_RECORDS_MOST);
    small.length = LINK_URL_MOST + 1;
    CU_ASSERT_EQUAL(link_block_append(&writer, &small), RESULT_INVALID);
    link_block_writer_destroy(&writer);
}

/* A block of one record whose body is given. */
static Result read_body(const char *body, size_t length, uint16_t records, LinkRecord *record)
{
    BlockHeader header = {.kind = BLOCK_LINKS, .records = records, .length = length};
    LinkBlockReader reader;
    link_block_reader_init(&reader, &header, body);
    Result rc = link_block_next(&reader, record);
    while (rc == RESULT_OK) {
        rc = link_block_next(&reader, record);
    }
    link_block_reader_destroy(&reader);
    return rc;
}

static void what_is_no_record_is_refused(void)
{
    static const struct {
        const char *body;
        size_t length;
        Result rc;
    } cases[] = {
        {"\x6e\0\x0bhttp://a.b/L\x01\0", 17, RESULT_CLOSED},
        {"\x6e\0\x0bhttp://a.b/L\x01\0x", 18, RESULT_INVALID},  /* bytes behind it */
        {"\x6e\0\x0bhttp://a.b/L\x01", 16, RESULT_INVALID},     /* cut off */
        {"\x6e\0\x0bhttp://a.b/l\x01\0", 17, RESULT_INVALID},   /* no hop */
        {"\x6e\x01\x0bhttp://a.b/L\x01\0", 17, RESULT_INVALID}, /* shares with nothing */
        {"\x6e\0\x0bhttp://a b/L\x01\0", 17, RESULT_INVALID},   /* a blank */
        {"\x6e\0\x0bhttp://a\x80/b"
         "L\x01\0",
         17, RESULT_INVALID}, /* no ASCII */
        {"\x6e\0\x0b"
         "gopher://a/L\x01\0",
         17, RESULT_INVALID},                                /* another scheme */
        {"\x6e\0\x07http://L\x01\0", 13, RESULT_INVALID},    /* nobody */
        {"\xee\0\x0bhttp://a.b/L\x01\0", 17, RESULT_CLOSED}, /* the page is done */
        {"\x7e\0\x0bhttp://a.b/L\x01\0", 17, RESULT_CLOSED}, /* root wins */
        {"\x6e\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01http", 16, RESULT_INVALID},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        LinkRecord record;
        Result rc = read_body(cases[i].body, cases[i].length, 1, &record);
        if (rc != cases[i].rc) {
            (void)fprintf(stderr, "case %zu: %s\n", i, result_name(rc));
        }
        CU_ASSERT_EQUAL(rc, cases[i].rc);
    }
}

static void an_envelope_arrives_whole_or_not_at_all(void)
{
    EnvelopePacker *packer = envelope_packer_new();
    Envelope sent = {.from = 1, .to = 2, .blocks = 3, .epoch = 4, .session = 5, .sequence = 6};
    Envelope got;
    Buffer message, blocks;
    char bytes[5000];
    Dice dice = {11};
    buffer_init(&message, BUFFER_NO_LIMIT);
    buffer_init(&blocks, BUFFER_NO_LIMIT);
    memcpy(sent.uuid, uuid, sizeof uuid);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(dice_below(&dice, 5) + 'a');
    }
    CU_ASSERT_EQUAL(envelope_pack(packer, &sent, bytes, sizeof bytes, &message), RESULT_OK);
    CU_ASSERT_TRUE(message.length < sizeof bytes / 2);
    CU_ASSERT_EQUAL(envelope_open(packer, message.data, message.length, uuid, 2, &got, &blocks),
                    BLOCK_GOOD);
    CU_ASSERT_TRUE(blocks.length == sizeof bytes && memcmp(blocks.data, bytes, sizeof bytes) == 0);
    CU_ASSERT_TRUE(got.from == 1 && got.to == 2 && got.blocks == 3 && got.epoch == 4 &&
                   got.session == 5 && got.sequence == 6);
    CU_ASSERT_EQUAL(envelope_open(packer, message.data, message.length, uuid, 3, &got, &blocks),
                    BLOCK_ADDRESSEE);
    uint8_t other[ENVELOPE_UUID_BYTES] = {0};
    CU_ASSERT_EQUAL(envelope_open(packer, message.data, message.length, other, 2, &got, &blocks),
                    BLOCK_CRAWL);
    for (size_t i = 0; i < message.length; i++) {
        message.data[i] ^= (char)(1 << i % 8);
        BlockFault fault =
            envelope_open(packer, message.data, message.length, uuid, 2, &got, &blocks);
        CU_ASSERT_TRUE(fault != BLOCK_GOOD);
        message.data[i] ^= (char)(1 << i % 8);
        CU_ASSERT_TRUE(envelope_open(packer, message.data, i, uuid, 2, &got, &blocks) !=
                       BLOCK_GOOD);
    }
    CU_ASSERT_EQUAL(envelope_pack(packer, &sent, bytes, ENVELOPE_BLOCKS_MOST + 1, &message),
                    RESULT_LIMIT);
    buffer_destroy(&message);
    buffer_destroy(&blocks);
    envelope_packer_delete(packer);
}

static void half_floats_keep_eleven_bits(void)
{
    CU_ASSERT_EQUAL(wire_half_of(1.0f), 0x3c00);
    CU_ASSERT_EQUAL(wire_half_of(65504.0f), 0x7bff);
    CU_ASSERT_EQUAL(wire_half_of(1e9f), 0x7bff);
    CU_ASSERT_EQUAL(wire_half_of(INFINITY), 0x7bff);
    CU_ASSERT_EQUAL(wire_half_of(NAN), 0);
    CU_ASSERT_EQUAL(wire_half_of(-1.0f), 0);
    CU_ASSERT_EQUAL(wire_half_of(0x1p-24f), 1);
    CU_ASSERT_EQUAL(wire_half_of(0x1p-26f), 0);
    for (unsigned half = 0; half < 0x7c00; half++) {
        CU_ASSERT_EQUAL(wire_half_of(wire_float_of((uint16_t)half)), half);
    }
    for (float x = 1e-4f; x < 6e4f; x *= 1.37f) {
        CU_ASSERT_TRUE(fabsf(wire_float_of(wire_half_of(x)) - x) <= x / 2048);
    }
    CU_ASSERT_TRUE(wire_float_of(0x7c00) <= 0 && wire_float_of(0xffff) <= 0);
}

UNIT_MAIN("link block", {"records come out as they went in", records_come_out_as_they_went_in},
          {"a full block says so and stays whole", a_full_block_says_so_and_stays_whole},
          {"what is no record is refused", what_is_no_record_is_refused},
          {"an envelope arrives whole or not at all", an_envelope_arrives_whole_or_not_at_all},
          {"half floats keep eleven bits", half_floats_keep_eleven_bits})
