#include "parse/http/decode.h"

#include <brotli/decode.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/core/ascii.h"
#include "base/core/bounds.h"
#include "base/memory/base64.h"
#include "base/memory/arena.h"

/* All codings go through one loop (decode_stream): a codec's step decodes some of the input to
 * where decode_room says, and decode_give counts it and looks at the bounds. Three things make it
 * more than that.
 *
 * A body may have a limit that its last byte meets exactly. Only a codec that produces one byte
 * more shows that something is lost, so behind the limit there is room for one, which goes nowhere.
 *
 * What a header says of a body is not always true. decode_one looks at the first bytes before it
 * believes in gzip or zstd, which have a mark; deflate and brotli have none, so they are tried, and
 * decode_again goes back to the beginning when they failed before anything was given away.
 *
 * A bomb is known by what came out beside what went in. Of a body in memory all of it counts; of
 * one in pieces also what was read so far, since nobody may have the rest yet. */

#define CODINGS_BYTES     1024u /* of the codings of an answer */
#define DECODE_STEP_BYTES ((size_t)64 * 1024)

/* The scratch has two uses that never meet: of stacked codings each of the two takes what the
 * other one gave; of a body in pieces, which has one coding, scratch[0] takes the piece. */
struct Decoder {
    struct libdeflate_decompressor *fast;
    z_stream zlib;
    bool has_zlib;
    ZSTD_DCtx *zstd;
    BrotliDecoderState *brotli; /* of this body only, in brotli_memory */
    Arena brotli_memory;
    Buffer scratch[2]; /* between stacked codings */
};

typedef struct DecodeInput {
    const char *next;
    size_t left;
    const DecodeSource *source; /* of more; NULL: this is all */
    uint64_t read;              /* bytes that came from it */
} DecodeInput;

#define MAGIC_BYTES 64u /* and so much that text can be told from it */

/* One coding on its way: of a whole body, whose bytes are decoded to where they stay, or of one
 * that comes and goes in pieces. */
typedef struct Decoding {
    Decoder *decoder;
    DecodeInput in;
    DecodeInput start; /* the whole body */
    bool is_plain;     /* it begins like text */
    Buffer *out;       /* of a whole body, from before on; NULL: pieces go to the sink */
    size_t before;
    uint64_t raw_length;
    uint64_t given;
    DecodeBounds bounds;
    DecodeSink sink;
    void *context;
    bool is_over; /* the sink has had enough */
    char spare;   /* a place for the byte that proves there is more than the limit */
} Decoding;

/* What a step says of the stream: it goes on, has met its end, cannot be decoded, or there was no
 * memory. A step that moved nothing says MORE as well; decode_stream sees that. */
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

/* The codecs of content codings: gzip and deflate, brotli, zstd. Each has a step that the loop
 * takes. */

typedef enum DecodeCodec {
    DECODE_CODEC_GZIP,
    DECODE_CODEC_DEFLATE,
    DECODE_CODEC_BROTLI,
    DECODE_CODEC_ZSTD,
    DECODE_CODEC_NONE
} DecodeCodec;

#define DECODE_GZIP_WINDOW (15 + 16) /* window_bits of a gzip member */

/* A server chooses how much a codec allocates. Brotli takes all of it from an arena that ends with
 * the body, so the bound holds whatever it asks for, and nothing is left behind. */
#define BROTLI_BLOCK_BYTES ((size_t)1 << 20)
#define BROTLI_MAX_BYTES   ((size_t)64 << 20) /* its window is 16 MiB, reallocated while it grows */
#define ZSTD_WINDOW_LOG    23                 /* 8 MiB: what RFC 9659 allows for content codings */
#define KEEP_BYTES         ((size_t)4 << 20)  /* scratch that is kept from page to page */

/* More input behind what is left. False: there is none. */
static bool decode_more(DecodeInput *in)
{
    size_t before = in->left;
    bool more = in->source != NULL && in->source->read(in->source->context, &in->next, &in->left);
    in->read += more ? in->left - before : 0;
    return more;
}

static void *brotli_alloc(void *opaque, size_t size)
{
    return arena_alloc(opaque, size);
}

static void brotli_free(void *opaque, void *address)
{
    (void)opaque; /* the arena forgets everything at once */
    (void)address;
}

