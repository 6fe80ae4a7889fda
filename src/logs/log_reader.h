/* The lines of a log and of its rotated predecessors, oldest first.
 *
 * For crawl.log the predecessors are what logrotate leaves: crawl.log.2.gz, crawl.log.1 (higher
 * numbers are older), or crawl.log-20260131.zst (by date). Files that end in .gz or .zst are
 * decompressed while they are read.
 *
 * Owns: its files and one buffer; memory does not grow with the logs.
 * Threads: one. The crawl may be writing meanwhile: a line that has no end yet is not given out.
 * Errors: a file that cannot be read to its end does not end the reading; log_reader_problem tells
 * of the first one. */
#ifndef LOGS_LOG_READER_H
#define LOGS_LOG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct LogReader LogReader;

/* Opens the log at path. RESULT_NOT_FOUND: neither it nor a predecessor is there; RESULT_IO (errno
 * is set), RESULT_MEMORY. */
Result log_reader_open(LogReader **reader, const char *path);
/* Opens the log itself alone, so many bytes before its end; the line that is cut there is left out.
 * Errors as before. */
Result log_reader_open_tail(LogReader **reader, const char *path, size_t bytes);
void log_reader_close(LogReader *reader);

/* The next line, without its end; borrowed until the next call. false: there is none. */
bool log_reader_next(LogReader *reader, const char **line, size_t *length);

/* Of the line last given out: which file it is in (0 = the oldest), and its number there, from 1.
 */
unsigned log_reader_file(const LogReader *reader);
uint64_t log_reader_line(const LogReader *reader);
/* The name of a file, without its directory. */
const char *log_reader_name(const LogReader *reader, unsigned file);
unsigned log_reader_n_files(const LogReader *reader);
/* NULL, or a sentence about the first file that could not be read to its end. */
const char *log_reader_problem(const LogReader *reader);

#endif
