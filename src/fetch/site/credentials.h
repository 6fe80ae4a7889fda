/* Credentials: what sites and proxies want to be told before they answer, from a file.
 *
 * What: one line each, '#' begins a remark:
 *
 *   SITE basic USER:PASSWORD          Authorization: Basic ...
 *   SITE bearer TOKEN                 Authorization: Bearer TOKEN
 *   SITE header NAME: VALUE           any header
 *   proxy HOST:PORT USER:PASSWORD     for the proxy there
 *
 * SITE is a host, or "*.example.org" for all below it; "https://" or "http://" before it and
 * ":PORT" behind it narrow it. Without a scheme a secret is sent over https only. All lines that
 * match are sent, and nowhere else: a redirect to another host does not take them along.
 *
 * Owns: the lines. Immutable once read.
 * Threads: read by one; used by any.
 * Errors: RESULT_INVALID: "LINE: what is wrong"; or that others may read the file, which is
 * refused. RESULT_NOT_FOUND, RESULT_IO, RESULT_MEMORY. */
#ifndef FETCH_SITE_CREDENTIALS_H
#define FETCH_SITE_CREDENTIALS_H

#include <stddef.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"

typedef struct Credentials Credentials;

/* error gets one sentence without the name of the file. */
Result credentials_read(Credentials **credentials, const char *path, Buffer *error);
void credentials_delete(Credentials *credentials); /* NULL is allowed */

/* The next header line for a URL; begin with *place = 0. NULL: there is no more. Borrowed.
 * credentials may be NULL. */
const char *credentials_next(const Credentials *credentials, const char *url, size_t length,
                             size_t *place);
/* "USER:PASSWORD" for the proxy of this URL, or NULL. Borrowed. */
const char *credentials_of_proxy(const Credentials *credentials, const char *proxy_url);

#endif
