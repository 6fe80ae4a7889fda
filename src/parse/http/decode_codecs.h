/* The codecs of content codings: gzip and deflate, brotli, zstd.
 *
 * What: of each the steps that the loop of decode_stream.h takes, and a function that appends what
 * it decodes to the target, as far as it gets. decode_gzip.c, decode_brotli.c and decode_zstd.c
 * have one each. Owns: nothing; the codecs' states are the Decoder's. Threads: the one that the
 * Decoder belongs to. Errors: the statuses of decode.h. */
#ifndef PARSE_HTTP_DECODE_CODECS_H
#define PARSE_HTTP_DECODE_CODECS_H

#include "parse/http/decode_stream.h"

typedef enum DecodeCodec {
    DECODE_CODEC_GZIP,
    DECODE_CODEC_DEFLATE,
    DECODE_CODEC_BROTLI,
    DECODE_CODEC_ZSTD,
    DECODE_CODEC_NONE
} DecodeCodec;

/* The codings of a Content-Encoding value in the order of the list; false when there are too many.
 */
bool decode_codecs_of(const char *value, size_t length, DecodeCodec codecs[DECODE_MAX_CODINGS],
                      size_t *n);
/* Whether the start reads like text: then a body that no codec wants was never encoded. */
bool decode_looks_plain(const DecodeInput *in);

#define DECODE_GZIP_WINDOW (15 + 16) /* window_bits of a gzip member */

DecodeStep decode_zlib_step(Decoder *decoder, DecodeInput *in, char **out, size_t *room);
DecodeStep decode_brotli_step(Decoder *decoder, DecodeInput *in, char **out, size_t *room);
DecodeStep decode_zstd_step(Decoder *decoder, DecodeInput *in, char **out, size_t *room);

/* Makes the codec ready for a stream. DECODE_MEMORY. */
DecodeStatus decode_zlib_begin(Decoder *decoder, int window_bits);
DecodeStatus decode_brotli_begin(Decoder *decoder);
void decode_brotli_end(Decoder *decoder);
void decode_zstd_begin(Decoder *decoder);

/* Whether the input begins as such a file does. */
bool decode_is_gzip(const DecodeInput *in);
bool decode_is_zstd(const DecodeInput *in);
bool decode_has_zlib_frame(const DecodeInput *in);

/* All members of a gzip file. */
DecodeStatus decode_gzip(Decoder *decoder, DecodeInput in, DecodeTarget *target);
/* One stream of zlib's: window_bits 15 with its frame, -15 without. */
DecodeStatus decode_zlib(Decoder *decoder, int window_bits, DecodeInput *in, DecodeTarget *target);
DecodeStatus decode_brotli(Decoder *decoder, DecodeInput in, DecodeTarget *target);
/* All frames. */
DecodeStatus decode_zstd(Decoder *decoder, DecodeInput in, DecodeTarget *target);

#endif
