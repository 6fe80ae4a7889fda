/* The text of PDF documents, by pdftotext (Debian: poppler-utils), when it is installed.
 *
 * What: a process for each document, without a shell. It reads the document from a socket, which is
 * fed when its limits hold, and writes to a file without a name. When it is over a limit, or fails,
 * the text is what it has written until then. Without the program there are no texts, which one
 * WARN says when the first document comes.
 * Owns: nothing.
 * Threads: any. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

typedef struct TextPdfOptions {
    uint64_t seconds;      /* that a document may take, of the clock and of a processor */
    uint64_t memory_bytes; /* address space */
    uint64_t text_bytes;
} TextPdfOptions;

/* Appends the text (UTF-8). RESULT_NOT_FOUND: pdftotext cannot be run; RESULT_LIMIT: a limit was
 * reached; RESULT_DAMAGED: it failed, as on what is no PDF document or needs a password;
 * RESULT_MEMORY, RESULT_IO. */
Result text_pdf_read(const TextPdfOptions *options, const char *body, size_t length, Buffer *text);
