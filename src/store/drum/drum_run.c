#include "store/drum/drum_run.h"

#include "store/drum/drum_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/array.h"

/* ---- Reading a sorted run (drum_run ---- */

static Result drum_run_reader_read_index(DrumRunReader *reader)
{
    DrumRunTrailer trailer;
    if (reader->size < sizeof trailer) {
        return RESULT_DAMAGED;
    }
    Result rc = drum_read_at(reader->fd, &trailer, sizeof trailer, reader->size - sizeof trailer);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (trailer.magic != DRUM_RUN_TRAILER_MAGIC) {
        return RESULT_DAMAGED;
    }
    if (trailer.version != DRUM_RUN_VERSION) {
        return RESULT_VERSION;
    }
    uint64_t room = reader->size - sizeof trailer;
    if (trailer.index_offset > room || (room - trailer.index_offset) % sizeof(DrumFence) != 0 ||
        (room - trailer.index_offset) / sizeof(DrumFence) != trailer.n_fences) {
        return RESULT_DAMAGED;
    }
    size_t n = (size_t)trailer.n_fences;
    reader->fences = malloc((n + 1) * sizeof *reader->fences);
    if (reader->fences == NULL) {
        return RESULT_MEMORY;
    }
    rc = drum_read_at(reader->fd, reader->fences, n * sizeof *reader->fences, trailer.index_offset);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (trailer.checksum != drum_run_trailer_checksum(&trailer, reader->fences)) {
        return RESULT_DAMAGED;
    }
    reader->fences[n] = (DrumFence){UINT64_MAX, trailer.index_offset};
    for (size_t i = 0; i < n; i++) {
        if (reader->fences[i].offset >= reader->fences[i + 1].offset ||
            (i + 1 < n && reader->fences[i].first_key >= reader->fences[i + 1].first_key)) {
            return RESULT_DAMAGED;
        }
    }
    reader->n_fences = n;
    reader->entries = trailer.entries;
    return RESULT_OK;
}

Result drum_run_reader_open(DrumRunReader *reader, int directory, const char *name)
{
    struct stat status = {.st_size = 0};
    *reader = (DrumRunReader){.fd = -1, .block = SIZE_MAX};
    buffer_init(&reader->input, BUFFER_NO_LIMIT);
    reader->keys = malloc(DRUM_RUN_ENTRIES * sizeof *reader->keys);
    Result rc = reader->keys != NULL ? RESULT_OK : RESULT_MEMORY;
    if (rc == RESULT_OK) {
        reader->fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
        rc =
            reader->fd >= 0 && fstat(reader->fd, &status) == 0 ? RESULT_OK : result_of_errno(errno);
    }
    if (rc == RESULT_OK) {
        reader->size = (uint64_t)status.st_size;
        rc = drum_run_reader_read_index(reader);
    }
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
    free(reader->fences);
    free(reader->keys);
    reader->fences = NULL;
    reader->keys = NULL;
    reader->n_fences = 0;
    buffer_destroy(&reader->input);
}

void drum_run_reader_rewind(DrumRunReader *reader)
{
    reader->block = SIZE_MAX;
    reader->n = 0;
    reader->at = 0;
}

static bool unpack_keys(DrumRunReader *reader, const DrumRunBlock *header, const uint8_t *bytes)
{
    uint32_t bits = header->bits;
    uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    uint64_t key = header->first_key;
    reader->keys[0] = key;
    for (size_t i = 1; i < header->n; i++) {
        size_t bit = (i - 1) * bits;
        uint64_t word;
        memcpy(&word, bytes + bit / 8, sizeof word);
        key += word >> (bit % 8) & mask;
        reader->keys[i] = key;
    }
    return key == header->last_key;
}

/* The array of ends ascends and closes with the last byte. */
static bool ends_are_good(const uint8_t *ends, size_t n, uint32_t values_bytes)
{
    uint32_t before = 0, end = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(&end, ends + i * sizeof end, sizeof end);
        if (end < before) {
            return false;
        }
        before = end;
    }
    return end == values_bytes;
}

