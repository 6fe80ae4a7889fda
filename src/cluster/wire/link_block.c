#include "cluster/wire/link_block.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* ---- Blocks ---- */

static const WireField header_fields[] = {WIRE_FIELD(BlockHeader, kind, 1, UINT64_MAX),
                                          WIRE_FIELD(BlockHeader, version, 1, UINT64_MAX),
                                          WIRE_FIELD(BlockHeader, records, 2, UINT64_MAX),
                                          WIRE_FIELD(BlockHeader, epoch, 4, UINT64_MAX),
                                          WIRE_FIELD(BlockHeader, length, 4, UINT64_MAX),
                                          WIRE_FIELD(BlockHeader, crc, 4, UINT64_MAX)};
static const WireRecord block_header = WIRE_RECORD(BlockHeader, header_fields);

BlockFault block_read(WireReader *reader, BlockHeader *header, const void **body)
{
    wire_get(reader, &block_header, header);
    if (reader->bad) {
        return BLOCK_LENGTH;
    }
    if (header->version != BLOCK_VERSION ||
        (header->kind != BLOCK_LINKS && header->kind != BLOCK_HOSTS)) {
        return BLOCK_FORMAT;
    }
    *body = header->length > BLOCK_BODY_MOST ? NULL : wire_get_bytes(reader, header->length);
    if (*body == NULL) {
        return BLOCK_LENGTH;
    }
    return libdeflate_crc32(0, *body, header->length) == header->crc ? BLOCK_GOOD : BLOCK_CRC;
}

Result block_write_header(void *block, size_t length, BlockKind kind, uint16_t records,
                          uint32_t epoch)
{
    size_t body = length - BLOCK_HEADER_BYTES;
    BlockHeader header = {.kind = kind,
                          .version = BLOCK_VERSION,
                          .records = records,
                          .epoch = epoch,
                          .length = body,
                          .crc = libdeflate_crc32(0, (char *)block + BLOCK_HEADER_BYTES, body)};
    Buffer bytes = {.limit = BLOCK_HEADER_BYTES};
    WireWriter out = wire_writer(&bytes);
    wire_put(&out, &block_header, &header);
    if (out.rc == RESULT_OK) {
        memcpy(block, bytes.data, BLOCK_HEADER_BYTES);
    }
    buffer_destroy(&bytes);
    return out.rc;
}

/* What every URL in a database is: printable ASCII, http or https; its length up to the host, or 0.
 * (page_db takes it as it is.) */
static size_t link_block_scheme(const char *url, size_t length)
{
    size_t scheme = length > 7 && memcmp(url, "http://", 7) == 0 ? 7 : 8;
    bool good = scheme == 7 || (length > 8 && memcmp(url, "https://", 8) == 0);
    for (size_t i = 0; good && i < length; i++) {
        good = url[i] > ' ' && url[i] <= '~';
    }
    return good ? scheme : 0;
}

/* ---- Host block ---- */

static int64_t host_block_length_of(int64_t ms)
{
    int64_t most = ms < HOST_LENGTH_MS ? ms : HOST_LENGTH_MS;
    return most > 0 ? most : 0;
}

static const WireField host_fields[] = {
    WIRE_FIELD(HostMove, pages, WIRE_VARINT, UINT32_MAX),
    WIRE_FIELD(HostMove, crawl_delay_ms, WIRE_VARINT, UINT32_MAX),
    WIRE_FIELD(HostMove, wait_ms, WIRE_VARINT, HOST_LENGTH_MS),
    WIRE_FIELD(HostMove, extra_ms, WIRE_VARINT, HOST_LENGTH_MS),
    WIRE_FIELD(HostMove, rested_ms, WIRE_VARINT, HOST_LENGTH_MS),
    WIRE_FIELD(HostMove, failures, 1, UINT8_MAX),
    WIRE_FIELD(HostMove, last_failure, 1, UINT8_MAX)};
static const WireRecord host_move = WIRE_RECORD(HostMove, host_fields);

