#include "command/wacz/wacz_index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "base/memory/buffer.h"
#include "store/cdxj/cdxj.h"
#include "store/warc/warc_compress.h"

#define SORT_BYTES ((size_t)32 << 20)
#define LINES_NAME "index.cdx.gz"

struct WaczIndex {
    Buffer journal; /* names */
    Buffer sorted;
    FILE *file; /* the journal */
    WarcCompressor *compressor;
    Buffer lines; /* of a piece */
    Buffer head;  /* key and timestamp of its first line */
    Buffer member;
    Buffer places; /* index.idx */
};

Result wacz_index_new(WaczIndex **out, const char *output)
{
    WaczIndex *index = calloc(1, sizeof *index);
    if (index == NULL) {
        return RESULT_MEMORY;
    }
    Buffer *const buffers[] = {&index->journal, &index->sorted, &index->lines,
                               &index->head,    &index->member, &index->places};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        buffer_init(buffers[i], BUFFER_NO_LIMIT);
    }
    Result rc = buffer_printf(&index->journal, "%s.lines", output);
    rc = rc == RESULT_OK ? buffer_printf(&index->sorted, "%s.cdxj", output) : rc;
    rc = rc == RESULT_OK ? warc_compressor_new(&index->compressor, WARC_GZIP, 6) : rc;
    if (rc == RESULT_OK) {
        index->file = fopen(index->journal.data, "we");
        rc = index->file == NULL ? result_of_errno(errno) : RESULT_OK;
    }
    if (rc != RESULT_OK) {
        wacz_index_delete(index);
        return rc;
    }
    *out = index;
    return RESULT_OK;
}

void wacz_index_delete(WaczIndex *index)
{
    if (index == NULL) {
        return;
    }
    if (index->file != NULL) {
        (void)fclose(index->file);
    }
    (void)unlink(buffer_string(&index->journal));
    (void)unlink(buffer_string(&index->sorted));
    warc_compressor_delete(index->compressor);
    buffer_destroy(&index->journal);
    buffer_destroy(&index->sorted);
    buffer_destroy(&index->lines);
    buffer_destroy(&index->head);
    buffer_destroy(&index->member);
    buffer_destroy(&index->places);
    free(index);
}

Result wacz_index_add(WaczIndex *index, const char *line, size_t length)
{
    errno = 0;
    return fwrite(line, 1, length, index->file) == length
               ? RESULT_OK
               : result_of_errno(errno == 0 ? EIO : errno);
}

static Result wacz_index_put_digest(WaczIndex *index)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    if (EVP_Digest(index->member.data, index->member.length, digest, &length, EVP_sha256(), NULL) !=
        1) {
        return RESULT_INTERNAL;
    }
    Result rc = buffer_append_string(&index->places, "\"sha256:");
    for (unsigned i = 0; i < length && rc == RESULT_OK; i++) {
        rc = buffer_printf(&index->places, "%02x", digest[i]);
    }
    return rc == RESULT_OK ? buffer_append_char(&index->places, '"') : rc;
}

/* Writes the lines that were collected as a member. */
static Result wacz_index_flush(WaczIndex *index, ZipWriter *zip, uint64_t *offset)
{
    if (index->lines.length == 0) {
        return RESULT_OK;
    }
    buffer_reset(&index->member);
    Result rc = warc_compressor_append(index->compressor, index->lines.data, index->lines.length,
                                       &index->member);
    rc = rc == RESULT_OK ? zip_writer_write(zip, index->member.data, index->member.length) : rc;
    rc = rc == RESULT_OK
             ? buffer_printf(&index->places, "%s {\"offset\": %llu, \"length\": %zu, \"digest\": ",
                             index->head.data, (unsigned long long)*offset, index->member.length)
             : rc;
    rc = rc == RESULT_OK ? wacz_index_put_digest(index) : rc;
    rc = rc == RESULT_OK
             ? buffer_append_string(&index->places, ", \"filename\": \"" LINES_NAME "\"}\n")
             : rc;
    *offset += index->member.length;
    buffer_reset(&index->lines);
    return rc;
}

/* Key and timestamp: up to the second blank. */
static Result take_head(WaczIndex *index, const char *line, size_t length)
{
    const char *blank = memchr(line, ' ', length);
    size_t key = blank == NULL ? length : (size_t)(blank - line) + 1;
    const char *second = memchr(line + key, ' ', length - key);
    buffer_reset(&index->head);
    return buffer_append(&index->head, line, second == NULL ? length : (size_t)(second - line));
}

static Result wacz_index_write_lines(WaczIndex *index, ZipWriter *zip, FILE *sorted)
{
    char *line = NULL;
    size_t room = 0;
    size_t n = 0;
    uint64_t offset = 0;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK) {
        ssize_t length = getline(&line, &room, sorted);
        if (length <= 0) {
            rc = ferror(sorted) != 0 ? RESULT_IO : wacz_index_flush(index, zip, &offset);
            break;
        }
        rc = n == 0 ? take_head(index, line, (size_t)length) : RESULT_OK;
        rc = rc == RESULT_OK ? buffer_append(&index->lines, line, (size_t)length) : rc;
        n = n + 1 == WACZ_LINES ? 0 : n + 1;
        rc = rc == RESULT_OK && n == 0 ? wacz_index_flush(index, zip, &offset) : rc;
    }
    free(line);
    return rc;
}

Result wacz_index_write(WaczIndex *index, ZipWriter *zip)
{
    const ZipEntry *entry = NULL;
    int ended = fclose(index->file);
    index->file = NULL;
    Result rc = ended == 0 ? cdxj_sort(index->journal.data, index->sorted.data, SORT_BYTES)
                           : result_of_errno(errno);
    FILE *sorted = rc == RESULT_OK ? fopen(index->sorted.data, "re") : NULL;
    rc = rc == RESULT_OK && sorted == NULL ? result_of_errno(errno) : rc;
    rc = rc == RESULT_OK ? zip_writer_begin(zip, "indexes/" LINES_NAME) : rc;
    rc = rc == RESULT_OK
             ? buffer_append_string(&index->places, "!meta 0 {\"format\": \"cdxj-gzip-1.0\", "
                                                    "\"filename\": \"" LINES_NAME "\"}\n")
             : rc;
    rc = rc == RESULT_OK ? wacz_index_write_lines(index, zip, sorted) : rc;
    rc = rc == RESULT_OK ? zip_writer_end(zip, &entry) : rc;
    rc = rc == RESULT_OK ? zip_writer_begin(zip, "indexes/index.idx") : rc;
    rc = rc == RESULT_OK ? zip_writer_write(zip, index->places.data, index->places.length) : rc;
    rc = rc == RESULT_OK ? zip_writer_end(zip, &entry) : rc;
    if (sorted != NULL) {
        (void)fclose(sorted);
    }
    return rc;
}
