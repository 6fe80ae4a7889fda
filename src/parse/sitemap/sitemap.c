#include "parse/sitemap/sitemap.h"

#include <stdlib.h>
#include <string.h>

#include "parse/sitemap/sitemap_reader.h"
#include "parse/sitemap/sitemap_xml.h"

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
    sitemap_cleaner_init(&p->cleaner);
    buffer_init(&p->xml.prefix, HINT_BYTES);
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
    sitemap_cleaner_destroy(&parser->cleaner);
    buffer_destroy(&parser->xml.prefix);
    for (size_t i = 0; i < sizeof parser->fields / sizeof *parser->fields; i++) {
        buffer_destroy(&parser->fields[i]);
    }
    free(parser);
}

/* ---- lists of URLs ---- */

/* ---- bytes ---- */

/* Decides between XML and text at the first byte that is not blank. */
static Result take_utf8(SitemapParser *parser, const char *bytes, size_t length)
{
    if (!parser->has_kind) {
        while (length > 0 && (sitemap_is_blank(*bytes) || *bytes == '\0')) {
            bytes++;
            length--;
        }
        if (length == 0) {
            return RESULT_OK;
        }
        parser->has_kind = true;
        if (*bytes == '<' && !sitemap_xml_may_be(bytes, length)) {
            parser->is_stopped = true;
            return RESULT_OK;
        }
        if (*bytes == '<') {
            Result rc = sitemap_xml_begin(parser);
            if (rc != RESULT_OK) {
                return rc;
            }
        }
    }
    if (parser->xml.context == NULL) {
        const char *end = bytes + length;
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
        return RESULT_OK;
    }
    Result rc = sitemap_cleaner_mend(&parser->cleaner, bytes, length, false);
    if (rc == RESULT_OK) {
        sitemap_xml_push(parser, buffer_string(&parser->cleaner.clean),
                         parser->cleaner.clean.length);
    }
    return rc;
}

static bool wants_more(const SitemapParser *parser)
{
    return !parser->is_stopped && parser->result == RESULT_OK &&
           (parser->xml.context == NULL || !parser->xml.is_halted);
}

/* A DecodeSink. */
static bool take_bytes(void *context, const char *bytes, size_t length)
{
    SitemapParser *parser = context;
    while (length > 0 && wants_more(parser)) {
        size_t n = length < PIECE_BYTES ? length : PIECE_BYTES;
        const char *utf8 = bytes;
        size_t utf8_length = n;
        Result rc = sitemap_cleaner_to_utf8(&parser->cleaner, &utf8, &utf8_length, false);
        if (rc == RESULT_OK) {
            rc = take_utf8(parser, utf8, utf8_length);
        }
        parser->result = rc != RESULT_OK ? rc : parser->result;
        bytes += n;
        length -= n;
    }
    return wants_more(parser);
}

static void sitemap_finish(SitemapParser *parser)
{
    if (parser->xml.context == NULL) {
        bool is_cut = parser->is_last_line_cut;
        parser->report->is_broken |= is_cut;
        if (!parser->is_stopped && !is_cut && parser->fields[FIELD_LOC].length > 0) {
            sitemap_entry_end_line(parser);
        }
        return;
    }
    const char *rest = "";
    size_t n = 0;
    if (!parser->is_stopped &&
        sitemap_cleaner_to_utf8(&parser->cleaner, &rest, &n, true) == RESULT_OK &&
        sitemap_cleaner_mend(&parser->cleaner, rest, n, true) == RESULT_OK) {
        sitemap_xml_push(parser, buffer_string(&parser->cleaner.clean),
                         parser->cleaner.clean.length);
    }
    sitemap_xml_end(parser);
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
    parser->has_kind = false;
    parser->is_last_line_cut = input->is_truncated;
    sitemap_cleaner_reset(&parser->cleaner);
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
