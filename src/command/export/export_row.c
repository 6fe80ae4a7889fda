#include "command/export/export_row.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

ExportFormat export_format_of(const char *word)
{
    static const char *const words[EXPORT_FORMATS] = {
        [EXPORT_TSV] = "tsv", [EXPORT_CSV] = "csv", [EXPORT_JSONL] = "jsonl"};
    unsigned i = 0;
    while (i < EXPORT_FORMATS && strcmp(word, words[i]) != 0) {
        i++;
    }
    return (ExportFormat)i;
}

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

static char separator(const ExportRows *rows)
{
    return rows->format == EXPORT_TSV ? '\t' : ',';
}

/* What stands before a value. */
static void start_field(ExportRows *rows, const char *name)
{
    char between = separator(rows);
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

/* U+0080 to U+009F: a terminal may obey them as it does those below the space. */
static bool export_row_is_control(const char *bytes, size_t left)
{
    return left > 1 && (unsigned char)bytes[0] == 0xC2 && (unsigned char)bytes[1] >= 0x80 &&
           (unsigned char)bytes[1] < 0xA0;
}

static void export_row_put_json(ExportRows *rows, const char *bytes, size_t length)
{
    export_row_put(rows, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c < 0x20 || c == 0x7f) {
            export_row_keep(rows, buffer_printf(&rows->line, "\\u%04x", (unsigned)c));
        } else if (export_row_is_control(bytes + i, length - i)) {
            c = (unsigned char)bytes[++i];
            export_row_keep(rows, buffer_printf(&rows->line, "\\u%04x", (unsigned)c));
        } else {
            if (c == '"' || c == '\\') {
                export_row_put(rows, "\\", 1);
            }
            export_row_put(rows, bytes + i, 1);
        }
    }
    export_row_put(rows, "\"", 1);
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

static void put_tsv(ExportRows *rows, const char *bytes, size_t length)
{
    size_t start = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c < 0x20 || c == 0x7f) {
            export_row_put(rows, bytes + start, i - start);
            export_row_keep(rows, buffer_printf(&rows->line, "%%%02X", (unsigned)c));
            start = i + 1;
        } else if (export_row_is_control(bytes + i, length - i)) {
            export_row_put(rows, bytes + start, i - start);
            c = (unsigned char)bytes[++i];
            export_row_keep(rows, buffer_printf(&rows->line, "%%C2%%%02X", (unsigned)c));
            start = i + 1;
        }
    }
    export_row_put(rows, bytes + start, length - start);
}

void export_text(ExportRows *rows, const char *name, const char *bytes, size_t length)
{
    start_field(rows, name);
    if (rows->format == EXPORT_JSONL) {
        export_row_put_json(rows, bytes, length);
    } else if (rows->format == EXPORT_CSV) {
        put_csv(rows, bytes, length);
    } else {
        put_tsv(rows, bytes, length);
    }
}

void export_number(ExportRows *rows, const char *name, uint64_t number)
{
    char text[24];
    size_t at = sizeof text;
    start_field(rows, name);
    do {
        text[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    export_row_put(rows, text + at, sizeof text - at);
}

void export_signed(ExportRows *rows, const char *name, int64_t number)
{
    start_field(rows, name);
    export_row_keep(rows, buffer_printf(&rows->line, "%" PRId64, number));
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

static void export_row_write_line(ExportRows *rows, const Buffer *line)
{
    if (rows->result == RESULT_OK &&
        fwrite(line->data, 1, line->length, rows->file) != line->length) {
        export_row_keep(rows, errno == EPIPE ? RESULT_CLOSED : result_of_errno(errno));
    }
}

void export_row_end(ExportRows *rows)
{
    const char *end = rows->format == EXPORT_CSV     ? "\r\n"
                      : rows->format == EXPORT_JSONL ? "}\n"
                                                     : "\n";
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
