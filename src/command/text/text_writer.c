#include "command/text/text_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command/text/text_language.h"
#include "parse/text/json_text.h"

#define FRAME_BYTES ((size_t)256 << 10) /* JSON lines in one member */

struct TextWriter {
    TextWriterOptions options;
    WarcCompressor *compressor; /* NULL: not compressed */
    WarcHasher *hasher;         /* of WET */
    WarcIds ids;
    Buffer plain; /* a record, or lines, before they are compressed */
    Buffer line;  /* scratch */
};

Result text_writer_new(TextWriter **out, const TextWriterOptions *options)
{
    TextWriter *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return RESULT_MEMORY;
    }
    writer->options = *options;
    buffer_init(&writer->plain, BUFFER_NO_LIMIT);
    buffer_init(&writer->line, BUFFER_NO_LIMIT);
    warc_ids_init(&writer->ids);
    Result rc = options->format == TEXT_WET ? warc_hasher_new(&writer->hasher) : RESULT_OK;
    if (rc == RESULT_OK && options->compressed) {
        rc = warc_compressor_new(&writer->compressor, options->compression, 0);
    }
    if (rc != RESULT_OK) {
        text_writer_delete(writer);
        return rc;
    }
    *out = writer;
    return RESULT_OK;
}

void text_writer_delete(TextWriter *writer)
{
    if (writer == NULL) {
        return;
    }
    warc_compressor_delete(writer->compressor);
    warc_hasher_delete(writer->hasher);
    buffer_destroy(&writer->plain);
    buffer_destroy(&writer->line);
    free(writer);
}

/* ---- JSON ---- */

/* A field's name; the first is the one right behind "{". */
static Result put_name(Buffer *out, const char *name)
{
    bool first = out->length > 0 && out->data[out->length - 1] == '{';
    return buffer_printf(out, "%s\"%s\":", first ? "" : ",", name);
}

static Result put_text(Buffer *out, const char *name, const char *text, size_t length)
{
    Result rc = put_name(out, name);
    if (rc != RESULT_OK) {
        return rc;
    }
    return text == NULL ? buffer_append_string(out, "null") : json_text_append(out, text, length);
}

static Result put_string(Buffer *out, const char *name, const char *text)
{
    return put_text(out, name, text, text == NULL ? 0 : strlen(text));
}

/* Line feeds and tabs in a heading are blanks. */
static Result put_heading(TextWriter *writer, Buffer *out, VisibleHeading heading, bool first)
{
    Buffer *line = &writer->line;
    buffer_reset(line);
    Result rc = buffer_append(line, heading.text, heading.length);
    for (size_t i = 0; i < line->length; i++) {
        if (line->data[i] == '\n' || line->data[i] == '\t') {
            line->data[i] = ' ';
        }
    }
    rc = rc == RESULT_OK
             ? buffer_printf(out, "%s{\"level\":%u,\"text\":", first ? "" : ",", heading.level)
             : rc;
    rc = rc == RESULT_OK ? json_text_append(out, line->data, line->length) : rc;
    return rc == RESULT_OK ? buffer_append_char(out, '}') : rc;
}

static Result put_headings(TextWriter *writer, const TextPages *pages, const TextPage *page,
                           Buffer *out)
{
    Result rc = put_name(out, "headings");
    rc = rc == RESULT_OK ? buffer_append_char(out, '[') : rc;
    bool first = true;
    for (size_t i = 0; i < page->visible.n_headings && rc == RESULT_OK; i++) {
        VisibleHeading heading = text_pages_heading(pages, i);
        if (heading.length > 0) {
            rc = put_heading(writer, out, heading, first);
            first = false;
        }
    }
    return rc == RESULT_OK ? buffer_append_char(out, ']') : rc;
}

static Result put_facts(Buffer *out, const TextPage *page)
{
    const TextCapture *capture = page->capture;
    char date[WARC_DATE_BYTES];
    Result rc = buffer_append_char(out, '{');
    rc = rc == RESULT_OK ? put_text(out, "url", capture->url.bytes, capture->url.length) : rc;
    rc = rc == RESULT_OK ? put_string(out, "time", warc_date_format(capture->date, date)) : rc;
    rc = rc == RESULT_OK ? put_name(out, "status") : rc;
    rc = rc == RESULT_OK ? buffer_printf(out, "%u", capture->status) : rc;
    rc =
        rc == RESULT_OK ? put_text(out, "type", capture->type.type, capture->type.type_length) : rc;
    rc = rc == RESULT_OK ? put_string(out, "encoding", page->visible.encoding) : rc;
    rc = rc == RESULT_OK ? put_string(out, "language", page->language) : rc;
    rc = rc == RESULT_OK ? put_string(out, "declared_language", page->declared) : rc;
    rc = rc == RESULT_OK ? put_string(out, "title", page->visible.title) : rc;
    rc = rc == RESULT_OK ? put_string(out, "description", page->visible.description) : rc;
    return rc == RESULT_OK ? put_string(out, "canonical", page->canonical) : rc;
}

