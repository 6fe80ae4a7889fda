/* Log text: a piece of a line of a log, and what can be read from it.
 *
 * What: a number, a time, the origin or the host of a URL.
 * Owns: nothing; the bytes are borrowed from the line.
 * Threads: any; pure. */
#pragma once

#include "base/core/clock.h"

typedef struct LogText {
    const char *bytes; /* not NUL-terminated */
    size_t length;
} LogText;

bool log_text_is(LogText text, const char *word);
/* Reads a number of at most 18 digits, with "-" in front or without. */
bool log_text_number(LogText text, int64_t *number);
/* Reads "2026-01-31T12:00:00.123Z". */
bool log_text_time(LogText text, WallTime *time);
/* The origin of a URL, such as "http://www.example.org:81". User information is left out; the
 * origin is then written into scratch. Empty when the URL has no origin. */
#define LOG_ORIGIN_BYTES 512
LogText log_text_origin(LogText url, char scratch[LOG_ORIGIN_BYTES]);
/* "www.example.org" of a URL or an origin, without port. */
LogText log_text_host(LogText url);

/* Status JSON: DIR/status.json, and the same object as the control socket returns it.
 *
 * What: a flat object, as crawl/run/status.h writes it, read field by field.
 * Owns: nothing; texts are borrowed.
 * Threads: any; pure. */

/* The value of a field, without its quotes; empty: it is not there. */
LogText status_json_get(const char *json, const char *name);
/* The same as a number; absent when it is none. */
double status_json_number(const char *json, const char *name, double absent);

/* Status log line: one line of status.log.
 *
 * What: KEY=VALUE pairs, separated by blanks (crawl/run/status.h).
 * Owns: nothing; texts are borrowed from the line.
 * Threads: any; pure. */

/* The value of a key; empty when the line does not have it. */
LogText status_log_get(const char *line, size_t length, const char *key);
/* The value of a key as a number; `absent` when it is missing or is no number. */
double status_log_number(const char *line, size_t length, const char *key, double absent);
/* When the line was written. False when the line does not say. */
bool status_log_time(const char *line, size_t length, WallTime *time);
