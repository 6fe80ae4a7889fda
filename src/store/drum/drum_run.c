#include "store/drum/drum_run.h"

#include "store/drum/drum_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/varint.h"

#define VALUES_SOFT ((size_t)1 << 20) /* a block with more bytes is closed early */

static uint64_t drum_run_checksum(const DrumRunBlock *header)
{
    return hash_64(&header->payload_checksum, sizeof *header - sizeof header->checksum, 0);
}

/* ---- Reading ---- */

static Result drum_run_read_header(const DrumRunReader *reader, uint64_t offset,
                                   DrumRunBlock *header)
{
    Result rc = drum_read_at(reader->fd, header, sizeof *header, offset);
    if (rc != RESULT_OK) {
        return rc;
    }
    return header->checksum == drum_run_checksum(header) ? RESULT_OK : RESULT_DAMAGED;
}

/* The end tells that the file is whole. */
static Result drum_run_read_end(DrumRunReader *reader)
{
    struct stat status;
    DrumRunBlock end;
    if (fstat(reader->fd, &status) != 0) {
        return result_of_errno(errno);
    }
    if (status.st_size < (off_t)sizeof end) {
        return RESULT_DAMAGED;
    }
    Result rc = drum_run_read_header(reader, (uint64_t)status.st_size - sizeof end, &end);
    reader->entries = end.last_key;
    return rc == RESULT_OK && end.n != 0 ? RESULT_DAMAGED : rc;
}

Result drum_run_reader_open(DrumRunReader *reader, int directory, const char *name)
{
    *reader = (DrumRunReader){.fd = openat(directory, name, O_RDONLY | O_CLOEXEC)};
    buffer_init(&reader->block, BUFFER_NO_LIMIT);
    if (reader->fd < 0) {
        return result_of_errno(errno);
    }
    Result rc = drum_run_read_end(reader);
    if (rc != RESULT_OK) {
        drum_run_reader_destroy(reader);
    }
    return rc;
}

void drum_run_reader_destroy(DrumRunReader *reader)
{
    if (reader->fd >= 0) {
        (void)close(reader->fd);
    }
    reader->fd = -1;
    buffer_destroy(&reader->block);
}

void drum_run_reader_rewind(DrumRunReader *reader)
{
    reader->next = 0;
    reader->at = reader->end = NULL;
    reader->last_key = 0;
    reader->has_entry = false;
}

