/* Chunked transfer coding: parse/http/decode.h. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "parse/http/decode.h"

typedef struct Input {
    const char *next;
    size_t left;
} Input;

static int decode_chunked_hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Reads a chunk's size line; in stands behind it. */
static DecodeStatus decode_chunked_read_size(Input *in, size_t *size)
{
    const char *p = in->next;
    const char *end = p + in->left;
    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    *size = 0;
    const char *digits = p;
    for (; p < end && decode_chunked_hex_value(*p) >= 0; p++) {
        if (*size > SIZE_MAX >> 8) {
            return DECODE_BROKEN;
        }
        *size = *size * 16 + (size_t)decode_chunked_hex_value(*p);
    }
    if (p == end) {
        return DECODE_TRUNCATED;
    }
    bool is_size_over = *p == ';' || *p == '\r' || *p == '\n' || *p == ' ' || *p == '\t';
    if (p == digits || !is_size_over) {
        return DECODE_BROKEN;
    }
    const char *lf = memchr(p, '\n', (size_t)(end - p));
    if (lf == NULL) {
        return DECODE_TRUNCATED;
    }
    in->left = (size_t)(end - lf) - 1;
    in->next = lf + 1;
    return DECODE_OK;
}

DecodeStatus decode_chunked(const char *raw, size_t length, Buffer *out)
{
    Input in = {raw, length};
    for (;;) {
        /* The line break behind a chunk, which may be missing. */
        if (in.left > 0 && in.next != raw && *in.next == '\r') {
            in.next++;
            in.left--;
        }
        if (in.left > 0 && in.next != raw && *in.next == '\n') {
            in.next++;
            in.left--;
        }
        size_t size = 0;
        if (in.left == 0) {
            return DECODE_TRUNCATED;
        }
        DecodeStatus status = decode_chunked_read_size(&in, &size);
        if (status == DECODE_TRUNCATED && size == 0 && decode_chunked_hex_value(*in.next) == 0) {
            return DECODE_OK; /* "0" and then the end: nothing is missing */
        }
        if (status != DECODE_OK || size == 0) {
            return status;
        }
        size_t here = size < in.left ? size : in.left;
        size_t room = out->limit - out->length;
        size_t n = here < room ? here : room;
        if (buffer_append(out, in.next, n) != RESULT_OK) {
            return DECODE_MEMORY;
        }
        if (n < here) {
            return DECODE_LIMIT;
        }
        if (here < size) {
            return DECODE_TRUNCATED;
        }
        in.next += here;
        in.left -= here;
    }
}
