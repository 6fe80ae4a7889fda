/* Bodies that are decoded in pieces: decode_content_stream and decode_gzip_stream of decode.h. */
#include <string.h>

#include "parse/http/decode_codecs.h"

#define MAGIC_BYTES 64u /* and so much that text can be told from it */

typedef struct Pieces {
    Decoder *decoder;
    DecodeInput in;
    uint64_t raw_length;
    uint64_t given;
    DecodeBounds bounds;
    DecodeSink sink;
    void *context;
    bool is_over; /* the sink has had enough */
} Pieces;

static bool is_bomb(const Pieces *p)
{
    uint64_t least = p->bounds.max_ratio > 0 ? p->given / p->bounds.max_ratio : 0;
    uint64_t used = p->in.source != NULL ? p->in.read - p->in.left : p->raw_length - p->in.left;
    return p->bounds.max_ratio > 0 && ((p->given > DECODE_RATIO_FLOOR && least >= p->raw_length) ||
                                       (p->given > DECODE_PREFIX_FLOOR && least >= used));
}

/* Hands a piece on. DECODE_OK: go on. */
static DecodeStatus decode_pieces_give(Pieces *p, const char *bytes, size_t length)
{
    uint64_t room = p->bounds.max_bytes - p->given;
    size_t n = length < room ? length : (size_t)room;
    p->given += n;
    if (n > 0 && !p->sink(p->context, bytes, n)) {
        p->is_over = true;
        return DECODE_OK;
    }
    if (n < length) {
        return DECODE_LIMIT;
    }
    return is_bomb(p) ? DECODE_RATIO : DECODE_OK;
}

static DecodeStatus give_plain(Pieces *p)
{
    DecodeStatus status = DECODE_OK;
    do {
        size_t n = p->in.left < DECODE_STEP_BYTES ? p->in.left : DECODE_STEP_BYTES;
        status = decode_pieces_give(p, p->in.next, n);
        p->in.next += n;
        p->in.left -= n;
    } while (status == DECODE_OK && !p->is_over && (p->in.left > 0 || decode_more(&p->in)));
    return status;
}

/* One stream of a codec that was made ready. */
static DecodeStatus give_stream(Pieces *p, DecodeStepFunction step)
{
    Buffer *piece = &p->decoder->scratch[0];
    piece->limit = DECODE_STEP_BYTES;
    for (;;) {
        buffer_reset(piece);
        DecodeTarget one = {.out = piece, .is_piece = true};
        DecodeStatus status = decode_pump(p->decoder, step, &p->in, &one);
        DecodeStatus given = decode_pieces_give(p, buffer_string(piece), piece->length);
        if (given != DECODE_OK || p->is_over) {
            return given;
        }
        if (status != DECODE_LIMIT) { /* of the piece: there is more */
            return status;
        }
    }
}

static void decode_pieces_fill(DecodeInput *in)
{
    bool more = true;
    while (more && in->left < MAGIC_BYTES) {
        more = decode_more(in);
    }
}

/* One member after the other; what follows the last one is padding. */
static DecodeStatus give_gzip(Pieces *p)
{
    DecodeStatus status = DECODE_OK;
    do {
        status = decode_zlib_begin(p->decoder, DECODE_GZIP_WINDOW);
        if (status == DECODE_OK) {
            status = give_stream(p, decode_zlib_step);
        }
        decode_pieces_fill(&p->in);
    } while (status == DECODE_OK && !p->is_over && decode_is_gzip(&p->in));
    return status;
}

static DecodeStatus give_zstd(Pieces *p)
{
    DecodeStatus status = DECODE_OK;
    do { /* one frame after the other */
        decode_zstd_begin(p->decoder);
        status = give_stream(p, decode_zstd_step);
        decode_pieces_fill(&p->in);
    } while (status == DECODE_OK && !p->is_over && decode_is_zstd(&p->in));
    return status;
}

static DecodeStatus give_brotli(Pieces *p)
{
    DecodeStatus status = decode_brotli_begin(p->decoder);
    if (status == DECODE_OK) {
        status = give_stream(p, decode_brotli_step);
    }
    decode_brotli_end(p->decoder);
    return status;
}

static DecodeStatus give_zlib(Pieces *p, int window_bits)
{
    DecodeStatus status = decode_zlib_begin(p->decoder, window_bits);
    return status == DECODE_OK ? give_stream(p, decode_zlib_step) : status;
}

/* Begins again after a codec that could make nothing of the body. */
static bool try_again(Pieces *p, DecodeStatus status)
{
    if ((status != DECODE_BROKEN && status != DECODE_TRUNCATED) || p->given > 0) {
        return false;
    }
    p->in.source->rewind(p->in.source->context);
    p->in.read = 0;
    p->in.next = "";
    p->in.left = 0;
    decode_pieces_fill(&p->in);
    return true;
}

static DecodeStatus give_deflate(Pieces *p)
{
    if (decode_has_zlib_frame(&p->in)) {
        DecodeStatus status = give_zlib(p, 15);
        if (status != DECODE_BROKEN || !try_again(p, status)) {
            return status;
        }
    }
    return give_zlib(p, -15);
}

static DecodeStatus give_decoded(Pieces *p, DecodeCodec codec)
{
    DecodeStatus status = DECODE_OK;
    switch (codec) {
    case DECODE_CODEC_GZIP:
        return decode_is_gzip(&p->in) ? give_gzip(p) : give_plain(p);
    case DECODE_CODEC_ZSTD:
        return decode_is_zstd(&p->in) ? give_zstd(p) : give_plain(p);
    case DECODE_CODEC_NONE:
        return give_plain(p);
    case DECODE_CODEC_DEFLATE:
        if (decode_is_gzip(&p->in)) {
            return give_gzip(p);
        }
        status = give_deflate(p);
        break;
    case DECODE_CODEC_BROTLI:
        status = give_brotli(p);
        break;
    }
    return try_again(p, status) && decode_looks_plain(&p->in) ? give_plain(p) : status;
}

DecodeStatus decode_content_stream(Decoder *decoder, const char *encoding, size_t encoding_length,
                                   const DecodeSource *source, DecodeBounds bounds, DecodeSink sink,
                                   void *context)
{
    DecodeCodec codecs[DECODE_MAX_CODINGS];
    size_t n = 0;
    Pieces p = {.decoder = decoder,
                .in = {.next = "", .left = 0, .source = source},
                .raw_length = source->length,
                .bounds = bounds,
                .sink = sink,
                .context = context};
    if (!decode_codecs_of(encoding, encoding == NULL ? 0 : encoding_length, codecs, &n) || n > 1) {
        return DECODE_BROKEN;
    }
    decode_pieces_fill(&p.in);
    return p.in.left == 0 ? DECODE_OK : give_decoded(&p, n == 0 ? DECODE_CODEC_NONE : codecs[0]);
}

DecodeStatus decode_gzip_stream(Decoder *decoder, const char *raw, size_t length,
                                DecodeBounds bounds, DecodeSink sink, void *context)
{
    Pieces p = {.decoder = decoder,
                .in = {.next = raw, .left = length, .source = NULL},
                .raw_length = length,
                .bounds = bounds,
                .sink = sink,
                .context = context};
    return decode_is_gzip(&p.in) ? give_gzip(&p) : DECODE_BROKEN;
}
