#include "store/lmdb/util.h"

#include <string.h>

uint8_t *varint_encode_uint64(uint64_t n, uint8_t *out)
{
    while (n >= 0x80) {
        *out++ = (uint8_t)(n | 0x80);
        n >>= 7;
    }
    *out++ = (uint8_t)n;
    return out;
}

uint64_t varint_sign_fold(int64_t n)
{
    if (n >= 0) {
        return (uint64_t)n << 1;
    }
    return (-(uint64_t)n << 1) | 1;
}

int64_t varint_sign_unfold(uint64_t u)
{
    if ((u & 1) == 0) {
        return (int64_t)(u >> 1);
    }
    return u == 1 ? INT64_MIN : -(int64_t)(u >> 1);
}

uint8_t *varint_encode_int64(int64_t n, uint8_t *out)
{
    return varint_encode_uint64(varint_sign_fold(n), out);
}

uint64_t varint_decode_uint64(const uint8_t *in, uint8_t *read)
{
    uint64_t n = 0;
    const uint8_t *end = varint_read(in, in + MAX_VARINT_SIZE, &n);
    *read = end == NULL ? 0 : (uint8_t)(end - in);
    return n;
}

int64_t varint_decode_int64(const uint8_t *in, uint8_t *read)
{
    return varint_sign_unfold(varint_decode_uint64(in, read));
}

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
