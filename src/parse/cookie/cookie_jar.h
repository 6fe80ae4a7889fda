/* Cookie jar: the cookies that one host (scheme, name and port) has set, to be sent back to it.
 *
 * What: for sites that answer with a redirect until a cookie comes back. A jar is for its host
 * alone: a cookie for a whole domain is kept for the host that set it, one for another domain is
 * refused. Path, Max-Age, Expires and Secure count; prefixes (__Host-, __Secure-) demand what they
 * promise.
 *
 * Owns: its cookies, at most COOKIE_JAR_MOST in COOKIE_JAR_BYTES; the oldest go.
 * Threads: one at a time. Time is a parameter.
 * Errors: what cannot be kept is not sent.
 * Source: RFC 6265, with the prefixes of its revision. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

#define COOKIE_JAR_MOST  32u
#define COOKIE_JAR_BYTES 8192u

typedef struct CookieJar CookieJar;

/* Where a cookie comes from, and where it goes. */
typedef struct CookiePlace {
    const char *host; /* without port */
    size_t host_length;
    const char *path; /* of the URL, with or without its query */
    size_t path_length;
    bool https;
    int64_t now_s; /* unix time */
} CookiePlace;

/* NULL when memory is exhausted. */
CookieJar *cookie_jar_new(void);
void cookie_jar_delete(CookieJar *jar); /* NULL is allowed */
/* Takes the value of a Set-Cookie field. Whether the jar has something to send that it had not
 * before: a new name, or another value. */
bool cookie_jar_take(CookieJar *jar, const char *value, size_t length, const CookiePlace *place);
/* Appends "a=1; b=2": what is sent with a request. Nothing when there is nothing. */
Result cookie_jar_write(const CookieJar *jar, const CookiePlace *place, Buffer *out);
size_t cookie_jar_count(const CookieJar *jar);
/* Bytes of memory it occupies; 0 for NULL. */
size_t cookie_jar_bytes(const CookieJar *jar);
