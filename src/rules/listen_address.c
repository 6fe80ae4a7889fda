#include "rules/listen_address.h"

#include <string.h>

#include "parse/host/port_set.h"

#define UNIX_PREFIX "unix:"

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
    const char *digits = colon == NULL ? text : colon + 1;
    int port = port_read(&digits);
    address->port = (uint16_t)port;
    if (port < 0 || *digits != '\0' || ip_address_parse(host, length, &address->ip) != RESULT_OK) {
        (void)buffer_printf(
            error, "'%.200s' is no address; give 127.0.0.1:PORT, [::1]:PORT or unix:PATH", text);
        return RESULT_INVALID;
    }
    if (!ip_address_is_loopback(&address->ip)) {
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
    if (address->is_unix) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        memset(out, 0, sizeof *out);
        memcpy(name.sun_path, address->path, sizeof name.sun_path);
        memcpy(out, &name, sizeof name);
        return sizeof name;
    }
    return ip_address_to_socket(&address->ip, address->port, out);
}
