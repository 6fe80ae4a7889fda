/* The query of a link in a document in a legacy encoding.
 *
 * What: the path of a URL is always UTF-8; its query is in the encoding of the document.
 * Threads: any; each call opens its own iconv descriptor.
 * Errors: RESULT_MEMORY.
 * Source: WHATWG Encoding and URL standards. */
#pragma once

#include "parse/url/url_types.h"

/* Whether a query depends on the encoding at all: it is not NULL, UTF-8, UTF-16, replacement or
 * unknown. */
bool url_legacy_applies(const char *encoding);
/* Appends the query in such an encoding, percent-encoded. */
Result url_legacy_append(Url *out, const char *query, size_t length, const char *encoding);
