#include "parse/host/port_set.h"

#include <stdlib.h>
#include <string.h>

static const uint16_t bad_ports[] = {
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
    /* not in the standard */
    6379, 11211};

bool port_is_bad(uint16_t port)
{
    for (size_t i = 0; i < sizeof bad_ports / sizeof *bad_ports; i++) {
        if (bad_ports[i] == port) {
            return true;
        }
    }
    return false;
}

bool port_set_has(const PortSet *ports, uint16_t port)
{
    return ports == NULL ? !port_is_bad(port) : (ports->bits[port >> 6] >> (port & 63) & 1) != 0;
}

static void port_set_add(PortSet *ports, int first, int last)
{
    for (int port = first; port <= last; port++) {
        ports->bits[port >> 6] |= UINT64_C(1) << (port & 63);
    }
}

int port_read(const char **text)
{
    int port = -1;
    while (**text >= '0' && **text <= '9') {
        port = (port < 0 ? 0 : port * 10) + (*(*text)++ - '0');
        port = port > 65536 ? 65536 : port;
    }
    return port > 65535 ? -1 : port;
}

Result port_set_parse(PortSet *ports, const char *list, Buffer *error)
{
    memset(ports, 0, sizeof *ports);
    list += strspn(list, ", \t");
    if (*list == '\0') {
        port_set_add(ports, 1, 65535);
    }
    while (*list != '\0') {
        const char *word = list;
        int first = port_read(&list);
        int last = first;
        if (*list == '-') {
            list++;
            last = port_read(&list);
        }
        if (first <= 0 || last < first || strchr(", \t", *list) == NULL) {
            memset(ports, 0, sizeof *ports);
            (void)buffer_printf(error,
                                "'%.*s' is not a port; expected a list such as 80,443,8000-8999",
                                (int)strcspn(word, ", \t"), word);
            return RESULT_INVALID;
        }
        port_set_add(ports, first, last);
        list += strspn(list, ", \t");
    }
    for (size_t i = 0; i < sizeof bad_ports / sizeof *bad_ports; i++) {
        ports->bits[bad_ports[i] >> 6] &= ~(UINT64_C(1) << (bad_ports[i] & 63));
    }
    return RESULT_OK;
}
