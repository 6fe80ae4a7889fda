#include "crawl/web/web_guard.h"

#include <string.h>
#include <strings.h>

#include "rules/listen_address.h"

#define SEPARATORS ", \t"

/* Bytes of a Host header without its port; 0: it is none. */
static size_t name_length(const char *host)
{
    if (*host == '[') {
        const char *end = strchr(host, ']');
        return end != NULL && (end[1] == '\0' || end[1] == ':') ? (size_t)(end + 1 - host) : 0;
    }
    return strcspn(host, ":");
}

static bool has_port_or_end(const char *rest)
{
    return *rest == '\0' || (*rest == ':' && rest[1 + strspn(rest + 1, "0123456789")] == '\0');
}

bool web_guard_host(const char *host, const char *names)
{
    IpAddress address;
    size_t n = name_length(host);
    if (n == 0 || !has_port_or_end(host + n)) {
        return false;
    }
    if (n == 9 && strncasecmp(host, "localhost", n) == 0) {
        return true;
    }
    if (ip_address_parse(host, n, &address) == RESULT_OK && listen_address_is_loopback(&address)) {
        return true;
    }
    for (names += strspn(names, SEPARATORS); *names != '\0'; names += strspn(names, SEPARATORS)) {
        size_t length = strcspn(names, SEPARATORS);
        if (length == n && strncasecmp(host, names, n) == 0) {
            return true;
        }
        names += length;
    }
    return false;
}

bool web_guard_origin(const char *origin, const char *host)
{
    size_t scheme = strncmp(origin, "http://", 7) == 0 ? 7 : 8;
    return (scheme == 7 || strncmp(origin, "https://", 8) == 0) &&
           strcasecmp(origin + scheme, host) == 0;
}

bool web_guard_token(const char *authorization, const char *token)
{
    static const char scheme[] = "Bearer ";
    size_t n = strlen(token);
    if (n == 0 || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0) {
        return false;
    }
    const char *given = authorization + sizeof scheme - 1;
    size_t length = strlen(given);
    unsigned differs = length != n;
    for (size_t i = 0; i < n; i++) {
        differs |= (unsigned char)token[i] ^ (unsigned char)(i < length ? given[i] : 0);
    }
    return differs == 0;
}
