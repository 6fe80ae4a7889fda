/* Whatever a file of another program holds, the reader of foreign WARC files comes to its end: each
 * record lies within what was read, every damage has a sentence, and passing over it makes way. The
 * same records are found whether the text is plain, in one gzip member or in one Zstandard frame.
 * The first byte chooses: the rest is a file, or the text of one. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/foreign/foreign_reader.h"
#include "store/warc/warc_compress.h"

#define MAX_BLOCK ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* Into how many bytes one of a file may be decompressed, at most. */
static size_t most_ratio(const void *bytes, size_t size)
{
    const unsigned char *b = bytes;
    bool is_gzip = size >= 2 && b[0] == 0x1f && b[1] == 0x8b;
    bool is_zstd = size >= 3 && (b[1] == 0xb5 || b[1] == 0x2a);
    return is_gzip ? 1100 : is_zstd ? 40000 : 1;
}

/* Reads all of a file; the number of records, and a sum of what they are. */
static size_t read_all(const void *bytes, size_t size, uint64_t *sum)
{
    char path[64];
    ForeignReader *reader = NULL;
    ForeignRecord record;
    ForeignAnswer answer;
    Buffer chunks;
    size_t n = 0;
    int fd = memfd_create("fuzz", 0);
    must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    must(foreign_reader_open(&reader, path, MAX_BLOCK) == RESULT_OK);
    buffer_init(&chunks, BUFFER_NO_LIMIT);
    *sum = 0;
    Result rc = RESULT_OK;
    for (size_t turn = 0; rc != RESULT_NOT_FOUND; turn++) {
        must(turn <= 2 * most_ratio(bytes, size) * size + 2);
        rc = foreign_reader_next(reader, &record);
        if (rc == RESULT_DAMAGED) {
            must(*foreign_reader_problem(reader) != '\0');
            rc = foreign_reader_pass(reader);
            must(rc == RESULT_OK || rc == RESULT_NOT_FOUND);
            continue;
        }
        must(rc == RESULT_OK || rc == RESULT_NOT_FOUND);
        if (rc == RESULT_OK) {
            n++;
            *sum += record.block.length + record.uri.length + (uint64_t)record.type;
            for (size_t i = 0; i < record.block.length; i++) {
                *sum += (unsigned char)record.block.bytes[i];
            }
            if (foreign_http_read(record.block, &chunks, &answer) == RESULT_OK) {
                must(answer.header.length + answer.stored.length == record.block.length);
                must(answer.body.length <= answer.stored.length);
            }
        }
    }
    buffer_destroy(&chunks);
    foreign_reader_close(reader);
    (void)close(fd);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t sum = 0;
    if (size < 2) {
        return 0;
    }
    const char *rest = (const char *)data + 1;
    bool is_coded = size > 3 && (memcmp(rest, "\x1f\x8b\x08", 3) == 0 ||
                                 (size > 5 && memcmp(rest + 1, "\x2a\x4d\x18", 3) == 0) ||
                                 (size > 5 && memcmp(rest, "\x28\xb5\x2f\xfd", 4) == 0));
    size_t n = read_all(rest, size - 1, &sum);
    for (int i = 0; data[0] % 2 == 1 && i < 2 && !is_coded; i++) {
        WarcCompressor *compressor = NULL;
        Buffer member;
        uint64_t other = 0;
        buffer_init(&member, BUFFER_NO_LIMIT);
        must(warc_compressor_new(&compressor, i == 0 ? WARC_GZIP : WARC_ZSTD, 1) == RESULT_OK);
        must(warc_compressor_append(compressor, rest, size - 1, &member) == RESULT_OK);
        must(read_all(member.data, member.length, &other) == n);
        must(other == sum);
        buffer_destroy(&member);
        warc_compressor_delete(compressor);
    }
    return 0;
}
