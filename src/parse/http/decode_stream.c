#include "parse/http/decode_stream.h"

static bool is_over_ratio(const DecodeTarget *sink)
{
    size_t decoded = sink->out->length - sink->start;
    return sink->max_ratio > 0 && decoded > DECODE_RATIO_FLOOR &&
           decoded / sink->max_ratio >= sink->raw_length;
}

bool decode_more(DecodeInput *in)
{
    size_t before = in->left;
    bool more = in->source != NULL && in->source->read(in->source->context, &in->next, &in->left);
    in->read += more ? in->left - before : 0;
    return more;
}

DecodeStatus decode_pump(Decoder *decoder, DecodeStepFunction step, DecodeInput *in,
                         DecodeTarget *sink)
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
        room = is_full ? 1 : room < DECODE_STEP_BYTES ? room : DECODE_STEP_BYTES;
        if (!is_full && buffer_reserve(out, room) != RESULT_OK) {
            return DECODE_MEMORY;
        }
        char *to = is_full ? &sink->spare : out->data + out->length;
        size_t left = room;
        size_t in_before = in->left;
        DecodeStep answer = step(decoder, in, &to, &left);
        size_t produced = room - left;
        if (is_full && produced > 0) {
            return DECODE_LIMIT;
        }
        if (!is_full) {
            out->length += produced;
            out->data[out->length] = '\0';
        }
        if (answer != DECODE_STEP_MORE) {
            return answer == DECODE_STEP_END      ? DECODE_OK
                   : answer == DECODE_STEP_MEMORY ? DECODE_MEMORY
                                                  : DECODE_BROKEN;
        }
        if (in->left == 0 && left > 0) {
            if (!decode_more(in)) {
                return DECODE_TRUNCATED;
            }
            continue;
        }
        if (produced == 0 && in->left == in_before) {
            return DECODE_BROKEN;
        }
    }
}
