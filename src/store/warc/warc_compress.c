#include "store/warc/warc_compress.h"

#include <libdeflate.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "store/warc/warc_deflate.h"

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

struct WarcCompressor {
    WarcDeflate *gzip; /* one of the two */
    ZSTD_CCtx *zstd;
};

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
        made = warc_deflate_new(&c->gzip, level) == RESULT_OK;
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
    warc_deflate_delete(compressor->gzip);
    (void)ZSTD_freeCCtx(compressor->zstd);
    free(compressor);
}

Result warc_compressor_append(WarcCompressor *compressor, const char *bytes, size_t length,
                              Buffer *out)
{
    bool gzip = compressor->gzip != NULL;
    size_t bound = gzip ? warc_deflate_bound(compressor->gzip, length) : ZSTD_compressBound(length);
    Result rc = buffer_reserve(out, bound);
    if (rc != RESULT_OK) {
        return rc;
    }
    char *to = out->data + out->length;
    size_t n = gzip ? warc_deflate_member(compressor->gzip, bytes, length, to, bound)
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
    if (decompressor->gzip != NULL) {
        libdeflate_free_decompressor(decompressor->gzip);
    }
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
    static const char magic[] = "\x28\xb5\x2f\xfd";
    buffer_reset(out);
    return length >= 4 && memcmp(bytes, magic, 4) == 0
               ? read_frame(decompressor->zstd, bytes, length, out, used)
               : warc_compress_read_member(decompressor->gzip, bytes, length, out, used);
}
