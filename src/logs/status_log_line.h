/* One line of status.log: KEY=VALUE pairs, separated by blanks (crawl/run/status.h).
 *
 * Pure; texts are borrowed from the line. */
#ifndef LOGS_STATUS_LOG_LINE_H
#define LOGS_STATUS_LOG_LINE_H

#include "logs/log_text.h"

/* The value of a key; empty: it is not there. */
LogText status_log_get(const char *line, size_t length, const char *key);
/* The same as a number; absent when it is none. */
double status_log_number(const char *line, size_t length, const char *key, double absent);
/* When the line was written. false: it does not say. */
bool status_log_time(const char *line, size_t length, WallTime *time);

#endif
