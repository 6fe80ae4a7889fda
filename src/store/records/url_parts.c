#include "store/records/url_parts.h"

#include <string.h>

/* What an authority is cut at; most of its bytes are none of these. */
static const bool is_mark[256] = {['/'] = true, ['?'] = true, ['#'] = true, ['\\'] = true,
                                  ['@'] = true, [':'] = true, [']'] = true};

bool url_parts(const char *url, size_t length, UrlParts *parts)
{
    size_t start = 0;
    if (length >= 7 && memcmp(url, "http://", 7) == 0) {
        start = 7;
    } else if (length >= 8 && memcmp(url, "https://", 8) == 0) {
        start = 8;
    } else {
        return false;
    }
    size_t end = start;
    size_t host = start;
    size_t colon = 0; /* the last ":" behind userinfo and brackets */
    for (; end < length; end++) {
        char c = url[end];
        if (!is_mark[(unsigned char)c]) {
            continue;
        }
        if (c == '/' || c == '?' || c == '#' || c == '\\') {
            break;
        }
        if (c == '@') {
            host = end + 1;
            colon = 0;
        } else if (c == ':') {
            colon = colon == 0 ? end : colon;
        } else if (c == ']') {
            colon = 0;
        }
    }
    *parts = (UrlParts){.authority_start = start,
                        .host_start = host,
                        .host_end = colon == 0 ? end : colon,
                        .authority_end = end};
    return parts->host_end > parts->host_start;
}

int url_domain(const char *url, size_t *start, size_t *end)
{
    UrlParts parts;
    if (!url_parts(url, strlen(url), &parts)) {
        return -1;
    }
    *start = parts.host_start;
    *end = parts.host_end;
    return 0;
}

bool same_domain(const char *url1, const char *url2)
{
    size_t start1 = 0, end1 = 0, start2 = 0, end2 = 0;
    int rc1 = url_domain(url1, &start1, &end1);
    int rc2 = url_domain(url2, &start2, &end2);
    if (rc1 != 0 || rc2 != 0) {
        return rc1 != 0 && rc2 != 0 && strcmp(url1, url2) == 0;
    }
    return end1 - start1 == end2 - start2 &&
           memcmp(url1 + start1, url2 + start2, end1 - start1) == 0;
}
