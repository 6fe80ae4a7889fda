#include "trick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/core/hash.h"
#include "text.h"

#define STRETCH_BYTES ((size_t)1 << 20)
#define STRETCHES     (KIT_ZEROS_BYTES / STRETCH_BYTES)

/* A full-flushed stretch of zeros: repeated, it is a longer such stream. So one is compressed, and
 * the others are copies of it: it is done at each start. */
static Result make_zeros(TrickKit *kit)
{
    size_t room = KIT_ZEROS_BYTES / 500;
    char *input = calloc(1, STRETCH_BYTES);
    kit->zeros = malloc(room);
    z_stream stream = {0};
    bool is_made = input != NULL && kit->zeros != NULL &&
                   deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) == Z_OK;
    if (is_made) {
        stream.next_in = (Bytef *)input;
        stream.avail_in = (uInt)STRETCH_BYTES;
        stream.next_out = (Bytef *)kit->zeros;
        stream.avail_out = (uInt)(room / STRETCHES);
        is_made = deflate(&stream, Z_FULL_FLUSH) == Z_OK && stream.avail_out > 0;
        for (size_t i = 0; i < STRETCHES; i++) {
            memmove(kit->zeros + i * stream.total_out, kit->zeros, stream.total_out);
        }
        kit->zeros_bytes = STRETCHES * stream.total_out;
        deflateEnd(&stream);
    }
    free(input);
    return is_made ? RESULT_OK : RESULT_MEMORY;
}

Result trick_kit_init(TrickKit *kit)
{
    *kit = (TrickKit){0};
    kit->block = malloc(KIT_BLOCK_BYTES);
    kit->noise = malloc(KIT_BLOCK_BYTES);
    if (kit->block == NULL || kit->noise == NULL || make_zeros(kit) != RESULT_OK) {
        trick_kit_destroy(kit);
        return RESULT_MEMORY;
    }
    for (size_t i = 0; i < KIT_BLOCK_BYTES; i++) {
        kit->block[i] = i % 64 == 63 ? '\n' : i % 64 == 0 ? '#' : 'x';
        kit->noise[i] = (char)hash_mix(i);
    }
    return RESULT_OK;
}

void trick_kit_destroy(TrickKit *kit)
{
    free(kit->block);
    free(kit->noise);
    free(kit->zeros);
    *kit = (TrickKit){0};
}

/* Answers that are not proper HTTP write their header themselves, with this in front. */
static const char ok_header[] = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

/* Some sentences that differ by host and path, so that pages are not duplicates by accident. */
static void add_words(const TrickCall *call, Reply *reply, unsigned paragraphs)
{
    uint64_t key = hash_64(call->path, (size_t)call->path_length, (uint64_t)call->host[0]);
    for (unsigned i = 0; i < paragraphs; i++) {
        char name[TEXT_NAME_BYTES];
        text_name(hash_mix(key + i), name);
        reply_printf(reply, "<p>This page tells about %s.</p>\n", name);
    }
}

/* A root with links to nine pages; pages with a link back: for tricks below HTML. */
static void add_page(const TrickCall *call, Reply *reply)
{
    reply_printf(reply, "<!DOCTYPE html>\n<title>%.*s</title>\n", call->host_length, call->host);
    for (int i = 1; call->path_length == 1 && i < 10; i++) {
        reply_printf(reply, "<a href=\"/%d.html\">page %d</a>\n", i, i);
    }
    add_words(call, reply, 40);
    reply_append_string(reply, "<a href=\"/\">back</a>\n");
}

static void finish_page(Reply *reply, const char *extra)
{
    reply_finish(reply, 200, "text/html; charset=utf-8", extra);
}

/* Starts an answer with a header of its own; status is for the log. */
static void begin_raw(Reply *reply, int status, const char *header, ReplyEnd end)
{
    reply->status = status;
    reply->end = end;
    reply_append_string(reply, header);
}

