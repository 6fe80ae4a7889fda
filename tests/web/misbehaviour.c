#include "misbehaviour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "base/hash.h"
#include "text.h"

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

static void always_503(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply_finish_status(reply, 503, "Retry-After: 3600\r\n");
}

static void bad_length(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "Content-Length: -5\r\n\r\n");
    add_page(call, reply);
}

static void binary_html(const TrickCall *call, Reply *reply)
{
    reply_append_static(reply, call->kit->noise, KIT_BLOCK_BYTES);
    finish_page(reply, "");
}

static void busy_429(const TrickCall *call, Reply *reply)
{
    if (call->visit % 4 != 3) {
        reply_finish_status(reply, 429, "Retry-After: 2\r\n");
        return;
    }
    add_page(call, reply);
    finish_page(reply, "");
}

static void busy_503(const TrickCall *call, Reply *reply)
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

static void calendar(const TrickCall *call, Reply *reply)
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

static void chunked_garbage(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "Transfer-Encoding: chunked\r\n\r\n10\r\n0123456789abcdef\r\n");
    reply_append_string(reply, "zz;what\r\nthis is no chunk\r\n-1\r\nFFFFFFFFFFFFFFFFFF\r\n");
    add_page(call, reply);
}

static void close_after_one(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    finish_page(reply, "Connection: keep-alive\r\nKeep-Alive: timeout=60\r\n");
    reply->end = REPLY_CLOSE;
}

static void close_at_once(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply->end = REPLY_CLOSE;
}

static void deeper(const TrickCall *call, Reply *reply)
{
    reply_append_string(reply, "<!DOCTYPE html>\n<title>Deeper</title>\n");
    add_words(call, reply, 5);
    reply_append_string(reply, "<a href=\"down/\">down</a> <a href=\"here/\">here</a>\n");
    finish_page(reply, "");
}

static void empty(const TrickCall *call, Reply *reply)
{
    (void)call;
    finish_page(reply, "");
}

static void endless_body(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "\r\n");
    add_page(call, reply);
    reply_append_static(reply, call->kit->block, KIT_BLOCK_BYTES);
    reply->endless = true;
}

static void endless_chunks(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "Transfer-Encoding: chunked\r\n\r\n");
    static const char chunk[] = "20\r\n<p>an endless page of words</p>\n\r\n";
    (void)call;
    reply_append_static(reply, chunk, sizeof chunk - 1);
    reply->endless = true;
}

static void endless_header(const TrickCall *call, Reply *reply)
{
    (void)call;
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    static const char line[] = "X-More: and more and more and more and more and more\r\n";
    reply_append_static(reply, line, sizeof line - 1);
    reply->endless = true;
}

static const char gzip_header[] = "\x1f\x8b\x08\0\0\0\0\0\0\x03";

static void gzip_bomb(const TrickCall *call, Reply *reply)
{
    reply_append_static(reply, gzip_header, sizeof gzip_header - 1);
    for (int i = 0; i < 64; i++) {
        reply_append_static(reply, call->kit->zeros, call->kit->zeros_bytes);
    }
    finish_page(reply, "Content-Encoding: gzip\r\n");
}

static void gzip_broken(const TrickCall *call, Reply *reply)
{
    reply_append_static(reply, gzip_header, sizeof gzip_header - 1);
    reply_append_static(reply, call->kit->noise, 5000);
    finish_page(reply, "Content-Encoding: gzip\r\n");
}

static void gzip_lie(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    finish_page(reply, "Content-Encoding: gzip\r\n");
}

static void gzip_short(const TrickCall *call, Reply *reply)
{
    reply_append_static(reply, gzip_header, sizeof gzip_header - 1);
    reply_append_static(reply, call->kit->zeros, call->kit->zeros_bytes / 2);
    finish_page(reply, "Content-Encoding: gzip\r\n");
}

static void hang(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    finish_page(reply, "");
    reply->drip_bytes = reply->length / 2 + 300;
    reply->drip_ms = 3600 * 1000;
}

static void header_nul(const TrickCall *call, Reply *reply)
{
    static const char line[] = "X-Zero: a\0b\0c\r\n\0: d\r\nContent-Length: 8\r\n\r\n<p>nul\n";
    (void)call;
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_static(reply, line, sizeof line - 1);
}

