/* URL, its form: the parts of an absolute URL and what a reference may fail by.
 *
 * What: the types that its parts share; url.h has the functions.
 * Owns: what each comment says.
 * Threads: as url.h says. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

/* Longer input, and input whose result would be longer, is refused outright (RESULT_LIMIT). */
#define URL_MAX_BYTES ((size_t)1024 * 1024)

typedef struct Url {
    char *href;           /* "http://user@host:81/path?query", NUL-terminated; owned */
    uint32_t length;      /* of href */
    uint32_t capacity;    /* allocated */
    uint32_t host_start;  /* after "//" and userinfo */
    uint32_t host_end;    /* before ":port" */
    uint32_t path_start;  /* the first "/" of the path; authority ends here */
    uint32_t query_start; /* the "?" or length when there is no query */
    uint16_t port;        /* effective port: 80, 443 or the one given */
    bool https;
} Url;

/* Makes an empty Url; allocates nothing. */
void url_init(Url *url);
/* Frees the string; the Url is empty afterwards and may be used again. */
void url_destroy(Url *url);
