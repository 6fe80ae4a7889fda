#include "cluster/wire/envelope.h"

#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>
#include <zstd.h>

#define MAGIC       0x4c434752u /* "RGCL" */
#define VERSION     1u
#define LEVEL       1
#define HEAD_BYTES  (8u + ENVELOPE_UUID_BYTES + 4u + 24u + 8u) /* up to the checksum */
#define WHOLE_BYTES (HEAD_BYTES + 4u)

struct EnvelopePacker {
    ZSTD_CCtx *pack;
    ZSTD_DCtx *unpack;
    Buffer packed;
};

EnvelopePacker *envelope_packer_new(void)
{
    EnvelopePacker *packer = calloc(1, sizeof *packer);
    if (packer == NULL) {
        return NULL;
    }
    buffer_init(&packer->packed, ZSTD_COMPRESSBOUND(ENVELOPE_BLOCKS_MOST));
    packer->pack = ZSTD_createCCtx();
    packer->unpack = ZSTD_createDCtx();
    if (packer->pack == NULL || packer->unpack == NULL) {
        envelope_packer_delete(packer);
        return NULL;
    }
    return packer;
}

void envelope_packer_delete(EnvelopePacker *packer)
{
    if (packer != NULL) {
        (void)ZSTD_freeCCtx(packer->pack);
        (void)ZSTD_freeDCtx(packer->unpack);
        buffer_destroy(&packer->packed);
        free(packer);
    }
}

/* Of the head up to the checksum itself, and what is behind it. */
static uint32_t checksum(const void *head, const void *packed, size_t length)
{
    return libdeflate_crc32(libdeflate_crc32(0, head, HEAD_BYTES), packed, length);
}

static void envelope_put_head(WireWriter *writer, const Envelope *envelope, size_t length,
                              size_t packed)
{
    wire_put_32(writer, MAGIC);
    wire_put_8(writer, VERSION);
    wire_put_8(writer, 0);
    wire_put_16(writer, envelope->blocks);
    wire_put_bytes(writer, envelope->uuid, sizeof envelope->uuid);
    wire_put_16(writer, envelope->from);
    wire_put_16(writer, envelope->to);
    wire_put_64(writer, envelope->epoch);
    wire_put_64(writer, envelope->session);
    wire_put_64(writer, envelope->sequence);
    wire_put_32(writer, (uint32_t)length);
    wire_put_32(writer, (uint32_t)packed);
}

Result envelope_pack(EnvelopePacker *packer, const Envelope *envelope, const void *blocks,
                     size_t length, Buffer *out)
{
    Buffer *packed = &packer->packed;
    size_t bound = ZSTD_compressBound(length);
    buffer_reset(out);
    buffer_reset(packed);
    if (length > ENVELOPE_BLOCKS_MOST) {
        return RESULT_LIMIT;
    }
    Result rc = buffer_reserve(packed, bound);
    if (rc != RESULT_OK) {
        return rc;
    }
    size_t n = ZSTD_compressCCtx(packer->pack, packed->data, bound, blocks, length, LEVEL);
    if (ZSTD_isError(n) != 0) {
        return RESULT_MEMORY;
    }
    if (n + WHOLE_BYTES > ENVELOPE_MOST) {
        return RESULT_LIMIT;
    }
    WireWriter writer = wire_writer(out);
    envelope_put_head(&writer, envelope, length, n);
    if (writer.rc == RESULT_OK) {
        wire_put_32(&writer, checksum(out->data, packed->data, n));
    }
    wire_put_bytes(&writer, packed->data, n);
    return writer.rc;
}

/* The numbers in front of the packed bytes; false: it is no envelope. */
static bool get_head(WireReader *reader, Envelope *envelope, size_t *length, size_t *packed,
                     uint32_t *crc)
{
    uint32_t mark = wire_get_32(reader);
    uint8_t version = wire_get_8(reader);
    (void)wire_get_8(reader);
    envelope->blocks = wire_get_16(reader);
    const uint8_t *uuid = wire_get_bytes(reader, sizeof envelope->uuid);
    envelope->from = wire_get_16(reader);
    envelope->to = wire_get_16(reader);
    envelope->epoch = wire_get_64(reader);
    envelope->session = wire_get_64(reader);
    envelope->sequence = wire_get_64(reader);
    *length = wire_get_32(reader);
    *packed = wire_get_32(reader);
    *crc = wire_get_32(reader);
    if (uuid != NULL) {
        memcpy(envelope->uuid, uuid, sizeof envelope->uuid);
    }
    return !reader->bad && mark == MAGIC && version == VERSION;
}

BlockFault envelope_open(EnvelopePacker *packer, const void *bytes, size_t length,
                         const uint8_t uuid[ENVELOPE_UUID_BYTES], uint16_t to, Envelope *envelope,
                         Buffer *blocks)
{
    WireReader reader = wire_reader(bytes, length);
    size_t whole = 0;
    size_t packed = 0;
    uint32_t crc = 0;
    *envelope = (Envelope){.blocks = 0};
    buffer_reset(blocks);
    if (length < WHOLE_BYTES) {
        return BLOCK_LENGTH;
    }
    if (!get_head(&reader, envelope, &whole, &packed, &crc)) {
        return BLOCK_FORMAT;
    }
    if (packed != wire_left(&reader) || whole > ENVELOPE_BLOCKS_MOST) {
        return BLOCK_LENGTH;
    }
    if (checksum(bytes, reader.next, packed) != crc) {
        return BLOCK_CRC;
    }
    if (memcmp(envelope->uuid, uuid, ENVELOPE_UUID_BYTES) != 0) {
        return BLOCK_CRAWL;
    }
    if (envelope->to != to) {
        return BLOCK_ADDRESSEE;
    }
    if (buffer_reserve(blocks, whole + 1) != RESULT_OK) {
        return BLOCK_LENGTH;
    }
    size_t n = ZSTD_decompressDCtx(packer->unpack, blocks->data, whole, reader.next, packed);
    if (ZSTD_isError(n) != 0 || n != whole) {
        return BLOCK_LENGTH;
    }
    blocks->length = whole;
    blocks->data[whole] = '\0';
    return BLOCK_GOOD;
}