Result host_block_write(const HostMove *host, uint32_t epoch, Buffer *block)
{
    static const char room[BLOCK_HEADER_BYTES] = {0};
    HostMove bounded = *host;
    bounded.wait_ms = host_block_length_of(host->wait_ms);
    bounded.extra_ms = host_block_length_of(host->extra_ms);
    bounded.rested_ms = host_block_length_of(host->rested_ms);
    if (host->length == 0 || host->length > HOST_ORIGIN_MOST) {
        return RESULT_INVALID;
    }
    buffer_reset(block);
    WireWriter out = wire_writer(block);
    wire_put_bytes(&out, room, sizeof room);
    wire_put_string(&out, host->origin, host->length);
    wire_put(&out, &host_move, &bounded);
    return out.rc == RESULT_OK
               ? block_write_header(block->data, block->length, BLOCK_HOSTS, 1, epoch)
               : out.rc;
}

Result host_block_read(const BlockHeader *header, const void *body, HostMove *host)
{
    WireReader in = wire_reader(body, header->length);
    *host = (HostMove){.length = 0};
    host->origin = (const char *)wire_get_string(&in, &host->length);
    wire_get(&in, &host_move, host);
    bool good = header->records == 1 && wire_reader_ended(&in) && host->length <= HOST_ORIGIN_MOST;
    size_t scheme = good ? link_block_scheme(host->origin, host->length) : 0;
    good = scheme > 0 && memchr(host->origin + scheme, '/', host->length - scheme) == NULL;
    return good ? RESULT_OK : RESULT_INVALID;
}

/* ---- Envelope ---- */

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

/* In front of the packed bytes, and of the checksum. */
typedef struct EnvelopeHead {
    uint32_t magic;
    uint8_t version;
    uint8_t zero;
    Envelope envelope;
    size_t length; /* of all blocks */
    size_t packed;
} EnvelopeHead;

/* Of the head up to the checksum itself, and what is behind it. */
static uint32_t checksum(const void *head, const void *packed, size_t length)
{
    return libdeflate_crc32(libdeflate_crc32(0, head, HEAD_BYTES), packed, length);
}

static const WireField envelope_fields[] = {
    WIRE_FIELD(EnvelopeHead, magic, 4, UINT64_MAX),
    WIRE_FIELD(EnvelopeHead, version, 1, UINT64_MAX),
    WIRE_FIELD(EnvelopeHead, zero, 1, UINT64_MAX),
    WIRE_FIELD(EnvelopeHead, envelope.blocks, 2, UINT64_MAX),
    WIRE_FIELD(EnvelopeHead, envelope.uuid, WIRE_BYTES, 0),
    WIRE_FIELD(EnvelopeHead, envelope.from, 2, UINT64_MAX),
    WIRE_FIELD(EnvelopeHead, envelope.to, 2, UINT64_MAX),
    WIRE_FIELD(EnvelopeHead, envelope.epoch, 8, UINT64_MAX),
    WIRE_FIELD(EnvelopeHead, envelope.session, 8, UINT64_MAX),
    WIRE_FIELD(EnvelopeHead, envelope.sequence, 8, UINT64_MAX),
    WIRE_FIELD(EnvelopeHead, length, 4, UINT64_MAX),
    WIRE_FIELD(EnvelopeHead, packed, 4, UINT64_MAX)};
static const WireRecord envelope_head = WIRE_RECORD(EnvelopeHead, envelope_fields);

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
    EnvelopeHead head = {MAGIC, VERSION, 0, *envelope, length, n};
    wire_put(&writer, &envelope_head, &head);
    if (writer.rc == RESULT_OK) {
        wire_put_number(&writer, checksum(out->data, packed->data, n), 4);
    }
    wire_put_bytes(&writer, packed->data, n);
    return writer.rc;
}