void trick_always_503(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply_finish_status(reply, 503, "Retry-After: 3600\r\n");
}

void trick_bad_length(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "Content-Length: -5\r\n\r\n");
    add_page(call, reply);
}

void trick_bad_ports(const TrickCall *call, Reply *reply)
{
    static const unsigned ports[] = {0, 22, 25, 6379, 11211, 65536};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        reply_printf(reply, "<a href=\"http://h00001.%s:%u/\">port %u</a>\n", call->options->suffix,
                     ports[i], ports[i]);
    }
    add_page(call, reply);
    finish_page(reply, "");
}

void trick_binary_html(const TrickCall *call, Reply *reply)
{
    reply_append_static(reply, call->kit->noise, KIT_BLOCK_BYTES);
    finish_page(reply, "");
}

void trick_busy_429(const TrickCall *call, Reply *reply)
{
    if (call->visit % 4 != 3) {
        reply_finish_status(reply, 429, "Retry-After: 2\r\n");
        return;
    }
    add_page(call, reply);
    finish_page(reply, "");
}

void trick_busy_503(const TrickCall *call, Reply *reply)
{
    if (call->visit % 4 != 3) {
        reply_finish_status(reply, 503, "Retry-After: 2\r\n");
        return;
    }
    add_page(call, reply);
    finish_page(reply, "");
}

/* The number at the end of the path; 0 when there is none. */
static unsigned long number_at_end(const TrickCall *call)
{
    unsigned long number = 0;
    int i = call->path_length;
    while (i > 0 && call->path[i - 1] >= '0' && call->path[i - 1] <= '9') {
        i--;
    }
    for (; i < call->path_length; i++) {
        number = number * 10 + (unsigned long)(call->path[i] - '0');
    }
    return number;
}

void trick_calendar(const TrickCall *call, Reply *reply)
{
    unsigned long day = number_at_end(call);
    reply_printf(reply, "<!DOCTYPE html>\n<title>Day %lu</title>\n", day);
    add_words(call, reply, 5);
    reply_printf(reply, "<a href=\"/day?n=%lu\">next</a>\n", day + 1);
    if (day > 1) {
        reply_printf(reply, "<a href=\"/day?n=%lu\">previous</a>\n", day - 1);
    }
    finish_page(reply, "");
}

void trick_chunked_garbage(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "Transfer-Encoding: chunked\r\n\r\n10\r\n0123456789abcdef\r\n");
    reply_append_string(reply, "zz;what\r\nthis is no chunk\r\n-1\r\nFFFFFFFFFFFFFFFFFF\r\n");
    add_page(call, reply);
}

void trick_close_after_one(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    finish_page(reply, "Connection: keep-alive\r\nKeep-Alive: timeout=60\r\n");
    reply->end = REPLY_CLOSE;
}

void trick_close_at_once(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply->end = REPLY_CLOSE;
}

void trick_credentials(const TrickCall *call, Reply *reply)
{
    if (call->path_length == 7 && call->path[1] == '9') {
        char location[400];
        (void)snprintf(location, sizeof location,
                       "Location: http://admin:secret@empty.%s/redirected\r\n",
                       call->options->suffix);
        reply_finish_status(reply, 302, location);
        return;
    }
    reply_printf(reply, "<a href=\"http://admin:secret@empty.%s/linked\">victim</a>\n",
                 call->options->suffix);
    reply_printf(reply, "<a href=\"http://@empty.%s/linked\">the same</a>\n",
                 call->options->suffix);
    add_page(call, reply);
    finish_page(reply, "Link: <//x:y@empty.web.test/header>; rel=next\r\n");
}

void trick_deeper(const TrickCall *call, Reply *reply)
{
    reply_append_string(reply, "<!DOCTYPE html>\n<title>Deeper</title>\n");
    add_words(call, reply, 5);
    reply_append_string(reply, "<a href=\"down/\">down</a> <a href=\"here/\">here</a>\n");
    finish_page(reply, "");
}

