/* Any bytes as a page that comes in pieces, cut at places that the input chooses. The first byte
 * chooses the Content-Type, the second the longest token that is told whole, those behind them the
 * pieces. Beyond not crashing: links, digests, title, robots and encoding are those of the whole
 * page, if no token was too long; and bodies with a content coding are the same in pieces as whole.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "parse/html/html.h"
#include "parse/http/decode.h"

#define PAGE_URL "http://h.test/d/p.html"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *context, const PageLink *link, unsigned robots)
{
    (void)robots;
    Buffer *links = context;
    (void)buffer_printf(links, "%d %d ", link->kind, link->flags);
    (void)buffer_append(links, link->url, link->length + (size_t)1);
}

static void restart(void *context)
{
    buffer_reset(context);
}

/* The next piece's length: the bytes that say it are used again and again. */
static size_t piece(const uint8_t *cuts, size_t n, size_t *i)
{
    size_t length = n == 0 ? 1 : (size_t)cuts[*i % n] + 1;
    *i += 1;
    return length;
}

static Result feed(HtmlParser *parser, const HtmlInput *input, const uint8_t *cuts, size_t n,
                   Page *page)
{
    Result rc = html_pieces_begin(parser, input);
    if (rc != RESULT_OK) {
        return rc;
    }
    size_t k = 0;
    int readings = 0;
    do {
        if (++readings > 3) {
            abort();
        }
        for (size_t i = 0; i < input->length;) {
            size_t length = piece(cuts, n, &k);
            length = length < input->length - i ? length : input->length - i;
            char *copy = malloc(length); /* so that a look beyond the piece is seen */
            if (copy == NULL) {
                abort();
            }
            memcpy(copy, input->body + i, length);
            html_pieces_feed(parser, copy, length);
            free(copy);
            i += length;
        }
    } while (html_pieces_again(parser));
    return html_pieces_end(parser, page);
}

static void check_same(const Page *a, const Page *b, const Buffer *links_a, const Buffer *links_b)
{
    bool same_title = (a->title == NULL) == (b->title == NULL) &&
                      (a->title == NULL || strcmp(a->title, b->title) == 0);
    if (a->robots != b->robots || a->simhash != b->simhash || a->text_bytes != b->text_bytes ||
        memcmp(a->text_digest, b->text_digest, sizeof a->text_digest) != 0 ||
        strcmp(a->encoding, b->encoding) != 0 || !same_title ||
        links_a->length != links_b->length ||
        (links_a->length > 0 && memcmp(links_a->data, links_b->data, links_a->length) != 0)) {
        (void)fprintf(stderr, "whole: %s %u %llx %llu %s\nin pieces: %s %u %llx %llu %s\n",
                      a->encoding, a->robots, (unsigned long long)a->text_digest[0],
                      (unsigned long long)a->text_bytes, buffer_string(links_a), b->encoding,
                      b->robots, (unsigned long long)b->text_digest[0],
                      (unsigned long long)b->text_bytes, buffer_string(links_b));
        abort();
    }
}

/* ---- content codings ---- */

typedef struct Source {
    const char *bytes;
    size_t length;
    size_t at;
    const uint8_t *cuts;
    size_t n_cuts;
    size_t k;
    Buffer left; /* what the decoder has, in a block of its own */
} Source;

static bool read_more(void *context, const char **next, size_t *left)
{
    Source *s = context;
    if (s->at == s->length) {
        return false;
    }
    size_t n = piece(s->cuts, s->n_cuts, &s->k);
    n = n < s->length - s->at ? n : s->length - s->at;
    Buffer both;
    buffer_init(&both, BUFFER_NO_LIMIT);
    (void)buffer_append(&both, *next, *left);
    (void)buffer_append(&both, s->bytes + s->at, n);
    buffer_destroy(&s->left);
    s->left = both;
    s->at += n;
    *next = both.data;
    *left = both.length;
    return true;
}

static void read_anew(void *context)
{
    ((Source *)context)->at = 0;
}

static bool append(void *context, const char *bytes, size_t length)
{
    (void)buffer_append(context, bytes, length);
    return true;
}

