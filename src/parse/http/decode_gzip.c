#include "parse/http/decode_codecs.h"

#define FAST_BYTES ((size_t)4 << 20) /* libdeflate needs all of the output at once */

DecodeStep decode_zlib_step(Decoder *decoder, DecodeInput *in, char **out, size_t *room)
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
        return DECODE_STEP_MORE;
    case Z_STREAM_END:
        return DECODE_STEP_END;
    case Z_MEM_ERROR:
        return DECODE_STEP_MEMORY;
    default:
        return DECODE_STEP_ERROR;
    }
}

DecodeStatus decode_zlib_begin(Decoder *decoder, int window_bits)
{
    return inflateReset2(&decoder->zlib, window_bits) == Z_OK ? DECODE_OK : DECODE_MEMORY;
}

DecodeStatus decode_zlib(Decoder *decoder, int window_bits, DecodeInput *in, DecodeTarget *sink)
{
    DecodeStatus status = decode_zlib_begin(decoder, window_bits);
    return status == DECODE_OK ? decode_pump(decoder, decode_zlib_step, in, sink) : status;
}

bool decode_is_gzip(const DecodeInput *in)
{
    return in->left >= 2 && (uint8_t)in->next[0] == 0x1F && (uint8_t)in->next[1] == 0x8B;
}

/* The whole of a gzip body in one call, when its trailer names a size that is plausible. False when
 * the stream must decide: nothing was appended then. */
static bool gzip_at_once(Decoder *decoder, const DecodeInput *in, DecodeTarget *sink)
{
    if (in->left < 18) {
        return false;
    }
    Buffer *out = sink->out;
    size_t size = decode_little_endian_32(in->next + in->left - 4);
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

DecodeStatus decode_gzip(Decoder *decoder, DecodeInput in, DecodeTarget *sink)
{
    if (gzip_at_once(decoder, &in, sink)) {
        return DECODE_OK;
    }
    DecodeStatus status = DECODE_OK;
    do { /* one member after the other; what follows the last one is padding */
        status = decode_zlib(decoder, DECODE_GZIP_WINDOW, &in, sink);
    } while (status == DECODE_OK && decode_is_gzip(&in));
    return status;
}

bool decode_has_zlib_frame(const DecodeInput *in)
{
    if (in->left < 2) {
        return false;
    }
    unsigned first = (uint8_t)in->next[0];
    unsigned second = (uint8_t)in->next[1];
    return (first & 0x0F) == 8 && (first >> 4) <= 7 && (first << 8 | second) % 31 == 0;
}
