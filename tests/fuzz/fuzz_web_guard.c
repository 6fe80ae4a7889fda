/* Who may ask the status page: headers that anybody may have sent.
 *
 * Input: lines: Host, Origin, Authorization, the names that are allowed, the token. Besides not
 * crashing: whoever is let in names this machine or an allowed name, an origin that fits repeats
 * the host, a token that fits is all there, and an address to listen at is loopback or a path. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "crawl/web/web.h"
#include "rules/listen_address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LINES 5u

static bool names_this_machine(const char *host)
{
    return strncasecmp(host, "localhost", 9) == 0 || strncmp(host, "127.", 4) == 0 ||
           strncmp(host, "[127.", 5) == 0 || (host[0] == '[' && strchr(host, ':') != NULL);
}

static void check_host(const char *host, const char *names)
{
    if (web_guard_host(host, "")) {
        assert(names_this_machine(host) && strchr(host, '@') == NULL && strchr(host, '/') == NULL);
        assert(web_guard_host(host, names));
    } else if (web_guard_host(host, names)) {
        size_t n = *host == '[' ? strcspn(host, "]") : strcspn(host, ":");
        assert(n > 0 && n <= strlen(names));
    }
}

static void check_token(const char *authorization, const char *token)
{
    if (web_guard_token(authorization, token)) {
        const char *blank = strchr(authorization, ' ');
        assert(*token != '\0' && blank != NULL && strcmp(blank + 1, token) == 0);
    }
}

static void check_address(const char *text)
{
    ListenAddress address;
    struct sockaddr_storage to;
    Buffer error;
    buffer_init(&error, 4096);
    if (listen_address_parse(&address, text, &error) == RESULT_OK) {
        assert(error.length == 0);
        assert(address.is_unix ? *address.path != '\0' : ip_address_is_loopback(&address.ip));
        assert(listen_address_socket(&address, &to) <= sizeof to);
    } else {
        assert(error.length > 0);
    }
    buffer_destroy(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *lines[LINES] = {NULL};
    const char *at = (const char *)data;
    size_t left = size;
    for (size_t i = 0; i < LINES; i++) {
        const char *end = left == 0 ? NULL : memchr(at, '\n', left);
        size_t n = end == NULL ? left : (size_t)(end - at);
        lines[i] = n == 0 ? strdup("") : strndup(at, n);
        assert(lines[i] != NULL);
        at = end == NULL ? at : end + 1;
        left = end == NULL ? 0 : left - n - 1;
    }
    check_host(lines[0], lines[3]);
    if (web_guard_origin(lines[1], lines[0])) {
        assert(strlen(lines[1]) >= strlen(lines[0]) + 7);
    }
    check_token(lines[2], lines[4]);
    check_address(lines[0]);
    for (size_t i = 0; i < LINES; i++) {
        free(lines[i]);
    }
    return 0;
}
