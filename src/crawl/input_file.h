/* Input file: a file named on the command line, read whole.
 *
 * What: "-" is standard input.
 * Threads: main. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/memory/buffer.h"

/* Output file: where a command writes its data, a file named on the command line or standard
 * output.
 *
 * What: when the reader of standard output has closed it, as `| head` does, the rest is not
 * written, is_gone is set, and no error is reported; the exit status is that of success, because
 * the reader has what it wanted.
 * Owns: the file.
 * Threads: one. */

typedef struct OutputFile {
    const char *command; /* for complaints: "export" */
    const char *path;    /* NULL: standard output */
    FILE *file;
    bool is_gone; /* nobody reads any more */
} OutputFile;

/* Opens path; NULL and "-" are standard output. Reports its errors itself: RESULT_IO, RESULT_FULL,
 * RESULT_NOT_FOUND (a missing folder). From then on the process ignores SIGPIPE, and a broken pipe
 * is the error of a write. */
Result output_file_open(OutputFile *output, const char *command, const char *path);
/* RESULT_CLOSED: the reader has closed the output. Other errors are reported, once. */
Result output_file_write(OutputFile *output, const void *bytes, size_t length);
/* Flushes and closes. rc is the result of what came before; it is returned unless closing fails,
 * and RESULT_CLOSED becomes RESULT_OK, and is_gone. */
Result output_file_close(OutputFile *output, Result rc);

/* Initialises out and appends the file (at most 256 MiB). Returns 0, or prints one line to standard
 * error and returns the exit status 3. The caller destroys out in either case once this has
 * initialised it (status 0). */
int input_file_read(const char *path, Buffer *out);
