#include "command/text/text_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "page/tool/text_language.h"
#include "base/memory/json_writer.h"

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

static void put_bytes(JsonWriter *json, const char *name, const char *bytes, size_t length)
{
    if (bytes == NULL) {
        json_null(json, name);
    } else {
        json_text(json, name, bytes, length);
    }
}

/* Line feeds and tabs in a heading are blanks. */
static void put_heading(TextWriter *writer, JsonWriter *json, VisibleHeading heading)
{
    Buffer *line = &writer->line;
    buffer_reset(line);
    Result rc = buffer_append(line, heading.text, heading.length);
    if (rc != RESULT_OK) {
        json->result = json->result == RESULT_OK ? rc : json->result;
        return;
    }
    for (size_t i = 0; i < line->length; i++) {
        if (line->data[i] == '\n' || line->data[i] == '\t') {
            line->data[i] = ' ';
        }
    }
    json_open(json, NULL, '{');
    json_count(json, "level", heading.level);
    json_text(json, "text", line->data, line->length);
    json_close(json);
}

static Result text_writer_put_json(TextWriter *writer, const TextPages *pages, const TextPage *page,
                                   Buffer *out)
{
    const TextCapture *capture = page->capture;
    char text[WARC_DATE_BYTES > WARC_DIGEST_TEXT ? WARC_DATE_BYTES : WARC_DIGEST_TEXT];
    JsonWriter json;
    json_init(&json, out);
    json_open(&json, NULL, '{');
    json_text(&json, "url", capture->url.bytes, capture->url.length);
    json_string(&json, "time", warc_date_format(capture->date, text));
    json_count(&json, "status", capture->status);
    put_bytes(&json, "type", capture->type.type, capture->type.type_length);
    json_string(&json, "encoding", page->visible.encoding);
    json_string(&json, "language", page->language);
    json_string(&json, "declared_language", page->declared);
    json_string(&json, "title", page->visible.title);
    json_string(&json, "description", page->visible.description);
    json_string(&json, "canonical", page->canonical);
    json_open(&json, "headings", '[');
    for (size_t i = 0; i < page->visible.n_headings; i++) {
        VisibleHeading heading = text_pages_heading(pages, i);
        if (heading.length > 0) {
            put_heading(writer, &json, heading);
        }
    }
    json_close(&json);
    json_bool(&json, "truncated", capture->is_cut);
    json_string(&json, "digest",
                capture->has_digest ? warc_digest_format(&capture->digest, text) : NULL);
    json_text(&json, "text", page->text, page->length);
    json_close(&json);
    return json.result == RESULT_OK ? buffer_append_char(out, '\n') : json.result;
}

/* ---- pages of a WACZ ---- */

static Result put_pages_head(const TextWriter *writer, Buffer *out)
{
    return buffer_printf(out,
                         "{\"format\": \"json-pages-1.0\", \"id\": \"pages\", "
                         "\"title\": \"All Pages\", \"hasText\": %s}\n",
                         writer->options.no_text ? "false" : "true");
}

static Result put_wacz_page(const TextWriter *writer, const TextPage *page, Buffer *out)
{
    const TextCapture *capture = page->capture;
    static const size_t head = sizeof "<urn:uuid:" - 1;
    char id[WARC_ID_TEXT];
    char date[WARC_DATE_BYTES];
    JsonWriter json;
    (void)warc_id_format(&capture->id, id);
    json_init(&json, out);
    json_open(&json, NULL, '{');
    json_text(&json, "id", id + head, strlen(id) - head - 1);
    json_text(&json, "url", capture->url.bytes, capture->url.length);
    json_string(&json, "ts", warc_date_format(capture->date, date));
    if (page->visible.title != NULL) {
        json_string(&json, "title", page->visible.title);
    }
    if (!writer->options.no_text) {
        json_text(&json, "text", page->text, page->length);
    }
    json_close(&json);
    return json.result == RESULT_OK ? buffer_append_char(out, '\n') : json.result;
}

/* ---- WET ---- */

/* "2026-01-31T12:00:00Z": WARC/1.0 has no fractions. */
static const char *text_writer_format_date(WallTime t, char text[WARC_DATE_BYTES])
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
    return rc == RESULT_OK
               ? buffer_printf(out,
                               "WARC/1.0\r\nWARC-Type: %s\r\nWARC-Date: %s\r\n"
                               "WARC-Record-ID: %s\r\n",
                               type, text_writer_format_date(date, time), warc_id_format(&id, text))
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

static Result text_writer_compress(TextWriter *writer, Buffer *out)
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
    return writer->compressor == NULL ? RESULT_OK : text_writer_compress(writer, out);
}

Result text_writer_begin(TextWriter *writer, const char *filename, WallTime now, Buffer *out)
{
    if (writer->options.format == TEXT_WACZ_PAGES) {
        return put_pages_head(writer, out);
    }
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
                : writer->options.format == TEXT_JSONL
                    ? text_writer_put_json(writer, pages, page, plain)
                    : put_wacz_page(writer, page, plain);
    if (rc != RESULT_OK) {
        plain->length = before;
        return rc;
    }
    bool is_due = writer->options.format == TEXT_WET || plain->length >= FRAME_BYTES;
    return writer->compressor != NULL && is_due ? text_writer_compress(writer, out) : RESULT_OK;
}