void trick_empty(const TrickCall *call, Reply *reply)
{
    (void)call;
    finish_page(reply, "");
}

void trick_endless_body(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "\r\n");
    add_page(call, reply);
    reply_append_static(reply, call->kit->block, KIT_BLOCK_BYTES);
    reply->endless = true;
}

void trick_endless_chunks(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "Transfer-Encoding: chunked\r\n\r\n");
    static const char chunk[] = "20\r\n<p>an endless page of words</p>\n\r\n";
    (void)call;
    reply_append_static(reply, chunk, sizeof chunk - 1);
    reply->endless = true;
}

void trick_endless_header(const TrickCall *call, Reply *reply)
{
    (void)call;
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    static const char line[] = "X-More: and more and more and more and more and more\r\n";
    reply_append_static(reply, line, sizeof line - 1);
    reply->endless = true;
}

static const char gzip_header[] = "\x1f\x8b\x08\0\0\0\0\0\0\x03";

#define GOOD_REQUESTS 10u

void trick_gone_later(const TrickCall *call, Reply *reply)
{
    if (call->path_length > 1 && call->visit >= GOOD_REQUESTS) {
        reply_finish_status(reply, 410, "");
        return;
    }
    add_page(call, reply);
    finish_page(reply, "ETag: \"first\"\r\n");
}

void trick_moved_later(const TrickCall *call, Reply *reply)
{
    char location[256];
    bool is_new = call->path_length > 5 && memcmp(call->path, "/new/", 5) == 0;
    if (call->path_length > 1 && !is_new && call->visit >= GOOD_REQUESTS) {
        (void)snprintf(location, sizeof location, "Location: /new%.*s\r\n",
                       call->path_length < 100 ? call->path_length : 100, call->path);
        reply_finish_status(reply, 301, location);
        return;
    }
    add_page(call, reply);
    finish_page(reply, "ETag: \"first\"\r\n");
}

void trick_gzip_bomb(const TrickCall *call, Reply *reply)
{
    reply_append_static(reply, gzip_header, sizeof gzip_header - 1);
    for (int i = 0; i < 64; i++) {
        reply_append_static(reply, call->kit->zeros, call->kit->zeros_bytes);
    }
    finish_page(reply, "Content-Encoding: gzip\r\n");
}

void trick_gzip_broken(const TrickCall *call, Reply *reply)
{
    reply_append_static(reply, gzip_header, sizeof gzip_header - 1);
    reply_append_static(reply, call->kit->noise, 5000);
    finish_page(reply, "Content-Encoding: gzip\r\n");
}

void trick_gzip_lie(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    finish_page(reply, "Content-Encoding: gzip\r\n");
}

void trick_gzip_short(const TrickCall *call, Reply *reply)
{
    reply_append_static(reply, gzip_header, sizeof gzip_header - 1);
    reply_append_static(reply, call->kit->zeros, call->kit->zeros_bytes / 2 - 9); /* within one */
    finish_page(reply, "Content-Encoding: gzip\r\n");
}

void trick_hang(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    finish_page(reply, "");
    reply->drip_bytes = reply->length / 2 + 300;
    reply->drip_ms = 3600 * 1000;
}

void trick_header_nul(const TrickCall *call, Reply *reply)
{
    static const char line[] = "X-Zero: a\0b\0c\r\n\0: d\r\nContent-Length: 8\r\n\r\n<p>nul\n";
    (void)call;
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_static(reply, line, sizeof line - 1);
}

void trick_http09(const TrickCall *call, Reply *reply)
{
    reply->end = REPLY_CLOSE;
    add_page(call, reply);
}

void trick_huge_header(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "X-Huge: ");
    for (int i = 0; i < 16384; i++) {
        reply_append_string(reply,
                            "0123456789012345678901234567890123456789012345678901234567890123");
    }
    reply_append_string(reply, "\r\n\r\n");
    add_page(call, reply);
}

