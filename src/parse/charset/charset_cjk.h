/* The decoders of the multi-byte encodings of East Asia.
 *
 * What: iconv decodes the characters; the rules of the WHATWG Encoding standard for what is broken,
 * and where its tables differ from those of the C library, are ours.
 * Threads: any; each call opens its own iconv descriptor.
 * Errors: RESULT_INVALID: not one of these encodings, or iconv lacks it.
 * Source: WHATWG Encoding standard, GBK to EUC-KR. */
#pragma once

#include "base/core/ascii.h"
#include "base/memory/buffer.h"

/* Where decoders put code points: UTF-8 in a block on the stack, handed to the caller's Buffer when
 * the block is full.
 *
 * What: one append for thousands of characters instead of one for each.
 * Owns: the block; the Buffer is the caller's.
 * Threads: one.
 * Invariants: a block never ends within a character, so that a Buffer whose limit is reached is cut
 * between characters.
 * Errors: rc keeps the first failure; nothing is written after it. */

#define CHARSET_BLOCK_BYTES 4096
#define CHARSET_REPLACEMENT 0xFFFDu

typedef struct CharsetSink {
    Buffer *out;
    size_t used; /* of block */
    Result rc;   /* the first failure; nothing is written after it */
    char block[CHARSET_BLOCK_BYTES];
} CharsetSink;

/* Hands the block on; bytes that do not fit are lost and rc says so. */
void charset_sink_flush(CharsetSink *sink);
/* Any number of bytes of UTF-8, NUL excluded. */
void charset_sink_bytes(CharsetSink *sink, const char *bytes, size_t length);

static inline void charset_sink_put(CharsetSink *sink, uint32_t c)
{
    if (sink->used > CHARSET_BLOCK_BYTES - 4) {
        charset_sink_flush(sink);
    }
    sink->used += ascii_put_utf8(c == 0 ? CHARSET_REPLACEMENT : c, sink->block + sink->used);
}

Result charset_decode_cjk(const char *encoding, const unsigned char *body, size_t length,
                          CharsetSink *sink);

/* Where the standard's Big5 differs from glibc's, for encoders: the code of a point that iconv
 * lacks, and what a code that iconv has otherwise stands for. 0: no difference is known. */
unsigned charset_big5_code(uint32_t point);
uint32_t charset_big5_point(unsigned code);
