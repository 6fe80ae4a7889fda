/* The request log: one line per request, written in large pieces.
 *
 *   start_us end_us address host status bytes flags path
 *
 * Times are monotonic (CLOCK_MONOTONIC) microseconds: start is when the request head had been read,
 * end just before the last byte was handed to the kernel (the client cannot have had it earlier),
 * or, with flag A, when the client was seen to be gone. Lines of one
 * thread are in order of their end. Each thread has a RequestLog of its own on the same file,
 * opened for appending, so that whole lines never mix. */
#ifndef TESTS_WEB_REQUEST_LOG_H
#define TESTS_WEB_REQUEST_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/clock.h"

#define REQUEST_LOG_BYTES ((size_t)256 * 1024)

typedef struct RequestLog {
    int fd; /* borrowed; -1: nothing is logged */
    size_t used;
    char *bytes; /* owned: REQUEST_LOG_BYTES */
} RequestLog;

typedef enum RequestFlag {
    REQUEST_FORBIDDEN = 1,   /* robots.txt of the host forbids this path */
    REQUEST_ABORTED = 2,     /* the client went before the end */
    REQUEST_ROBOTS = 4,      /* it is /robots.txt */
    REQUEST_CONDITIONAL = 8, /* If-None-Match or If-Modified-Since */
    REQUEST_STALE = 16       /* and not what this page was served with last */
} RequestFlag;

typedef struct RequestRecord {
    MonoTime start;
    MonoTime end;
    uint32_t address;
    const char *host; /* borrowed for the call, not NUL-terminated */
    size_t host_length;
    int status;
    uint64_t bytes;
    unsigned flags; /* RequestFlag */
    const char *path;
    size_t path_length;
} RequestRecord;

/* False when memory is out. */
bool request_log_init(RequestLog *log, int fd);
void request_log_add(RequestLog *log, const RequestRecord *record);
/* Writes what is buffered. */
void request_log_flush(RequestLog *log);
/* Flushes. */
void request_log_destroy(RequestLog *log);

#endif
