#include "fetch/connect/port_map.h"

#include <stdlib.h>
#include <string.h>

static const char *port_map_parse_port(const char *text, uint16_t *port)
{
    char *end = NULL;
    unsigned long value = strtoul(text, &end, 10);
    if (end == text || value == 0 || value > 65535) {
        return NULL;
    }
    *port = (uint16_t)value;
    return end;
}

Result port_map_parse(PortMap *map, const char *text, Buffer *error)
{
    *map = (PortMap){.n = 0};
    while (*(text += strspn(text, ", \t")) != '\0') {
        uint16_t from = 0;
        uint16_t to = 0;
        const char *rest = port_map_parse_port(text, &from);
        if (rest != NULL && *rest == ':') {
            rest = port_map_parse_port(rest + 1, &to);
        }
        if (rest == NULL || to == 0 || map->n == PORT_MAP_MAX) {
            (void)buffer_printf(error, "'%s': expected at most %u pairs such as 80:8080", text,
                                PORT_MAP_MAX);
            return RESULT_INVALID;
        }
        map->from[map->n] = from;
        map->to[map->n] = to;
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
