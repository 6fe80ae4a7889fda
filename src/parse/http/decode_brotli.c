#include "parse/http/decode_codecs.h"

static void *brotli_alloc(void *opaque, size_t size)
{
    return arena_alloc(opaque, size);
}

static void brotli_free(void *opaque, void *address)
{
    (void)opaque; /* the arena forgets everything at once */
    (void)address;
}

DecodeStep decode_brotli_step(Decoder *decoder, DecodeInput *in, char **out, size_t *room)
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
    BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(decoder->brotli);
    bool is_memory = code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
                     code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
    return is_memory ? DECODE_STEP_MEMORY : DECODE_STEP_ERROR;
}

DecodeStatus decode_brotli_begin(Decoder *decoder)
{
    arena_reset(&decoder->brotli_memory);
    decoder->brotli =
        BrotliDecoderCreateInstance(brotli_alloc, brotli_free, &decoder->brotli_memory);
    return decoder->brotli == NULL ? DECODE_MEMORY : DECODE_OK;
}

void decode_brotli_end(Decoder *decoder)
{
    if (decoder->brotli != NULL) {
        BrotliDecoderDestroyInstance(decoder->brotli);
        decoder->brotli = NULL;
    }
    arena_reset(&decoder->brotli_memory);
}

DecodeStatus decode_brotli(Decoder *decoder, DecodeInput in, DecodeTarget *sink)
{
    DecodeStatus status = decode_brotli_begin(decoder);
    if (status == DECODE_OK) {
        status = decode_pump(decoder, decode_brotli_step, &in, sink);
    }
    decode_brotli_end(decoder);
    return status;
}
