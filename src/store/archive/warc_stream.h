/* Bytes on their way to the end of a file.
 *
 * What: bytes are collected and written in large pieces. What write() did not take stays pending,
 * so a full disk loses nothing.
 * Owns: the file descriptor and what is pending.
 * Threads: one.
 * Errors: RESULT_FULL, RESULT_IO; logged. */
#ifndef STORE_ARCHIVE_WARC_STREAM_H
#define STORE_ARCHIVE_WARC_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"

#define WARC_STREAM_BYTES ((size_t)128 << 10) /* collected before a write: still in the cache */

typedef struct WarcStream {
    int fd; /* -1: none */
    uint64_t written;
    Buffer pending;
} WarcStream;

/* Where the next byte will be. */
static inline uint64_t warc_stream_size(const WarcStream *stream)
{
    return stream->written + stream->pending.length;
}

/* Writes what is pending; name: of the file, for the log. */
Result warc_stream_flush(WarcStream *stream, const char *name);
/* Closes the file; nothing may be pending. */
void warc_stream_close(WarcStream *stream);
/* Logs that a step of writing failed; the Result of errno. */
Result warc_stream_failed(const char *step, const char *name);

#endif
