/* Header fields that a crawler stores, shows or sends back. */
#include <zlib.h>

#include "trick.h"

static void add_small_page(const TrickCall *call, Reply *reply)
{
    reply_printf(reply, "<!DOCTYPE html>\n<title>%.*s%.*s</title>\n<p>A page.</p>\n",
                 call->host_length, call->host, call->path_length, call->path);
}

void trick_escape_header(const TrickCall *call, Reply *reply)
{
    add_small_page(call, reply);
    reply_finish(reply, 200, "text/html",
                 "X-Title: \x1b]0;you\x07\x1b[2J\r\nX-High: \xc2\x9b 2J\r\n");
}

void trick_etag_star(const TrickCall *call, Reply *reply)
{
    add_small_page(call, reply);
    reply_finish(reply, 200, "text/html", "ETag: *\r\nLast-Modified: the day before\r\n");
}

static size_t pack(const unsigned char *in, size_t length, unsigned char *out, size_t room)
{
    z_stream stream = {0};
    union {
        const unsigned char *from;
        Bytef *to;
    } input = {.from = in};
    if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return 0;
    }
    stream.next_in = input.to;
    stream.avail_in = (uInt)length;
    stream.next_out = out;
    stream.avail_out = (uInt)room;
    (void)deflate(&stream, Z_FINISH);
    size_t n = room - stream.avail_out;
    deflateEnd(&stream);
    return n;
}

void trick_two_codings(const TrickCall *call, Reply *reply)
{
    static const char page[] = "<!DOCTYPE html>\n<title>Packed twice</title>\n"
                               "<a href=\"/inside.html\">inside</a>\n";
    unsigned char once[512];
    unsigned char twice[512];
    union {
        const char *text;
        const unsigned char *bytes;
    } input = {.text = page};
    (void)call;
    size_t n = pack(input.bytes, sizeof page - 1, once, sizeof once);
    reply_append(reply, twice, pack(once, n, twice, sizeof twice));
    reply_finish(reply, 200, "text/html", "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n");
}