static void http09(const TrickCall *call, Reply *reply)
{
    reply->end = REPLY_CLOSE;
    add_page(call, reply);
}

static void huge_header(const TrickCall *call, Reply *reply)
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

static void interim_storm(const TrickCall *call, Reply *reply)
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

static void long_urls(const TrickCall *call, Reply *reply)
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

static void many_headers(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    for (int i = 0; i < 5000; i++) {
        reply_printf(reply, "X-Header-%d: %d\r\n", i, i);
    }
    reply_append_string(reply, "\r\n");
    add_page(call, reply);
}

static void many_links(const TrickCall *call, Reply *reply)
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

static void redirect_private(const TrickCall *call, Reply *reply)
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

static void no_length(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n", REPLY_CLOSE);
    add_page(call, reply);
}

static void nul_bytes(const TrickCall *call, Reply *reply)
{
    static const char bytes[] = "<a hr\0ef=\"/a.html\">a</a>\0\0<a href=\"/b\0.html\">b</a>\n"
                                "<a href=\"/1.html\">c</a>\0\n<\0p>";
    reply_append_static(reply, bytes, sizeof bytes - 1);
    add_page(call, reply);
    finish_page(reply, "");
}

static void redirect_chain(const TrickCall *call, Reply *reply)
{
    char next[64];
    (void)snprintf(next, sizeof next, "/step%lu", number_at_end(call) + 1);
    redirect(reply, next);
}

static void redirect_garbage(const TrickCall *call, Reply *reply)
{
    static const char *const places[] = {"http://%zz%/\x01\x02 <>", "http:///\\\\//", "   ",
                                         "http://a b c/", "http://[::bad"};
    redirect_to_one(call, reply, places, sizeof places / sizeof *places);
}

static void redirect_loop(const TrickCall *call, Reply *reply)
{
    char here[200];
    (void)snprintf(here, sizeof here, "%.*s", call->path_length, call->path);
    redirect(reply, here);
}

static void redirect_nowhere(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply_finish_status(reply, 302, "");
}

static void redirect_pair(const TrickCall *call, Reply *reply)
{
    redirect(reply, call->path_length == 1 ? "/other" : "/");
}

static void redirect_scheme(const TrickCall *call, Reply *reply)
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

static void reset_at_once(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply->end = REPLY_RESET;
}

static void reset_mid_body(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_RESET);
    reply_append_string(reply, "Content-Length: 100000\r\n\r\n");
    add_page(call, reply);
}

static void second_answer(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    finish_page(reply, "");
    reply_append_string(reply, ok_header);
    reply_append_string(reply, "Content-Length: 46\r\n\r\n"
                               "<title>unasked</title><a href=\"/unasked\">u</a>");
}

static void session(const TrickCall *call, Reply *reply)
{
    reply_append_string(reply, "<!DOCTYPE html>\n<title>Session</title>\n");
    for (unsigned i = 0; i < 5; i++) {
        reply_printf(reply, "<a href=\"/page%u?sid=%016llx\">page</a>\n", i,
                     (unsigned long long)hash_mix(call->visit * 5 + i));
    }
    reply_append_string(reply, "<p>The text is always the same.</p>\n");
    finish_page(reply, "");
}

static void short_length(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_KEEP);
    reply_append_string(reply, "Content-Length: 100\r\n\r\n");
    add_page(call, reply);
}

static void slow_drip(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    finish_page(reply, "");
    reply->drip_bytes = 300;
    reply->drip_ms = call->options->slow_ms / 20 + 1;
}

static void slow_first(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    finish_page(reply, "");
    reply->delay_ms = call->options->slow_ms;
}

static void slow_header(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    finish_page(reply, "");
    reply->drip_bytes = 1;
    reply->drip_ms = call->options->slow_ms / 20 + 1;
}

static void soft_404(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply_append_string(reply, "<!DOCTYPE html>\n<title>Sorry</title>\n<p>There is no such page, "
                               "but have a look at these.</p>\n");
    for (int i = 1; i < 10; i++) {
        reply_printf(reply, "<a href=\"sorry%d/\">this</a>\n", i);
    }
    finish_page(reply, "");
}

static void status_999(const TrickCall *call, Reply *reply)
{
    add_page(call, reply);
    reply_finish(reply, 999, "text/html", "");
}