static DecodeStep decode_brotli_step(Decoder *decoder, DecodeInput *in, char **out, size_t *room)
{
    const uint8_t *next_in = (const uint8_t *)in->next;
    uint8_t *next_out = (uint8_t *)*out;
    BrotliDecoderResult result =
        BrotliDecoderDecompressStream(decoder->brotli, &in->left, &next_in, room, &next_out, NULL);
    in->next = (const char *)next_in;
    *out = (char *)next_out;
    switch (result) {
    case BROTLI_DECODER_RESULT_SUCCESS:
        return DECODE_STEP_END;
    case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT:
    case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT:
        return DECODE_STEP_MORE;
    case BROTLI_DECODER_RESULT_ERROR:
        break;
    }
    /* The codes of allocations are neighbours, and negative: TREES is the least one. */
    BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(decoder->brotli);
    bool is_memory = code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
                     code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
    return is_memory ? DECODE_STEP_MEMORY : DECODE_STEP_ERROR;
}

static DecodeStatus decode_brotli_begin(Decoder *decoder)
{
    arena_reset(&decoder->brotli_memory);
    decoder->brotli =
        BrotliDecoderCreateInstance(brotli_alloc, brotli_free, &decoder->brotli_memory);
    return decoder->brotli == NULL ? DECODE_MEMORY : DECODE_OK;
}

static void decode_brotli_end(Decoder *decoder)
{
    if (decoder->brotli != NULL) {
        BrotliDecoderDestroyInstance(decoder->brotli);
        decoder->brotli = NULL;
    }
    arena_reset(&decoder->brotli_memory);
}

#define FAST_BYTES ((size_t)4 << 20) /* libdeflate needs all of the output at once */

static DecodeStep decode_zlib_step(Decoder *decoder, DecodeInput *in, char **out, size_t *room)
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
    /* Z_BUF_ERROR is no error: there was no input, or no room, and decode_stream knows which. */
    switch (code) {
    case Z_OK:
    case Z_BUF_ERROR:
        return DECODE_STEP_MORE;
    case Z_STREAM_END:
        return DECODE_STEP_END;
    case Z_MEM_ERROR:
        return DECODE_STEP_MEMORY;
    default:
        return DECODE_STEP_ERROR;
    }
}

/* Whether the input begins as such a file does. */
static bool decode_is_gzip(const DecodeInput *in)
{
    return in->left >= 2 && (uint8_t)in->next[0] == 0x1F && (uint8_t)in->next[1] == 0x8B;
}

/* The whole of a gzip body in one call, when its trailer names a size that is plausible. False when
 * the stream must decide: nothing was appended then. The trailer is the sender's word, so three
 * things are asked before memory is reserved for it: it fits the limits, it would be no bomb, and
 * deflate can do it (1032 : 1 at most). A body of several members names only the last one's size;
 * then bytes are left over, and the stream begins anew. */
static bool gzip_at_once(Decoding *d)
{
    const DecodeInput *in = &d->in;
    Buffer *out = d->out;
    if (out == NULL || in->left < 18) {
        return false;
    }
    size_t size = decode_little_endian_32(in->next + in->left - 4);
    bool is_small = size <= FAST_BYTES && size <= out->limit - out->length &&
                    (size <= DECODE_RATIO_FLOOR || d->bounds.max_ratio == 0 ||
                     size / d->bounds.max_ratio < d->raw_length);
    if (!is_small || size / 1100 > in->left || buffer_reserve(out, size) != RESULT_OK) {
        return false;
    }
    size_t used = 0;
    size_t produced = 0;
    enum libdeflate_result result = libdeflate_gzip_decompress_ex(
        d->decoder->fast, in->next, in->left, out->data + out->length, size, &used, &produced);
    if (result != LIBDEFLATE_SUCCESS || used != in->left) {
        return false;
    }
    out->length += produced;
    out->data[out->length] = '\0';
    return true;
}

/* RFC 1950: method 8, a window of 32 KiB at most, and the two bytes as one number a multiple of
 * 31. */
static bool decode_has_zlib_frame(const DecodeInput *in)
{
    if (in->left < 2) {
        return false;
    }
    unsigned first = (uint8_t)in->next[0];
    unsigned second = (uint8_t)in->next[1];
    return (first & 0x0F) == 8 && (first >> 4) <= 7 && (first << 8 | second) % 31 == 0;
}

