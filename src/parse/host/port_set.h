/* Port set: ports that a crawler connects to.
 *
 * What: a set of ports. Two kinds are never in it: the bad ports of the Fetch standard, behind
 * which other protocols wait (22 is SSH, 25 is mail), with port 0, which is none; and the ports of
 * two services that obey lines of text, so that the request of a link that somebody else wrote
 * would be a command: 6379 (Redis) and 11211 (memcached). An operator can narrow the rest.
 *
 * Threads: immutable once made; any thread may ask. Pure.
 * Source: fetch.spec.whatwg.org, section "Port blocking". */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

typedef struct PortSet {
    uint64_t bits[65536 / 64];
} PortSet;

/* Whether no URL with this port is ever fetched. */
bool port_is_bad(uint16_t port);

/* A port at *text, which is moved behind it; -1 when there is none. */
int port_read(const char **text);
/* list: ports and ranges, such as "80,443,8000-8999"; "" = all. Bad ports are left out.
 * RESULT_INVALID: error says which word is not a port; the set is empty then. */
Result port_set_parse(PortSet *ports, const char *list, Buffer *error);
/* Whether the set has a port. ports NULL means all ports that are not bad. */
bool port_set_has(const PortSet *ports, uint16_t port);