static void check_coding(const char *coding, const char *bytes, size_t length, const uint8_t *cuts,
                         size_t n_cuts)
{
    Decoder *decoder = NULL;
    Buffer whole;
    Buffer pieces;
    Source s = {.bytes = bytes, .length = length, .cuts = cuts, .n_cuts = n_cuts};
    buffer_init(&s.left, BUFFER_NO_LIMIT);
    buffer_init(&whole, 1u << 22);
    buffer_init(&pieces, BUFFER_NO_LIMIT);
    if (decoder_new(&decoder) != RESULT_OK) {
        abort();
    }
    DecodeStatus a = decode_content(decoder, coding, strlen(coding), bytes, length, &whole, 0);
    DecodeSource source = {.read = read_more, .rewind = read_anew, .context = &s, .length = length};
    DecodeStatus b = decode_content_stream(decoder, coding, strlen(coding), &source,
                                           (DecodeBounds){.max_bytes = 1u << 22}, append, &pieces);
    /* Text that a codec makes something of before it fails: only decode_content can take that back.
     */
    bool is_plain = whole.length == length && memcmp(whole.data, bytes, length) == 0;
    if (is_plain) {
        b = a;
        buffer_reset(&pieces);
        (void)buffer_append(&pieces, bytes, length);
    }
    /* libdeflate, which reads small gzip files whole, accepts a few codes that zlib does not. */
    if (a == DECODE_OK && b == DECODE_BROKEN && whole.length > pieces.length) {
        b = a;
        whole.length = pieces.length;
    }
    /* Where a broken body ends is the codec's choice, since it gives what it has when its input
     * runs out, and that can be beyond the limit. What both gave is the same, and nobody calls it
     * whole. */
    bool is_broken = a == DECODE_BROKEN || b == DECODE_BROKEN;
    bool agree =
        is_broken ? a != DECODE_OK && b != DECODE_OK : a == b && whole.length == pieces.length;
    size_t both = whole.length < pieces.length ? whole.length : pieces.length;
    if (!agree || (both > 0 && memcmp(whole.data, pieces.data, both) != 0)) {
        (void)fprintf(stderr, "%s: %s %zu, in pieces %s %zu\n", coding, decode_status_name(a),
                      whole.length, decode_status_name(b), pieces.length);
        abort();
    }
    decoder_delete(decoder);
    buffer_destroy(&s.left);
    buffer_destroy(&whole);
    buffer_destroy(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {
        NULL,
        "text/html; charset=utf-8",
        "text/html; charset=gb18030",
        "text/html; charset=shift_jis",
        "text/html; charset=iso-2022-jp",
        "text/html; charset=utf-16le",
        "text/html; charset=windows-1252",
        "text/html; charset=big5",
    };
    static const char *const codings[] = {"gzip", "deflate", "br", "zstd", ""};
    if (size < 8) {
        return 0;
    }
    const uint8_t *cuts = data + 2;
    size_t n_cuts = 4;
    HtmlParser *parsers[2] = {NULL, NULL};
    Buffer links[2];
    Page pages[2];
    HtmlInput input = {.body = (const char *)data + 6,
                       .length = size - 6,
                       .content_type = types[data[0] % 8],
                       .url = PAGE_URL,
                       .url_length = sizeof PAGE_URL - 1,
                       .taker = {.take = take, .restart = restart}};
    size_t longest = data[1] < 128 ? 0 : (size_t)data[1];
    for (int i = 0; i < 2; i++) {
        HtmlOptions options = {.forms = true, .styles = true, .longest_token = longest};
        buffer_init(&links[i], BUFFER_NO_LIMIT);
        input.taker.context = &links[i];
        if (html_parser_new(&parsers[i], &options) != RESULT_OK) {
            abort();
        }
        Result rc = i == 0 ? html_parse(parsers[i], &input, &pages[i])
                           : feed(parsers[i], &input, cuts, n_cuts, &pages[i]);
        if (rc != RESULT_OK) {
            abort();
        }
    }
    if (longest == 0) {
        check_same(&pages[0], &pages[1], &links[0], &links[1]);
    }
    check_coding(codings[data[0] % 5], input.body, input.length, cuts, n_cuts);
    for (int i = 0; i < 2; i++) {
        html_parser_delete(parsers[i]);
        buffer_destroy(&links[i]);
    }
    return 0;
}
