/* The codecs of content codings: gzip and deflate, brotli, zstd.
 *
 * What: each appends what it decodes to the target, as far as it gets. decode_gzip.c,
 * decode_brotli.c and decode_zstd.c have one each.
 * Owns: nothing; the codecs' states are the Decoder's.
 * Threads: the one that the Decoder belongs to.
 * Errors: the statuses of decode.h. */
#ifndef PARSE_HTTP_DECODE_CODECS_H
#define PARSE_HTTP_DECODE_CODECS_H

#include "parse/http/decode_stream.h"

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
