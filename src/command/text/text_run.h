/* Text run: the threads of `ragno export DIR text` and what they share.
 *
 * What: text_run starts the workers, writes what they make, and ends them.
 * Threads: the main thread calls text_run. */
#ifndef COMMAND_TEXT_TEXT_RUN_H
#define COMMAND_TEXT_TEXT_RUN_H

#include <stddef.h>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "command/text/text_page.h"
#include "command/text/text_source.h"
#include "crawl/input_file.h"
#include "crawl/progress.h"
#include "parse/filter/filter.h"
#include "store/warc/warc_compress.h"

/* Text order: pieces of output from several threads, put back in order.
 *
 *   workers --text_order_put--> [pieces by job, bounded] --text_order_take--> the writing thread
 *
 * What: each worker has a job, and jobs are numbered in the order in which their output stands in
 * the file. The writing thread gets the pieces of job 0, then those of job 1, and so on. A worker
 * waits in text_order_put while more than memory_bytes wait to be written, unless its job is the
 * one whose turn it is. So one worker always goes on.
 * Owns: what was put and not taken.
 * Threads: any put; one takes.
 * Invariant: `turn` is the first job that has not ended or has pieces left. No pieces of earlier
 * jobs are left. */

typedef struct TextOrder TextOrder;

/* RESULT_MEMORY. */
Result text_order_new(TextOrder **order, size_t n_jobs, size_t memory_bytes);
void text_order_delete(TextOrder *order);

/* Takes the bytes of a piece and leaves the buffer empty. RESULT_CLOSED: the writer has ended, and
 * the worker should end, too. RESULT_MEMORY: the piece is still the caller's. */
Result text_order_put(TextOrder *order, size_t job, Buffer *piece);
/* Says that this job has no more pieces. */
void text_order_end(TextOrder *order, size_t job);

/* Waits for the next piece; out is overwritten. RESULT_NOT_FOUND: all jobs have ended;
 * RESULT_TIMEOUT. */
Result text_order_take(TextOrder *order, Buffer *out, MonoTime deadline);
/* Says that nothing more will be taken, and wakes the workers. */
void text_order_close(TextOrder *order);

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

#define TEXT_THREADS_MAX 64u

typedef struct TextRunOptions {
    const char *warc_directory;
    TextWanted wanted;
    TextPagesOptions pages;
    TextWriterOptions writer;
    const Filter *where; /* borrowed; NULL: every page */
    unsigned threads;
} TextRunOptions;

typedef struct TextTotals {
    TextCounts counts;
    uint64_t pages; /* that came out */
} TextTotals;

/* Exports the texts. RESULT_CLOSED: the reader has closed the output. Other errors are those of the
 * output, of memory or of the folder; all but RESULT_MEMORY have been reported. totals are valid in
 * every case. */
Result text_run(const TextRunOptions *options, OutputFile *output, Progress *progress,
                TextTotals *totals);

#endif
