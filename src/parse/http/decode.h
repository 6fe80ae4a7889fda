/* Undoing what HTTP did to a body: chunked transfer coding and content codings.
 *
 * What: the fetching thread stores responses as received; the parsing thread brings them back here,
 * as a whole, before charset and links. Whatever arrives is worth something: a body that is cut
 * short or damaged keeps everything that was decoded before the break, and the status says what
 * happened.
 *
 * out->limit bounds the decoded bytes; max_ratio bounds decoded / raw once more than
 * DECODE_RATIO_FLOOR bytes came out (deflate reaches 1032, real pages stay below 100). Codecs:
 * libdeflate where the decoded size is known and small; zlib, brotli and zstd as streams.
 *
 * Owns: a Decoder owns its codecs and keeps them from page to page, so that a steady flow allocates
 * nothing.
 * Threads: a Decoder belongs to one thread.
 * Errors: a DecodeStatus; in all cases out holds what could be decoded.
 * Source: RFC 9110 section 8.4, RFC 9112 section 7.1, RFC 8878; what browsers forgive. */
#pragma once

#include "parse/http/http_header.h"

#define DECODE_RATIO_FLOOR ((size_t)1 << 20)
/* In pieces also decoded / raw so far is bounded, once more than this came out: a bomb is known
 * before all that may be read of it has been unpacked. */
#define DECODE_PREFIX_FLOOR ((size_t)8 << 20)
#define DECODE_MAX_CODINGS  3 /* in one Content-Encoding; more is an attack */

typedef enum DecodeStatus { /* in all cases out holds what could be decoded */
                            DECODE_OK,
                            DECODE_TRUNCATED, /* the input ended too early */
                            DECODE_LIMIT,     /* out->limit was reached and there was more */
                            DECODE_RATIO,     /* a bomb */
                            DECODE_BROKEN, /* the data is damaged from here on, or too many codings
                                            */
                            DECODE_MEMORY
} DecodeStatus;

/* "ok", "truncated", ... for logs. Static. */
const char *decode_status_name(DecodeStatus status);

typedef struct Decoder Decoder;

/* RESULT_MEMORY. */
Result decoder_new(Decoder **decoder);
void decoder_delete(Decoder *decoder);

/* Appends the data of a chunked body. Extensions and trailers are skipped, LF alone ends a line,
 * the line break behind a chunk may be missing. Bytes behind the last chunk are ignored. */
DecodeStatus decode_chunked(const char *raw, size_t length, Buffer *out);

/* Whether a body with this Content-Encoding is what decode_content would make of it. */
bool decode_is_plain(const char *encoding, size_t encoding_length);

/* Appends the decoded body. encoding is a Content-Encoding value (NULL or empty: none), applied
 * from its last word to its first: gzip, x-gzip, deflate (with or without zlib's frame), br, zstd;
 * identity and unknown words change nothing. A body that is none of what its header says is taken
 * as plain (as browsers do for gzip). max_ratio 0: no such bound. */
DecodeStatus decode_content(Decoder *decoder, const char *encoding, size_t encoding_length,
                            const char *raw, size_t length, Buffer *out, unsigned max_ratio);
/* The same of the body of a stored answer, with the codings that its header names. */
DecodeStatus decode_answer(Decoder *decoder, const HttpHeader *header, const char *raw,
                           size_t length, Buffer *out, unsigned max_ratio);

/* Takes decoded bytes; false to stop. */
typedef bool (*DecodeSink)(void *context, const char *bytes, size_t length);

typedef struct DecodeBounds {
    size_t max_bytes;   /* decoded; the sink gets exactly that many when there are more */
    unsigned max_ratio; /* 0: none */
} DecodeBounds;

/* Where a body comes from that is not in memory as a whole. */
typedef struct DecodeSource {
    /* Puts more behind the *left bytes at *next, which may move. False: there is no more. */
    bool (*read)(void *context, const char **next, size_t *left);
    /* Begins again. */
    void (*rewind)(void *context);
    void *context;
    uint64_t length; /* of the body */
} DecodeSource;

/* A body of any length in pieces of at most 64 KiB: what decode_content would give, in memory that
 * does not grow with it; but text of which a codec makes something before it fails is not taken as
 * plain: a caller who knows passes no encoding. Several codings in a row are beyond it:
 * DECODE_BROKEN, and nothing is given. A sink that stops ends it with DECODE_OK. */
DecodeStatus decode_content_stream(Decoder *decoder, const char *encoding, size_t encoding_length,
                                   const DecodeSource *source, DecodeBounds bounds, DecodeSink sink,
                                   void *context);

/* A gzip file of any length (a sitemap) in pieces of at most 64 KiB, all members. A sink that stops
 * ends it with DECODE_OK. */
DecodeStatus decode_gzip_stream(Decoder *decoder, const char *raw, size_t length,
                                DecodeBounds bounds, DecodeSink sink, void *context);
