/* Where a command writes its data: a file named on the command line, or standard output.
 *
 * What: `| head` ends a command quietly. When whoever reads standard output has gone, the rest is
 * not written, is_gone is set and nothing is complained about; the exit status is that of success,
 * for the reader has what it wanted. Owns: the file. Threads: belongs to one. */
#ifndef CRAWL_OUTPUT_FILE_H
#define CRAWL_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/core/result.h"

typedef struct OutputFile {
    const char *command; /* for complaints: "export" */
    const char *path;    /* NULL: standard output */
    FILE *file;
    bool is_gone; /* nobody reads any more */
} OutputFile;

/* path NULL or "-": standard output. Complains itself. RESULT_IO, RESULT_FULL, RESULT_NOT_FOUND (a
 * folder). From then on a broken pipe is an error to be looked at and no signal. */
Result output_file_open(OutputFile *output, const char *command, const char *path);
/* RESULT_CLOSED: the reader has gone; else as the file says (complained about, once). */
Result output_file_write(OutputFile *output, const void *bytes, size_t length);
/* What a stream's own functions left: looks at ferror of output->file, right after they failed. */
Result output_file_check(OutputFile *output);
/* Flushes and closes; rc is what happened until now, and is returned unless the end goes wrong.
 * RESULT_CLOSED becomes RESULT_OK. */
Result output_file_close(OutputFile *output, Result rc);

#endif
