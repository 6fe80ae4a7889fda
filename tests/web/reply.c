#include "reply.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digits.h"

bool reply_init(Reply *reply)
{
    memset(reply, 0, sizeof *reply);
    reply->scratch = malloc(REPLY_SCRATCH_BYTES);
    reply_begin(reply);
    return reply->scratch != NULL;
}

void reply_destroy(Reply *reply)
{
    free(reply->scratch);
    reply->scratch = NULL;
}

void reply_begin(Reply *reply)
{
    reply->pieces[0] = (struct iovec){reply->header, 0};
    reply->n_pieces = 1;
    reply->length = 0;
    reply->scratch_used = 0;
    reply->status = 0;
    reply->flags = 0;
    reply->endless = false;
    reply->delay_ms = 0;
    reply->drip_bytes = 0;
    reply->drip_ms = 0;
    reply->end = REPLY_KEEP;
}

static void add_piece(Reply *reply, char *bytes, size_t length)
{
    struct iovec *last = &reply->pieces[reply->n_pieces - 1];
    if (reply->n_pieces > 1 && (char *)last->iov_base + last->iov_len == bytes) {
        last->iov_len += length;
    } else {
        assert(reply->n_pieces <= REPLY_PIECES);
        reply->pieces[reply->n_pieces++] = (struct iovec){bytes, length};
    }
    reply->length += length;
}

void reply_append_static(Reply *reply, const void *bytes, size_t length)
{
    /* An iovec has no const; sendmsg only reads. */
    union {
        const void *from;
        char *to;
    } unconst = {.from = bytes};
    add_piece(reply, unconst.to, length);
}

void reply_append(Reply *reply, const void *bytes, size_t length)
{
    assert(length <= REPLY_SCRATCH_BYTES - reply->scratch_used);
    char *to = reply->scratch + reply->scratch_used;
    memcpy(to, bytes, length);
    reply->scratch_used += length;
    add_piece(reply, to, length);
}

void reply_append_string(Reply *reply, const char *string)
{
    reply_append(reply, string, strlen(string));
}

void reply_printf(Reply *reply, const char *format, ...)
{
    size_t room = REPLY_SCRATCH_BYTES - reply->scratch_used;
    char *to = reply->scratch + reply->scratch_used;
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(to, room, format, arguments);
    va_end(arguments);
    assert(n >= 0 && (size_t)n < room);
    reply->scratch_used += (size_t)n;
    add_piece(reply, to, (size_t)n);
}

const char *reply_phrase(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 301:
        return "Moved Permanently";
    case 302:
        return "Found";
    case 304:
        return "Not Modified";
    case 400:
        return "Bad Request";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 410:
        return "Gone";
    case 405:
        return "Method Not Allowed";
    case 421:
        return "Misdirected Request";
    case 429:
        return "Too Many Requests";
    case 500:
        return "Internal Server Error";
    case 503:
        return "Service Unavailable";
    default:
        return "Whatever";
    }
}

static char *put(char *to, const char *string)
{
    size_t n = strlen(string);
    memcpy(to, string, n);
    return to + n;
}

void reply_finish(Reply *reply, int status, const char *type, const char *extra)
{
    assert(strlen(extra) < sizeof reply->header / 2);
    char *to = put(reply->header, "HTTP/1.1 ");
    to = digits_put(to, (size_t)status);
    *to++ = ' ';
    to = put(to, reply_phrase(status));
    to = put(to, "\r\nServer: synthetic-web");
    if (status != 304) { /* the length of what is not sent would be that of the page */
        to = digits_put(put(to, "\r\nContent-Length: "), reply->length);
    }
    if (type != NULL) {
        to = put(put(to, "\r\nContent-Type: "), type);
    }
    to = put(put(to, "\r\n"), extra);
    if (reply->end != REPLY_KEEP) {
        to = put(to, "Connection: close\r\n");
    }
    to = put(to, "\r\n");
    reply->pieces[0].iov_len = (size_t)(to - reply->header);
    reply->status = status;
}

void reply_finish_status(Reply *reply, int status, const char *extra)
{
    const char *phrase = reply_phrase(status);
    reply_printf(reply, "<!DOCTYPE html>\n<title>%d %s</title>\n<h1>%d %s</h1>\n", status, phrase,
                 status, phrase);
    reply_finish(reply, status, "text/html; charset=utf-8", extra);
}

void reply_drop_body(Reply *reply)
{
    if (reply->pieces[0].iov_len > 0) {
        reply->n_pieces = 1;
        reply->length = 0;
        reply->endless = false;
    }
}
