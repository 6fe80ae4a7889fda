#include "parse/http/decode_codecs.h"

#include <zstd_errors.h>

DecodeStep decode_zstd_step(Decoder *decoder, DecodeInput *in, char **out, size_t *room)
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

bool decode_is_zstd(const DecodeInput *in)
{
    if (in->left < 4) {
        return false;
    }
    uint32_t magic = decode_little_endian_32(in->next);
    return magic == ZSTD_MAGICNUMBER ||
           (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

void decode_zstd_begin(Decoder *decoder)
{
    (void)ZSTD_DCtx_reset(decoder->zstd, ZSTD_reset_session_only);
}

DecodeStatus decode_zstd(Decoder *decoder, DecodeInput in, DecodeTarget *sink)
{
    DecodeStatus status = DECODE_OK;
    do { /* one frame after the other */
        decode_zstd_begin(decoder);
        status = decode_pump(decoder, decode_zstd_step, &in, sink);
    } while (status == DECODE_OK && decode_is_zstd(&in));
    return status;
}
