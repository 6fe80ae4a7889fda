/* Port map: which port is connected to instead of the URL's, for tests without root.
 *
 * What: "80:8080,443:8443" connects to port 8080 for http URLs and to 8443 for https URLs. */
#pragma once

#include "base/memory/buffer.h"

#define PORT_MAP_MAX 16u

typedef struct PortMap {
    size_t n;
    uint16_t from[PORT_MAP_MAX];
    uint16_t to[PORT_MAP_MAX];
} PortMap;

/* RESULT_INVALID: error says why. */
Result port_map_parse(PortMap *map, const char *text, Buffer *error);
uint16_t port_map_port(const PortMap *map, uint16_t port);
