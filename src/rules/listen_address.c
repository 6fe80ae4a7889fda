#include "rules/listen_address.h"

#include <string.h>

#define UNIX_PREFIX "unix:"

bool listen_address_is_loopback(const IpAddress *address)
{
    static const uint8_t one[16] = {[15] = 1};
    return address->v6 ? memcmp(address->bytes, one, sizeof one) == 0 : address->bytes[12] == 127;
}

static bool listen_address_parse_port(const char *text, uint16_t *port)
{
    unsigned n = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0') {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        n = n * 10 + (unsigned)(text[i] - '0');
    }
    *port = (uint16_t)n;
    return n <= 65535;
}

Result listen_address_parse(ListenAddress *address, const char *text, Buffer *error)
{
    *address = (ListenAddress){.port = 0};
    if (strncmp(text, UNIX_PREFIX, sizeof UNIX_PREFIX - 1) == 0) {
        const char *path = text + sizeof UNIX_PREFIX - 1;
        size_t n = strlen(path);
        if (n == 0 || n >= sizeof address->path) {
            (void)buffer_printf(error, "the path of a Unix socket has 1 to %zu bytes",
                                sizeof address->path - 1);
            return RESULT_INVALID;
        }
        address->is_unix = true;
        memcpy(address->path, path, n + 1);
        return RESULT_OK;
    }
    const char *colon = strrchr(text, ':');
    const char *host = colon == NULL ? "127.0.0.1" : text;
    size_t length = colon == NULL ? strlen(host) : (size_t)(colon - text);
    if (length == 9 && strncmp(host, "localhost", 9) == 0) {
        host = "127.0.0.1";
    }
    if (!listen_address_parse_port(colon == NULL ? text : colon + 1, &address->port) ||
        ip_address_parse(host, length, &address->ip) != RESULT_OK) {
        (void)buffer_printf(
            error, "'%.200s' is no address; give 127.0.0.1:PORT, [::1]:PORT or unix:PATH", text);
        return RESULT_INVALID;
    }
    if (!listen_address_is_loopback(&address->ip)) {
        (void)buffer_printf(error,
                            "%.200s can be reached from elsewhere, and the page knows no users; "
                            "listen at 127.0.0.1, and let ssh -L or a web server forward to it",
                            text);
        return RESULT_INVALID;
    }
    return RESULT_OK;
}

socklen_t listen_address_socket(const ListenAddress *address, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (address->is_unix) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        memcpy(name.sun_path, address->path, sizeof name.sun_path);
        memcpy(out, &name, sizeof name);
        return sizeof name;
    }
    if (address->ip.v6) {
        struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_port = htons(address->port)};
        memcpy(&name.sin6_addr, address->ip.bytes, 16);
        memcpy(out, &name, sizeof name);
        return sizeof name;
    }
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(address->port)};
    memcpy(&name.sin_addr, address->ip.bytes + 12, 4);
    memcpy(out, &name, sizeof name);
    return sizeof name;
}
