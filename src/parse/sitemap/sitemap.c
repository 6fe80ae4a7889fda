#include "parse/sitemap/sitemap.h"

#include <stdlib.h>
#include <string.h>

#include "parse/charset/charset.h"
#include "parse/sitemap/sitemap_xml.h"
#include "base/core/ascii.h"

#define PIECE_BYTES ((size_t)64 * 1024)
#define HINT_BYTES  64   /* of lastmod, changefreq, priority */
#define URL_SLACK   4096 /* blanks around an address do not count */

Result sitemap_parser_new(SitemapParser **parser, const SitemapOptions *options)
{
    SitemapParser *p = calloc(1, sizeof *p);
    *parser = p;
    if (p == NULL) {
        return RESULT_MEMORY;
    }
    p->options = *options;
    url_init(&p->base);
    for (size_t i = 0; i < SITEMAP_BASES; i++) {
        url_init(&p->bases[i]);
    }
    url_init(&p->url);
    charset_stream_init(&p->characters);
    skim_stream_init(&p->markup, sitemap_xml_reader(), p);
    buffer_init(&p->prefix, HINT_BYTES);
    for (size_t i = 0; i < sizeof p->fields / sizeof *p->fields; i++) {
        bool is_hint = i == FIELD_LASTMOD || i == FIELD_FREQUENCY || i == FIELD_PRIORITY;
        buffer_init(&p->fields[i], is_hint ? HINT_BYTES : options->max_url_bytes + URL_SLACK);
    }
    Result rc = decoder_new(&p->decoder);
    if (rc != RESULT_OK) {
        sitemap_parser_delete(p);
        *parser = NULL;
    }
    return rc;
}

void sitemap_parser_delete(SitemapParser *parser)
{
    if (parser == NULL) {
        return;
    }
    decoder_delete(parser->decoder);
    url_destroy(&parser->base);
    for (size_t i = 0; i < SITEMAP_BASES; i++) {
        url_destroy(&parser->bases[i]);
    }
    url_destroy(&parser->url);
    charset_stream_destroy(&parser->characters);
    skim_stream_destroy(&parser->markup);
    buffer_destroy(&parser->prefix);
    for (size_t i = 0; i < sizeof parser->fields / sizeof *parser->fields; i++) {
        buffer_destroy(&parser->fields[i]);
    }
    free(parser);
}

/* ---- bytes ---- */

/* The encoding by byte order mark, first "<" or XML declaration; what says none is UTF-8. */
static const char *encoding_of(const char *bytes, size_t length)
{
    CharsetSource source = CHARSET_FROM_FALLBACK;
    const char *encoding = charset_sniff_source(bytes, length, NULL, &source);
    if (source != CHARSET_FROM_BOM && length >= 2 && (bytes[0] == '\0') != (bytes[1] == '\0') &&
        (bytes[0] == '<' || bytes[1] == '<')) {
        return bytes[0] == '\0' ? "UTF-16BE" : "UTF-16LE";
    }
    bool is_none = source == CHARSET_FROM_FALLBACK || strcmp(encoding, "replacement") == 0;
    return is_none ? "UTF-8" : encoding;
}

static void take_lines(SitemapParser *parser, const char *bytes, const char *end)
{
    while (bytes < end && !parser->is_stopped) {
        const char *stop = bytes;
        while (stop < end && *stop != '\n' && *stop != '\r') {
            stop++;
        }
        sitemap_field_append(parser, FIELD_LOC, bytes, (size_t)(stop - bytes));
        if (stop < end) {
            sitemap_entry_end_line(parser);
            stop++;
        }
        bytes = stop;
    }
}

/* Decides between XML and text at the first byte that is not blank. */
static Result take_utf8(SitemapParser *parser, const char *bytes, size_t length)
{
    const char *end = bytes + length;
    while (!parser->has_kind && bytes < end && ascii_is_xml_space(*bytes)) {
        bytes++;
    }
    if (bytes == end) {
        return RESULT_OK;
    }
    if (!parser->has_kind && *bytes == '<') {
        sitemap_xml_begin(parser);
    }
    parser->has_kind = true;
    if (parser->is_xml) {
        return skim_stream_feed(&parser->markup, bytes, (size_t)(end - bytes));
    }
    take_lines(parser, bytes, end);
    return RESULT_OK;
}

