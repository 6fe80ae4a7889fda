#include "store/warc/warc_compress.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* ---- Gzip members, made at once from the bytes of one record ---- */

#ifdef RAGNO_HAS_ISAL
#include <isa-l/igzip_lib.h>
#endif

#define SAMPLE_BYTES 1024u
#define LEAST_BYTES  (2 * SAMPLE_BYTES)
/* The sum of the squares of how often each byte occurs in a sample. Of random bytes it is 5 116
 * with a deviation of 90, of deflated ones about 5 200, of a JPEG up to 8 000; of base64 17 000, of
 * text in any script 20 000 and more. */
#define DENSE_SQUARES 8192u
#define GZIP_BYTES    32u /* of a member's head and tail, and some more */
/* Of a record that is short a code made for it costs more than all else. */
#define SHORT_BYTES 2048u

struct WarcCompressor {
    ZSTD_CCtx *zstd; /* NULL: what follows makes gzip members */
    struct libdeflate_compressor *deflater;
    struct libdeflate_compressor *storer; /* automatic only */
#ifdef RAGNO_HAS_ISAL
    struct isal_zstream *stream; /* automatic only */
    uint8_t *tables;
    struct isal_hufftables *of_heads; /* the code for short records */
#endif
};

bool warc_compressor_is_dense(const char *bytes, size_t length)
{
    uint32_t counts[256] = {0};
    uint32_t squares = 0;
    if (length < LEAST_BYTES) {
        return false;
    }
    const char *sample = bytes + (length - SAMPLE_BYTES) / 2;
    for (size_t i = 0; i < SAMPLE_BYTES; i++) {
        counts[(unsigned char)sample[i]]++;
    }
    for (size_t i = 0; i < 256; i++) {
        squares += counts[i] * counts[i];
    }
    return squares < DENSE_SQUARES;
}

#ifdef RAGNO_HAS_ISAL

/* Short records are heads of WARC and HTTP: their code is made from one of them. */
static const char head_sample[] =
    "WARC/1.1\r\nWARC-Type: request\r\n"
    "WARC-Record-ID: <urn:uuid:0f8f1d6e-2b1c-4d5e-9a7f-9b8b6c1d2e3f>\r\n"
    "WARC-Date: 2026-11-22T23:32:11.123456Z\r\n"
    "WARC-Target-URI: https://www.example.org/section/topic-17/page-4213.html\r\n"
    "WARC-IP-Address: 192.0.2.124\r\n"
    "WARC-Concurrent-To: <urn:uuid:1c5f1d6e-7b1c-4d5e-8a7f-9b8b6c1d2ea0>\r\n"
    "WARC-Protocol: http/1.1\r\nWARC-Block-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n"
    "Content-Type: application/http; msgtype=request\r\nContent-Length: 305\r\n\r\n"
    "GET /section/topic-17/page-4213.html HTTP/1.1\r\nHost: www.example.org\r\n"
    "User-Agent: ragno/1.0 (+https://www.example.org/crawler)\r\n"
    "Accept: text/html,application/xhtml+xml;q=0.9,application/xml;q=0.8,*/*;q=0.5\r\n"
    "Accept-Language: en\r\nAccept-Encoding: gzip, br, zstd, deflate\r\n"
    "If-Modified-Since: Sat, 31 Jan 2026 12:00:00 GMT\r\nIf-None-Match: \"5f3c8e-1a9b\"\r\n\r\n";

/* The bytes that the interface takes without const, and only reads. */
static uint8_t *warc_compressor_input_of(const char *bytes)
{
    union {
        const char *from;
        uint8_t *to;
    } input = {.from = bytes};
    return input.to;
}

static bool make_head_code(struct isal_hufftables *tables)
{
    static const struct isal_huff_histogram none;
    struct isal_huff_histogram histogram = none;
    isal_update_histogram(warc_compressor_input_of(head_sample), sizeof head_sample - 1,
                          &histogram);
    return isal_create_hufftables(tables, &histogram) == 0;
}

/* Level 2 of ISA-L: as fast as its level 1, and closer. Short records: its level 0, whose code is
 * made beforehand, in a fifth of the time and a tenth longer. */
static bool open_fast(WarcCompressor *deflate)
{
    deflate->stream = malloc(sizeof *deflate->stream);
    deflate->tables = malloc(ISAL_DEF_LVL2_DEFAULT);
    deflate->of_heads = calloc(1, sizeof *deflate->of_heads);
    if (deflate->stream != NULL) {
        isal_deflate_init(deflate->stream);
    }
    return deflate->stream != NULL && deflate->tables != NULL && deflate->of_heads != NULL &&
           make_head_code(deflate->of_heads);
}

/* ISA-L leaves the upper halves of the vector registers in use: it has no vzeroupper. Until some
 * other function has one, vectors of 128 bits take up to four times as long on some processors. */