static Result put_json(TextWriter *writer, const TextPages *pages, const TextPage *page,
                       Buffer *out)
{
    const TextCapture *capture = page->capture;
    char digest[WARC_DIGEST_TEXT];
    Result rc = put_facts(out, page);
    rc = rc == RESULT_OK ? put_headings(writer, pages, page, out) : rc;
    rc = rc == RESULT_OK ? put_name(out, "truncated") : rc;
    rc = rc == RESULT_OK ? buffer_append_string(out, capture->is_cut ? "true" : "false") : rc;
    rc = rc == RESULT_OK
             ? put_string(out, "digest",
                          capture->has_digest ? warc_digest_format(&capture->digest, digest) : NULL)
             : rc;
    rc = rc == RESULT_OK ? put_text(out, "text", page->text, page->length) : rc;
    return rc == RESULT_OK ? buffer_append(out, "}\n", 2) : rc;
}

/* ---- WET ---- */

/* "2026-01-31T12:00:00Z": WARC/1.0 has no fractions. */
static const char *format_date(WallTime t, char text[WARC_DATE_BYTES])
{
    (void)warc_date_format(t, text);
    memcpy(text + 19, "Z", 2);
    return text;
}

static Result put_record_head(TextWriter *writer, const char *type, WallTime date, Buffer *out)
{
    WarcId id;
    char text[WARC_ID_TEXT];
    char time[WARC_DATE_BYTES];
    Result rc = warc_ids_next(&writer->ids, &id);
    return rc == RESULT_OK ? buffer_printf(out,
                                           "WARC/1.0\r\nWARC-Type: %s\r\nWARC-Date: %s\r\n"
                                           "WARC-Record-ID: %s\r\n",
                                           type, format_date(date, time), warc_id_format(&id, text))
                           : rc;
}

static Result put_wet(TextWriter *writer, const TextPage *page, Buffer *out)
{
    const TextCapture *capture = page->capture;
    WarcDigest digest;
    char id[WARC_ID_TEXT];
    char sum[WARC_DIGEST_TEXT];
    Result rc = put_record_head(writer, "conversion", capture->date, out);
    rc = rc == RESULT_OK ? warc_hasher_digest(writer->hasher, warc_bytes("", 0),
                                              warc_bytes(page->text, page->length), &digest)
                         : rc;
    rc = rc == RESULT_OK
             ? buffer_printf(out,
                             "WARC-Target-URI: %.*s\r\nWARC-Refers-To: %s\r\n"
                             "WARC-Block-Digest: %s\r\n",
                             (int)capture->url.length, capture->url.bytes,
                             warc_id_format(&capture->id, id), warc_digest_format(&digest, sum))
             : rc;
    const char *language = page->language == NULL ? NULL : text_language_iso3(page->language);
    if (rc == RESULT_OK && language != NULL) {
        rc = buffer_printf(out, "WARC-Identified-Content-Language: %.3s\r\n", language);
    }
    rc = rc == RESULT_OK
             ? buffer_printf(out, "Content-Type: text/plain\r\nContent-Length: %zu\r\n\r\n",
                             page->length)
             : rc;
    rc = rc == RESULT_OK ? buffer_append(out, page->text, page->length) : rc;
    return rc == RESULT_OK ? buffer_append(out, "\r\n\r\n", 4) : rc;
}

static Result put_info(TextWriter *writer, const char *filename, WallTime now, Buffer *out)
{
    static const char fields[] = "software: ragno/" RAGNO_VERSION "\r\n"
                                 "format: WARC File Format 1.0\r\n"
                                 "conformsTo: http://bibnum.bnf.fr/WARC/WARC_ISO_28500_version1_"
                                 "latestdraft.pdf\r\n"
                                 "description: visible text of the captures of a crawl\r\n";
    Result rc = put_record_head(writer, "warcinfo", now, out);
    return rc == RESULT_OK
               ? buffer_printf(out,
                               "WARC-Filename: %s\r\nContent-Type: application/warc-fields\r\n"
                               "Content-Length: %zu\r\n\r\n%s\r\n\r\n",
                               filename, sizeof fields - 1, fields)
               : rc;
}

/* ---- output ---- */

static Result compress(TextWriter *writer, Buffer *out)
{
    Result rc = RESULT_OK;
    if (writer->plain.length > 0) {
        rc = warc_compressor_append(writer->compressor, writer->plain.data, writer->plain.length,
                                    out);
        buffer_reset(&writer->plain);
    }
    return rc;
}

Result text_writer_flush(TextWriter *writer, Buffer *out)
{
    return writer->compressor == NULL ? RESULT_OK : compress(writer, out);
}

Result text_writer_begin(TextWriter *writer, const char *filename, WallTime now, Buffer *out)
{
    if (writer->options.format != TEXT_WET) {
        return RESULT_OK;
    }
    Result rc = put_info(writer, filename, now, writer->compressor == NULL ? out : &writer->plain);
    return rc == RESULT_OK ? text_writer_flush(writer, out) : rc;
}

Result text_writer_page(TextWriter *writer, const TextPages *pages, const TextPage *page,
                        Buffer *out)
{
    Buffer *plain = writer->compressor == NULL ? out : &writer->plain;
    size_t before = plain->length;
    Result rc = writer->options.format == TEXT_WET ? put_wet(writer, page, plain)
                                                   : put_json(writer, pages, page, plain);
    if (rc != RESULT_OK) {
        plain->length = before;
        return rc;
    }
    bool is_due = writer->options.format == TEXT_WET || plain->length >= FRAME_BYTES;
    return writer->compressor != NULL && is_due ? compress(writer, out) : RESULT_OK;
}