static Result drum_run_reader_load_block(DrumRunReader *reader, size_t number)
{
    DrumRunBlock header;
    uint64_t offset = reader->fences[number].offset;
    uint64_t length = reader->fences[number + 1].offset - offset;
    reader->block = number;
    reader->n = 0;
    reader->at = 0;
    if (length < sizeof header || length > UINT32_MAX) {
        return RESULT_DAMAGED;
    }
    buffer_reset(&reader->input);
    Result rc = buffer_reserve(&reader->input, (size_t)length);
    if (rc == RESULT_OK) {
        rc = drum_read_at(reader->fd, reader->input.data, (size_t)length, offset);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    memcpy(&header, reader->input.data, sizeof header);
    const uint8_t *payload = (const uint8_t *)reader->input.data + sizeof header;
    if (header.magic != DRUM_RUN_BLOCK_MAGIC || header.payload_bytes != length - sizeof header ||
        header.checksum != drum_run_block_checksum(&header, payload) || header.n == 0 ||
        header.n > DRUM_RUN_ENTRIES || header.bits == 0 ||
        (header.bits > DRUM_RUN_MOST_BITS && header.bits != 64)) {
        return RESULT_DAMAGED;
    }
    size_t packed = drum_run_deltas_bytes(header.n, header.bits);
    bool varies = header.width == UINT32_MAX;
    size_t ends = varies ? header.n * sizeof(uint32_t) : 0;
    if (packed + ends + header.values_bytes != header.payload_bytes ||
        (!varies && (uint64_t)header.width * header.n != header.values_bytes) ||
        (varies && !ends_are_good(payload + packed, header.n, header.values_bytes)) ||
        !unpack_keys(reader, &header, payload)) {
        return RESULT_DAMAGED;
    }
    reader->width = header.width;
    reader->ends = payload + packed;
    reader->values = payload + packed + ends;
    reader->values_bytes = header.values_bytes;
    reader->n = header.n;
    return RESULT_OK;
}

DrumBytes drum_run_reader_value(const DrumRunReader *reader)
{
    uint32_t start = 0, end = 0;
    if (reader->width != UINT32_MAX) {
        return (DrumBytes){reader->values + reader->at * reader->width, reader->width};
    }
    memcpy(&end, reader->ends + reader->at * sizeof end, sizeof end);
    if (reader->at > 0) {
        memcpy(&start, reader->ends + (reader->at - 1) * sizeof start, sizeof start);
    }
    assert(start <= end && end <= reader->values_bytes); /* load_block has looked */
    return (DrumBytes){reader->values + start, end - start};
}

Result drum_run_reader_next(DrumRunReader *reader)
{
    if (reader->n > 0 && reader->at + 1 < reader->n) {
        reader->at++;
        return RESULT_OK;
    }
    size_t number = reader->block == SIZE_MAX ? 0 : reader->block + 1;
    if (number >= reader->n_fences) {
        reader->block = reader->n_fences;
        reader->n = 0;
        return RESULT_NOT_FOUND;
    }
    return drum_run_reader_load_block(reader, number);
}

/* The last block from number on whose first key is not behind key; number itself if none is. */
static size_t block_of(const DrumRunReader *reader, size_t number, uint64_t key)
{
    size_t low = number, high = reader->n_fences;
    if (number + 1 >= high || reader->fences[number + 1].first_key > key) {
        return number;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (reader->fences[middle].first_key <= key) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static size_t position_of(const DrumRunReader *reader, uint64_t key)
{
    size_t at = reader->at;
    size_t near = at + 16 < reader->n ? at + 16 : reader->n;
    while (at < near && reader->keys[at] < key) {
        at++;
    }
    if (at < near || at == reader->n) {
        return at;
    }
    size_t high = reader->n;
    while (at < high) {
        size_t middle = at + (high - at) / 2;
        if (reader->keys[middle] < key) {
            at = middle + 1;
        } else {
            high = middle;
        }
    }
    return at;
}

Result drum_run_reader_seek(DrumRunReader *reader, uint64_t key)
{
    if (reader->n == 0 || key > reader->keys[reader->n - 1]) {
        size_t number = reader->block == SIZE_MAX ? 0 : reader->block;
        if (number >= reader->n_fences) {
            return RESULT_NOT_FOUND;
        }
        size_t wanted = block_of(reader, number, key);
        if (wanted != reader->block || reader->n == 0) {
            Result rc = drum_run_reader_load_block(reader, wanted);
            if (rc != RESULT_OK) {
                return rc;
            }
        }
        if (key > reader->keys[reader->n - 1]) {
            /* Between two blocks: what comes first behind key opens the next one. */
            reader->at = reader->n - 1;
            return drum_run_reader_next(reader);
        }
    }
    reader->at = position_of(reader, key);
    return RESULT_OK;
}

/* ---- Writing a sorted run (drum_run ---- */

#define VALUES_SOFT  ((size_t)1 << 20) /* a block with more bytes of values is closed early */
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
    DrumFence fence = {header.first_key, writer->size};
    Result rc = array_add(&writer->fences, &writer->n_fences, sizeof fence, &fence);
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
