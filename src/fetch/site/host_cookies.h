/* Host cookies: what a host has set, taken from its answers and sent with its requests.
 *
 * What: with fetch.cookies. The jar (parse/cookie/cookie_jar.h) is part of the visit state, and
 * lost with it: a host that is forgotten begins a new session. Owns: nothing. Threads: the one that
 * holds the visit state. */
#ifndef FETCH_SITE_HOST_COOKIES_H
#define FETCH_SITE_HOST_COOKIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frontier/visit/visit_state.h"

/* Takes the cookies of an answer to one of the host's URLs. Whether there is a new one. Without
 * memory they are not kept. */
bool host_cookies_take(VisitState *visit_state, const char *header, size_t length, const char *url,
                       int64_t now_s);
/* Appends "Cookie: ..." for a URL of the host; nothing when there is none. */
Result host_cookies_write(const VisitState *visit_state, const char *url, int64_t now_s,
                          Buffer *line);

#endif
