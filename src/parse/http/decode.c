#include "parse/http/decode.h"

#include <libdeflate.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <brotli/decode.h>

#include "base/memory/arena.h"

#define STEP_BYTES         ((size_t)64 * 1024)
#define FAST_BYTES         ((size_t)4 << 20) /* libdeflate needs all of the output at once */
#define BROTLI_BLOCK_BYTES ((size_t)1 << 20)
#define BROTLI_MAX_BYTES   ((size_t)64 << 20) /* its window is 16 MiB, reallocated while it grows */
#define ZSTD_WINDOW_LOG    23                 /* 8 MiB: what RFC 9659 allows for content codings */
#define KEEP_BYTES         ((size_t)4 << 20)  /* scratch that is kept from page to page */

struct Decoder {
    struct libdeflate_decompressor *fast;
    z_stream zlib;
    bool has_zlib;
    ZSTD_DCtx *zstd;
    BrotliDecoderState *brotli; /* of this body only, in brotli_memory */
    Arena brotli_memory;
    Buffer scratch[2]; /* between stacked codings */
};

typedef enum Coding { CODING_GZIP, CODING_DEFLATE, CODING_BROTLI, CODING_ZSTD, CODING_NONE } Coding;

/* Where decoded bytes go, and its bounds. */
typedef struct Sink {
    Buffer *out;
    size_t start;      /* out->length at the beginning */
    size_t raw_length; /* of the body as received */
    unsigned max_ratio;
    bool is_piece; /* out is emptied and filled again: no byte may be lost to the proof */
    char spare;    /* a place for the byte that proves there is more than the limit */
} Sink;

typedef struct Input {
    const char *next;
    size_t left;
} Input;

typedef enum Step { STEP_MORE, STEP_END, STEP_ERROR, STEP_MEMORY } Step;

/* Decodes some of in to out; both move forward. */
typedef Step (*StepFunction)(Decoder *decoder, Input *in, char **out, size_t *room);

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

/* ---- the loop that all streams share ---- */

static bool is_over_ratio(const Sink *sink)
{
    size_t decoded = sink->out->length - sink->start;
    return sink->max_ratio > 0 && decoded > DECODE_RATIO_FLOOR &&
           decoded / sink->max_ratio >= sink->raw_length;
}

static DecodeStatus pump(Decoder *decoder, StepFunction step, Input *in, Sink *sink)
{
    Buffer *out = sink->out;
    for (;;) {
        if (is_over_ratio(sink)) {
            return DECODE_RATIO;
        }
        size_t room = out->length < out->limit ? out->limit - out->length : 0;
        bool is_full = room == 0;
        if (is_full && sink->is_piece) {
            return DECODE_LIMIT;
        }
        room = is_full ? 1 : room < STEP_BYTES ? room : STEP_BYTES;
        if (!is_full && buffer_reserve(out, room) != RESULT_OK) {
            return DECODE_MEMORY;
        }
        char *to = is_full ? &sink->spare : out->data + out->length;
        size_t left = room;
        size_t in_before = in->left;
        Step answer = step(decoder, in, &to, &left);
        size_t produced = room - left;
        if (is_full && produced > 0) {
            return DECODE_LIMIT;
        }
        if (!is_full) {
            out->length += produced;
            out->data[out->length] = '\0';
        }
        if (answer != STEP_MORE) {
            return answer == STEP_END      ? DECODE_OK
                   : answer == STEP_MEMORY ? DECODE_MEMORY
                                           : DECODE_BROKEN;
        }
        if (in->left == 0 && left > 0) {
            return DECODE_TRUNCATED;
        }
        if (produced == 0 && in->left == in_before) {
            return DECODE_BROKEN;
        }
    }
}

/* ---- zlib: gzip, zlib, raw deflate ---- */

