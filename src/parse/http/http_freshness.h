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
#ifndef PARSE_HTTP_HTTP_FRESHNESS_H
#define PARSE_HTTP_HTTP_FRESHNESS_H

#include "parse/http/http_header.h"

typedef struct HttpFreshness {
    int64_t fresh_s; /* from now on, 0 to HTTP_MAX_SECONDS; 0: nothing is promised */
    int64_t ends_s;  /* unix time of Sunset; 0: none */
} HttpFreshness;

/* now_s: unix time at which the answer came. heuristic: the share of the time since Last-Modified
 * for which an answer that says nothing else counts as fresh; 0 = none. */
HttpFreshness http_freshness_of(const HttpHeader *header, int64_t now_s, double heuristic);

#endif
