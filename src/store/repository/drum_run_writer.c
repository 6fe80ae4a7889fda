#include "store/repository/drum_run_writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUES_SOFT  ((size_t)1 << 20) /* a block with so many bytes of values is closed early */
#define OUTPUT_BYTES ((size_t)256 << 10)

Result drum_run_writer_open(DrumRunWriter *writer, int directory, const char *name)
{
    *writer = (DrumRunWriter){.fd = -1};
    buffer_init(&writer->values, BUFFER_NO_LIMIT);
    buffer_init(&writer->output, BUFFER_NO_LIMIT);
    writer->keys = malloc(DRUM_RUN_ENTRIES * sizeof *writer->keys);
    writer->ends = malloc(DRUM_RUN_ENTRIES * sizeof *writer->ends);
    if (writer->keys == NULL || writer->ends == NULL) {
        return RESULT_MEMORY;
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
    free(writer->keys);
    free(writer->ends);
    free(writer->fences);
    writer->keys = NULL;
    writer->ends = NULL;
    writer->fences = NULL;
    buffer_destroy(&writer->values);
    buffer_destroy(&writer->output);
}

static Result drum_run_writer_write_output(DrumRunWriter *writer)
{
    for (size_t done = 0; done < writer->output.length;) {
        ssize_t n = write(writer->fd, writer->output.data + done, writer->output.length - done);
        if (n < 0 && errno != EINTR) {
            return result_of_errno(errno);
        }
        done += n > 0 ? (size_t)n : 0;
    }
    buffer_reset(&writer->output);
    return RESULT_OK;
}

static Result add_fence(DrumRunWriter *writer, uint64_t first_key)
{
    if (writer->n_fences == writer->capacity) {
        size_t capacity = writer->capacity == 0 ? 256 : 2 * writer->capacity;
        DrumFence *fences = realloc(writer->fences, capacity * sizeof *fences);
        if (fences == NULL) {
            return RESULT_MEMORY;
        }
        writer->fences = fences;
        writer->capacity = capacity;
    }
    writer->fences[writer->n_fences++] = (DrumFence){first_key, writer->size};
    return RESULT_OK;
}

static void pack_deltas(const DrumRunWriter *writer, uint32_t bits, uint8_t *bytes)
{
    for (size_t i = 1; i < writer->n; i++) {
        uint64_t delta = writer->keys[i] - writer->keys[i - 1];
        size_t bit = (i - 1) * bits;
        uint64_t word;
        memcpy(&word, bytes + bit / 8, sizeof word);
        word |= delta << (bit % 8);
        memcpy(bytes + bit / 8, &word, sizeof word);
    }
}

/* What the values of the block at hand have in common: their length, or UINT32_MAX. */
static uint32_t common_width(const DrumRunWriter *writer)
{
    uint32_t width = writer->ends[0];
    for (size_t i = 1; i < writer->n; i++) {
        if (writer->ends[i] - writer->ends[i - 1] != width) {
            return UINT32_MAX;
        }
    }
    return width;
}

static Result drum_run_writer_close_block(DrumRunWriter *writer)
{
    uint64_t largest = 1;
    for (size_t i = 1; i < writer->n; i++) {
        uint64_t delta = writer->keys[i] - writer->keys[i - 1];
        largest = delta > largest ? delta : largest;
    }
    uint32_t bits = 64 - (uint32_t)__builtin_clzll(largest);
    bits = bits > DRUM_RUN_MOST_BITS ? 64 : bits;
    DrumRunBlock header = {.magic = DRUM_RUN_BLOCK_MAGIC,
                           .n = (uint32_t)writer->n,
                           .bits = bits,
                           .width = common_width(writer),
                           .values_bytes = (uint32_t)writer->values.length,
                           .first_key = writer->keys[0],
                           .last_key = writer->keys[writer->n - 1]};
    size_t packed = drum_run_deltas_bytes(writer->n, bits);
    size_t ends = header.width == UINT32_MAX ? writer->n * sizeof *writer->ends : 0;
    header.payload_bytes = (uint32_t)(packed + ends + writer->values.length);
    Result rc = add_fence(writer, header.first_key);
    if (rc == RESULT_OK) {
        rc = buffer_reserve(&writer->output, sizeof header + header.payload_bytes);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    uint8_t *payload = (uint8_t *)writer->output.data + writer->output.length + sizeof header;
    memset(payload, 0, packed);
    pack_deltas(writer, bits, payload);
    memcpy(payload + packed, writer->ends, ends);
    if (writer->values.length > 0) {
        memcpy(payload + packed + ends, writer->values.data, writer->values.length);
    }
    header.checksum = drum_run_block_checksum(&header, payload);
    memcpy(payload - sizeof header, &header, sizeof header);
    writer->output.length += sizeof header + header.payload_bytes;
    writer->size += sizeof header + header.payload_bytes;
    writer->n = 0;
    buffer_reset(&writer->values);
    return writer->output.length >= OUTPUT_BYTES ? drum_run_writer_write_output(writer) : RESULT_OK;
}

Result drum_run_writer_put(DrumRunWriter *writer, uint64_t key, DrumBytes value)
{
    if (writer->failed != RESULT_OK) {
        return writer->failed;
    }
    assert(writer->n == 0 || key > writer->keys[writer->n - 1]);
    writer->failed = value.length > DRUM_MAX_VALUE
                         ? RESULT_LIMIT
                         : buffer_append(&writer->values, value.bytes, value.length);
    if (writer->failed != RESULT_OK) {
        return writer->failed;
    }
    writer->keys[writer->n] = key;
    writer->ends[writer->n++] = (uint32_t)writer->values.length;
    writer->entries++;
    if (writer->n == DRUM_RUN_ENTRIES || writer->values.length >= VALUES_SOFT) {
        writer->failed = drum_run_writer_close_block(writer);
    }
    return writer->failed;
}

Result drum_run_writer_finish(DrumRunWriter *writer)
{
    Result rc = writer->failed;
    if (rc == RESULT_OK && writer->n > 0) {
        rc = drum_run_writer_close_block(writer);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    DrumRunTrailer trailer = {.magic = DRUM_RUN_TRAILER_MAGIC,
                              .version = DRUM_RUN_VERSION,
                              .entries = writer->entries,
                              .n_fences = writer->n_fences,
                              .index_offset = writer->size};
    trailer.checksum = drum_run_trailer_checksum(&trailer, writer->fences);
    rc = buffer_append(&writer->output, writer->fences, writer->n_fences * sizeof *writer->fences);
    if (rc == RESULT_OK) {
        rc = buffer_append(&writer->output, &trailer, sizeof trailer);
    }
    if (rc == RESULT_OK) {
        rc = drum_run_writer_write_output(writer);
    }
    if (rc == RESULT_OK && fsync(writer->fd) != 0) {
        rc = result_of_errno(errno);
    }
    writer->size += writer->n_fences * sizeof *writer->fences + sizeof trailer;
    return rc;
}