static DecodeStep decode_zstd_step(Decoder *decoder, DecodeInput *in, char **out, size_t *room)
{
    ZSTD_inBuffer input = {in->next, in->left, 0};
    ZSTD_outBuffer output = {*out, *room, 0};
    size_t code = ZSTD_decompressStream(decoder->zstd, &output, &input);
    in->next += input.pos;
    in->left -= input.pos;
    *out += output.pos;
    *room -= output.pos;
    if (ZSTD_isError(code)) {
        return ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation ? DECODE_STEP_MEMORY
                                                                       : DECODE_STEP_ERROR;
    }
    return code == 0 ? DECODE_STEP_END : DECODE_STEP_MORE;
}

static bool decode_is_zstd(const DecodeInput *in)
{
    if (in->left < 4) {
        return false;
    }
    uint32_t magic = decode_little_endian_32(in->next);
    return magic == ZSTD_MAGICNUMBER ||
           (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

/* ---- Undoing what HTTP did to a body ---- */

const char *decode_status_name(DecodeStatus status)
{
    static const char *const names[] = {
        [DECODE_OK] = "ok",       [DECODE_TRUNCATED] = "truncated", [DECODE_LIMIT] = "limit",
        [DECODE_RATIO] = "ratio", [DECODE_BROKEN] = "broken",       [DECODE_MEMORY] = "memory"};
    return names[status];
}

Result decoder_new(Decoder **decoder)
{
    Decoder *d = calloc(1, sizeof *d);
    *decoder = d;
    if (d == NULL) {
        return RESULT_MEMORY;
    }
    arena_init(&d->brotli_memory, BROTLI_BLOCK_BYTES, BROTLI_MAX_BYTES);
    /* The limits of both are set whenever they are used. */
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
    libdeflate_free_decompressor(decoder->fast);
    if (decoder->has_zlib) {
        (void)inflateEnd(&decoder->zlib);
    }
    (void)ZSTD_freeDCtx(decoder->zstd);
    arena_destroy(&decoder->brotli_memory);
    buffer_destroy(&decoder->scratch[0]);
    buffer_destroy(&decoder->scratch[1]);
    free(decoder);
}

/* Whether the start reads like text: then a body that no codec wants was never encoded. */
static bool decode_looks_plain(const DecodeInput *in)
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

/* ---- the loop of all codecs ---- */

/* A whole body is in memory, and what its beginning alone comes to is no matter; of pieces `used`
 * is what the codec has taken so far. raw_length stays the length of the body as received, also
 * behind the first of several codings, since it is their product that fills the memory. */
static bool is_bomb(const Decoding *d)
{
    if (d->bounds.max_ratio == 0) {
        return false;
    }
    uint64_t least = d->given / d->bounds.max_ratio;
    uint64_t used = d->in.source != NULL ? d->in.read - d->in.left : d->raw_length - d->in.left;
    return (d->given > DECODE_RATIO_FLOOR && least >= d->raw_length) ||
           (d->out == NULL && d->given > DECODE_PREFIX_FLOOR && least >= used);
}

/* Where the next bytes may go: to the end of a whole body, behind whose limit there is room for
 * one, or into the scratch of pieces. NULL: without memory. In steps of DECODE_STEP_BYTES also for
 * a whole body, so that decode_give looks for a bomb that often. */
static char *decode_room(Decoding *d, size_t *room)
{
    Buffer *out = d->out;
    if (out == NULL) {
        out = &d->decoder->scratch[0];
        buffer_reset(out);
        out->limit = DECODE_STEP_BYTES;
    }
    if (out->length >= out->limit) {
        *room = 1;
        return &d->spare;
    }
    *room = bounds_size(out->limit - out->length, 1, DECODE_STEP_BYTES);
    return buffer_reserve(out, *room) == RESULT_OK ? out->data + out->length : NULL;
}

/* Hands bytes on, which those of a whole body need not be: they lie where they stay. DECODE_OK: go
 * on. */
static DecodeStatus decode_give(Decoding *d, const char *bytes, size_t length)
{
    /* given never exceeds max_bytes, and the byte in `spare` makes length one too many: that is how
     * the limit is noticed. */
    uint64_t room = d->bounds.max_bytes - d->given;
    size_t n = length < room ? length : (size_t)room;
    d->given += n;
    if (d->out != NULL && n > 0) {
        d->out->length += n;
        d->out->data[d->out->length] = '\0';
    } else if (n > 0 && !d->sink(d->context, bytes, n)) {
        d->is_over = true;
        return DECODE_OK;
    }
    if (n < length) {
        return DECODE_LIMIT;
    }
    return is_bomb(d) ? DECODE_RATIO : DECODE_OK;
}

static DecodeStatus decode_plain(Decoding *d)
{
    if (d->out != NULL) {
        size_t n = d->in.left < d->bounds.max_bytes ? d->in.left : (size_t)d->bounds.max_bytes;
        if (buffer_append(d->out, d->in.next, n) != RESULT_OK) {
            return DECODE_MEMORY;
        }
        return n < d->in.left ? DECODE_LIMIT : DECODE_OK;
    }
    DecodeStatus status = DECODE_OK;
    do {
        size_t n = d->in.left < DECODE_STEP_BYTES ? d->in.left : DECODE_STEP_BYTES;
        status = decode_give(d, d->in.next, n);
        d->in.next += n;
        d->in.left -= n;
    } while (status == DECODE_OK && !d->is_over && (d->in.left > 0 || decode_more(&d->in)));
    return status;
}

/* At least MAGIC_BYTES are there then, unless the body ends before. A source may give a byte at
 * a time. */
static void decode_fill(DecodeInput *in)
{
    bool more = true;
    while (more && in->left < MAGIC_BYTES) {
        more = decode_more(in);
    }
}

/* One stream of a codec that was made ready. The order of questions: what came out is handed on
 * first, whatever the step says, so that a broken body keeps all before the break; then the step's
 * own answer; then what it lacked. It lacks input when there is none left and room is: a codec that
 * fills its room may still hold bytes. */
static DecodeStatus decode_stream(Decoding *d, DecodeStepFunction step)
{
    for (;;) {
        size_t room = 0;
        char *from = decode_room(d, &room);
        if (from == NULL) {
            return DECODE_MEMORY;
        }
        char *to = from;
        size_t left = room;
        size_t in_before = d->in.left;
        DecodeStep answer = step(d->decoder, &d->in, &to, &left);
        DecodeStatus status = decode_give(d, from, room - left);
        if (status != DECODE_OK || d->is_over) {
            return status;
        }
        switch (answer) {
        /* The next member's mark may be in bytes that were not read yet. */
        case DECODE_STEP_END:
            decode_fill(&d->in);
            return DECODE_OK;
        case DECODE_STEP_ERROR:
            return DECODE_BROKEN;
        case DECODE_STEP_MEMORY:
            return DECODE_MEMORY;
        case DECODE_STEP_MORE:
            break;
        }
        if (d->in.left == 0 && left > 0) {
            if (!decode_more(&d->in)) {
                return DECODE_TRUNCATED;
            }
            /* Input and room were there, and it moved neither: it would do so for ever. */
        } else if (left == room && d->in.left == in_before) {
            return DECODE_BROKEN;
        }
    }
}

static DecodeStatus decode_zlib(Decoding *d, int window_bits)
{
    return inflateReset2(&d->decoder->zlib, window_bits) == Z_OK
               ? decode_stream(d, decode_zlib_step)
               : DECODE_MEMORY;
}

/* One member after the other; what follows the last one is padding. */
static DecodeStatus decode_gzip(Decoding *d)
{
    DecodeStatus status = DECODE_OK;
    if (gzip_at_once(d)) {
        return DECODE_OK;
    }
    do {
        status = decode_zlib(d, DECODE_GZIP_WINDOW);
    } while (status == DECODE_OK && !d->is_over && decode_is_gzip(&d->in));
    return status;
}

static DecodeStatus decode_zstd(Decoding *d)
{
    DecodeStatus status = DECODE_OK;
    do { /* one frame after the other */
        (void)ZSTD_DCtx_reset(d->decoder->zstd, ZSTD_reset_session_only);
        status = decode_stream(d, decode_zstd_step);
    } while (status == DECODE_OK && !d->is_over && decode_is_zstd(&d->in));
    return status;
}

/* Brotli has no reset: an instance for each body, whose memory the arena takes back at once. */
static DecodeStatus decode_brotli(Decoding *d)
{
    DecodeStatus status = decode_brotli_begin(d->decoder);
    if (status == DECODE_OK) {
        status = decode_stream(d, decode_brotli_step);
    }
    decode_brotli_end(d->decoder);
    return status;
}

/* Begins again behind a codec that could make nothing of the body. False: it has been handed on. A
 * whole body can always begin again, as its bytes are still here; of pieces the sink may have had
 * some. */
static bool decode_again(Decoding *d)
{
    if (d->out != NULL) {
        d->in = d->start;
        d->out->length = d->before;
        d->given = 0;
        return true;
    }
    if (d->given > 0) {
        return false;
    }
    d->in.source->rewind(d->in.source->context);
    d->in.read = 0;
    d->in.next = "";
    d->in.left = 0;
    decode_fill(&d->in);
    return true;
}

/* With a zlib frame as it should be, or without, as some servers have it. "80" is the head of a
 * frame, and a page. */
static DecodeStatus decode_deflate(Decoding *d)
{
    if (decode_has_zlib_frame(&d->in)) {
        DecodeStatus status = decode_zlib(d, 15);
        if (status != DECODE_BROKEN || d->given > 0 || !decode_again(d)) {
            return status;
        }
    }
    return decode_zlib(d, -15);
}

static DecodeStatus decode_one(Decoding *d, DecodeCodec coding)
{
    DecodeStatus status = DECODE_OK;
    decode_fill(&d->in);
    if (d->in.left == 0) {
        return DECODE_OK; /* answers to HEAD, 304, and servers that compress nothing into nothing */
    }
    d->is_plain = decode_looks_plain(&d->in);
    switch (coding) {
    case DECODE_CODEC_GZIP:
        return decode_is_gzip(&d->in) ? decode_gzip(d) : decode_plain(d);
    case DECODE_CODEC_ZSTD:
        return decode_is_zstd(&d->in) ? decode_zstd(d) : decode_plain(d);
    case DECODE_CODEC_NONE:
        return decode_plain(d);
    case DECODE_CODEC_DEFLATE:
        if (decode_is_gzip(&d->in)) {
            return decode_gzip(d);
        }
        status = decode_deflate(d);
        break;
    case DECODE_CODEC_BROTLI:
        status = decode_brotli(d);
        break;
    }
    /* deflate without its frame and brotli take almost any bytes for a while. If they fail on what
     * reads like text, the header was wrong; on other bytes they were right, and what came out
     * stays. */
    bool is_failure = status == DECODE_BROKEN || status == DECODE_TRUNCATED;
    return is_failure && d->is_plain && decode_again(d) ? decode_plain(d) : status;
}

/* Words that are unknown count as identity, because servers invent them ("utf-8", "none") beside
 * bodies that are plain. */
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
        if (ascii_is(word, length, names[i].name)) {
            return names[i].coding;
        }
    }
    return DECODE_CODEC_NONE;
}