void trick_interim_storm(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, "", REPLY_CLOSE);
    for (int i = 0; i < 5000; i++) {
        reply_append_string(reply, i % 2 == 0 ? "HTTP/1.1 100 Continue\r\n\r\n"
                                              : "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
    }
    reply_append_string(reply, ok_header);
    reply_append_string(reply, "\r\n");
    add_page(call, reply);
}

void trick_long_urls(const TrickCall *call, Reply *reply)
{
    for (int i = 0; i < 10; i++) {
        reply_printf(reply, "<a href=\"/%d/", i);
        for (int k = 0; k < 1000; k++) {
            reply_append_string(reply, "0123456789");
        }
        reply_append_string(reply, "\">long</a>\n");
    }
    add_page(call, reply);
    finish_page(reply, "");
}

void trick_many_headers(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    for (int i = 0; i < 5000; i++) {
        reply_printf(reply, "X-Header-%d: %d\r\n", i, i);
    }
    reply_append_string(reply, "\r\n");
    add_page(call, reply);
}

void trick_many_links(const TrickCall *call, Reply *reply)
{
    reply_append_string(reply, "<!DOCTYPE html>\n<title>Many links</title>\n");
    for (int i = 0; i < 20000; i++) {
        reply_printf(reply, "<a href=\"/%.*s%d\">%d</a>\n", call->path_length > 1 ? 2 : 0,
                     call->path_length > 1 ? "x/" : "", i, i);
    }
    add_words(call, reply, 5);
    finish_page(reply, "");
}

static void redirect(Reply *reply, const char *location)
{
    char line[300];
    (void)snprintf(line, sizeof line, "Location: %s\r\n", location);
    reply_finish_status(reply, 302, line);
}

/* One of n places, by the path, so that different pages lead to different ones. */
static void redirect_to_one(const TrickCall *call, Reply *reply, const char *const *places,
                            size_t n)
{
    redirect(reply, places[number_at_end(call) % n]);
}

void trick_redirect_private(const TrickCall *call, Reply *reply)
{
    static const char *const places[] = {
        "http://10.0.0.1/",         "http://169.254.169.254/latest/", "http://[::1]/",
        "http://192.168.0.1/admin", "http://0x0a000001:8080/",        "http://[::ffff:10.0.0.1]/"};
    if (call->path_length == 1) {
        for (int i = 0; i < 6; i++) {
            reply_printf(reply, "<a href=\"/to%d\">to %d</a>\n", i, i);
        }
        finish_page(reply, "");
    } else {
        redirect_to_one(call, reply, places, sizeof places / sizeof *places);
    }
}

void trick_no_length(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n", REPLY_CLOSE);
    add_page(call, reply);
}

/* Everything but the last line break comes at once. */
void trick_stays_open(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "\r\n");
    add_page(call, reply);
    reply->drip_bytes = reply->pieces[0].iov_len + reply->length - 1;
    reply->drip_ms = 3600 * 1000;
}

void trick_nul_bytes(const TrickCall *call, Reply *reply)
{
    static const char bytes[] = "<a hr\0ef=\"/a.html\">a</a>\0\0<a href=\"/b\0.html\">b</a>\n"
                                "<a href=\"/1.html\">c</a>\0\n<\0p>";
    reply_append_static(reply, bytes, sizeof bytes - 1);
    add_page(call, reply);
    finish_page(reply, "");
}

void trick_redirect_chain(const TrickCall *call, Reply *reply)
{
    char next[64];
    (void)snprintf(next, sizeof next, "/step%lu", number_at_end(call) + 1);
    redirect(reply, next);
}

