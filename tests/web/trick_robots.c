/* robots.txt files that are stored compressed, and one whose rules cost much. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "trick.h"

/* Of the small site's pages one is forbidden, so that a crawler that does not read this is seen. */
static const char rules[] = "User-agent: *\nDisallow: /7.html\n";

static void finish(Reply *reply, const char *coding)
{
    char line[64];
    (void)snprintf(line, sizeof line, "Content-Encoding: %s\r\n", coding);
    reply_finish(reply, 200, "text/plain", line);
}

static void append_deflated(Reply *reply, int window_bits)
{
    unsigned char out[256];
    z_stream stream = {0};
    if (deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return;
    }
    union {
        const char *text;
        Bytef *bytes;
    } input = {.text = rules};
    stream.next_in = input.bytes;
    stream.avail_in = (uInt)strlen(rules);
    stream.next_out = out;
    stream.avail_out = sizeof out;
    (void)deflate(&stream, Z_FINISH);
    reply_append(reply, out, sizeof out - stream.avail_out);
    deflateEnd(&stream);
}

void trick_robots_gzip(const TrickCall *call, Reply *reply)
{
    (void)call;
    append_deflated(reply, 15 + 16);
    finish(reply, "gzip");
}

void trick_robots_deflate(const TrickCall *call, Reply *reply)
{
    (void)call;
    append_deflated(reply, 15);
    finish(reply, "deflate");
}

/* RFC 7932: a window of 2^16, one meta-block of stored bytes, an empty last one. */
void trick_robots_br(const TrickCall *call, Reply *reply)
{
    (void)call;
    size_t n = strlen(rules) - 1;
    /* WBITS 0; ISLAST 0; MNIBBLES 00; MLEN - 1 in 16 bits; ISUNCOMPRESSED 1; padding */
    unsigned char head[] = {(unsigned char)(n << 4), (unsigned char)(n >> 4),
                            (unsigned char)(n >> 12 | 1u << 4)};
    reply_append(reply, head, sizeof head);
    reply_append_string(reply, rules);
    reply_append(reply, "\x03", 1); /* ISLAST 1, ISLASTEMPTY 1 */
    finish(reply, "br");
}

/* RFC 8878: a frame with one raw block. */
void trick_robots_zstd(const TrickCall *call, Reply *reply)
{
    (void)call;
    size_t n = strlen(rules);
    unsigned char head[] = {0x28,
                            0xB5,
                            0x2F,
                            0xFD,
                            0x20,
                            (unsigned char)n, /* single segment */
                            (unsigned char)(n << 3 | 1),
                            (unsigned char)(n >> 5),
                            0};
    reply_append(reply, head, sizeof head);
    reply_append_string(reply, rules);
    finish(reply, "zstd");
}

static const char gzip_header[] = "\x1f\x8b\x08\0\0\0\0\0\0\x03";

void trick_robots_gzip_bomb(const TrickCall *call, Reply *reply)
{
    reply_append(reply, gzip_header, sizeof gzip_header - 1);
    for (int i = 0; i < 64; i++) {
        reply_append_static(reply, call->kit->zeros, call->kit->zeros_bytes);
    }
    finish(reply, "gzip");
}

void trick_robots_gzip_broken(const TrickCall *call, Reply *reply)
{
    reply_append(reply, gzip_header, sizeof gzip_header - 1);
    reply_append_static(reply, call->kit->noise, 4096);
    finish(reply, "gzip");
}

#define COSTLY_RULES 24927
#define COSTLY_LINKS 60

void trick_robots_costly(const TrickCall *call, Reply *reply)
{
    static const char self[] = "/robots.txt";
    if (call->path_length == (int)sizeof self - 1 &&
        memcmp(call->path, self, sizeof self - 1) == 0) {
        reply_append_string(reply, "User-agent: *\n");
        for (unsigned i = 0; i < COSTLY_RULES; i++) {
            reply_printf(reply, "Disallow:/ab*%c%03x\n", (char)('b' + i % 6), i / 6);
        }
        reply_finish(reply, 200, "text/plain", "");
        return;
    }
    /* Every pair of bytes that a rule has, but none of the rules' ends. */
    char path[2048];
    size_t n = (size_t)snprintf(path, sizeof path, "/ab");
    for (unsigned i = 0; i < 16; i++) {
        for (unsigned k = 0; k < 16; k++) {
            n += (size_t)snprintf(path + n, sizeof path - n, "-%x%x", i, k);
        }
        for (int c = 'b'; c < 'h'; c++) {
            n += (size_t)snprintf(path + n, sizeof path - n, "-%c%x", c, i);
        }
    }
    reply_printf(reply, "<!DOCTYPE html>\n<title>%.*s</title>\n", call->host_length, call->host);
    for (unsigned i = 0; i < COSTLY_LINKS; i++) {
        reply_printf(reply, "<a href=\"%s-%0*u.html\">page</a>\n", path, 900, i);
    }
    reply_finish(reply, 200, "text/html; charset=utf-8", "");
}
