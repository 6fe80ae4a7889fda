#include "command/export/export_view.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/core/ascii.h"
#include "base/memory/json_writer.h"
#include "page/parsed_page.h"

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
    return result_first(rc, written);
}

Result export_view_turn(ExportView *view, Result rc)
{
    if (rc != RESULT_OK) {
        return rc;
    }
    int code = short_read_turn(&view->read, page_db_error_ok);
    view->txn = view->read.txn;
    if (code == SHORT_READ_OVER) {
        return view->read.error == 0 ? RESULT_CLOSED : result_of_errno(view->read.error);
    }
    return code == page_db_error_ok ? view->rows.result : export_view_result(view, code);
}

Result export_view_step(ExportView *view, Result rc)
{
    const PageExportOptions *options = view->options;
    if (++view->n_steps % PAGES_PER_STEP == 0 && options->progress != NULL) {
        progress_show(options->progress, view->n_steps, view->total, view->rows.n_rows, mono_now());
    }
    return export_view_turn(view, rc);
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
        input.is_unread = page->n_crawls == 0;
        input.usage_denied = page->n_crawls > 0 ? usage_of_flags(page->flags) : 0;
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

/* ---- Export row ---- */

#define TYPE_BYTES 128u

void export_rows_begin(ExportRows *rows, FILE *file, ExportFormat format, bool header)
{
    *rows = (ExportRows){
        .file = file, .format = format, .wants_names = header && format != EXPORT_JSONL};
    buffer_init(&rows->line, BUFFER_NO_LIMIT);
    buffer_init(&rows->names, BUFFER_NO_LIMIT);
}

/* The first error stays. */
static void export_row_keep(ExportRows *rows, Result rc)
{
    rows->result = rows->result == RESULT_OK ? rc : rows->result;
}

static void export_row_put(ExportRows *rows, const char *bytes, size_t length)
{
    export_row_keep(rows, buffer_append(&rows->line, bytes, length));
}

static void put_string(ExportRows *rows, const char *string)
{
    export_row_put(rows, string, strlen(string));
}

/* What stands before a value. */
static void start_field(ExportRows *rows, const char *name)
{
    char between = rows->format == EXPORT_TSV ? '\t' : ',';
    if (rows->format == EXPORT_JSONL) {
        put_string(rows, rows->n_fields == 0 ? "{\"" : ",\"");
        put_string(rows, name);
        put_string(rows, "\":");
    } else {
        if (rows->n_fields > 0) {
            export_row_put(rows, &between, 1);
        }
        if (rows->wants_names) {
            if (rows->n_fields > 0) {
                export_row_keep(rows, buffer_append(&rows->names, &between, 1));
            }
            export_row_keep(rows, buffer_append_string(&rows->names, name));
        }
    }
    rows->n_fields++;
}

/* A spreadsheet takes what begins with one of these for a formula; an apostrophe makes it text. */
static void put_csv(ExportRows *rows, const char *bytes, size_t length)
{
    bool quoted = length > 0 && strchr("=+-@\t", bytes[0]) != NULL;
    const char *begin = quoted ? "\"'" : "\"";
    for (size_t i = 0; i < length && !quoted; i++) {
        quoted = strchr("\",\r\n", bytes[i]) != NULL;
    }
    if (!quoted) {
        export_row_put(rows, bytes, length);
        return;
    }
    put_string(rows, begin);
    for (size_t i = 0; i < length; i++) {
        export_row_put(rows, bytes[i] == '"' ? "\"\"" : bytes + i, bytes[i] == '"' ? 2 : 1);
    }
    export_row_put(rows, "\"", 1);
}

void export_text(ExportRows *rows, const char *name, const char *bytes, size_t length)
{
    start_field(rows, name);
    if (rows->format == EXPORT_JSONL) {
        export_row_keep(rows, json_append_text(&rows->line, bytes, length));
    } else if (rows->format == EXPORT_CSV) {
        put_csv(rows, bytes, length);
    } else {
        size_t start = 0;
        size_t i = 0;
        while (i < length) {
            size_t end = i + ascii_control_bytes(bytes + i, length - i);
            if (end == i) {
                i++;
                continue;
            }
            export_row_put(rows, bytes + start, i - start);
            for (; i < end; i++) {
                unsigned c = (unsigned char)bytes[i];
                export_row_keep(rows, buffer_printf(&rows->line, "%%%02X", c));
            }
            start = end;
        }
        export_row_put(rows, bytes + start, length - start);
    }
}

void export_type(ExportRows *rows, const char *name, const char *bytes, size_t length)
{
    char type[TYPE_BYTES];
    size_t n = length < sizeof type ? length : sizeof type;
    for (size_t i = 0; i < n; i++) {
        type[i] = (char)tolower((unsigned char)bytes[i]);
    }
    export_text(rows, name, type, n);
}

void export_json(ExportRows *rows, const char *name, const char *json, size_t length)
{
    if (length == 0) {
        export_nothing(rows, name);
    } else if (rows->format == EXPORT_JSONL) {
        start_field(rows, name);
        export_row_put(rows, json, length);
    } else {
        export_text(rows, name, json, length);
    }
}

void export_number(ExportRows *rows, const char *name, uint64_t number)
{
    start_field(rows, name);
    export_row_keep(rows, number <= INT64_MAX ? buffer_append_number(&rows->line, (int64_t)number)
                                              : buffer_printf(&rows->line, "%" PRIu64, number));
}

void export_signed(ExportRows *rows, const char *name, int64_t number)
{
    start_field(rows, name);
    export_row_keep(rows, buffer_append_number(&rows->line, number));
}

void export_real(ExportRows *rows, const char *name, double number)
{
    if (!isfinite(number)) {
        export_nothing(rows, name);
        return;
    }
    start_field(rows, name);
    export_row_keep(rows, buffer_printf(&rows->line, "%.9g", number));
}

void export_nothing(ExportRows *rows, const char *name)
{
    start_field(rows, name);
    if (rows->format == EXPORT_JSONL) {
        put_string(rows, "null");
    }
}

void export_word(ExportRows *rows, const char *name, const char *word)
{
    if (word == NULL || *word == '\0') {
        export_nothing(rows, name);
    } else {
        export_text(rows, name, word, strlen(word));
    }
}

void export_number_if(ExportRows *rows, const char *name, bool known, uint64_t number)
{
    if (known) {
        export_number(rows, name, number);
    } else {
        export_nothing(rows, name);
    }
}

static void export_row_write_line(ExportRows *rows, const Buffer *line)
{
    if (rows->result == RESULT_OK &&
        fwrite(line->data, 1, line->length, rows->file) != line->length) {
        export_row_keep(rows, errno == EPIPE ? RESULT_CLOSED : result_of_errno(errno));
    }
}

void export_row_end(ExportRows *rows)
{
    static const char *const ends[] = {
        [EXPORT_TSV] = "\n", [EXPORT_CSV] = "\r\n", [EXPORT_JSONL] = "}\n"};
    const char *end = ends[rows->format];
    if (rows->wants_names) {
        export_row_keep(rows, buffer_append_string(&rows->names, end));
        export_row_write_line(rows, &rows->names);
        rows->wants_names = false;
    }
    put_string(rows, end);
    export_row_write_line(rows, &rows->line);
    buffer_reset(&rows->line);
    rows->n_fields = 0;
    rows->n_rows++;
}

Result export_rows_end(ExportRows *rows)
{
    if (fflush(rows->file) != 0) {
        export_row_keep(rows, errno == EPIPE ? RESULT_CLOSED : result_of_errno(errno));
    }
    buffer_destroy(&rows->line);
    buffer_destroy(&rows->names);
    return rows->result;
}