static void truncated(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "Content-Length: 20000\r\n\r\n");
    add_page(call, reply);
}

static void truncated_chunks(const TrickCall *call, Reply *reply)
{
    (void)call;
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "Transfer-Encoding: chunked\r\n\r\n"
                               "1A\r\n<title>Broken off</title>\n\r\n40\r\n<p>half a chu");
}

static void two_lengths(const TrickCall *call, Reply *reply)
{
    begin_raw(reply, 200, ok_header, REPLY_CLOSE);
    reply_append_string(reply, "Content-Length: 100\r\nContent-Length: 200\r\n\r\n");
    add_page(call, reply);
}

static void robots_403(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply_finish_status(reply, 403, "");
}

static void robots_500(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply_finish_status(reply, 500, "");
}

static const Misbehaviour misbehaviour_table[] = {
    {"always-503", TRICK_PAGES, always_503, "503 with Retry-After: 3600",
     "waits as long as crawl_delay_max allows, then gives up"},
    {"bad-length", TRICK_PAGES, bad_length, "Content-Length: -5",
     "counts a protocol error, goes on"},
    {"binary-html", TRICK_PAGES, binary_html, "random bytes called text/html",
     "parses without harm, finds no links"},
    {"busy-429", TRICK_PAGES, busy_429, "three of four requests: 429, Retry-After: 2",
     "waits 2 s, asks again, gets every page"},
    {"busy-503", TRICK_PAGES, busy_503, "three of four requests: 503, Retry-After: 2",
     "waits 2 s, asks again, gets every page"},
    {"calendar", TRICK_PAGES, calendar, "every day links to the next and the previous, without end",
     "stops by depth, pages per host or as a trap"},
    {"chunked-garbage", TRICK_PAGES, chunked_garbage, "chunk sizes that are no numbers",
     "keeps nothing or a part, counts an error"},
    {"close-after-one", TRICK_PAGES, close_after_one,
     "promises keep-alive, closes after each answer", "opens a new connection, loses nothing"},
    {"close-at-once", TRICK_PAGES, close_at_once, "closes without a byte",
     "tries again later, gives up after its tries"},
    {"deeper", TRICK_PAGES, deeper, "every directory links to a directory below",
     "stops by depth or by repeated segments"},
    {"empty", TRICK_PAGES, empty, "200 with Content-Length: 0", "stores an empty page"},
    {"endless-body", TRICK_PAGES, endless_body, "a body without length and without end",
     "cuts at the body limit, hangs up, keeps the beginning"},
    {"endless-chunks", TRICK_PAGES, endless_chunks, "chunks without end",
     "cuts at the body limit, hangs up"},
    {"endless-header", TRICK_PAGES, endless_header, "header lines without end",
     "stops at the header limit"},
    {"gzip-bomb", TRICK_PAGES, gzip_bomb, "1 MB that unpack to 1 GiB",
     "stops at the decoded limit or ratio, bounded memory"},
    {"gzip-broken", TRICK_PAGES, gzip_broken, "gzip header, then noise", "counts a decoding error"},
    {"gzip-lie", TRICK_PAGES, gzip_lie, "says gzip, sends plain text", "counts a decoding error"},
    {"gzip-short", TRICK_PAGES, gzip_short, "gzip that stops in the middle",
     "keeps the beginning or counts an error"},
    {"hang", TRICK_PAGES, hang, "half of the body, then silence",
     "gives up: too slow or total time"},
    {"header-nul", TRICK_PAGES, header_nul, "NUL bytes in the header",
     "refuses or goes on, no harm"},
    {"http09", TRICK_PAGES, http09, "a body without any header", "refuses (HTTP/0.9)"},
    {"huge-header", TRICK_PAGES, huge_header, "one header line of 1 MiB",
     "stops at the header limit"},
    {"interim-storm", TRICK_PAGES, interim_storm, "5000 interim answers (1xx) before the real one",
     "stops, or takes the real one; bounded"},
    {"long-urls", TRICK_PAGES, long_urls, "links of 10 kB", "refuses them by the URL limit"},
    {"many-headers", TRICK_PAGES, many_headers, "5000 header lines",
     "stops at the header limit or goes on; bounded"},
    {"many-links", TRICK_PAGES, many_links, "20000 links on a page",
     "keeps links up to the limit per page"},
    {"moved-away", TRICK_PAGES, redirect_private, "redirects to private and link-local addresses",
     "refuses them at connect time"},
    {"no-length", TRICK_PAGES, no_length, "no length, ends by closing (legal)",
     "stores the page whole"},
    {"nul-bytes", TRICK_PAGES, nul_bytes, "NUL bytes inside tags and links",
     "parses as a browser would"},
    {"redirect-chain", TRICK_PAGES, redirect_chain, "every page redirects to the next, without end",
     "stops after the chain limit"},
    {"redirect-garbage", TRICK_PAGES, redirect_garbage,
     "Location of spaces, bad escapes and control bytes", "refuses it as a bad URL"},
    {"redirect-loop", TRICK_PAGES, redirect_loop, "redirects to itself",
     "notices at once: seen already"},
    {"redirect-nowhere", TRICK_PAGES, redirect_nowhere, "302 without Location",
     "stores the 302, no link"},
    {"redirect-pair", TRICK_PAGES, redirect_pair, "two pages redirect to each other",
     "fetches each once"},
    {"redirect-scheme", TRICK_PAGES, redirect_scheme,
     "redirects to file:, javascript: and ftp:", "refuses other schemes"},
    {"reset-at-once", TRICK_PAGES, reset_at_once, "RST instead of an answer",
     "tries again later, gives up after its tries"},
    {"reset-mid-body", TRICK_PAGES, reset_mid_body, "RST in the middle of the body",
     "tries again, does not store a part as whole"},
    {"second-answer", TRICK_PAGES, second_answer, "a second answer nobody asked for",
     "does not take it for the next request's"},
    {"session", TRICK_PAGES, session, "links carry a session id, another one on each visit",
     "stops by pages per host, duplicates or as a trap"},
    {"short-length", TRICK_PAGES, short_length, "Content-Length smaller than what follows",
     "takes the stated length, closes the connection"},
    {"slow-drip", TRICK_PAGES, slow_drip, "one byte at a time", "gives up: too slow"},
    {"slow-first", TRICK_PAGES, slow_first, "nothing for --slow-ms, then a page",
     "gives up after the first-byte limit"},
    {"slow-header", TRICK_PAGES, slow_header, "the header one byte at a time",
     "gives up after the first-byte limit"},
    {"soft-404", TRICK_PAGES, soft_404, "the same text with 200 for every path",
     "marks duplicates, does not follow their links"},
    {"status-999", TRICK_PAGES, status_999, "status 999", "treats it as a failure of the page"},
    {"truncated", TRICK_PAGES, truncated, "Content-Length 20000, sends 5000, closes",
     "tries again or keeps it marked as truncated"},
    {"truncated-chunks", TRICK_PAGES, truncated_chunks, "closes before the last chunk",
     "tries again or keeps it marked as truncated"},
    {"two-lengths", TRICK_PAGES, two_lengths, "two different Content-Length lines",
     "refuses, or closes after the answer"},
    {"robots-403", TRICK_ROBOTS, robots_403, "robots.txt is 403", "crawls everything"},
    {"robots-500", TRICK_ROBOTS, robots_500, "robots.txt is 500",
     "crawls nothing until it answers"},
    {"robots-away", TRICK_ROBOTS, redirect_private, "robots.txt redirects to a private address",
     "does not connect there; unreachable: crawls nothing"},
    {"robots-chain", TRICK_ROBOTS, redirect_chain, "robots.txt redirects without end",
     "stops after five: crawls everything"},
    {"robots-endless", TRICK_ROBOTS, endless_body, "robots.txt without end",
     "reads 500 KiB, obeys what it has"},
    {"robots-html", TRICK_ROBOTS, soft_404, "robots.txt is an HTML page",
     "finds no rule: crawls everything"},
    {"robots-noise", TRICK_ROBOTS, binary_html, "robots.txt is noise",
     "finds no rule: crawls everything"},
    {"robots-reset", TRICK_ROBOTS, reset_at_once, "RST on robots.txt",
     "unreachable: crawls nothing for now"},
    {"robots-slow", TRICK_ROBOTS, slow_first, "robots.txt after --slow-ms",
     "unreachable: crawls nothing for now"},
    {"dns-chain", TRICK_DNS, NULL, "a chain of 8 CNAMEs", "follows it"},
    {"dns-empty", TRICK_DNS, NULL, "the name exists but has no address",
     "gives up: no such address"},
    {"dns-loop", TRICK_DNS, NULL, "a CNAME to itself", "gives up"},
    {"dns-many", TRICK_DNS, NULL, "20 addresses", "takes one and stays with it"},
    {"dns-moving", TRICK_DNS, NULL, "another address every --move seconds, TTL as long",
     "moves the host to the other workbench entry"},
    {"dns-private", TRICK_DNS, NULL, "addresses 10.1.2.3 and 192.168.1.1",
     "refuses them at connect time"},
    {"dns-refused", TRICK_DNS, NULL, "REFUSED", "tries again later, gives up"},
    {"dns-servfail", TRICK_DNS, NULL, "SERVFAIL", "tries again later, gives up"},
    {"dns-silent", TRICK_DNS, NULL, "no answer",
     "gives up after its time-outs, others do not wait"},
    {"dns-slow", TRICK_DNS, NULL, "answers after 1500 ms", "waits without blocking others"},
    {"dns-truncated", TRICK_DNS, NULL, "truncated over UDP, whole over TCP", "asks again over TCP"},
    {"dns-wrong-id", TRICK_DNS, NULL, "the answer carries another query's id",
     "ignores it: as silent"},
};

