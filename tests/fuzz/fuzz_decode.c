/* Input: a byte that chooses the coding, then the body. Limits hold, and a smaller limit gives a
 * prefix of what a larger one gives. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "parse/http/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool add(void *context, const char *bytes, size_t length)
{
    return buffer_append(context, bytes, length) == RESULT_OK;
}

static void check_stream(Decoder *decoder, const char *raw, size_t length, const Buffer *whole)
{
    Buffer pieces;
    buffer_init(&pieces, BUFFER_NO_LIMIT);
    DecodeBounds bounds = {.max_bytes = 200000, .max_ratio = 0};
    DecodeStatus status = decode_gzip_stream(decoder, raw, length, bounds, add, &pieces);
    /* libdeflate forgives a few symbols that zlib does not. */
    assert(pieces.length == whole->length ||
           (status == DECODE_BROKEN && pieces.length < whole->length));
    assert(pieces.length == 0 || memcmp(pieces.data, whole->data, pieces.length) == 0);
    buffer_destroy(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const codings[] = {"gzip",     "deflate",       "br",
                                          "zstd",     "gzip, deflate", "deflate,br,gzip",
                                          "identity", "zstd,zstd"};
    static Decoder *decoder;
    if (size == 0 || (decoder == NULL && decoder_new(&decoder) != RESULT_OK)) {
        return 0;
    }
    const char *coding = codings[data[0] % 8];
    const char *raw = (const char *)data + 1;
    size_t length = size - 1;
    Buffer large;
    Buffer small;
    buffer_init(&large, 200000);
    buffer_init(&small, data[0] * 40u);
    DecodeStatus a = decode_content(decoder, coding, strlen(coding), raw, length, &large, 0);
    DecodeStatus b = decode_content(decoder, coding, strlen(coding), raw, length, &small, 100);
    assert(large.length <= large.limit && small.length <= small.limit);
    assert(a != DECODE_LIMIT || large.length == large.limit || strchr(coding, ',') != NULL);
    /* A body that breaks beyond the small limit may turn out to be plain after all. */
    bool is_plain = large.length == length && (length == 0 || memcmp(large.data, raw, length) == 0);
    if (strchr(coding, ',') == NULL && !is_plain) {
        size_t n = small.length < large.length ? small.length : large.length;
        assert(n == 0 || memcmp(small.data, large.data, n) == 0);
        /* zstd checks a frame's announced size only when the output could hold it. */
        assert(b != DECODE_OK || a == DECODE_OK || strcmp(coding, "zstd") == 0);
    }
    if (data[0] % 8 == 0 && length >= 2 && memcmp(raw, "\x1F\x8B", 2) == 0) {
        check_stream(decoder, raw, length, &large);
    }
    buffer_reset(&large);
    (void)decode_chunked(raw, length, &large);
    assert(large.length <= length);
    buffer_destroy(&large);
    buffer_destroy(&small);
    return 0;
}
