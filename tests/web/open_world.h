/* The endless world: BUbiNG's random graph server, with our names.
 *
 * A page is a directory path of numbers, "/3/1/4/index.html", or "/" for the root; its depth is the
 * number of directories. Each host has a greatest depth and a mean degree, both log-normal around
 * the options. Deeper than the greatest depth is 404, at it there are no links. One link in ten is
 * external: a host by popularity, at a random depth; of the others, half go up and half go down. */
#ifndef TESTS_WEB_OPEN_WORLD_H
#define TESTS_WEB_OPEN_WORLD_H

#include "site.h"

/* The answer for a path (not NUL-terminated) of a host. */
void open_world_reply(const Site *site, uint32_t host, const char *path, size_t length,
                      Reply *reply);

#endif
