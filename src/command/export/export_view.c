#include "command/export/export_view.h"

#include "store/pages/page_db_read.h"
#include "base/thread/log.h"

#define COMPONENT      "export"
#define PAGES_PER_STEP 256u

Result export_view_result(ExportView *view, int code)
{
    switch (code) {
    case page_db_error_ok:
        return RESULT_OK;
    case page_db_error_memory:
        return RESULT_MEMORY;
    case page_db_error_no_page:
        return RESULT_NOT_FOUND;
    case page_db_error_locked:
        return RESULT_LOCKED;
    default:
        LOG_ERROR(COMPONENT, "database cannot be read", "error=\"%s\"",
                  view->db->error == NULL ? "" : view->db->error->message);
        return RESULT_DAMAGED;
    }
}

Result export_view_begin(ExportView *view, PageDB *db, const PageExportOptions *options)
{
    *view = (ExportView){.db = db, .options = options};
    url_init(&view->url);
    url_init(&view->source);
    buffer_init(&view->from, BUFFER_NO_LIMIT);
    buffer_init(&view->to, BUFFER_NO_LIMIT);
    export_rows_begin(&view->rows, options->file, options->arcs ? EXPORT_TSV : options->format,
                      options->header && !options->arcs);
    Result rc = export_view_result(view, short_read_begin(&view->read, db, options->file));
    view->txn = view->read.txn;
    if (rc == RESULT_OK) {
        view->n_pages = page_db_n_pages(db, view->txn);
        view->total = view->n_pages;
    }
    if (rc == RESULT_OK && options->where != NULL) {
        rc = filter_scratch_new(&view->scratch);
        view->where_source = (filter_needs(options->where) & FILTER_HAS_SOURCE) != 0;
    }
    return rc;
}

Result export_view_end(ExportView *view, Result rc)
{
    short_read_pause(&view->read);
    view->txn = NULL;
    Result written = export_rows_end(&view->rows);
    buffer_destroy(&view->from);
    buffer_destroy(&view->to);
    url_destroy(&view->url);
    url_destroy(&view->source);
    filter_scratch_delete(view->scratch);
    return rc == RESULT_OK ? written : rc;
}

Result export_view_turn(ExportView *view)
{
    int rc = short_read_turn(&view->read);
    view->txn = view->read.txn;
    if (rc == SHORT_READ_OVER) {
        return view->read.error == 0 ? RESULT_CLOSED : result_of_errno(view->read.error);
    }
    return rc == page_db_error_ok ? view->rows.result : export_view_result(view, rc);
}

Result export_view_step(ExportView *view)
{
    const PageExportOptions *options = view->options;
    if (++view->n_steps % PAGES_PER_STEP == 0 && options->step != NULL) {
        options->step(options->step_context, view->n_steps, view->total, view->rows.n_rows);
    }
    return export_view_turn(view);
}

Result export_view_page(ExportView *view, uint64_t index, PageRef *page, Buffer *url)
{
    return export_view_result(view, page_db_get(view->db, view->txn, index, page, url));
}

/* ---- where ---- */

bool export_view_passes(ExportView *view, const Buffer *url, const PageRef *page,
                        const Buffer *source)
{
    if (view->options->where == NULL) {
        return true;
    }
    if (url_parse(&view->url, NULL, buffer_string(url), url->length) != RESULT_OK) {
        return false;
    }
    FilterInput input = {.url = &view->url};
    if (page != NULL) {
        input.has_depth = true;
        input.depth = (uint32_t)page->depth;
        input.status = page->status > 0 ? page->status : 0;
    }
    if (view->where_source && source != NULL &&
        url_parse(&view->source, NULL, buffer_string(source), source->length) == RESULT_OK) {
        input.source = &view->source;
    }
    return filter_matches(view->options->where, &input, view->scratch);
}

void export_view_put_page(ExportView *view, const char *name, uint64_t index, const Buffer *url)
{
    if (view->options->ids || view->options->arcs) {
        export_number(&view->rows, name, index);
    } else {
        export_text(&view->rows, name, buffer_string(url), url->length);
    }
}

Result export_view_put_origin(ExportView *view, const char *name, uint32_t host, Buffer *origin)
{
    if (view->options->ids || view->options->arcs) {
        export_number(&view->rows, name, host);
        return RESULT_OK;
    }
    Result rc = export_view_result(view, page_db_host_origin(view->db, view->txn, host, origin));
    if (rc == RESULT_OK) {
        export_text(&view->rows, name, buffer_string(origin), origin->length);
    }
    return rc;
}
