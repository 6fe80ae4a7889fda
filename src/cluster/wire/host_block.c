#include "cluster/wire/host_block.h"

#include <string.h>

static uint64_t host_block_length_of(int64_t ms)
{
    return ms < 0 ? 0 : (uint64_t)(ms < HOST_LENGTH_MS ? ms : HOST_LENGTH_MS);
}

Result host_block_write(const HostMove *host, uint32_t epoch, Buffer *block)
{
    static const char room[BLOCK_HEADER_BYTES] = {0};
    if (host->length == 0 || host->length > HOST_ORIGIN_MOST) {
        return RESULT_INVALID;
    }
    buffer_reset(block);
    WireWriter out = wire_writer(block);
    wire_put_bytes(&out, room, sizeof room);
    wire_put_string(&out, host->origin, host->length);
    wire_put_varint(&out, host->pages);
    wire_put_varint(&out, host->crawl_delay_ms);
    wire_put_varint(&out, host_block_length_of(host->wait_ms));
    wire_put_varint(&out, host_block_length_of(host->extra_ms));
    wire_put_varint(&out, host_block_length_of(host->rested_ms));
    wire_put_8(&out, host->failures);
    wire_put_8(&out, host->last_failure);
    if (out.rc == RESULT_OK) {
        block_write_header(block->data, block->length, BLOCK_HOSTS, 1, epoch);
    }
    return out.rc;
}

static uint32_t get_32(WireReader *in)
{
    uint64_t number = wire_get_varint(in);
    in->bad |= number > UINT32_MAX;
    return (uint32_t)number;
}

static int64_t get_ms(WireReader *in)
{
    uint64_t ms = wire_get_varint(in);
    in->bad |= ms > (uint64_t)HOST_LENGTH_MS;
    return (int64_t)ms;
}

static bool is_origin(const char *origin, size_t length)
{
    bool http = length > 7 && memcmp(origin, "http://", 7) == 0;
    bool https = length > 8 && memcmp(origin, "https://", 8) == 0;
    for (size_t i = http ? 7 : 8; i < length; i++) {
        if (origin[i] <= ' ' || origin[i] > '~' || origin[i] == '/') {
            return false;
        }
    }
    return (http || https) && length <= HOST_ORIGIN_MOST;
}

Result host_block_read(const BlockHeader *header, const void *body, HostMove *host)
{
    WireReader in = wire_reader(body, header->length);
    *host = (HostMove){.length = 0};
    host->origin = (const char *)wire_get_string(&in, &host->length);
    host->pages = get_32(&in);
    host->crawl_delay_ms = get_32(&in);
    host->wait_ms = get_ms(&in);
    host->extra_ms = get_ms(&in);
    host->rested_ms = get_ms(&in);
    host->failures = wire_get_8(&in);
    host->last_failure = wire_get_8(&in);
    bool good = header->records == 1 && wire_reader_ended(&in) && host->origin != NULL &&
                is_origin(host->origin, host->length);
    return good ? RESULT_OK : RESULT_INVALID;
}
