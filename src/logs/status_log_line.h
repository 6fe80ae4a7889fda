/* Status log line: one line of status.log.
 *
 * What: KEY=VALUE pairs, separated by blanks (crawl/run/status.h).
 * Owns: nothing; texts are borrowed from the line.
 * Threads: any; pure. */
#ifndef LOGS_STATUS_LOG_LINE_H
#define LOGS_STATUS_LOG_LINE_H

#include "logs/log_text.h"

/* The value of a key; empty when the line does not have it. */
LogText status_log_get(const char *line, size_t length, const char *key);
/* The value of a key as a number; `absent` when it is missing or is no number. */
double status_log_number(const char *line, size_t length, const char *key, double absent);
/* When the line was written. False when the line does not say. */
bool status_log_time(const char *line, size_t length, WallTime *time);

#endif
