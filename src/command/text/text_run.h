/* Text run: the threads of `ragno export DIR text` and what they share.
 *
 * What: text_run starts the workers and ends them. Each takes the next piece of the archive, and
 * writes its texts when those of the piece before are written.
 * Threads: the main thread calls text_run, and shows how far it is. */
#pragma once

#include "command/text/text_page.h"
#include "crawl/input_file.h"
#include "crawl/progress.h"

/* Text writer: texts as JSON Lines, or as WET.
 *
 * What: JSON Lines have one object a line. The fields are always there, in this order, and null
 * when they are not known:
 *
 *   {"url": "http://example.org/", "time": "2026-01-31T12:00:00.123456Z", "status": 200,
 *    "type": "text/html", "encoding": "UTF-8", "language": "en", "declared_language": "en-GB",
 *    "title": "...", "description": "...", "canonical": "...",
 *    "json_ld": [...], "microdata": [...], "opengraph": [...], "hreflang": [...],
 *    "headings": [{"level": 1, "text": "..."}], "truncated": false, "digest": "sha1:...",
 *    "text": "..."}
 *
 * The line of json_ld (parse/visible/visible_data.h) is there with data_bytes alone.
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

/* TEXT_MARKDOWN: as TEXT_JSONL, with texts that are Markdown. */
typedef enum TextFormat { TEXT_JSONL, TEXT_MARKDOWN, TEXT_WET, TEXT_WACZ_PAGES } TextFormat;

typedef struct TextWriterOptions {
    TextFormat format;
    bool data;       /* of JSON: with the lists for programs */
    bool no_text;    /* of WACZ pages: without the text */
    bool compressed; /* each record, and each call's JSON lines, are a member or frame of their own
                      */
    WarcCompression compression;
} TextWriterOptions;

#define TEXT_THREADS_MAX 64u

typedef struct TextRunOptions {
    TextWanted wanted;
    TextPagesOptions pages;
    TextWriterOptions writer;
    unsigned threads;
} TextRunOptions;

typedef enum TextTotal {
    TEXT_PAGES,    /* that came out */
    TEXT_UNSTYLED, /* of them: matching their style sheets took too long (visible_style.h) */
    TEXT_PDF_CUT,  /* of them: PDF documents whose text is not all of it */
    TEXT_NO_PDF,   /* PDF documents that are left out: there is no pdftotext */
    TEXT_DATA_CUT, /* of them: there was more than data_bytes */
    TEXT_TOTALS
} TextTotal;

typedef struct TextTotals {
    TextCounts counts;
    uint64_t of[TEXT_TOTALS];
} TextTotals;

/* Where the texts go. */
typedef struct TextSink {
    const char *name; /* of the file; NULL: standard output */
    void *context;
    Result (*write)(void *context, const char *bytes, size_t length);
} TextSink;

/* A write of an OutputFile. */
Result text_sink_write(void *output, const char *bytes, size_t length);

/* Exports the texts. Errors are those of the sink, of memory or of the folder; the latter have been
 * reported. totals are valid in every case. */
Result text_run(const TextRunOptions *options, const TextSink *sink, Progress *progress,
                TextTotals *totals);
