#include "store/archive/warc_stream.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/thread/log.h"

#define COMPONENT "warc"

Result warc_stream_failed(const char *step, const char *name)
{
    int error = errno;
    LOG_ERROR(COMPONENT, "cannot write", "step=%s file=%s error=%s", step, name, strerror(error));
    return result_of_errno(error);
}

Result warc_stream_flush(WarcStream *stream, const char *name)
{
    size_t done = 0;
    Result rc = RESULT_OK;
    while (done < stream->pending.length && rc == RESULT_OK) {
        ssize_t n = pwrite(stream->fd, stream->pending.data + done, stream->pending.length - done,
                           (off_t)stream->written);
        if (n > 0) {
            done += (size_t)n;
            stream->written += (uint64_t)n;
        } else if (n == 0 || errno != EINTR) {
            rc = warc_stream_failed("write", name);
        }
    }
    if (done > 0) {
        memmove(stream->pending.data, stream->pending.data + done, stream->pending.length - done);
        stream->pending.length -= done;
    }
    return rc;
}

void warc_stream_close(WarcStream *stream)
{
    if (stream->fd >= 0) {
        (void)close(stream->fd);
    }
    stream->fd = -1;
    stream->written = 0;
    buffer_trim(&stream->pending, WARC_STREAM_BYTES * 2);
}
