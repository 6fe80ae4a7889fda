/* Export view: a crawl's database while a table is made of it.
 *
 * What: short read transactions, the filter that rows must pass, and the rows.
 * Owns: its transaction, buffers and URLs.
 * Threads: one.
 * Invariant: txn is renewed between two rows whenever it is old or rows wait to be written, so that
 * a running crawl may be exported to a slow reader (short_read.h). */
#ifndef COMMAND_EXPORT_EXPORT_VIEW_H
#define COMMAND_EXPORT_EXPORT_VIEW_H

#include "command/export/export_row.h"
#include "crawl/short_read.h"
#include "parse/url/url.h"

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
 * of one page. Nothing read before may be used afterwards, because the transaction may have been
 * renewed. Returns the first error of the rows; RESULT_CLOSED: the export is to end. */
Result export_view_step(ExportView *view);
Result export_view_turn(ExportView *view);

Result export_view_page(ExportView *view, uint64_t index, PageRef *page, Buffer *url);
/* Whether a row passes the filter. page is NULL when only the URL is known, source is NULL when
 * there is no source. */
bool export_view_passes(ExportView *view, const Buffer *url, const PageRef *page,
                        const Buffer *source);
/* The field of a page or a host: its URL, or its number. origin is scratch. */
void export_view_put_page(ExportView *view, const char *name, uint64_t index, const Buffer *url);
Result export_view_put_origin(ExportView *view, const char *name, uint32_t host, Buffer *origin);

#endif
