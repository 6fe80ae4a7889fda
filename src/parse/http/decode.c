#include "parse/http/decode.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "parse/http/decode_codecs.h"

#define BROTLI_BLOCK_BYTES ((size_t)1 << 20)
#define BROTLI_MAX_BYTES   ((size_t)64 << 20) /* its window is 16 MiB, reallocated while it grows */
#define ZSTD_WINDOW_LOG    23                 /* 8 MiB: what RFC 9659 allows for content codings */
#define KEEP_BYTES         ((size_t)4 << 20)  /* scratch that is kept from page to page */

const char *decode_status_name(DecodeStatus status)
{
    switch (status) {
    case DECODE_OK:
        return "ok";
    case DECODE_TRUNCATED:
        return "truncated";
    case DECODE_LIMIT:
        return "limit";
    case DECODE_RATIO:
        return "ratio";
    case DECODE_BROKEN:
        return "broken";
    case DECODE_MEMORY:
        return "memory";
    }
    return "?";
}

Result decoder_new(Decoder **decoder)
{
    Decoder *d = calloc(1, sizeof *d);
    *decoder = d;
    if (d == NULL) {
        return RESULT_MEMORY;
    }
    arena_init(&d->brotli_memory, BROTLI_BLOCK_BYTES, BROTLI_MAX_BYTES);
    buffer_init(&d->scratch[0], 0);
    buffer_init(&d->scratch[1], 0);
    d->fast = libdeflate_alloc_decompressor();
    d->zstd = ZSTD_createDCtx();
    d->has_zlib = inflateInit2(&d->zlib, 15) == Z_OK;
    if (d->fast == NULL || d->zstd == NULL || !d->has_zlib ||
        ZSTD_isError(ZSTD_DCtx_setParameter(d->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG))) {
        decoder_delete(d);
        *decoder = NULL;
        return RESULT_MEMORY;
    }
    return RESULT_OK;
}

void decoder_delete(Decoder *decoder)
{
    if (decoder == NULL) {
        return;
    }
    if (decoder->fast != NULL) {
        libdeflate_free_decompressor(decoder->fast);
    }
    if (decoder->has_zlib) {
        (void)inflateEnd(&decoder->zlib);
    }
    (void)ZSTD_freeDCtx(decoder->zstd);
    arena_destroy(&decoder->brotli_memory);
    buffer_destroy(&decoder->scratch[0]);
    buffer_destroy(&decoder->scratch[1]);
    free(decoder);
}

bool decode_looks_plain(const DecodeInput *in)
{
    size_t n = in->left < 64 ? in->left : 64;
    for (size_t i = 0; i < n; i++) {
        uint8_t c = (uint8_t)in->next[i];
        if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f') || c == 0x7F) {
            return false;
        }
    }
    return true;
}

static DecodeStatus copy_plain(DecodeInput in, DecodeTarget *sink)
{
    size_t room = sink->out->limit - sink->out->length;
    size_t n = in.left < room ? in.left : room;
    if (buffer_append(sink->out, in.next, n) != RESULT_OK) {
        return DECODE_MEMORY;
    }
    return n < in.left ? DECODE_LIMIT : DECODE_OK;
}