static void clear_upper_halves(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx")) {
        __asm__("vzeroupper" ::: "memory");
    }
#endif
}

static size_t deflate_fast(WarcCompressor *deflate, const char *bytes, size_t length, char *out,
                           size_t room)
{
    struct isal_zstream *stream = deflate->stream;
    bool is_short = length <= SHORT_BYTES;
    isal_deflate_reset(stream);
    (void)isal_deflate_set_hufftables(stream, is_short ? deflate->of_heads : NULL,
                                      is_short ? IGZIP_HUFFTABLE_CUSTOM : IGZIP_HUFFTABLE_DEFAULT);
    stream->end_of_stream = 1;
    stream->gzip_flag = IGZIP_GZIP;
    stream->level = is_short ? 0 : 2;
    stream->level_buf = deflate->tables;
    stream->level_buf_size = ISAL_DEF_LVL2_DEFAULT;
    stream->next_in = warc_compressor_input_of(bytes);
    stream->avail_in = (uint32_t)length;
    stream->next_out = (uint8_t *)out;
    stream->avail_out = room > UINT32_MAX ? UINT32_MAX : (uint32_t)room;
    bool done = isal_deflate(stream) == COMP_OK && stream->internal_state.state == ZSTATE_END;
    clear_upper_halves();
    return done ? stream->total_out : 0;
}

#endif

static bool warc_compressor_open_gzip(WarcCompressor *c, int level)
{
    bool automatic = level == WARC_LEVEL_AUTO;
    c->deflater = libdeflate_alloc_compressor(automatic ? 1 : level);
    c->storer = automatic ? libdeflate_alloc_compressor(0) : NULL;
    bool is_open = c->deflater != NULL && (!automatic || c->storer != NULL);
#ifdef RAGNO_HAS_ISAL
    is_open = is_open && (!automatic || open_fast(c));
#endif
    return is_open;
}

/* Both encoders store what they cannot shorten, in blocks of at least 16 KiB with 5 bytes each. */
static size_t warc_compressor_bound(WarcCompressor *deflate, size_t length)
{
    size_t bound = libdeflate_gzip_compress_bound(deflate->deflater, length);
    size_t other = length + 5 * (length / 16384 + 1) + GZIP_BYTES;
    return bound > other ? bound : other;
}

static size_t warc_compressor_member(WarcCompressor *deflate, const char *bytes, size_t length,
                                     char *out, size_t room)
{
    if (deflate->storer != NULL && warc_compressor_is_dense(bytes, length)) {
        return libdeflate_gzip_compress(deflate->storer, bytes, length, out, room);
    }
#ifdef RAGNO_HAS_ISAL
    if (deflate->storer != NULL && length <= UINT32_MAX / 2) {
        size_t n = deflate_fast(deflate, bytes, length, out, room);
        if (n > 0) {
            return n;
        }
    }
#endif
    return libdeflate_gzip_compress(deflate->deflater, bytes, length, out, room);
}

/* ---- Compression of records ---- */

#define ZSTD_AUTO_LEVEL 1                   /* which notices by itself what cannot be shortened */
#define FIRST_BYTES     ((size_t)128 << 10) /* of a record, uncompressed: most need no second try */
#define BLOCK_BYTES     3u /* the head of a Zstandard block, which none is without */

static const char *const suffixes[] = {[WARC_GZIP] = ".gz", [WARC_ZSTD] = ".zst"};

const char *warc_compression_suffix(WarcCompression compression)
{
    return suffixes[compression];
}

size_t warc_compression_stem(const char *name, WarcCompression *compression)
{
    static const char *const ends[] = {[WARC_GZIP] = ".warc.gz", [WARC_ZSTD] = ".warc.zst"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t m = strlen(ends[i]);
        if (n > m && memcmp(name + n - m, ends[i], m) == 0) {
            *compression = (WarcCompression)i;
            return n - m;
        }
    }
    return 0;
}

Result warc_compressor_new(WarcCompressor **compressor, WarcCompression compression, int level)
{
    *compressor = NULL;
    if (level < 0 || level > (compression == WARC_GZIP ? WARC_GZIP_LEVELS : WARC_ZSTD_LEVELS)) {
        return RESULT_INVALID;
    }
    WarcCompressor *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return RESULT_MEMORY;
    }
    bool made = false;
    if (compression == WARC_GZIP) {
        made = warc_compressor_open_gzip(c, level);
    } else {
        level = level == WARC_LEVEL_AUTO ? ZSTD_AUTO_LEVEL : level;
        c->zstd = ZSTD_createCCtx();
        made = c->zstd != NULL &&
               !ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, level)) &&
               !ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_checksumFlag, 1));
    }
    if (!made) {
        warc_compressor_delete(c);
        return RESULT_MEMORY;
    }
    *compressor = c;
    return RESULT_OK;
}

