/* Web guard: who may ask the status page for what.
 *
 *   Host            names this machine: a page of another site that has its name resolved to
 *                   127.0.0.1 (DNS rebinding) sends its own name, and is refused
 *   Origin          a script of another site says where it is from, and is refused
 *   Authorization   changing anything needs "Bearer TOKEN"
 *
 * What: judges each header by itself. Headers are as they came, from anybody.
 * Threads: any; pure. */
#ifndef CRAWL_WEB_WEB_GUARD_H
#define CRAWL_WEB_WEB_GUARD_H

#include <stdbool.h>

/* Whether a Host header (with port or without) is localhost, a loopback address, or one of names,
 * which are separated by commas and blanks. The port may be any: a forwarder has its own. */
bool web_guard_host(const char *host, const char *names);
/* Whether an Origin header is of the page itself, which was asked for as host. */
bool web_guard_origin(const char *origin, const char *host);
/* Whether an Authorization header holds the token. The time it takes does not depend on how much
 * of it is right. */
bool web_guard_token(const char *authorization, const char *token);

#endif
