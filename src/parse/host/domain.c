#include "parse/host/domain.h"

#include <libpsl.h>
#include <string.h>

#define DNS_MAX_BYTES 253

bool domain_is_address(const char *host, size_t length)
{
    if (length == 0 || host[0] == '[') {
        return length > 0;
    }
    /* The URL parser lets a last label of digits through only as part of an IPv4 address. */
    size_t digits = 0;
    while (digits < length && host[length - 1 - digits] >= '0' &&
           host[length - 1 - digits] <= '9') {
        digits++;
    }
    return digits > 0 && digits < length && host[length - 1 - digits] == '.';
}

Domain domain_registered(const char *host, size_t length)
{
    if (length > 0 && host[length - 1] == '.') {
        length--;
    }
    Domain whole = {.name = host, .length = length};
    const psl_ctx_t *list = psl_builtin();
    if (length == 0 || length > DNS_MAX_BYTES || list == NULL || domain_is_address(host, length)) {
        return whole;
    }
    char text[DNS_MAX_BYTES + 1];
    memcpy(text, host, length);
    text[length] = '\0';
    const char *found = psl_registrable_domain(list, text);
    if (found == NULL) {
        return whole;
    }
    size_t skipped = (size_t)(found - text);
    return (Domain){.name = host + skipped, .length = length - skipped};
}

Domain domain_of_url(const Url *url)
{
    return domain_registered(url->href + url->host_start, url->host_end - url->host_start);
}

const char *domain_list_sha1(void)
{
    const char *sum = psl_builtin_sha1sum();
    return sum == NULL ? "" : sum;
}

bool domain_contains(const char *name, size_t name_length, const char *host, size_t length)
{
    if (length > 0 && host[length - 1] == '.') {
        length--;
    }
    if (name_length == 0 || name_length > length ||
        memcmp(host + length - name_length, name, name_length) != 0) {
        return false;
    }
    return name_length == length || host[length - name_length - 1] == '.';
}
