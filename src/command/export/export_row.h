/* Rows of named fields, written as TSV, CSV (RFC 4180) or JSON Lines.
 *
 * What: the caller gives every row the same fields in the same order. TSV and CSV may begin with a
 * line of names. What cannot stand in TSV (tab, line end) is percent-encoded, as in a URL; JSON
 * keeps bytes beyond ASCII as they are.
 * Owns: nothing; the file is the caller's.
 * Threads: one.
 * Errors: those of the file stick and come out of export_rows_end. */
#ifndef COMMAND_EXPORT_EXPORT_ROW_H
#define COMMAND_EXPORT_EXPORT_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/memory/buffer.h"
#include "base/core/result.h"

typedef enum ExportFormat { EXPORT_TSV, EXPORT_CSV, EXPORT_JSONL, EXPORT_FORMATS } ExportFormat;

/* The format of that name; EXPORT_FORMATS when there is none. */
ExportFormat export_format_of(const char *word);

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
void export_number(ExportRows *rows, const char *name, uint64_t number);
void export_signed(ExportRows *rows, const char *name, int64_t number);
/* Not-a-number is written as an empty field. */
void export_real(ExportRows *rows, const char *name, double number);
/* An empty field; null in JSON. */
void export_nothing(ExportRows *rows, const char *name);
void export_row_end(ExportRows *rows);
/* Flushes. Returns the first error: RESULT_IO, RESULT_FULL, RESULT_MEMORY, or RESULT_CLOSED when
 * the reader has closed the output. */
Result export_rows_end(ExportRows *rows);

#endif
