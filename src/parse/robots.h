/* robots.txt by RFC 9309: groups, longest match, "*" and "$", percent-encoding; Crawl-delay and
 * Sitemap lines beside it.
 *
 * A Robots object is immutable after robots_parse: any thread may read it. Pure: no I/O, no time. */
#ifndef PARSE_ROBOTS_H
#define PARSE_ROBOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"

#define ROBOTS_MAX_BYTES (500u * 1024u) /* RFC 9309 2.5: the rest of the file is ignored */

typedef struct Robots Robots;

typedef struct RobotsVerdict {
    bool allowed;
    unsigned line;     /* of the deciding rule in the file, 1-based; 0 = no rule */
    const char *rule;  /* that line as written, trimmed ("Disallow: /x"), borrowed from Robots */
} RobotsVerdict;

/* Compiles the rules that apply to agent (a product token, compared without case). RESULT_MEMORY. */
Result robots_parse(const char *body, size_t length, const char *agent, Robots **robots);
/* Rules that allow everything, or nothing (unreachable host). RESULT_MEMORY. */
Result robots_allow_all(Robots **robots);
Result robots_deny_all(Robots **robots);
void robots_delete(Robots *robots);

/* Decides about a path with its query ("/x?y"); verdict may be NULL. */
bool robots_allows(const Robots *robots, const char *path, size_t length, RobotsVerdict *verdict);

/* Milliseconds, or -1 when the group has no (valid) Crawl-delay. */
int64_t robots_crawl_delay_ms(const Robots *robots);

size_t robots_n_sitemaps(const Robots *robots);
const char *robots_sitemap(const Robots *robots, size_t i);
/* Bytes of memory it occupies, for the frontier's budget. */
size_t robots_bytes(const Robots *robots);

#endif
