/* The text of a Url while it is written from left to right.
 *
 * What: room is made before bytes are put, and kept from one parse to the next.
 * Owns: the string is the Url's.
 * Threads: a Url belongs to one thread.
 * Errors: RESULT_MEMORY; RESULT_LIMIT at 4 GiB, which no input that url.h accepts comes to. */
#ifndef PARSE_URL_URL_TEXT_H
#define PARSE_URL_URL_TEXT_H

#include "parse/url/url_types.h"

/* Empties a Url but keeps its memory. */
void url_clear(Url *url);
/* Makes room for capacity bytes and the NUL behind them. */
Result url_reserve(Url *url, size_t capacity);
/* Reserves and appends. */
Result url_append(Url *url, const char *bytes, size_t length);

static inline void url_put(Url *url, char c) /* room was reserved */
{
    url->href[url->length++] = c;
}

#endif