#define N_ROWS (sizeof misbehaviour_table / sizeof *misbehaviour_table)
_Static_assert(N_ROWS <= MISBEHAVIOURS_MAX, "raise MISBEHAVIOURS_MAX");

/* A gzip header and a full-flushed stretch of zeros: repeated, it is a longer such stream. */
static Result make_zeros(MisbehaviourKit *kit)
{
    size_t room = KIT_ZEROS_BYTES / 500;
    char *input = calloc(1, KIT_BLOCK_BYTES);
    kit->zeros = malloc(room);
    z_stream stream = {0};
    bool started = input != NULL && kit->zeros != NULL &&
                   deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) == Z_OK;
    if (started) {
        stream.next_out = (Bytef *)kit->zeros;
        stream.avail_out = (uInt)room;
        for (size_t done = 0; done < KIT_ZEROS_BYTES; done += KIT_BLOCK_BYTES) {
            stream.next_in = (Bytef *)input;
            stream.avail_in = (uInt)KIT_BLOCK_BYTES;
            bool last = done + KIT_BLOCK_BYTES == KIT_ZEROS_BYTES;
            (void)deflate(&stream, last ? Z_FULL_FLUSH : Z_NO_FLUSH);
        }
        kit->zeros_bytes = room - stream.avail_out;
        deflateEnd(&stream);
    }
    free(input);
    return started ? RESULT_OK : RESULT_MEMORY;
}

