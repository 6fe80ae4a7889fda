/* URLs as browsers understand them: parsing and resolution by the WHATWG URL standard, for http and
 * https. Everything else is rejected (RESULT_INVALID).
 *
 * A Url owns one string, the serialised absolute URL without fragment, and offsets into it. A Url is
 * reused for one parse after another, so that resolving a link allocates nothing. Pure: no I/O, no
 * locks; one Url belongs to one thread. Source: url.spec.whatwg.org; UTS 46 by libidn2. */
#ifndef PARSE_URL_H
#define PARSE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/result.h"

#define URL_MAX_BYTES (1024u * 1024u) /* longer input is refused outright (RESULT_LIMIT) */

typedef struct Url {
    char *href;        /* "http://user@host:81/path?query", NUL-terminated; owned */
    uint32_t length;   /* of href */
    uint32_t capacity; /* allocated */
    uint32_t host_start;  /* after "//" and userinfo */
    uint32_t host_end;    /* before ":port" */
    uint32_t path_start;  /* the first "/" of the path; authority ends here */
    uint32_t query_start; /* the "?" or length when there is no query */
    uint16_t port;        /* effective port: 80, 443 or the one given */
    bool https;
} Url;

void url_init(Url *url);
void url_destroy(Url *url);

/* Parses input (any bytes; invalid UTF-8 is replaced as a browser would) against base, which may be
 * NULL when input must be absolute. out may not be base. RESULT_INVALID: not an http(s) URL;
 * RESULT_LIMIT: longer than URL_MAX_BYTES; RESULT_MEMORY. On failure out is empty. Linear time. */
Result url_parse(Url *out, const Url *base, const char *input, size_t length);

/* The same for a link found in a document in a legacy encoding: its query is encoded in that encoding
 * (the path is always UTF-8). encoding is a WHATWG name ("windows-1251") or NULL for UTF-8. */
Result url_parse_in_document(Url *out, const Url *base, const char *input, size_t length,
                             const char *encoding);

/* "http://host:81": scheme and authority without userinfo, what a visit state is named by.
 * Appends to out. */
Result url_origin(const Url *url, Buffer *out);

#endif