BlockFault envelope_open(EnvelopePacker *packer, const void *bytes, size_t length,
                         const uint8_t uuid[ENVELOPE_UUID_BYTES], uint16_t to, Envelope *envelope,
                         Buffer *blocks)
{
    WireReader reader = wire_reader(bytes, length);
    EnvelopeHead head = {.magic = 0};
    buffer_reset(blocks);
    wire_get(&reader, &envelope_head, &head);
    uint32_t crc = (uint32_t)wire_get_number(&reader, 4);
    *envelope = head.envelope;
    if (length < WHOLE_BYTES) {
        return BLOCK_LENGTH;
    }
    if (head.magic != MAGIC || head.version != VERSION) {
        return BLOCK_FORMAT;
    }
    if (head.packed != wire_left(&reader) || head.length > ENVELOPE_BLOCKS_MOST) {
        return BLOCK_LENGTH;
    }
    if (checksum(bytes, reader.next, head.packed) != crc) {
        return BLOCK_CRC;
    }
    if (memcmp(envelope->uuid, uuid, ENVELOPE_UUID_BYTES) != 0) {
        return BLOCK_CRAWL;
    }
    if (envelope->to != to) {
        return BLOCK_ADDRESSEE;
    }
    if (buffer_reserve(blocks, head.length + 1) != RESULT_OK) {
        return BLOCK_LENGTH;
    }
    size_t n =
        ZSTD_decompressDCtx(packer->unpack, blocks->data, head.length, reader.next, head.packed);
    if (ZSTD_isError(n) != 0 || n != head.length) {
        return BLOCK_LENGTH;
    }
    blocks->length = n;
    blocks->data[n] = '\0';
    return BLOCK_GOOD;
}

/* ---- Link block ---- */

#define LINK_PARENT_BITS 48u /* of an index of PageDB */

typedef enum LinkMark {
    LINK_SAME_WAY = 1,      /* hop, depth and redirects as before */
    LINK_SAME_SCORE = 2,    /* score as before */
    LINK_SAME_ESTIMATE = 4, /* estimate as before */
    LINK_NO_ESTIMATE = 8,
    LINK_SAME_PARENT = 16, /* agent and parent as before */
    LINK_SAME_AGENT = 32,  /* agent as before; the parent follows as a difference */
    LINK_IS_ROOT = 64,     /* no parent; the agent follows unless it is as before */
    LINK_IS_DONE = 128
} LinkMark;

const char *block_fault_name(BlockFault fault)
{
    static const char *const names[BLOCK_FAULTS] = {
        [BLOCK_GOOD] = "good",
        [BLOCK_LENGTH] = "cut off or too long",
        [BLOCK_CRC] = "its checksum is wrong",
        [BLOCK_FORMAT] = "its format is not known here",
        [BLOCK_CRAWL] = "it belongs to another crawl",
        [BLOCK_ADDRESSEE] = "it is for another agent",
        [BLOCK_SLOT] = "the agents disagree about the slot of a host",
        [BLOCK_DRAINED] = "the agent has no slots any more, or gives them away",
        [BLOCK_UNGREETED] = "the agents have not greeted each other",
        [BLOCK_RECORD] = "a record is not what it should be"};
    return fault < BLOCK_FAULTS ? names[fault] : "unknown";
}

/* ---- writing ---- */

void link_block_writer_init(LinkBlockWriter *writer)
{
    *writer = (LinkBlockWriter){.records = 0};
    buffer_init(&writer->block, BLOCK_HEADER_BYTES + BLOCK_BODY_MOST);
    buffer_init(&writer->url, LINK_URL_MOST);
}

void link_block_writer_destroy(LinkBlockWriter *writer)
{
    buffer_destroy(&writer->block);
    buffer_destroy(&writer->url);
}

void link_block_writer_reset(LinkBlockWriter *writer)
{
    buffer_reset(&writer->block);
    writer->last = (LinkRecord){.length = 0};
    writer->records = 0;
}

static size_t shared_prefix(const LinkRecord *before, const LinkRecord *record)
{
    size_t most = before->length < record->length ? before->length : record->length;
    size_t n = 0;
    while (n < most && before->url[n] == record->url[n]) {
        n++;
    }
    return n;
}