Result misbehaviour_kit_init(MisbehaviourKit *kit)
{
    *kit = (MisbehaviourKit){0};
    kit->block = malloc(KIT_BLOCK_BYTES);
    kit->noise = malloc(KIT_BLOCK_BYTES);
    if (kit->block == NULL || kit->noise == NULL || make_zeros(kit) != RESULT_OK) {
        misbehaviour_kit_destroy(kit);
        return RESULT_MEMORY;
    }
    for (size_t i = 0; i < KIT_BLOCK_BYTES; i++) {
        kit->block[i] = i % 64 == 63 ? '\n' : i % 64 == 0 ? '#' : 'x';
        kit->noise[i] = (char)hash_mix(i);
    }
    return RESULT_OK;
}

void misbehaviour_kit_destroy(MisbehaviourKit *kit)
{
    free(kit->block);
    free(kit->noise);
    free(kit->zeros);
    *kit = (MisbehaviourKit){0};
}

const Misbehaviour *misbehaviour_find(const char *name, size_t length)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const char *row = misbehaviour_table[i].name;
        if (strlen(row) == length && strncasecmp(row, name, length) == 0) {
            return &misbehaviour_table[i];
        }
    }
    return NULL;
}

uint32_t misbehaviour_index(const Misbehaviour *row)
{
    return (uint32_t)(row - misbehaviour_table);
}

void misbehaviour_print(const char *suffix)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const Misbehaviour *row = &misbehaviour_table[i];
        printf("%s.%s\t%s\t%s\n", row->name, suffix, row->does, row->crawler);
    }
}
