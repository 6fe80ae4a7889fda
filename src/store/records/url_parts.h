/* The parts of a URL that the documented library knows: where its host is.
 *
 * What: http and https in lower case, as the documented page hash wants them; everything else has
 * no host. The crawler's own URLs are parsed by parse/url.
 * Threads: pure functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Where a URL's parts are, as offsets: "http://" up to authority_start, then userinfo with its "@",
 * then [host_start, host_end), then ":port", up to authority_end. */
typedef struct UrlParts {
    size_t authority_start;
    size_t host_start;
    size_t host_end;
    size_t authority_end;
} UrlParts;

/* Finds them; false when url does not begin with http:// or https:// and a host. */
bool url_parts(const char *url, size_t length, UrlParts *parts);
/* The host of url is [*start, *end). 0, or -1 when it has none. */
int url_domain(const char *url, size_t *start, size_t *end);
/* Whether both have the same host, byte by byte; when neither has one, whether they are equal. */
bool same_domain(const char *url1, const char *url2);
