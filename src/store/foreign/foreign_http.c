#include "store/foreign/foreign_http.h"

#include <string.h>
#include <strings.h>

#include "parse/http/decode.h"
#include "parse/http/http_header.h"

/* The length of the header with its empty line; 0: it has none. */
static size_t header_length(WarcBytes block)
{
    for (size_t at = 0; at < block.length;) {
        const char *lf = memchr(block.bytes + at, '\n', block.length - at);
        if (lf == NULL) {
            return 0;
        }
        size_t line = (size_t)(lf - block.bytes) - at;
        bool empty = line == 0 || (line == 1 && block.bytes[at] == '\r');
        at += line + 1;
        if (empty) {
            return at;
        }
    }
    return 0;
}

/* "HTTP/1.1 200 OK": the status; 0: it is none. */
static unsigned foreign_http_status_of(WarcBytes header)
{
    static const char http[] = "HTTP/";
    uint64_t status = 0;
    if (header.length < sizeof http || strncasecmp(header.bytes, http, sizeof http - 1) != 0) {
        return 0;
    }
    const char *blank = memchr(header.bytes, ' ', header.length);
    size_t left = blank == NULL ? 0 : header.length - (size_t)(blank - header.bytes);
    if (left < 4 || !warc_bytes_number(warc_bytes(blank + 1, 3), 999, &status)) {
        return 0;
    }
    return status < 100 ? 0 : (unsigned)status;
}

static bool says_chunked(WarcBytes header)
{
    HttpHeader fields;
    HttpField field;
    return http_header_parse(&fields, header.bytes, header.length) == RESULT_OK &&
           http_header_find(&fields, "Transfer-Encoding", &field) && field.value_length >= 7 &&
           strncasecmp(field.value + field.value_length - 7, "chunked", 7) == 0;
}

Result foreign_http_read(WarcBytes block, Buffer *chunks, ForeignAnswer *answer)
{
    size_t length = header_length(block);
    *answer = (ForeignAnswer){.header = warc_bytes(block.bytes, length)};
    answer->status = foreign_http_status_of(answer->header);
    if (length == 0 || answer->status == 0) {
        return RESULT_INVALID;
    }
    answer->is_10 = strncasecmp(block.bytes, "HTTP/1.0", 8) == 0;
    answer->stored = warc_bytes(block.bytes + length, block.length - length);
    answer->body = answer->stored;
    if (!says_chunked(answer->header)) {
        return RESULT_OK;
    }
    if (answer->stored.length == 0) {
        return RESULT_OK;
    }
    buffer_reset(chunks);
    DecodeStatus status = decode_chunked(answer->stored.bytes, answer->stored.length, chunks);
    if (status == DECODE_MEMORY) {
        return RESULT_MEMORY;
    }
    if (status == DECODE_OK || chunks->length > 0) { /* or it only says that it is chunked */
        answer->is_cut = status != DECODE_OK;
        answer->body = warc_bytes(buffer_string(chunks), chunks->length);
    }
    return RESULT_OK;
}
