/* Input file: a file named on the command line, read whole.
 *
 * What: "-" is standard input.
 * Threads: main. */
#ifndef CRAWL_INPUT_FILE_H
#define CRAWL_INPUT_FILE_H

#include "base/memory/buffer.h"

/* Initialises out and appends the file (at most 256 MiB). Returns 0, or prints one line to standard
 * error and returns the exit status 3. The caller destroys out in either case once this has
 * initialised it (status 0). */
int input_file_read(const char *path, Buffer *out);

#endif
