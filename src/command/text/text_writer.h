/* Text writer: texts as JSON Lines, or as WET.
 *
 * What: JSON Lines have one object a line. The fields are always there, in this order, and null
 * when they are not known:
 *
 *   {"url": "http://example.org/", "time": "2026-01-31T12:00:00.123456Z", "status": 200,
 *    "type": "text/html", "encoding": "UTF-8", "language": "en", "declared_language": "en-GB",
 *    "title": "...", "description": "...", "canonical": "...",
 *    "headings": [{"level": 1, "text": "..."}], "truncated": false, "digest": "sha1:...",
 *    "text": "..."}
 *
 * WET, as Common Crawl writes it, consists of WARC/1.0 records of type conversion, each of which
 * refers to the record of the answer; the block is the text (text/plain, UTF-8). The file begins
 * with a warcinfo record.
 * WACZ pages are the lines of pages/pages.jsonl in a WACZ file, behind a line of their own:
 *
 *   {"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": true}
 *   {"id": "<UUID of the record>", "url": "...", "ts": "2026-01-31T12:00:00.123456Z",
 *    "title": "...", "text": "..."}
 *
 * Owns: a source of record ids and a digest context.
 * Threads: one.
 * Source: RFC 8259, jsonlines.org; ISO 28500 6.7 (conversion); Common Crawl's WET files;
 * WACZ 1.1.1. */
#ifndef COMMAND_TEXT_TEXT_WRITER_H
#define COMMAND_TEXT_TEXT_WRITER_H

#include "base/memory/buffer.h"
#include "command/text/text_page.h"
#include "store/warc/warc_compress.h"

typedef enum TextFormat { TEXT_JSONL, TEXT_WET, TEXT_WACZ_PAGES } TextFormat;

typedef struct TextWriter TextWriter;

typedef struct TextWriterOptions {
    TextFormat format;
    bool no_text;    /* of WACZ pages: without the text */
    bool compressed; /* each record, and each call's JSON lines, are a member or frame of their own
                      */
    WarcCompression compression;
} TextWriterOptions;

/* RESULT_MEMORY. */
Result text_writer_new(TextWriter **writer, const TextWriterOptions *options);
void text_writer_delete(TextWriter *writer);

/* Appends what stands before the first page; filename and now are those of the output. */
Result text_writer_begin(TextWriter *writer, const char *filename, WallTime now, Buffer *out);
/* Appends a page. RESULT_MEMORY, RESULT_IO (no random bytes): out is as before. */
Result text_writer_page(TextWriter *writer, const TextPages *pages, const TextPage *page,
                        Buffer *out);
/* Appends what compression has kept back. */
Result text_writer_flush(TextWriter *writer, Buffer *out);

#endif
