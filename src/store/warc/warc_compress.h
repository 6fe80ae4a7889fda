/* Compression of records: one gzip member, or one Zstandard frame with a checksum and without a
 * dictionary.
 *
 * What: each record is compressed by itself, so that a reader can start at any record. Gzip's
 * levels 1 to 12 are libdeflate's. WARC_LEVEL_AUTO goes by the bytes: those that are compressed
 * already (a body that came with a Content-Encoding, a picture) are stored as they are, since
 * deflating them takes eight times as long as all else for a twentieth of their length. Other
 * records are deflated by ISA-L, where ragno was built with it, which takes three fifths of the
 * time of libdeflate's level 1 for 3 % more bytes (bench_warc.c has the figures); elsewhere by
 * libdeflate at level 1. Short ones, such as requests, get a code that is made beforehand: 1 us
 * instead of 5, and 535 bytes instead of 482.
 * Owns: a compressor and a decompressor own their codecs.
 * Threads: each belongs to one thread.
 * Errors: RESULT_DAMAGED, RESULT_LIMIT, RESULT_MEMORY.
 * Source: ISO 28500, annex D; the IIPC's "Zstandard compression for WARC files"; RFC 1951, 1952. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "base/memory/buffer.h"

/* clang-format off */
#define WARC_COMPRESSION_WORDS(WORD) \
    WORD(WARC_GZIP, "gzip") \
    WORD(WARC_ZSTD, "zstd")
/* clang-format on */
typedef enum WarcCompression { WORDS_ENUM(WARC_COMPRESSION_WORDS) } WarcCompression;

/* ".gz", ".zst". */
const char *warc_compression_suffix(WarcCompression compression);
/* The length of name without ".warc.gz" or ".warc.zst"; 0 when it ends in neither. */
size_t warc_compression_stem(const char *name, WarcCompression *compression);
/* Whether a member or frame may begin with these bytes. */
static inline bool warc_compression_begins(WarcCompression compression, const char *bytes,
                                           uint64_t left)
{
    if (bytes == NULL) { /* an empty file, mapped */
        return false;
    }
    return compression == WARC_GZIP ? left >= 3 && memcmp(bytes, "\x1f\x8b\x08", 3) == 0
                                    : left >= 4 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0;
}

typedef struct WarcCompressor WarcCompressor;

#define WARC_LEVEL_AUTO  0
#define WARC_GZIP_LEVELS 12
#define WARC_ZSTD_LEVELS 19

/* WARC_LEVEL_AUTO: by the record; with Zstandard level 1. RESULT_INVALID: no such
 * level; RESULT_MEMORY. */
Result warc_compressor_new(WarcCompressor **compressor, WarcCompression compression, int level);
void warc_compressor_delete(WarcCompressor *compressor);
/* Appends the member or frame of these bytes; on failure out is as before. */
Result warc_compressor_append(WarcCompressor *compressor, const char *bytes, size_t length,
                              Buffer *out);
/* Whether these bytes look compressed: those in their middle are nearly as often one as another.
 * False of less than 2 KiB, which are not worth the question. */
bool warc_compressor_is_dense(const char *bytes, size_t length);

typedef struct WarcDecompressor WarcDecompressor;

Result warc_decompressor_new(WarcDecompressor **decompressor);
void warc_decompressor_delete(WarcDecompressor *decompressor);
/* Reads the member or frame at bytes into out, which is overwritten and grows up to its limit;
 * *used is how long it is. RESULT_DAMAGED: none, not all of it, a wrong checksum, or a frame that
 * promises more than its bytes can bring (out does not grow for it); RESULT_LIMIT, RESULT_MEMORY:
 * of out. */
Result warc_decompressor_read(WarcDecompressor *decompressor, const char *bytes, size_t length,
                              Buffer *out, size_t *used);
