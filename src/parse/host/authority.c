#include "parse/host/authority.h"

#include <string.h>

/* What an authority is cut at; most of its bytes are none of these. */
static const bool is_mark[256] = {
    ['/'] = true, ['?'] = true, ['@'] = true, [':'] = true, [']'] = true};

Authority authority_of(const char *href, size_t length)
{
    bool https = length > 4 && href[4] == 's';
    size_t start = https ? sizeof "https://" - 1 : sizeof "http://" - 1;
    start = start < length ? start : length;
    Authority at = {.start = start, .host = start, .port = https ? 443 : 80};
    size_t colon = 0; /* the last one behind user information and brackets */
    for (at.end = start; at.end < length; at.end++) {
        size_t i = at.end;
        if (!is_mark[(unsigned char)href[i]]) {
            continue;
        }
        if (href[i] == '/' || href[i] == '?') {
            break;
        }
        if (href[i] == '@') {
            at.host = i + 1;
            colon = 0;
        } else if (href[i] == ']') {
            colon = 0;
        } else if (href[i] == ':') {
            colon = i;
        }
    }
    at.host_end = colon != 0 ? colon : at.end;
    if (colon != 0 && colon + 1 < at.end) {
        uint32_t port = 0;
        for (size_t i = colon + 1; i < at.end; i++) {
            bool is_digit = href[i] >= '0' && href[i] <= '9';
            port = !is_digit || port > UINT16_MAX ? 0 : port * 10 + (uint32_t)(href[i] - '0');
        }
        at.port = port > UINT16_MAX ? 0 : (uint16_t)port;
    }
    return at;
}

size_t authority_strip(char *href, size_t length)
{
    Authority at = authority_of(href, length);
    if (at.host == at.start) {
        return length;
    }
    memmove(href + at.start, href + at.host, length - at.host + 1);
    return length - (at.host - at.start);
}
