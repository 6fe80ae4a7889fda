/* Log reader: the lines of a log and of its rotated predecessors, oldest first.
 *
 * What: the predecessors of crawl.log are the files that logrotate leaves: crawl.log.2.gz,
 * crawl.log.1 (higher numbers are older), or crawl.log-20260131.zst (by date). Files that end in
 * .gz or .zst are decompressed while they are read.
 * Owns: its files and one buffer; memory does not grow with the logs.
 * Threads: one. The crawl may be writing at the same time: a line whose end is not written yet is
 * not returned.
 * Errors: a file that may not be read is one of opening; one that cannot be read to its end, such
 * as a damaged .gz, does not end the reading: log_reader_problem describes the first such file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/buffer.h"

typedef struct LogReader LogReader;

/* Opens the log at path. RESULT_NOT_FOUND: neither it nor a predecessor is there; RESULT_IO: one of
 * them may not be read (errno is set); RESULT_MEMORY. */
Result log_reader_open(LogReader **reader, const char *path);
/* Opens the log without its predecessors, `bytes` before its end. The first line, which may be cut
 * there, is left out. Errors as log_reader_open. */
Result log_reader_open_tail(LogReader **reader, const char *path, size_t bytes);
void log_reader_close(LogReader *reader);

/* The next line, without its newline; borrowed until the next call. False when there are no more.
 */
bool log_reader_next(LogReader *reader, const char **line, size_t *length);

/* Where the line returned last is: the number of its file (0 = the oldest), and its number in that
 * file, from 1. */
unsigned log_reader_file(const LogReader *reader);
uint64_t log_reader_line(const LogReader *reader);
/* Whether lines before the first one were left out: it was opened at its tail. */
bool log_reader_is_cut(const LogReader *reader);
/* The name of a file, without its directory. */
const char *log_reader_name(const LogReader *reader, unsigned file);
/* NULL, or a sentence about the first file that could not be read to its end. */
const char *log_reader_problem(const LogReader *reader);

/* Reads a log whole: take has each line, until it does not return RESULT_OK, which is returned. A
 * log that is not there has none. problem, unless NULL, has a sentence added about what is missing:
 * the log, or what log_reader_problem says. Errors as log_reader_open. */
typedef Result LogTake(void *context, const char *line, size_t length);
Result log_reader_each(const char *path, LogTake *take, void *context, Buffer *problem);