static bool wants_more(const SitemapParser *parser)
{
    return !parser->is_stopped && parser->result == RESULT_OK;
}

/* The first piece should hold the XML declaration. */
static void sitemap_take_piece(SitemapParser *parser, const char *bytes, size_t length,
                               bool is_last)
{
    if (!parser->has_encoding) {
        parser->has_encoding = true;
        charset_stream_begin(&parser->characters, encoding_of(bytes, length));
    }
    const char *utf8 = "";
    size_t n = 0;
    Result rc = charset_stream_next(&parser->characters, bytes, length, is_last, &utf8, &n);
    if (rc == RESULT_OK) {
        rc = take_utf8(parser, utf8, n);
    }
    parser->result = rc != RESULT_OK ? rc : parser->result;
}

/* A DecodeSink. */
static bool take_bytes(void *context, const char *bytes, size_t length)
{
    SitemapParser *parser = context;
    while (length > 0 && wants_more(parser)) {
        size_t n = length < PIECE_BYTES ? length : PIECE_BYTES;
        sitemap_take_piece(parser, bytes, n, false);
        bytes += n;
        length -= n;
    }
    return wants_more(parser);
}

static void sitemap_finish(SitemapParser *parser)
{
    if (parser->has_encoding && !parser->is_stopped) {
        sitemap_take_piece(parser, NULL, 0, true);
    }
    if (parser->is_xml) {
        sitemap_xml_end(parser);
        return;
    }
    bool is_cut = parser->is_last_line_cut;
    parser->report->is_broken |= is_cut;
    if (!parser->is_stopped && !is_cut && parser->fields[FIELD_LOC].length > 0) {
        sitemap_entry_end_line(parser);
    }
}

static void read_body(SitemapParser *parser, const SitemapInput *input)
{
    const SitemapOptions *options = &parser->options;
    if (input->length < 2 || memcmp(input->body, "\x1F\x8B", 2) != 0) {
        size_t n = input->length < options->max_bytes ? input->length : options->max_bytes;
        (void)take_bytes(parser, input->body, n);
        if (n < input->length && wants_more(parser)) {
            parser->is_last_line_cut = true;
            parser->result = RESULT_LIMIT;
        }
        return;
    }
    DecodeBounds bounds = {.max_bytes = options->max_bytes, .max_ratio = options->max_ratio};
    DecodeStatus status =
        decode_gzip_stream(parser->decoder, input->body, input->length, bounds, take_bytes, parser);
    if (status == DECODE_OK) {
        return;
    }
    parser->is_last_line_cut = true;
    if (status == DECODE_LIMIT || status == DECODE_RATIO) {
        parser->result = RESULT_LIMIT;
    } else if (status == DECODE_MEMORY) {
        parser->result = RESULT_MEMORY;
    } else {
        parser->report->is_broken = true;
    }
}

Result sitemap_parse(SitemapParser *parser, const SitemapInput *input, SitemapSink sink,
                     void *context, SitemapReport *report)
{
    *report = (SitemapReport){.kind = SITEMAP_UNKNOWN};
    Result rc = url_parse(&parser->base, NULL, input->url, input->url_length);
    if (rc != RESULT_OK) {
        return rc == RESULT_MEMORY ? rc : RESULT_INVALID;
    }
    for (size_t i = 0; i < SITEMAP_BASES; i++) {
        parser->based[i] = &parser->base;
    }
    parser->sink = sink;
    parser->context = context;
    parser->report = report;
    parser->result = RESULT_OK;
    parser->is_stopped = false;
    parser->has_encoding = false;
    parser->has_kind = false;
    parser->is_xml = false;
    parser->is_last_line_cut = input->is_truncated;
    sitemap_entry_reset(parser);
    read_body(parser, input);
    sitemap_finish(parser);
    report->is_broken |= input->is_truncated;
    parser->sink = NULL;
    parser->report = NULL;
    if (parser->result != RESULT_OK) {
        return parser->result;
    }
    return report->kind == SITEMAP_UNKNOWN ? RESULT_INVALID : RESULT_OK;
}