static DecodeStatus decode_one(Decoder *decoder, DecodeCodec coding, DecodeInput in,
                               DecodeTarget *sink)
{
    if (in.left == 0) {
        return DECODE_OK; /* answers to HEAD, 304, and servers that compress nothing into nothing */
    }
    DecodeStatus status = DECODE_OK;
    size_t before = sink->out->length;
    switch (coding) {
    case DECODE_CODEC_GZIP:
        if (!decode_is_gzip(&in)) {
            return copy_plain(in, sink);
        }
        return decode_gzip(decoder, in, sink);
    case DECODE_CODEC_ZSTD:
        if (!decode_is_zstd(&in)) {
            return copy_plain(in, sink);
        }
        return decode_zstd(decoder, in, sink);
    case DECODE_CODEC_DEFLATE:
        if (decode_is_gzip(&in)) {
            return decode_gzip(decoder, in, sink);
        }
        if (decode_has_zlib_frame(&in)) {
            DecodeInput framed = in;
            status = decode_zlib(decoder, 15, &framed, sink);
            bool is_nothing = sink->out->length == before;
            if (status == DECODE_TRUNCATED && is_nothing) {
                break; /* "80" is the head of a zlib stream, and a page */
            }
            if (status != DECODE_BROKEN || !is_nothing) {
                return status;
            }
        }
        status = decode_zlib(decoder, -15, &(DecodeInput){.next = in.next, .left = in.left}, sink);
        break;
    case DECODE_CODEC_BROTLI:
        status = decode_brotli(decoder, in, sink);
        break;
    case DECODE_CODEC_NONE:
        return copy_plain(in, sink);
    }
    bool is_failure = status == DECODE_BROKEN || status == DECODE_TRUNCATED;
    if (is_failure && decode_looks_plain(&in)) {
        sink->out->length = before;
        return copy_plain(in, sink);
    }
    return status;
}

static DecodeCodec coding_of(const char *word, size_t length)
{
    static const struct {
        const char *name;
        DecodeCodec coding;
    } names[] = {{"gzip", DECODE_CODEC_GZIP},       {"x-gzip", DECODE_CODEC_GZIP},
                 {"deflate", DECODE_CODEC_DEFLATE}, {"br", DECODE_CODEC_BROTLI},
                 {"zstd", DECODE_CODEC_ZSTD},       {"x-deflate", DECODE_CODEC_DEFLATE},
                 {"x-zstd", DECODE_CODEC_ZSTD}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) == length && strncasecmp(word, names[i].name, length) == 0) {
            return names[i].coding;
        }
    }
    return DECODE_CODEC_NONE;
}

static bool is_delimiter(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '"';
}

bool decode_codecs_of(const char *value, size_t length, DecodeCodec codings[DECODE_MAX_CODINGS],
                      size_t *n)
{
    *n = 0;
    size_t i = 0;
    while (i < length) {
        size_t start = i;
        while (i < length && !is_delimiter(value[i])) {
            i++;
        }
        DecodeCodec coding = coding_of(value + start, i - start);
        if (coding != DECODE_CODEC_NONE) {
            if (*n == DECODE_MAX_CODINGS) {
                return false;
            }
            codings[(*n)++] = coding;
        }
        i++;
    }
    return true;
}

bool decode_is_plain(const char *encoding, size_t encoding_length)
{
    DecodeCodec codings[DECODE_MAX_CODINGS];
    size_t n = 0;
    return encoding == NULL || (decode_codecs_of(encoding, encoding_length, codings, &n) && n == 0);
}

DecodeStatus decode_content(Decoder *decoder, const char *encoding, size_t encoding_length,
                            const char *raw, size_t length, Buffer *out, unsigned max_ratio)
{
    DecodeCodec codings[DECODE_MAX_CODINGS];
    size_t n = 0;
    if (!decode_codecs_of(encoding, encoding == NULL ? 0 : encoding_length, codings, &n)) {
        return DECODE_BROKEN;
    }
    DecodeInput in = {.next = raw, .left = length};
    DecodeStatus worst = DECODE_OK;
    size_t limit = out->limit - out->length;
    if (n == 0) {
        DecodeTarget sink = {.out = out, .start = out->length, .raw_length = length};
        return copy_plain(in, &sink);
    }
    while (n > 0) {
        n--;
        Buffer *target = n == 0 ? out : &decoder->scratch[n & 1];
        if (n > 0) {
            buffer_trim(target, KEEP_BYTES);
            buffer_reset(target);
            target->limit = limit;
        }
        DecodeTarget sink = {
            .out = target, .start = target->length, .raw_length = length, .max_ratio = max_ratio};
        DecodeStatus status = decode_one(decoder, codings[n], in, &sink);
        if (status == DECODE_RATIO || status == DECODE_MEMORY) {
            return status; /* no next coding for a bomb */
        }
        worst = worst == DECODE_OK ? status : worst;
        in = (DecodeInput){.next = target->data, .left = target->length};
    }
    return worst;
}
