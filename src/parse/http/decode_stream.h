/* Decode stream: the loop that all streams of content codings share, and its bounds.
 *
 * What: a codec decodes some of the input with each step. The loop gives it room, counts, and stops
 * at the bounds that decode.h names.
 * Owns: a Decoder owns its codecs; input and target are the caller's.
 * Threads: a Decoder belongs to one thread.
 * Errors: the statuses of decode.h. */
#ifndef PARSE_HTTP_DECODE_STREAM_H
#define PARSE_HTTP_DECODE_STREAM_H

#include <brotli/decode.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>
#include <zstd.h>

#include "base/memory/arena.h"
#include "parse/http/decode.h"

#define DECODE_STEP_BYTES ((size_t)64 * 1024)

struct Decoder {
    struct libdeflate_decompressor *fast;
    z_stream zlib;
    bool has_zlib;
    ZSTD_DCtx *zstd;
    BrotliDecoderState *brotli; /* of this body only, in brotli_memory */
    Arena brotli_memory;
    Buffer scratch[2]; /* between stacked codings */
};

/* Where decoded bytes go, and its bounds. */
typedef struct DecodeTarget {
    Buffer *out;
    size_t start;      /* out->length at the beginning */
    size_t raw_length; /* of the body as received */
    unsigned max_ratio;
    bool is_piece; /* out is emptied and filled again: no byte may be lost to the proof */
    char spare;    /* a place for the byte that proves there is more than the limit */
} DecodeTarget;

typedef struct DecodeInput {
    const char *next;
    size_t left;
    const DecodeSource *source; /* of more; NULL: this is all */
    uint64_t read;              /* bytes that came from it */
} DecodeInput;

/* More input behind what is left. False: there is none. */
bool decode_more(DecodeInput *in);

typedef enum DecodeStep {
    DECODE_STEP_MORE,
    DECODE_STEP_END,
    DECODE_STEP_ERROR,
    DECODE_STEP_MEMORY
} DecodeStep;

/* Decodes some of in to out; both move forward. */
typedef DecodeStep (*DecodeStepFunction)(Decoder *decoder, DecodeInput *in, char **out,
                                         size_t *room);

static inline uint32_t decode_little_endian_32(const char *p)
{
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

DecodeStatus decode_pump(Decoder *decoder, DecodeStepFunction step, DecodeInput *in,
                         DecodeTarget *target);

#endif