void trick_redirect_garbage(const TrickCall *call, Reply *reply)
{
    static const char *const places[] = {"http://%zz%/\x01\x02 <>", "http:///\\\\//", "   ",
                                         "http://a b c/", "http://[::bad"};
    redirect_to_one(call, reply, places, sizeof places / sizeof *places);
}

void trick_redirect_loop(const TrickCall *call, Reply *reply)
{
    char here[200];
    (void)snprintf(here, sizeof here, "%.*s", call->path_length, call->path);
    redirect(reply, here);
}

void trick_redirect_nowhere(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply_finish_status(reply, 302, "");
}

void trick_redirect_pair(const TrickCall *call, Reply *reply)
{
    redirect(reply, call->path_length == 1 ? "/other" : "/");
}

void trick_redirect_scheme(const TrickCall *call, Reply *reply)
{
    static const char *const places[] = {"file:///etc/passwd", "javascript:alert(1)",
                                         "ftp://127.0.0.1/", "data:text/html,x", "gopher://x/"};
    if (call->path_length == 1) {
        for (int i = 0; i < 5; i++) {
            reply_printf(reply, "<a href=\"/to%d\">to %d</a>\n", i, i);
        }
        finish_page(reply, "");
    } else {
        redirect_to_one(call, reply, places, sizeof places / sizeof *places);
    }
}

void trick_reset_at_once(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply->end = REPLY_RESET;
}

void trick_reset_mid_body(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_RESET);
    reply_append_string(reply, "Content-Length: 100000\r\n\r\n");
    add_page(call, reply);
}

void trick_second_answer(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    finish_page(reply, "");
    reply_append_string(reply, ok_header);
    reply_append_string(reply, "Content-Length: 46\r\n\r\n"
                               "<title>unasked</title><a href=\"/unasked\">u</a>");
}

void trick_session(const TrickCall *call, Reply *reply)
{
    reply_append_string(reply, "<!DOCTYPE html>\n<title>Session</title>\n");
    for (unsigned i = 0; i < 5; i++) {
        reply_printf(reply, "<a href=\"/page%u?sid=%016llx\">page</a>\n", i,
                     (unsigned long long)hash_mix(call->visit * 5 + i));
    }
    reply_append_string(reply, "<p>The text is always the same.</p>\n");
    finish_page(reply, "");
}

void trick_short_length(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_KEEP);
    reply_append_string(reply, "Content-Length: 100\r\n\r\n");
    add_page(call, reply);
}

void trick_slow_drip(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    finish_page(reply, "");
    reply->drip_bytes = 300;
    reply->drip_ms = call->options->slow_ms / 20 + 1;
}

void trick_slow_first(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    finish_page(reply, "");
    reply->delay_ms = call->options->slow_ms;
}

void trick_slow_header(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    finish_page(reply, "");
    reply->drip_bytes = 1;
    reply->drip_ms = call->options->slow_ms / 20 + 1;
}

void trick_soft_404(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply_append_string(reply, "<!DOCTYPE html>\n<title>Sorry</title>\n<p>There is no such page, "
                               "but have a look at these.</p>\n");
    for (int i = 1; i < 10; i++) {
        reply_printf(reply, "<a href=\"sorry%d/\">this</a>\n", i);
    }
    finish_page(reply, "");
}

void trick_status_999(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    reply_finish(reply, 999, "text/html", "");
}

void trick_truncated(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "Content-Length: 20000\r\n\r\n");
    add_page(call, reply);
}

void trick_truncated_chunks(const TrickCall *call, Reply *reply)
{
    (void)call;
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "Transfer-Encoding: chunked\r\n\r\n"
                               "1A\r\n<title>Broken off</title>\n\r\n40\r\n<p>half a chu");
}

void trick_two_lengths(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "Content-Length: 100\r\nContent-Length: 200\r\n\r\n");
    add_page(call, reply);
}

void trick_robots_403(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply_finish_status(reply, 403, "");
}

void trick_robots_500(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply_finish_status(reply, 500, "");
}
