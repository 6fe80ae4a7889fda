/* A document that comes in pieces as clean UTF-8.
 *
 * What: the pieces' texts, one behind the other, are what charset_text makes of the whole document,
 * wherever the pieces are cut. A piece is cut again where no character can be divided, and what is
 * behind the cut waits for the next piece.
 *
 * Owns: what waits, and the text of the last piece.
 * Threads: one.
 * Errors: RESULT_MEMORY. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

/* What waits at most: multi-byte text without a blank or a slash is cut here at last, which may
 * cost one character. */
#define CHARSET_STREAM_WAITS ((size_t)64 << 10)

typedef struct CharsetStream {
    const char *encoding; /* WHATWG name; static */
    bool has_begun;       /* something was decoded: a BOM is text from now on */
    bool is_ascii;        /* all bytes so far are ASCII */
    Buffer waits;         /* bytes that were not decoded yet */
    Buffer text;          /* the last piece, when it had to be decoded */
    char escape[4];       /* ISO-2022-JP: which characters are in effect */
    size_t escape_length;
} CharsetStream;

void charset_stream_init(CharsetStream *stream);
void charset_stream_destroy(CharsetStream *stream);
/* Begins a document. */
void charset_stream_begin(CharsetStream *stream, const char *encoding);
/* The text of the next piece, which lives until the next call, and of bytes that waited. is_last:
 * nothing waits any longer; bytes may be NULL when length is 0. */
Result charset_stream_next(CharsetStream *stream, const char *bytes, size_t length, bool is_last,
                           const char **text, size_t *text_length);