static bool is_delimiter(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '"';
}

/* The codings of a Content-Encoding value in the order of the list; false when there are too many.
 */
static bool decode_codecs_of(const char *value, size_t length,
                             DecodeCodec codings[DECODE_MAX_CODINGS], size_t *n)
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
        codings[n++] = DECODE_CODEC_NONE;
    }
    while (n > 0) {
        n--;
        Buffer *target = n == 0 ? out : &decoder->scratch[n & 1];
        if (n > 0) {
            buffer_trim(target, KEEP_BYTES);
            buffer_reset(target);
            /* Between two codings the limit of the result holds: whatever is longer than that,
             * packed once more or not, would not fit either when it comes out. */
            target->limit = limit;
        }
        Decoding one = {.decoder = decoder,
                        .in = in,
                        .start = in,
                        .out = target,
                        .before = target->length,
                        .raw_length = length,
                        .bounds = {.max_bytes = limit, .max_ratio = max_ratio}};
        DecodeStatus status = decode_one(&one, codings[n]);
        if (status == DECODE_RATIO || status == DECODE_MEMORY) {
            return status; /* no next coding for a bomb */
        }
        /* The first trouble counts: what a later coding makes of a cut body follows from it. */
        worst = worst == DECODE_OK ? status : worst;
        in = (DecodeInput){.next = target->data, .left = target->length};
    }
    return worst;
}

