/* The closed world: pages 0..N-1 over H hosts, for tests of completeness.
 *
 * Page i below H is the root of host i; the others belong to hosts of unequal size. Page i is
 * linked from page (i-1)/10, so that everything is reachable from page 0; further links go to
 * pages chosen with a power law. Some links lead to redirects ("/go/N", to page N), some to pages
 * that robots.txt forbids ("/private/fN.html"), and with the options some to 404 and to errors:
 * none of these belongs to the N pages. Where robots.txt allows it, some of the N are under
 * /private/. */
#ifndef TESTS_WEB_CLOSED_WORLD_H
#define TESTS_WEB_CLOSED_WORLD_H

#include <stdio.h>

#include "site.h"

/* The table of hosts: options->pages entries, malloc'd, or NULL. */
uint32_t *closed_world_hosts(const WebOptions *options);

/* The path of page number, NUL-terminated; returns its length. */
#define CLOSED_PATH_BYTES 64
size_t closed_world_path(const Site *site, uint32_t page, char path[CLOSED_PATH_BYTES]);

/* The answer to a request for a path of a host. */
void closed_world_reply(const Site *site, uint32_t host, const Request *request, Reply *reply);
/* The sitemap of a host: all its pages. */
void closed_world_sitemap(const Site *site, uint32_t host, Reply *reply);
/* All N URLs, one per line. */
void closed_world_print(const Site *site, FILE *file);

#endif