static unsigned marks_of(const LinkRecord *before, const LinkRecord *record)
{
    unsigned marks = 0;
    if (record->hop == before->hop && record->depth == before->depth &&
        record->redirects == before->redirects) {
        marks |= LINK_SAME_WAY;
    }
    if (wire_half_of(record->score) == wire_half_of(before->score)) {
        marks |= LINK_SAME_SCORE;
    }
    if (record->estimate < 0) {
        marks |= LINK_NO_ESTIMATE;
    } else if (before->estimate >= 0 &&
               wire_half_of(record->estimate) == wire_half_of(before->estimate)) {
        marks |= LINK_SAME_ESTIMATE;
    }
    marks |= record->done ? LINK_IS_DONE : 0u;
    bool same_agent = record->agent == before->agent;
    marks |= same_agent ? LINK_SAME_AGENT : 0u;
    if (record->parent == LINK_NO_PARENT) {
        marks |= LINK_IS_ROOT;
    } else if (same_agent && record->parent == before->parent) {
        marks |= LINK_SAME_PARENT;
    }
    return marks;
}

static uint64_t parent_before(const LinkRecord *before)
{
    return before->parent == LINK_NO_PARENT ? 0 : before->parent;
}

/* The difference of two indices as a number without sign: small when they are near. */
static uint64_t fold(uint64_t from, uint64_t to)
{
    return to >= from ? (to - from) << 1 : ((from - to) << 1) | 1;
}

static uint64_t link_block_unfold(uint64_t from, uint64_t folded)
{
    return (folded & 1) != 0 ? from - (folded >> 1) : from + (folded >> 1);
}

static void link_block_put_record(WireWriter *out, const LinkRecord *before,
                                  const LinkRecord *record)
{
    unsigned marks = marks_of(before, record);
    size_t shared = shared_prefix(before, record);
    wire_put_number(out, marks, 1);
    wire_put_varint(out, shared);
    wire_put_string(out, record->url + shared, record->length - shared);
    if ((marks & LINK_SAME_WAY) == 0) {
        wire_put_number(out, record->hop, 1);
        wire_put_varint(out, record->depth);
        wire_put_number(out, record->redirects, 1);
    }
    if ((marks & LINK_SAME_SCORE) == 0) {
        wire_put_number(out, wire_half_of(record->score), 2);
    }
    if ((marks & (LINK_SAME_ESTIMATE | LINK_NO_ESTIMATE)) == 0) {
        wire_put_number(out, wire_half_of(record->estimate), 2);
    }
    if ((marks & LINK_SAME_AGENT) == 0) {
        wire_put_number(out, record->agent, 2);
    }
    if ((marks & (LINK_SAME_PARENT | LINK_IS_ROOT)) == 0) {
        wire_put_varint(out, fold(parent_before(before), record->parent));
    }
}

Result link_block_append(LinkBlockWriter *writer, const LinkRecord *record)
{
    static const char room[BLOCK_HEADER_BYTES] = {0};
    if (record->length == 0 || record->length > LINK_URL_MOST) {
        return RESULT_INVALID;
    }
    if (writer->records == BLOCK_RECORDS_MOST) {
        return RESULT_LIMIT;
    }
    Result rc =
        writer->block.length > 0 ? RESULT_OK : buffer_append(&writer->block, room, sizeof room);
    size_t before = writer->block.length;
    WireWriter out = wire_writer(&writer->block);
    if (rc == RESULT_OK) {
        link_block_put_record(&out, &writer->last, record);
        rc = out.rc;
    }
    if (rc == RESULT_OK) { /* it becomes the one before the next; else that stays as it is */
        buffer_reset(&writer->url);
        rc = buffer_reserve(&writer->url, record->length);
    }
    if (rc != RESULT_OK) {
        writer->block.length = before;
        return rc;
    }
    (void)buffer_append(&writer->url, record->url, record->length);
    writer->last = *record;
    writer->last.url = writer->url.data;
    writer->records++;
    return RESULT_OK;
}

