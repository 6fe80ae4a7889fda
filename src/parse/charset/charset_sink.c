#include "parse/charset/charset_sink.h"

#include <string.h>

void charset_sink_flush(CharsetSink *sink)
{
    size_t n = sink->used;
    sink->used = 0;
    if (sink->rc != RESULT_OK) {
        return;
    }
    Result rc = buffer_append(sink->out, sink->block, n);
    if (rc == RESULT_LIMIT) {
        size_t fits = sink->out->limit - sink->out->length;
        while (fits > 0 && ((unsigned char)sink->block[fits] & 0xC0) == 0x80) {
            fits--;
        }
        (void)buffer_append(sink->out, sink->block, fits);
    }
    sink->rc = rc;
}

void charset_sink_bytes(CharsetSink *sink, const char *bytes, size_t length)
{
    while (length > 0) {
        if (sink->used > CHARSET_BLOCK_BYTES - 8) {
            charset_sink_flush(sink);
        }
        size_t n = CHARSET_BLOCK_BYTES - sink->used;
        if (length <= n) {
            n = length;
        } else {
            while (((unsigned char)bytes[n] & 0xC0) == 0x80) {
                n--;
            }
        }
        memcpy(sink->block + sink->used, bytes, n);
        sink->used += n;
        bytes += n;
        length -= n;
    }
}
