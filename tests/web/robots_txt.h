/* The robots.txt of each host: a deterministic mix of what is met in the wild.
 *
 * About half of the hosts forbid /private/, each in its own way; pages link there all the same, so
 * that a test can see a crawler obey. Pure. */
#ifndef TESTS_WEB_ROBOTS_TXT_H
#define TESTS_WEB_ROBOTS_TXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "misbehaviour.h"
#include "options.h"
#include "reply.h"

/* True if this host's robots.txt keeps a crawler named "ragno" out of paths under /private/. */
bool robots_txt_forbids_private(const WebOptions *options, uint32_t host);
/* True if this host forbids the path; path is not NUL-terminated. */
bool robots_txt_forbids(const WebOptions *options, uint32_t host, const char *path, size_t length);
/* Crawl-delay of the host in milliseconds, which every other one says as a Request-rate; 0 when it
 * has none. */
unsigned robots_txt_crawl_delay_ms(const WebOptions *options, uint32_t host);
/* The answer to GET /robots.txt; name is the host's name. */
void robots_txt_reply(const WebOptions *options, const TrickKit *kit, uint32_t host,
                      const char *name, Reply *reply);

#endif