static Step zlib_step(Decoder *decoder, Input *in, char **out, size_t *room)
{
    z_stream *z = &decoder->zlib;
    uInt in_now = in->left > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)in->left;
    uInt out_now = (uInt)*room;
    z->next_in =
        (Bytef *)(uintptr_t)in->next; /* zlib does not write there, its type forgot const */
    z->avail_in = in_now;
    z->next_out = (Bytef *)*out;
    z->avail_out = out_now;
    int code = inflate(z, Z_NO_FLUSH);
    in->next += in_now - z->avail_in;
    in->left -= in_now - z->avail_in;
    *out += out_now - z->avail_out;
    *room = z->avail_out;
    switch (code) {
    case Z_OK:
    case Z_BUF_ERROR:
        return STEP_MORE;
    case Z_STREAM_END:
        return STEP_END;
    case Z_MEM_ERROR:
        return STEP_MEMORY;
    default:
        return STEP_ERROR;
    }
}

static DecodeStatus run_zlib(Decoder *decoder, int window_bits, Input *in, Sink *sink)
{
    if (inflateReset2(&decoder->zlib, window_bits) != Z_OK) {
        return DECODE_MEMORY;
    }
    return pump(decoder, zlib_step, in, sink);
}

static uint32_t little_endian_32(const char *p)
{
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static bool is_gzip(const Input *in)
{
    return in->left >= 2 && (uint8_t)in->next[0] == 0x1F && (uint8_t)in->next[1] == 0x8B;
}

/* The whole of a gzip body in one call, when its trailer names a size that is plausible. False when
 * the stream must decide: nothing was appended then. */
static bool gzip_at_once(Decoder *decoder, const Input *in, Sink *sink)
{
    if (in->left < 18) {
        return false;
    }
    Buffer *out = sink->out;
    size_t size = little_endian_32(in->next + in->left - 4);
    bool is_small = size <= FAST_BYTES && size <= out->limit - out->length &&
                    (size <= DECODE_RATIO_FLOOR || sink->max_ratio == 0 ||
                     size / sink->max_ratio < sink->raw_length);
    if (!is_small || size / 1100 > in->left || buffer_reserve(out, size) != RESULT_OK) {
        return false;
    }
    size_t used = 0;
    size_t produced = 0;
    enum libdeflate_result result = libdeflate_gzip_decompress_ex(
        decoder->fast, in->next, in->left, out->data + out->length, size, &used, &produced);
    if (result != LIBDEFLATE_SUCCESS || used != in->left) {
        return false;
    }
    out->length += produced;
    out->data[out->length] = '\0';
    return true;
}

static DecodeStatus decode_gzip(Decoder *decoder, Input in, Sink *sink)
{
    if (gzip_at_once(decoder, &in, sink)) {
        return DECODE_OK;
    }
    DecodeStatus status = DECODE_OK;
    do { /* one member after the other; what follows the last one is padding */
        status = run_zlib(decoder, 15 + 16, &in, sink);
    } while (status == DECODE_OK && is_gzip(&in));
    return status;
}

DecodeStatus decode_gzip_stream(Decoder *decoder, const char *raw, size_t length,
                                DecodeBounds bounds, DecodeSink sink, void *context)
{
    Input in = {raw, length};
    size_t given = 0;
    if (!is_gzip(&in)) {
        return DECODE_BROKEN;
    }
    do {
        Buffer *piece = &decoder->scratch[0];
        piece->limit = STEP_BYTES;
        if (inflateReset2(&decoder->zlib, 15 + 16) != Z_OK) {
            return DECODE_MEMORY;
        }
        DecodeStatus status = DECODE_LIMIT;
        while (status == DECODE_LIMIT) { /* of the piece: there is more */
            buffer_reset(piece);
            Sink one = {.out = piece, .raw_length = length, .is_piece = true};
            status = pump(decoder, zlib_step, &in, &one);
            size_t room = bounds.max_bytes - given;
            size_t n = piece->length < room ? piece->length : room;
            given += n;
            if (n > 0 && !sink(context, piece->data, n)) {
                return DECODE_OK;
            }
            if (n < piece->length) {
                return DECODE_LIMIT;
            }
            if (bounds.max_ratio > 0 && given > DECODE_RATIO_FLOOR &&
                given / bounds.max_ratio >= length) {
                return DECODE_RATIO;
            }
        }
        if (status != DECODE_OK) {
            return status;
        }
    } while (is_gzip(&in));
    return DECODE_OK;
}

static bool has_zlib_frame(const Input *in)
{
    if (in->left < 2) {
        return false;
    }
    unsigned first = (uint8_t)in->next[0];
    unsigned second = (uint8_t)in->next[1];
    return (first & 0x0F) == 8 && (first >> 4) <= 7 && (first << 8 | second) % 31 == 0;
}

/* ---- brotli ---- */

static void *brotli_alloc(void *opaque, size_t size)
{
    return arena_alloc(opaque, size);
}

static void brotli_free(void *opaque, void *address)
{
    (void)opaque; /* the arena forgets everything at once */
    (void)address;
}

static Step brotli_step(Decoder *decoder, Input *in, char **out, size_t *room)
{
    const uint8_t *next_in = (const uint8_t *)in->next;
    uint8_t *next_out = (uint8_t *)*out;
    BrotliDecoderResult result =
        BrotliDecoderDecompressStream(decoder->brotli, &in->left, &next_in, room, &next_out, NULL);
    in->next = (const char *)next_in;
    *out = (char *)next_out;
    switch (result) {
    case BROTLI_DECODER_RESULT_SUCCESS:
        return STEP_END;
    case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT:
    case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT:
        return STEP_MORE;
    case BROTLI_DECODER_RESULT_ERROR:
        break;
    }
    BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(decoder->brotli);
    bool is_memory = code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
                     code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
    return is_memory ? STEP_MEMORY : STEP_ERROR;
}

static DecodeStatus decode_brotli(Decoder *decoder, Input in, Sink *sink)
{
    arena_reset(&decoder->brotli_memory);
    decoder->brotli =
        BrotliDecoderCreateInstance(brotli_alloc, brotli_free, &decoder->brotli_memory);
    if (decoder->brotli == NULL) {
        return DECODE_MEMORY;
    }
    DecodeStatus status = pump(decoder, brotli_step, &in, sink);
    BrotliDecoderDestroyInstance(decoder->brotli);
    decoder->brotli = NULL;
    arena_reset(&decoder->brotli_memory);
    return status;
}

/* ---- zstd ---- */

static Step zstd_step(Decoder *decoder, Input *in, char **out, size_t *room)
{
    ZSTD_inBuffer input = {in->next, in->left, 0};
    ZSTD_outBuffer output = {*out, *room, 0};
    size_t code = ZSTD_decompressStream(decoder->zstd, &output, &input);
    in->next += input.pos;
    in->left -= input.pos;
    *out += output.pos;
    *room -= output.pos;
    if (ZSTD_isError(code)) {
        return ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation ? STEP_MEMORY : STEP_ERROR;
    }
    return code == 0 ? STEP_END : STEP_MORE;
}

static bool is_zstd(const Input *in)
{
    if (in->left < 4) {
        return false;
    }
    uint32_t magic = little_endian_32(in->next);
    return magic == ZSTD_MAGICNUMBER ||
           (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

static DecodeStatus decode_zstd(Decoder *decoder, Input in, Sink *sink)
{
    DecodeStatus status = DECODE_OK;
    do { /* one frame after the other */
        (void)ZSTD_DCtx_reset(decoder->zstd, ZSTD_reset_session_only);
        status = pump(decoder, zstd_step, &in, sink);
    } while (status == DECODE_OK && is_zstd(&in));
    return status;
}

/* ---- codings ---- */

/* Whether the start reads like text: then a body that no codec wants was never encoded. */
static bool looks_plain(const Input *in)
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

static DecodeStatus copy_plain(Input in, Sink *sink)
{
    size_t room = sink->out->limit - sink->out->length;
    size_t n = in.left < room ? in.left : room;
    if (buffer_append(sink->out, in.next, n) != RESULT_OK) {
        return DECODE_MEMORY;
    }
    return n < in.left ? DECODE_LIMIT : DECODE_OK;
}

static DecodeStatus decode_one(Decoder *decoder, Coding coding, Input in, Sink *sink)
{
    if (in.left == 0) {
        return DECODE_OK; /* answers to HEAD, 304, and servers that compress nothing into nothing */
    }
    DecodeStatus status = DECODE_OK;
    size_t before = sink->out->length;
    switch (coding) {
    case CODING_GZIP:
        if (!is_gzip(&in)) {
            return copy_plain(in, sink);
        }
        return decode_gzip(decoder, in, sink);
    case CODING_ZSTD:
        if (!is_zstd(&in)) {
            return copy_plain(in, sink);
        }
        return decode_zstd(decoder, in, sink);
    case CODING_DEFLATE:
        if (is_gzip(&in)) {
            return decode_gzip(decoder, in, sink);
        }
        if (has_zlib_frame(&in)) {
            Input framed = in;
            status = run_zlib(decoder, 15, &framed, sink);
            if (status != DECODE_BROKEN || sink->out->length > before) {
                return status;
            }
        }
        status = run_zlib(decoder, -15, &(Input){in.next, in.left}, sink);
        break;
    case CODING_BROTLI:
        status = decode_brotli(decoder, in, sink);
        break;
    case CODING_NONE:
        return copy_plain(in, sink);
    }
    bool is_failure = status == DECODE_BROKEN || status == DECODE_TRUNCATED;
    if (is_failure && looks_plain(&in)) {
        sink->out->length = before;
        return copy_plain(in, sink);
    }
    return status;
}

static Coding coding_of(const char *word, size_t length)
{
    static const struct {
        const char *name;
        Coding coding;
    } names[] = {{"gzip", CODING_GZIP},  {"x-gzip", CODING_GZIP}, {"deflate", CODING_DEFLATE},
                 {"br", CODING_BROTLI},  {"zstd", CODING_ZSTD},   {"x-deflate", CODING_DEFLATE},
                 {"x-zstd", CODING_ZSTD}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) == length && strncasecmp(word, names[i].name, length) == 0) {
            return names[i].coding;
        }
    }
    return CODING_NONE;
}

static bool is_delimiter(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '"';
}

/* The codings of a header value in the order of the list; false when there are too many. */
static bool read_codings(const char *value, size_t length, Coding *codings, size_t *n)
{
    *n = 0;
    size_t i = 0;
    while (i < length) {
        size_t start = i;
        while (i < length && !is_delimiter(value[i])) {
            i++;
        }
        Coding coding = coding_of(value + start, i - start);
        if (coding != CODING_NONE) {
            if (*n == DECODE_MAX_CODINGS) {
                return false;
            }
            codings[(*n)++] = coding;
        }
        i++;
    }
    return true;
}

DecodeStatus decode_content(Decoder *decoder, const char *encoding, size_t encoding_length,
                            const char *raw, size_t length, Buffer *out, unsigned max_ratio)
{
    Coding codings[DECODE_MAX_CODINGS];
    size_t n = 0;
    if (!read_codings(encoding, encoding == NULL ? 0 : encoding_length, codings, &n)) {
        return DECODE_BROKEN;
    }
    Input in = {raw, length};
    DecodeStatus worst = DECODE_OK;
    size_t limit = out->limit - out->length;
    if (n == 0) {
        Sink sink = {.out = out, .start = out->length, .raw_length = length};
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
        Sink sink = {
            .out = target, .start = target->length, .raw_length = length, .max_ratio = max_ratio};
        DecodeStatus status = decode_one(decoder, codings[n], in, &sink);
        if (status == DECODE_RATIO || status == DECODE_MEMORY) {
            return status; /* no next coding for a bomb */
        }
        worst = worst == DECODE_OK ? status : worst;
        in = (Input){target->data, target->length};
    }
    return worst;
}
