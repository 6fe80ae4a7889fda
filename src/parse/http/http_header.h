/* HTTP response headers as they came over the wire: the block, its fields, and the values that a
 * crawler acts upon.
 *
 * What: names are compared without case, LF alone ends a line, folded lines belong to the field
 * above, and lines that are no fields are skipped. Values are (pointer, length), not
 * NUL-terminated, and may hold any byte. Every function is linear in its input.
 * Owns: nothing, and nothing is copied: fields point into the caller's bytes.
 * Threads: pure functions.
 * Errors: RESULT_INVALID: not a header block.
 * Source: RFC 9110, 9111, 9112, 8288; the HTML standard for Refresh. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

typedef struct HttpHeader {
    unsigned status;      /* 100-999 of the final response */
    unsigned version;     /* 10 for HTTP/1.0, 11, 20 */
    const char *fields;   /* first byte behind the status line */
    size_t fields_length; /* up to the empty line, which is not included */
    uint32_t initials;    /* first letters of its lines: bit (letter & 31) */
    size_t bytes;         /* of everything up to the body, interim responses included */
    bool is_complete;     /* the empty line was there */
} HttpHeader;

typedef struct HttpField {
    const char *name;
    size_t name_length;
    const char *value; /* trimmed; line breaks of folded lines are still in it */
    size_t value_length;
} HttpField;

/* Reads a header block, behind any interim (1xx) ones. RESULT_INVALID: no status line. */
Result http_header_parse(HttpHeader *header, const char *bytes, size_t length);

/* Steps through the fields; *position starts at 0. False at the end. Here and below, *field stays
 * as it is when the answer is false. */
bool http_header_next(const HttpHeader *header, size_t *position, HttpField *field);
/* The same for the fields of one name ("Link", "X-Robots-Tag"). */
bool http_header_next_named(const HttpHeader *header, const char *name, size_t *position,
                            HttpField *field);
/* The first field of that name; false when there is none. */
bool http_header_find(const HttpHeader *header, const char *name, HttpField *field);
/* All fields of that name as one, joined with commas, as RFC 9110 5.3 understands a list that is
 * sent in several lines. A single field is borrowed as it is; several are put together in scratch,
 * whose contents go. False when there is none; without memory the first one is all. */
bool http_header_find_list(const HttpHeader *header, const char *name, Buffer *scratch,
                           HttpField *field);
/* The codings of a body from which only the chunks were taken, in the order in which they were put
 * on: Content-Encoding, then Transfer-Encoding (as an archive calls it, too) but for "chunked". As
 * http_header_find_list. */
bool http_header_codings(const HttpHeader *header, Buffer *scratch, HttpField *field);

typedef struct HttpContentType {
    const char *type; /* "text/html", not lower-cased; NULL when there is none */
    size_t type_length;
} HttpContentType;

/* The type in a Content-Type value; of its charset charset.h knows. */
HttpContentType http_header_content_type(const char *value, size_t length);
/* Whether the type is this one ("application/xhtml+xml"), without case. */
bool http_header_is_type(const HttpContentType *content_type, const char *type);
/* Whether it is one of HTML's two types. */
bool http_header_is_html(const HttpContentType *content_type);
/* Whether the type leaves it to the body what it is: none, one that says nothing (a slash between
 * two stars, unknown/unknown, application/unknown: WHATWG, MIME Sniffing), or one of XML's, which
 * XHTML may be sent as. */
bool http_header_is_open(const HttpContentType *content_type);
/* Whether an answer of that type that begins with these bytes is a page of HTML. */
bool http_header_is_page(const HttpContentType *content_type, const char *body, size_t length);

/* A date in any of HTTP's three forms, and loosely: seconds since 1970 UTC. False when it is none.
 */
bool http_header_date(const char *value, size_t length, int64_t *unix_s);
/* Retry-After: seconds from now (unix_now_s) on, never negative; -1 when the value is neither a
 * number nor a date. Capped at HTTP_MAX_SECONDS. */
#define HTTP_MAX_SECONDS INT64_C(1000000000)
int64_t http_header_retry_after(const char *value, size_t length, int64_t unix_now_s);

typedef struct HttpCacheControl {
    int64_t max_age_s; /* -1: not given */
    bool no_cache;
    bool no_store;
} HttpCacheControl;

/* Adds what one Cache-Control value says to *control, which starts as HTTP_CACHE_CONTROL_NONE. */
#define HTTP_CACHE_CONTROL_NONE ((HttpCacheControl){.max_age_s = -1})
void http_header_cache_control(const char *value, size_t length, HttpCacheControl *control);

typedef struct HttpLink {
    const char *uri; /* between "<" and ">", trimmed */
    size_t uri_length;
    const char *rel; /* without quotes, several words possible; NULL when there is none */
    size_t rel_length;
    const char *type; /* likewise */
    size_t type_length;
    bool has_anchor; /* the link is about another document */
} HttpLink;

/* Steps through the items of a Link value; *position starts at 0. Junk between items is skipped. */
bool http_header_next_link(const char *value, size_t length, size_t *position, HttpLink *link);
/* Refresh ("5; url=/x"): the time and the reference; *uri_length is 0 for the page itself. False
 * when a browser would ignore the value. */
bool http_header_refresh(const char *value, size_t length, int64_t *seconds, const char **uri,
                         size_t *uri_length);

/* HTTP freshness: for how long an answer says that asking again would bring the same.
 *
 * What: the freshness lifetime less the age that the answer had when it came:
 *   lifetime   max-age, else Expires - Date, else, when wanted, a part of Date - Last-Modified
 *   age        the greater of Age and of the time since Date
 * ragno stores for itself, so s-maxage is not for it. no-cache promises nothing. no-store forbids
 * a cache to keep the answer, but does not say that it changes: what else is said holds. immutable
 * adds nothing, since nothing is reloaded while it is fresh. A broken Age, Date or Expires is read
 * so that it promises less. A redirect with Retry-After is not to be asked for again before that.
 * Sunset is the time from which on the page is not expected to answer.
 * Threads: pure functions.
 * Source: RFC 9111 4.2 and 5.2, RFC 8246 (immutable), RFC 9110 10.2.3, RFC 8594 (Sunset). */

typedef struct HttpFreshness {
    int64_t fresh_s; /* from now on, 0 to HTTP_MAX_SECONDS; 0: nothing is promised */
    int64_t ends_s;  /* unix time of Sunset; 0: none */
} HttpFreshness;

/* now_s: unix time at which the answer came. heuristic: the share of the time since Last-Modified
 * for which an answer that says nothing else counts as fresh; 0 = none. */
HttpFreshness http_freshness_of(const HttpHeader *header, int64_t now_s, double heuristic);
