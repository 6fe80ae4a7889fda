/* Export view: a crawl's database while a table is made of it.
 *
 * What: short read transactions, the filter that rows must pass, and the rows.
 * Owns: its transaction, buffers and URLs.
 * Threads: one.
 * Invariant: txn is renewed between two rows whenever it is old or rows wait to be written, so that
 * a running crawl may be exported to a slow reader (short_read.h). */
#pragma once

#include "crawl/progress.h"
#include "crawl/short_read.h"

#include <stdio.h>
#include "parse/filter/filter.h"

/* Rows of named fields, written as TSV, CSV (RFC 4180) or JSON Lines.
 *
 * What: the caller gives every row the same fields in the same order. TSV and CSV may begin with a
 * line of names. What cannot stand in TSV (tab, line end) is percent-encoded, as in a URL.
 * Owns: nothing; the file is the caller's.
 * Threads: one.
 * Errors: those of the file stick and come out of export_rows_end. */

typedef enum ExportFormat { EXPORT_TSV, EXPORT_CSV, EXPORT_JSONL, EXPORT_FORMATS } ExportFormat;
#define EXPORT_WORDS "tsv|csv|jsonl" /* of a command line */

typedef struct ExportRows {
    FILE *file; /* borrowed */
    ExportFormat format;
    Buffer line;
    Buffer names;     /* of the first row, while the line of names is wanted */
    bool wants_names; /* the first row is not out yet, and a line of names comes before it */
    size_t n_fields;  /* in this row so far */
    uint64_t n_rows;
    Result result;
} ExportRows;

void export_rows_begin(ExportRows *rows, FILE *file, ExportFormat format, bool header);
void export_text(ExportRows *rows, const char *name, const char *bytes, size_t length);
/* A MIME type, in small letters; one of more than 128 bytes is cut. */
void export_type(ExportRows *rows, const char *name, const char *bytes, size_t length);
/* A value that is JSON; in TSV and CSV it is text. Length 0: as export_nothing. */
void export_json(ExportRows *rows, const char *name, const char *json, size_t length);
void export_number(ExportRows *rows, const char *name, uint64_t number);
void export_signed(ExportRows *rows, const char *name, int64_t number);
/* Not-a-number is written as an empty field. */
void export_real(ExportRows *rows, const char *name, double number);
/* An empty field; null in JSON. */
void export_nothing(ExportRows *rows, const char *name);
/* The same for NULL and "". */
void export_word(ExportRows *rows, const char *name, const char *word);
/* The same for what is not known. */
void export_number_if(ExportRows *rows, const char *name, bool known, uint64_t number);
void export_row_end(ExportRows *rows);
/* Flushes. Returns the first error: RESULT_IO, RESULT_FULL, RESULT_MEMORY, or RESULT_CLOSED when
 * the reader has closed the output. */
Result export_rows_end(ExportRows *rows);

/* Export of pages, its options.
 *
 * What: the types that its parts share; page_export.h has the functions.
 * Owns: what each comment says.
 * Threads: as page_export.h says. */

typedef struct PageExportOptions {
    ExportFormat format;
    bool header;     /* a line of names first (TSV, CSV) */
    bool ids;        /* numbers for pages and hosts, not URLs */
    bool arcs;       /* nothing but "from TAB to", ascending, no arc twice: WebGraph's arc list */
    bool no_self;    /* leave out arcs from a page or host to itself */
    bool only_cross; /* links: only those that leave the domain */
    size_t memory_bytes; /* of the host graph's sorter; 0 = 64 Mi */
    FILE *file;          /* borrowed */
    uint64_t data_bytes; /* pages: canonical, and lists of that size at most for programs
                            (visible_data.h); 0: without those */
    const char *archive; /* the crawl's WARC files, for fields of pages; NULL: without those */
    const Filter *where; /* borrowed; NULL: all rows. What it is asked about: see above */
    Progress *progress;  /* shown now and then; NULL: not */
} PageExportOptions;

/* What a filter may ask about: FILTER_HAS_... */
#define PAGE_EXPORT_HAS_PAGES (PAGE_EXPORT_HAS_LINKS | FILTER_HAS_USAGE)
#define PAGE_EXPORT_HAS_LINKS (FILTER_HAS_SOURCE | FILTER_HAS_DEPTH | FILTER_HAS_STATUS)
#define PAGE_EXPORT_HAS_HOSTS FILTER_HAS_SOURCE

typedef struct ExportView {
    PageDB *db;
    const PageExportOptions *options;
    ShortRead read;
    MDB_txn *txn;     /* that of read */
    uint64_t n_pages; /* at the start */
    uint64_t n_steps; /* pages that were looked at */
    uint64_t total;   /* steps in all */
    ExportRows rows;
    FilterScratch *scratch; /* of options->where */
    bool where_source;      /* it asks about the source */
    Url url;
    Url source;
    Buffer from;
    Buffer to;
} ExportView;

/* Begins an export. Call export_view_end in every case. */
Result export_view_begin(ExportView *view, PageDB *db, const PageExportOptions *options);
/* Ends an export and writes what is left. rc is the result of what came before. RESULT_CLOSED:
 * nobody reads the output any more. */
Result export_view_end(ExportView *view, Result rc);
/* What an error code of PageDB means; logs what is damaged. */
Result export_view_result(ExportView *view, int code);
/* Call export_view_step after each page that was looked at, and export_view_turn between the rows
 * of one page, with what it came to: an error passes through. Nothing read before may be used
 * afterwards, because the transaction may have been renewed. Returns the first error of the rows;
 * RESULT_CLOSED: the export is to end. */
Result export_view_step(ExportView *view, Result rc);
Result export_view_turn(ExportView *view, Result rc);

Result export_view_page(ExportView *view, uint64_t index, PageRef *page, Buffer *url);
/* Whether a row passes the filter. page is NULL when only the URL is known, source is NULL when
 * there is no source. */
bool export_view_passes(ExportView *view, const Buffer *url, const PageRef *page,
                        const Buffer *source);
/* The field of a page or a host: its URL, or its number. origin is scratch. */
void export_view_put_page(ExportView *view, const char *name, uint64_t index, const Buffer *url);
Result export_view_put_origin(ExportView *view, const char *name, uint32_t host, Buffer *origin);