void warc_compressor_delete(WarcCompressor *compressor)
{
    if (compressor == NULL) {
        return;
    }
    libdeflate_free_compressor(compressor->deflater);
    libdeflate_free_compressor(compressor->storer);
#ifdef RAGNO_HAS_ISAL
    free(compressor->stream);
    free(compressor->tables);
    free(compressor->of_heads);
#endif
    (void)ZSTD_freeCCtx(compressor->zstd);
    free(compressor);
}

Result warc_compressor_append(WarcCompressor *compressor, const char *bytes, size_t length,
                              Buffer *out)
{
    bool gzip = compressor->zstd == NULL;
    size_t bound = gzip ? warc_compressor_bound(compressor, length) : ZSTD_compressBound(length);
    Result rc = buffer_reserve(out, bound);
    if (rc != RESULT_OK) {
        return rc;
    }
    char *to = out->data + out->length;
    size_t n = gzip ? warc_compressor_member(compressor, bytes, length, to, bound)
                    : ZSTD_compress2(compressor->zstd, to, bound, bytes, length);
    bool done = gzip ? n > 0 : !ZSTD_isError(n);
    out->length += done ? n : 0;
    out->data[out->length] = '\0';
    return done ? RESULT_OK : RESULT_INTERNAL;
}

struct WarcDecompressor {
    struct libdeflate_decompressor *gzip;
    ZSTD_DCtx *zstd;
};

Result warc_decompressor_new(WarcDecompressor **decompressor)
{
    WarcDecompressor *d = calloc(1, sizeof *d);
    *decompressor = d;
    if (d == NULL) {
        return RESULT_MEMORY;
    }
    d->gzip = libdeflate_alloc_decompressor();
    d->zstd = ZSTD_createDCtx();
    if (d->gzip == NULL || d->zstd == NULL) {
        warc_decompressor_delete(d);
        *decompressor = NULL;
        return RESULT_MEMORY;
    }
    return RESULT_OK;
}

void warc_decompressor_delete(WarcDecompressor *decompressor)
{
    if (decompressor == NULL) {
        return;
    }
    libdeflate_free_decompressor(decompressor->gzip);
    (void)ZSTD_freeDCtx(decompressor->zstd);
    free(decompressor);
}

static void warc_compress_finish(Buffer *out, size_t length)
{
    out->length = length;
    out->data[length] = '\0';
}

/* A member does not say how long it will be: the buffer grows until it fits. */
static Result warc_compress_read_member(struct libdeflate_decompressor *gzip, const char *bytes,
                                        size_t length, Buffer *out, size_t *used)
{
    Result rc = buffer_reserve(out, out->limit < FIRST_BYTES ? out->limit : FIRST_BYTES);
    while (rc == RESULT_OK) {
        size_t n = 0;
        enum libdeflate_result result = libdeflate_gzip_decompress_ex(
            gzip, bytes, length, out->data, out->capacity - 1, used, &n);
        if (result == LIBDEFLATE_SUCCESS) {
            warc_compress_finish(out, n);
            return RESULT_OK;
        }
        if (result != LIBDEFLATE_INSUFFICIENT_SPACE) {
            return RESULT_DAMAGED;
        }
        rc = buffer_reserve(out, out->capacity * 2);
    }
    return rc;
}

/* A frame of ours does, and is believed as far as its blocks can go. */
static Result read_frame(ZSTD_DCtx *zstd, const char *bytes, size_t length, Buffer *out,
                         size_t *used)
{
    unsigned long long content = ZSTD_getFrameContentSize(bytes, length);
    size_t frame = ZSTD_findFrameCompressedSize(bytes, length);
    if (ZSTD_isError(frame) || content == ZSTD_CONTENTSIZE_ERROR ||
        content == ZSTD_CONTENTSIZE_UNKNOWN || content / ZSTD_BLOCKSIZE_MAX > frame / BLOCK_BYTES) {
        return RESULT_DAMAGED;
    }
    Result rc = buffer_reserve(out, (size_t)content + 1);
    if (rc != RESULT_OK) {
        return rc;
    }
    size_t n = ZSTD_decompressDCtx(zstd, out->data, out->capacity - 1, bytes, frame);
    if (ZSTD_isError(n) || n != content) {
        return RESULT_DAMAGED;
    }
    warc_compress_finish(out, n);
    *used = frame;
    return RESULT_OK;
}

Result warc_decompressor_read(WarcDecompressor *decompressor, const char *bytes, size_t length,
                              Buffer *out, size_t *used)
{
    buffer_reset(out);
    return warc_compression_begins(WARC_ZSTD, bytes, length)
               ? read_frame(decompressor->zstd, bytes, length, out, used)
               : warc_compress_read_member(decompressor->gzip, bytes, length, out, used);
}
