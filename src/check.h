/* `ragno check ...`: one part of the crawler at a time, on a file or a word from the command line.
 *
 * Data goes to standard output, complaints to standard error. Exit 0: done; 1: the answer is no
 * (rejected, invalid); 2: wrong usage; 3: a file cannot be read. */
#ifndef CHECK_H
#define CHECK_H

#include "base/buffer.h"

/* Runs `check` with argv[0] = "check", argv[1] = the command. Returns the exit status. */
int check_main(int argc, char **argv);

/* For the commands: the whole of a file ("-" is standard input); complains and returns an exit
 * status other than 0 when that fails. */
int check_read_file(const char *path, Buffer *out);

#endif
