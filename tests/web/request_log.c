#include "request_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digits.h"
#include "names.h"

#define FIXED_BYTES 160 /* everything in a line but host and path */

bool request_log_init(RequestLog *log, int fd)
{
    *log = (RequestLog){.fd = fd};
    log->bytes = malloc(REQUEST_LOG_BYTES);
    return log->bytes != NULL;
}

void request_log_flush(RequestLog *log)
{
    for (size_t sent = 0; log->fd >= 0 && sent < log->used;) {
        ssize_t n = write(log->fd, log->bytes + sent, log->used - sent);
        if (n < 0) {
            perror("web: request log");
            log->fd = -1;
            break;
        }
        sent += (size_t)n;
    }
    log->used = 0;
}

void request_log_destroy(RequestLog *log)
{
    request_log_flush(log);
    free(log->bytes);
    log->bytes = NULL;
}

static char *put_number(char *to, uint64_t number)
{
    to = digits_put(to, number);
    *to++ = ' ';
    return to;
}

/* What the client sent, with bytes that would break the line replaced. */
static char *put_text(char *to, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        *to++ = c > ' ' && c != 0x7F ? text[i] : '?';
    }
    if (length == 0) {
        *to++ = '-';
    }
    return to;
}

void request_log_add(RequestLog *log, const RequestRecord *r)
{
    size_t need = FIXED_BYTES + r->host_length + r->path_length;
    if (log->fd < 0 || need > REQUEST_LOG_BYTES) {
        return;
    }
    if (need > REQUEST_LOG_BYTES - log->used) {
        request_log_flush(log);
    }
    char *to = log->bytes + log->used;
    to = put_number(to, (uint64_t)r->start.ns / 1000);
    to = put_number(to, (uint64_t)r->end.ns / 1000);
    for (int shift = 24; shift >= 0; shift -= 8) {
        to = put_number(to, r->address >> shift & 255);
        to[-1] = shift > 0 ? '.' : ' ';
    }
    to = put_text(to, r->host, r->host_length);
    *to++ = ' ';
    to = put_number(to, (uint64_t)r->status);
    to = put_number(to, r->bytes);
    char *flags = to;
    static const char letters[] = "FARCX";
    for (unsigned i = 0; i < sizeof letters - 1; i++) {
        if ((r->flags >> i & 1) != 0) {
            *to++ = letters[i];
        }
    }
    if (to == flags) {
        *to++ = '-';
    }
    *to++ = ' ';
    to = put_text(to, r->path, r->path_length);
    *to++ = '\n';
    log->used = (size_t)(to - log->bytes);
}
