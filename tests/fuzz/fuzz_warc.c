/* Whatever a server sends becomes records that the strict reader takes; whatever a file holds, the
 * reader says so without harm. The first byte chooses what the rest is. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/cdxj/cdxj.h"
#include "store/cdxj/surt.h"
#include "store/warc/warc_compress.h"
#include "store/archive/warc_reader.h"
#include "store/archive/warc_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* Puts bytes into a file without a name and opens a reader on it. */
static WarcReader *open_bytes(const void *bytes, size_t size, int *fd)
{
    char path[64];
    WarcReader *reader = NULL;
    *fd = memfd_create("fuzz", 0);
    must(*fd >= 0 && write(*fd, bytes, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
    must(warc_reader_open(&reader, path) == RESULT_OK);
    return reader;
}

/* header NUL body: stored, read back, checked. */
static void store_answer(const char *data, size_t size)
{
    const char *nul = size == 0 ? NULL : memchr(data, '\0', size);
    size_t n = nul == NULL ? size : (size_t)(nul - data);
    static const char url[] = "http://example.org/?a=b";
    WarcRecorder *recorder = NULL;
    WarcRecorderOptions options = {.compression = size % 2 == 0 ? WARC_GZIP : WARC_ZSTD};
    WarcOriginal original = {.date = {1}};
    WarcGroup group;
    WarcRecord record;
    warc_group_init(&group);
    must(warc_recorder_new(&recorder, &options) == RESULT_OK);
    WarcFetch fetch = {.url = warc_bytes(url, sizeof url - 1),
                       .started = {1769860800123456},
                       .header = warc_bytes(data, n),
                       .request = warc_bytes(data, n),
                       .body = warc_bytes(data + n, size - n),
                       .truncated = (WarcTruncation)(size % 5),
                       .not_modified = size % 3 == 0 ? &original : NULL};
    Result rc = warc_record_fetch(recorder, &fetch, &group);
    if (rc == RESULT_INVALID) {
        fetch.request.length = 0;
        rc = warc_record_fetch(recorder, &fetch, &group);
    }
    if (rc == RESULT_OK) {
        int fd = -1;
        Buffer line;
        Buffer expected;
        WarcReader *reader = open_bytes(group.members.data, group.members.length, &fd);
        must(warc_reader_next(reader, &record) == RESULT_OK);
        must(warc_reader_check(reader, &record) == RESULT_OK);
        must(record.payload.length == (record.type == WARC_REVISIT ? 0 : size - n));
        buffer_init(&line, BUFFER_NO_LIMIT);
        buffer_init(&expected, BUFFER_NO_LIMIT);
        must(warc_record_index(&record, "x.warc.gz", &line) == RESULT_OK);
        must(buffer_append(&expected, group.index.data, group.index.length) == RESULT_OK);
        must(cdxj_append_place(&expected, group.main_length, 0, "x.warc.gz") == RESULT_OK);
        must(strcmp(line.data, expected.data) == 0);
        must(fetch.request.length == 0 || warc_reader_next(reader, &record) == RESULT_OK);
        must(warc_reader_next(reader, &record) == RESULT_NOT_FOUND);
        buffer_destroy(&line);
        buffer_destroy(&expected);
        warc_reader_close(reader);
        (void)close(fd);
    } else {
        must(rc == RESULT_INVALID);
    }
    warc_group_destroy(&group);
    warc_recorder_delete(recorder);
}

/* Reads records until one is refused. */
static void read_all(const void *bytes, size_t size)
{
    int fd = -1;
    WarcRecord record;
    Buffer line;
    WarcReader *reader = open_bytes(bytes, size, &fd);
    buffer_init(&line, BUFFER_NO_LIMIT);
    while (warc_reader_next(reader, &record) == RESULT_OK) {
        (void)warc_reader_check(reader, &record);
        (void)warc_record_index(&record, "x.warc.gz", &line);
    }
    buffer_destroy(&line);
    warc_reader_close(reader);
    (void)close(fd);
}

/* The data is the text of a record. */
static void read_text(const char *data, size_t size)
{
    for (int i = 0; i < 2; i++) {
        WarcCompressor *compressor = NULL;
        Buffer member;
        buffer_init(&member, BUFFER_NO_LIMIT);
        must(warc_compressor_new(&compressor, i == 0 ? WARC_GZIP : WARC_ZSTD, 1) == RESULT_OK);
        must(warc_compressor_append(compressor, data, size, &member) == RESULT_OK);
        read_all(member.data, member.length);
        buffer_destroy(&member);
        warc_compressor_delete(compressor);
    }
}

static void index_line(const char *data, size_t size)
{
    Buffer scratch;
    CdxjEntry entry;
    buffer_init(&scratch, BUFFER_NO_LIMIT);
    (void)cdxj_parse(warc_bytes(data, size), &scratch, &entry);
    buffer_reset(&scratch);
    must(surt_append(&scratch, data, size) == RESULT_OK);
    must(scratch.length == 0 || strpbrk(scratch.data, " \t\r\n") == NULL);
    must(strlen(buffer_string(&scratch)) == scratch.length);
    buffer_destroy(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const char *rest = (const char *)data + 1;
    switch (data[0] % 4) {
    case 0:
        store_answer(rest, size - 1);
        break;
    case 1:
        read_text(rest, size - 1);
        break;
    case 2:
        read_all(rest, size - 1);
        break;
    default:
        index_line(rest, size - 1);
        break;
    }
    return 0;
}
