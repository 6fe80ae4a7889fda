#include "store/foreign/foreign_http.h"

#include <string.h>
#include <strings.h>

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
static unsigned status_of(WarcBytes header)
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

static int hex_of(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

/* Reads "1a;extension" CRLF; false: there is no such line. */
static bool chunk_size(WarcBytes *text, uint64_t *size)
{
    const char *lf = text->length == 0 ? NULL : memchr(text->bytes, '\n', text->length);
    size_t i = 0;
    *size = 0;
    if (lf == NULL) {
        return false;
    }
    for (; i < 15 && hex_of(text->bytes[i]) >= 0; i++) {
        *size = *size << 4 | (uint64_t)hex_of(text->bytes[i]);
    }
    char end = text->bytes[i];
    bool ends = end == '\r' || end == '\n' || end == ';' || end == ' ';
    size_t line = (size_t)(lf - text->bytes) + 1;
    *text = warc_bytes(lf + 1, text->length - line);
    return i > 0 && ends;
}

/* Puts the chunks together. RESULT_NOT_FOUND: the body does not begin with one. */
static Result join_chunks(WarcBytes body, Buffer *out, bool *cut)
{
    WarcBytes left = body;
    uint64_t size = 0;
    *cut = false;
    buffer_reset(out);
    if (!chunk_size(&left, &size)) {
        return RESULT_NOT_FOUND;
    }
    while (size > 0) {
        size_t n = size < left.length ? (size_t)size : left.length;
        Result rc = buffer_append(out, left.bytes, n);
        if (rc != RESULT_OK) {
            return rc;
        }
        bool whole = n == size;
        left = warc_bytes(left.bytes + n, left.length - n);
        if (left.length > 0 && left.bytes[0] == '\r') {
            left = warc_bytes(left.bytes + 1, left.length - 1);
        }
        if (left.length > 0 && left.bytes[0] == '\n') {
            left = warc_bytes(left.bytes + 1, left.length - 1);
        }
        if (!whole || !chunk_size(&left, &size)) {
            *cut = true;
            return RESULT_OK;
        }
    }
    return RESULT_OK;
}

Result foreign_http_read(WarcBytes block, Buffer *chunks, ForeignAnswer *answer)
{
    size_t length = header_length(block);
    *answer = (ForeignAnswer){.header = warc_bytes(block.bytes, length)};
    answer->status = status_of(answer->header);
    if (length == 0 || answer->status == 0) {
        return RESULT_INVALID;
    }
    answer->is_10 = strncasecmp(block.bytes, "HTTP/1.0", 8) == 0;
    answer->stored = warc_bytes(block.bytes + length, block.length - length);
    answer->body = answer->stored;
    if (!says_chunked(answer->header)) {
        return RESULT_OK;
    }
    Result rc = join_chunks(answer->stored, chunks, &answer->is_cut);
    if (rc == RESULT_OK) {
        answer->body = warc_bytes(buffer_string(chunks), chunks->length);
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}
