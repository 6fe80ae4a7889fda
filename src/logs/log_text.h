/* A piece of a log's line, and what can be read from it: a number, a time, the origin of a URL.
 *
 * Owns: nothing; the bytes are borrowed from the line. Pure. */
#ifndef LOGS_LOG_TEXT_H
#define LOGS_LOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* Reads "20260131120000123". */
bool log_text_compact_time(LogText text, WallTime *time);
/* "http://www.example.org:81" of a URL, without user information (scratch then holds it); empty: it
 * has none. */
#define LOG_ORIGIN_BYTES 512
LogText log_text_origin(LogText url, char scratch[LOG_ORIGIN_BYTES]);
/* "www.example.org" of a URL or an origin, without port. */
LogText log_text_host(LogText url);

#endif
