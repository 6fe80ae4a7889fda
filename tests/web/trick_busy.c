/* Hosts that are overloaded, or say so. */
#include <stdio.h>

#include "trick.h"

static const int server_errors[] = {500, 502, 504};

/* Whether the host is NAME-N. */
static bool is_numbered(const TrickCall *call)
{
    int end = 0;
    while (end < call->host_length && call->host[end] != '.') {
        end++;
    }
    return end > 0 && call->host[end - 1] >= '0' && call->host[end - 1] <= '9';
}

/* A root that links to so many pages; to one when the host is not numbered, so that a crawl of the
 * whole catalogue ends soon. */
static void finish_root(const TrickCall *call, Reply *reply, unsigned links)
{
    links = is_numbered(call) ? links : 1;
    reply_printf(reply, "<!DOCTYPE html>\n<title>%.*s</title>\n", call->host_length, call->host);
    for (unsigned i = 1; i <= links; i++) {
        reply_printf(reply, "<a href=\"/%u.html\">page %u</a>\n", i, i);
    }
    reply_finish(reply, 200, "text/html; charset=utf-8", "");
}

static void finish_page(const TrickCall *call, Reply *reply)
{
    reply_printf(reply, "<!DOCTYPE html>\n<title>%.*s of %.*s</title>\n", call->path_length,
                 call->path, call->host_length, call->host);
    reply_finish(reply, 200, "text/html; charset=utf-8", "");
}

void trick_retry_past(const TrickCall *call, Reply *reply)
{
    if (call->path_length == 1) {
        finish_root(call, reply, 20);
    } else {
        reply_finish_status(reply, 503, "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
    }
}

void trick_retry_year(const TrickCall *call, Reply *reply)
{
    if (call->path_length == 1) {
        finish_root(call, reply, 20);
    } else {
        reply_finish_status(reply, 503, "Retry-After: 31536000\r\n");
    }
}

void trick_retry_zero(const TrickCall *call, Reply *reply)
{
    if (call->path_length == 1) {
        finish_root(call, reply, 20);
    } else {
        reply_finish_status(reply, 429, "Retry-After: 0\r\n");
    }
}

void trick_server_errors(const TrickCall *call, Reply *reply)
{
    if (call->path_length == 1) {
        finish_root(call, reply, 20);
    } else {
        reply_finish_status(reply, server_errors[call->visit % 3], "");
    }
}

void trick_server_recovers(const TrickCall *call, Reply *reply)
{
    if (call->path_length == 1) {
        finish_root(call, reply, 6);
    } else if (call->visit <= (is_numbered(call) ? 4u : 2u)) {
        reply_finish_status(reply, 503, "");
    } else {
        finish_page(call, reply);
    }
}

void trick_stalls(const TrickCall *call, Reply *reply)
{
    if (call->path_length == 1) {
        finish_root(call, reply, 300);
        return;
    }
    finish_page(call, reply);
    reply->delay_ms = 1000 * 1000;
}