DecodeStatus decode_answer(Decoder *decoder, const HttpHeader *header, const char *raw,
                           size_t length, Buffer *out, unsigned max_ratio)
{
    HttpField coding = {.value = NULL, .value_length = 0};
    Buffer scratch = {.limit = CODINGS_BYTES};
    (void)http_header_codings(header, &scratch, &coding);
    DecodeStatus status =
        decode_content(decoder, coding.value, coding.value_length, raw, length, out, max_ratio);
    buffer_destroy(&scratch);
    return status;
}

/* Chunked transfer coding: parse/http/decode.h. */

/* Reads a chunk's size line; in stands behind it. */
static DecodeStatus decode_chunked_read_size(DecodeInput *in, size_t *size)
{
    const char *p = in->next;
    const char *end = p + in->left;
    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    *size = 0;
    const char *digits = p;
    for (; p < end && hex_value(*p) >= 0; p++) {
        /* A length that would overflow. Zeros in front of it are no matter. */
        if (*size > SIZE_MAX >> 8) {
            return DECODE_BROKEN;
        }
        *size = *size * 16 + (size_t)hex_value(*p);
    }
    if (p == end) {
        return DECODE_TRUNCATED;
    }
    bool is_size_over = *p == ';' || *p == '\r' || *p == '\n' || *p == ' ' || *p == '\t';
    if (p == digits || !is_size_over) {
        return DECODE_BROKEN;
    }
    const char *lf = memchr(p, '\n', (size_t)(end - p));
    if (lf == NULL) {
        return DECODE_TRUNCATED;
    }
    in->left = (size_t)(end - lf) - 1;
    in->next = lf + 1;
    return DECODE_OK;
}

