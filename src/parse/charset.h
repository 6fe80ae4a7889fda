/* Which encoding a document is in, and its text as UTF-8: the WHATWG Encoding standard's labels, the
 * HTML standard's sniffing (BOM, Content-Type, meta prescan of the first 1 024 bytes, fallback).
 *
 * Pure and thread-safe but for CharsetDecoder, which belongs to one thread. */
#ifndef PARSE_CHARSET_H
#define PARSE_CHARSET_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/result.h"

/* The WHATWG name ("windows-1252") for a label (" Latin1 "), or NULL. Static. */
const char *charset_of_label(const char *label, size_t length);

/* The encoding a browser would pick; never NULL. content_type is a header value or NULL. */
const char *charset_sniff(const char *body, size_t length, const char *content_type);

/* Appends body, decoded from encoding (a WHATWG name) to UTF-8: BOM dropped, malformed sequences
 * become U+FFFD, NUL becomes U+FFFD. RESULT_LIMIT: out's limit was reached, what fits is there. */
Result charset_decode(const char *encoding, const char *body, size_t length, Buffer *out);

#endif