Result link_block_finish(LinkBlockWriter *writer, uint32_t epoch)
{
    if (writer->block.length < BLOCK_HEADER_BYTES) {
        return RESULT_INVALID; /* nothing was appended */
    }
    return block_write_header(writer->block.data, writer->block.length, BLOCK_LINKS,
                              writer->records, epoch);
}

/* ---- reading ---- */

void link_block_reader_init(LinkBlockReader *reader, const BlockHeader *header, const void *body)
{
    *reader = (LinkBlockReader){.body = wire_reader(body, header->length), .left = header->records};
    buffer_init(&reader->url, LINK_URL_MOST);
}

void link_block_reader_destroy(LinkBlockReader *reader)
{
    buffer_destroy(&reader->url);
}

static bool is_hop(uint8_t hop)
{
    return hop >= 'A' && hop <= 'Z';
}

/* The URL of the next record, into reader->url. */
static Result get_url(LinkBlockReader *reader)
{
    WireReader *in = &reader->body;
    size_t length = 0;
    uint64_t shared = wire_get_varint(in);
    const uint8_t *rest = wire_get_string(in, &length);
    if (in->bad || shared > reader->url.length || shared + length > LINK_URL_MOST) {
        return RESULT_INVALID;
    }
    reader->url.length = (size_t)shared;
    Result rc = buffer_append(&reader->url, rest, length);
    if (rc == RESULT_OK && link_block_scheme(reader->url.data, reader->url.length) == 0) {
        rc = RESULT_INVALID;
    }
    return rc;
}

static void get_fields(WireReader *in, unsigned marks, LinkRecord *record)
{
    uint64_t before = parent_before(record);
    if ((marks & LINK_SAME_WAY) == 0) {
        record->hop = (uint8_t)wire_get_number(in, 1);
        record->depth = wire_get_varint(in);
        record->redirects = (uint8_t)wire_get_number(in, 1);
    }
    if ((marks & LINK_SAME_SCORE) == 0) {
        record->score = wire_float_of((uint16_t)wire_get_number(in, 2));
    }
    if ((marks & LINK_NO_ESTIMATE) != 0) {
        record->estimate = -1;
    } else if ((marks & LINK_SAME_ESTIMATE) == 0) {
        record->estimate = wire_float_of((uint16_t)wire_get_number(in, 2));
    }
    if ((marks & LINK_SAME_AGENT) == 0) {
        record->agent = (uint16_t)wire_get_number(in, 2);
    }
    if ((marks & LINK_IS_ROOT) != 0) {
        record->parent = LINK_NO_PARENT;
    } else if ((marks & LINK_SAME_PARENT) == 0) {
        record->parent = link_block_unfold(before, wire_get_varint(in));
    }
}

Result link_block_next(LinkBlockReader *reader, LinkRecord *record)
{
    WireReader *in = &reader->body;
    if (reader->left == 0) {
        return wire_reader_ended(in) ? RESULT_CLOSED : RESULT_INVALID;
    }
    unsigned marks = (uint8_t)wire_get_number(in, 1);
    Result rc = in->bad ? RESULT_INVALID : get_url(reader);
    if (rc != RESULT_OK) {
        return rc;
    }
    LinkRecord next = reader->last;
    get_fields(in, marks, &next);
    bool is_root = next.parent == LINK_NO_PARENT;
    bool is_index = next.parent >> LINK_PARENT_BITS == 0;
    if (in->bad || !is_hop(next.hop) || (!is_root && !is_index) ||
        is_root != ((marks & LINK_IS_ROOT) != 0)) {
        return RESULT_INVALID;
    }
    next.done = (marks & LINK_IS_DONE) != 0;
    next.url = reader->url.data;
    next.length = reader->url.length;
    reader->last = next;
    reader->left--;
    *record = next;
    return RESULT_OK;
}