DecodeStatus decode_chunked(const char *raw, size_t length, Buffer *out)
{
    DecodeInput in = {.next = raw, .left = length};
    for (;;) {
        /* The line break behind a chunk, which may be missing. */
        if (in.left > 0 && in.next != raw && *in.next == '\r') {
            in.next++;
            in.left--;
        }
        if (in.left > 0 && in.next != raw && *in.next == '\n') {
            in.next++;
            in.left--;
        }
        size_t size = 0;
        if (in.left == 0) {
            return DECODE_TRUNCATED;
        }
        DecodeStatus status = decode_chunked_read_size(&in, &size);
        if (status == DECODE_TRUNCATED && size == 0 && hex_value(*in.next) == 0) {
            return DECODE_OK; /* "0" and then the end: nothing is missing */
        }
        /* The last chunk has size 0; trailers are not read. */
        if (status != DECODE_OK || size == 0) {
            return status;
        }
        size_t here = size < in.left ? size : in.left;
        size_t room = out->limit - out->length;
        size_t n = here < room ? here : room;
        if (buffer_append(out, in.next, n) != RESULT_OK) {
            return DECODE_MEMORY;
        }
        if (n < here) {
            return DECODE_LIMIT;
        }
        if (here < size) {
            return DECODE_TRUNCATED;
        }
        in.next += here;
        in.left -= here;
    }
}

/* ---- in pieces ---- */

DecodeStatus decode_content_stream(Decoder *decoder, const char *encoding, size_t encoding_length,
                                   const DecodeSource *source, DecodeBounds bounds, DecodeSink sink,
                                   void *context)
{
    DecodeCodec codecs[DECODE_MAX_CODINGS];
    size_t n = 0;
    Decoding d = {.decoder = decoder,
                  .in = {.next = "", .left = 0, .source = source},
                  .raw_length = source->length,
                  .bounds = bounds,
                  .sink = sink,
                  .context = context};
    if (!decode_codecs_of(encoding, encoding == NULL ? 0 : encoding_length, codecs, &n) || n > 1) {
        return DECODE_BROKEN;
    }
    return decode_one(&d, n == 0 ? DECODE_CODEC_NONE : codecs[0]);
}

DecodeStatus decode_gzip_stream(Decoder *decoder, const char *raw, size_t length,
                                DecodeBounds bounds, DecodeSink sink, void *context)
{
    Decoding d = {.decoder = decoder,
                  .in = {.next = raw, .left = length, .source = NULL},
                  .raw_length = length,
                  .bounds = bounds,
                  .sink = sink,
                  .context = context};
    return decode_is_gzip(&d.in) ? decode_gzip(&d) : DECODE_BROKEN;
}
