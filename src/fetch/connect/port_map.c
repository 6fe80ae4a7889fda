#include "fetch/connect/port_map.h"

#include <string.h>

#include "parse/host/port_set.h"

Result port_map_parse(PortMap *map, const char *text, Buffer *error)
{
    *map = (PortMap){.n = 0};
    while (*(text += strspn(text, ", \t")) != '\0') {
        const char *rest = text;
        int from = port_read(&rest);
        int to = *rest == ':' ? (rest++, port_read(&rest)) : 0;
        if (from <= 0 || to <= 0 || map->n == PORT_MAP_MAX) {
            (void)buffer_printf(error, "'%s': expected at most %u pairs such as 80:8080", text,
                                PORT_MAP_MAX);
            return RESULT_INVALID;
        }
        map->from[map->n] = (uint16_t)from;
        map->to[map->n] = (uint16_t)to;
        map->n++;
        text = rest;
    }
    return RESULT_OK;
}

uint16_t port_map_port(const PortMap *map, uint16_t port)
{
    for (size_t i = 0; i < map->n; i++) {
        if (map->from[i] == port) {
            return map->to[i];
        }
    }
    return port;
}
