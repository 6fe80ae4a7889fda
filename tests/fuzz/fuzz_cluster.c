/* Input: what another agent, or somebody who says so, may send. The first byte chooses: an
 * envelope, a block of links, a cluster table, a ledger or edicts.
 *
 * None of them may crash or read outside its bytes. Blocks whose checksum is wrong get a right one
 * half of the time, so that what is inside is reached; records that are read have URLs that PageDB
 * may keep, and encode to a block with the same meaning. */
#include <assert.h>
#include <libdeflate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exact_copy.h"
#include "cluster/table/cluster_table.h"
#include "cluster/whole/edicts.h"
#include "cluster/whole/ledger.h"
#include "cluster/wire/link_block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_record(const LinkRecord *record)
{
    assert(record->length > 7 && record->length <= LINK_URL_MOST);
    assert(memcmp(record->url, "http", 4) == 0);
    for (size_t i = 0; i < record->length; i++) {
        assert(record->url[i] > ' ' && record->url[i] <= '~');
    }
    assert(record->hop >= 'A' && record->hop <= 'Z');
    assert(record->score >= 0 && isfinite(record->score));
    assert(record->estimate >= -1 && isfinite(record->estimate));
    assert(record->parent == LINK_NO_PARENT || record->parent >> 48 == 0);
}

static uint64_t sum_of(uint64_t sum, const LinkRecord *record)
{
    for (size_t i = 0; i < record->length; i++) {
        sum = sum * 31 + (uint8_t)record->url[i];
    }
    sum = sum * 31 + record->hop + record->depth + record->redirects;
    sum = sum * 31 + wire_half_of(record->score) + wire_half_of(record->estimate);
    return sum * 31 + record->agent + record->parent;
}

/* Reads all records of a block, written anew into writer when it is not NULL. */
static Result read_block(const void *bytes, size_t size, LinkBlockWriter *writer, uint64_t *sum)
{
    WireReader in = wire_reader(bytes, size);
    BlockHeader header;
    LinkBlockReader reader;
    LinkRecord record;
    const void *body = NULL;
    Result rc = RESULT_OK;
    *sum = 0;
    if (block_read(&in, &header, &body) != BLOCK_GOOD || header.kind != BLOCK_LINKS) {
        return RESULT_INVALID;
    }
    link_block_reader_init(&reader, &header, body);
    while ((rc = link_block_next(&reader, &record)) == RESULT_OK) {
        check_record(&record);
        *sum = sum_of(*sum, &record);
        if (writer != NULL) {
            assert(link_block_append(writer, &record) == RESULT_OK);
        }
    }
    link_block_reader_destroy(&reader);
    return rc;
}

static void fuzz_block(uint8_t *bytes, size_t size)
{
    LinkBlockWriter writer;
    uint64_t sum = 0;
    uint64_t again = 0;
    if (size >= BLOCK_HEADER_BYTES && size <= BLOCK_BODY_MOST / 8) {
        uint16_t records = (uint16_t)(bytes[2] | bytes[3] << 8);
        block_write_header(bytes, size, BLOCK_LINKS, records, 1);
    }
    link_block_writer_init(&writer);
    if (read_block(bytes, size, &writer, &sum) == RESULT_CLOSED && writer.records > 0) {
        assert(link_block_finish(&writer, 1) == RESULT_OK);
        assert(read_block(writer.block.data, writer.block.length, NULL, &again) == RESULT_CLOSED);
        assert(sum == again);
    }
    link_block_writer_destroy(&writer);
}

static void fuzz_envelope(const uint8_t *bytes, size_t size)
{
    static EnvelopePacker *packer;
    Envelope envelope;
    Buffer blocks;
    Buffer message;
    const uint8_t uuid[ENVELOPE_UUID_BYTES] = {0};
    packer = packer == NULL ? envelope_packer_new() : packer;
    buffer_init(&blocks, BUFFER_NO_LIMIT);
    buffer_init(&message, BUFFER_NO_LIMIT);
    (void)envelope_open(packer, bytes, size, uuid, 0, &envelope, &blocks);
    envelope = (Envelope){.blocks = 1};
    if (envelope_pack(packer, &envelope, bytes, size, &message) == RESULT_OK) {
        assert(envelope_open(packer, message.data, message.length, uuid, 0, &envelope, &blocks) ==
               BLOCK_GOOD);
        assert(blocks.length == size && (size == 0 || memcmp(blocks.data, bytes, size) == 0));
    }
    buffer_destroy(&blocks);
    buffer_destroy(&message);
}

static void fuzz_table(const uint8_t *bytes, size_t size)
{
    ClusterTable table = {.epoch = 0};
    if (cluster_table_read(&table, bytes, size) == RESULT_OK) {
        for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
            assert(cluster_table_owner(&table, slot) < table.n_agents);
        }
    }
    cluster_table_destroy(&table);
}

static void fuzz_ledger(const uint8_t *bytes, size_t size)
{
    Ledger ledger = {.n = 0};
    if (ledger_read(&ledger, bytes, size) == RESULT_OK) {
        (void)ledger_pool(&ledger, LEDGER_PAGES, 1000);
    }
    ledger_destroy(&ledger);
}

/* With a right checksum. What is read is written the same, and takes one more. */
static void fuzz_edicts(uint8_t *bytes, size_t size)
{
    Edicts edicts = {.n = 0};
    Buffer again;
    char host[] = "www.example.org";
    char nothing[] = "";
    Edict drop = {
        .verb = EDICT_DROP, .name = host, .pattern = nothing, .value = nothing, .who = nothing};
    if (size < 4) {
        return;
    }
    uint32_t crc = libdeflate_crc32(0, bytes, size - 4);
    for (size_t i = 0; i < 4; i++) {
        bytes[size - 4 + i] = (uint8_t)(crc >> 8 * i);
    }
    buffer_init(&again, BUFFER_NO_LIMIT);
    if (edicts_read(&edicts, bytes, size) == RESULT_OK) {
        assert(edicts_write(&edicts, &again) == RESULT_OK);
        assert(edicts_read(&edicts, again.data, again.length) == RESULT_OK);
        (void)edicts_add(&edicts, &drop);
        assert(edicts.n <= EDICTS_MOST && edicts.bytes <= EDICTS_BYTES);
    }
    buffer_destroy(&again);
    edicts_destroy(&edicts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    uint8_t *copy = exact_copy(data + 1, size - 1);
    if (data[0] == 'e') {
        fuzz_edicts(copy, size - 1);
        free(copy);
        return 0;
    }
    switch (data[0] % 4) {
    case 0:
        fuzz_envelope(copy, size - 1);
        break;
    case 1:
        fuzz_block(copy, size - 1);
        break;
    case 2:
        fuzz_table(copy, size - 1);
        break;
    default:
        fuzz_ledger(copy, size - 1);
    }
    free(copy);
    return 0;
}