/* Loads the first block from reader->next on that does not end before key. */
static Result drum_run_reader_load(DrumRunReader *reader, uint64_t key)
{
    DrumRunBlock header;
    reader->at = reader->end = NULL;
    reader->has_entry = false;
    Result rc = drum_run_read_header(reader, reader->next, &header);
    while (rc == RESULT_OK && header.n > 0 && header.last_key < key) {
        reader->next += sizeof header + header.bytes;
        rc = drum_run_read_header(reader, reader->next, &header);
    }
    if (rc == RESULT_OK && header.n == 0) {
        rc = RESULT_NOT_FOUND; /* the end, also the next time */
    }
    buffer_reset(&reader->block);
    if (rc == RESULT_OK) {
        rc = buffer_reserve(&reader->block, header.bytes);
    }
    if (rc == RESULT_OK) {
        rc = drum_read_at(reader->fd, reader->block.data, header.bytes,
                          reader->next + sizeof header);
    }
    if (rc == RESULT_OK &&
        hash_64(reader->block.data, header.bytes, 0) != header.payload_checksum) {
        rc = RESULT_DAMAGED;
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    reader->next += sizeof header + header.bytes;
    reader->at = (const uint8_t *)reader->block.data;
    reader->end = reader->at + header.bytes;
    reader->last_key = header.last_key;
    return RESULT_OK;
}

/* Reads the entry at hand of the block. */
static Result drum_run_reader_entry(DrumRunReader *reader)
{
    uint64_t distance = 0;
    uint64_t length = 0;
    const uint8_t *at = varint_read(reader->at, reader->end, &distance);
    if (at != NULL) {
        at = varint_read(at, reader->end, &length);
    }
    if (at == NULL || length > (uint64_t)(reader->end - at)) {
        return RESULT_DAMAGED;
    }
    reader->key = reader->has_entry ? reader->key + distance : distance;
    reader->value = (DrumBytes){at, (size_t)length};
    reader->at = at + length;
    reader->has_entry = true;
    return RESULT_OK;
}

Result drum_run_reader_next(DrumRunReader *reader)
{
    if (reader->at == reader->end) {
        Result rc = drum_run_reader_load(reader, 0);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return drum_run_reader_entry(reader);
}

Result drum_run_reader_seek(DrumRunReader *reader, uint64_t key)
{
    Result rc = RESULT_OK;
    if (reader->has_entry && reader->key >= key) {
        return RESULT_OK;
    }
    if (reader->at == reader->end || reader->last_key < key) {
        rc = drum_run_reader_load(reader, key);
    }
    if (rc == RESULT_OK) {
        rc = drum_run_reader_entry(reader);
    }
    while (rc == RESULT_OK && reader->key < key) {
        rc = drum_run_reader_entry(reader);
    }
    return rc;
}

/* ---- Writing ---- */

/* The buffer begins with room for the header of the block. */
static Result drum_run_begin_block(DrumRunWriter *writer)
{
    static const DrumRunBlock room = {.n = 0};
    writer->n = 0;
    buffer_reset(&writer->block);
    return buffer_append(&writer->block, &room, sizeof room);
}

Result drum_run_writer_open(DrumRunWriter *writer, int directory, const char *name)
{
    *writer = (DrumRunWriter){.fd = -1};
    buffer_init(&writer->block, BUFFER_NO_LIMIT);
    Result rc = drum_run_begin_block(writer);
    if (rc != RESULT_OK) {
        return rc;
    }
    writer->fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return writer->fd >= 0 ? RESULT_OK : result_of_errno(errno);
}

void drum_run_writer_destroy(DrumRunWriter *writer)
{
    if (writer->fd >= 0) {
        (void)close(writer->fd);
    }
    writer->fd = -1;
    buffer_destroy(&writer->block);
}

/* Writes the block at hand; one without entries is the end. */
static Result drum_run_writer_close_block(DrumRunWriter *writer)
{
    const char *payload = writer->block.data + sizeof(DrumRunBlock);
    size_t bytes = writer->block.length - sizeof(DrumRunBlock);
    DrumRunBlock header = {.payload_checksum = hash_64(payload, bytes, 0),
                           .last_key = writer->n == 0 ? writer->entries : writer->last_key,
                           .n = writer->n,
                           .bytes = (uint32_t)bytes};
    header.checksum = drum_run_checksum(&header);
    memcpy(writer->block.data, &header, sizeof header);
    for (size_t done = 0; done < writer->block.length;) {
        ssize_t n = write(writer->fd, writer->block.data + done, writer->block.length - done);
        if (n < 0 && errno != EINTR) {
            return result_of_errno(errno);
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return drum_run_begin_block(writer);
}

static Result drum_run_writer_append(DrumRunWriter *writer, uint64_t key, DrumBytes value)
{
    uint8_t head[2 * MAX_VARINT_SIZE];
    if (value.length > DRUM_MAX_VALUE) {
        return RESULT_LIMIT;
    }
    uint8_t *end = varint_encode_uint64(writer->n == 0 ? key : key - writer->last_key, head);
    end = varint_encode_uint64(value.length, end);
    Result rc = buffer_append(&writer->block, head, (size_t)(end - head));
    if (rc == RESULT_OK) {
        rc = buffer_append(&writer->block, value.bytes, value.length);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    writer->last_key = key;
    writer->entries++;
    writer->n++;
    return writer->n == DRUM_RUN_ENTRIES || writer->block.length >= VALUES_SOFT
               ? drum_run_writer_close_block(writer)
               : RESULT_OK;
}

Result drum_run_writer_put(DrumRunWriter *writer, uint64_t key, DrumBytes value)
{
    assert(writer->n == 0 || key > writer->last_key);
    if (writer->failed == RESULT_OK) {
        writer->failed = drum_run_writer_append(writer, key, value);
    }
    return writer->failed;
}

Result drum_run_writer_finish(DrumRunWriter *writer)
{
    Result rc = writer->failed;
    if (rc == RESULT_OK && writer->n > 0) {
        rc = drum_run_writer_close_block(writer);
    }
    if (rc == RESULT_OK) {
        rc = drum_run_writer_close_block(writer);
    }
    if (rc == RESULT_OK && fsync(writer->fd) != 0) {
        rc = result_of_errno(errno);
    }
    return rc;
}
