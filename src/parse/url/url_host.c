#include "parse/url/url_host.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/url/url_encode.h"
#include "parse/url/url_idna.h"

#define IPV6_PIECES 8

/* Parses a number of an IPv4 address: decimal, 0octal or 0xhex. False when it is none. Values
 * beyond 32 bits become 2^32. */
static bool parse_ipv4_number(const char *p, const char *end, uint64_t *value)
{
    int radix = 10;
    if (p == end) {
        return false;
    }
    if (end - p >= 2 && p[0] == '0' && (p[1] | 0x20) == 'x') {
        radix = 16;
        p += 2;
    } else if (end - p >= 2 && p[0] == '0') {
        radix = 8;
        p++;
    }
    uint64_t n = 0;
    for (; p < end; p++) {
        int digit = hex_value(*p);
        if (digit < 0 || digit >= radix) {
            return false;
        }
        n = n * (uint64_t)radix + (uint64_t)digit;
        n = n > UINT64_C(1) << 32 ? UINT64_C(1) << 32 : n;
    }
    *value = n;
    return true;
}

/* Whether the last label (one trailing dot aside) is a number: then the host is an IPv4 address or
 * nothing. */
static bool ends_in_number(const char *host, size_t length)
{
    if (length > 0 && host[length - 1] == '.') {
        length--;
    }
    const char *end = host + length;
    const char *label = end;
    while (label > host && label[-1] != '.') {
        label--;
    }
    if (label == end) {
        return false;
    }
    bool all_digits = true;
    for (const char *p = label; p < end; p++) {
        all_digits = all_digits && *p >= '0' && *p <= '9';
    }
    uint64_t ignored = 0;
    return all_digits || parse_ipv4_number(label, end, &ignored);
}

static bool parse_ipv4(const char *host, size_t length, uint32_t *address)
{
    if (length > 0 && host[length - 1] == '.') {
        length--;
    }
    const char *p = host;
    const char *end = host + length;
    uint64_t numbers[4];
    size_t n = 0;
    for (;;) {
        const char *dot = memchr(p, '.', (size_t)(end - p));
        const char *part_end = dot != NULL ? dot : end;
        if (n == 4 || !parse_ipv4_number(p, part_end, &numbers[n])) {
            return false;
        }
        n++;
        if (dot == NULL) {
            break;
        }
        p = dot + 1;
    }
    uint64_t result = numbers[n - 1];
    if (result >= UINT64_C(1) << (8 * (5 - n))) {
        return false;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        if (numbers[i] > 255) {
            return false;
        }
        result += numbers[i] << (8 * (3 - i));
    }
    *address = (uint32_t)result;
    return true;
}

/* What is between the brackets. The C library reads addresses as the standard does. */
static bool parse_ipv6(const char *p, const char *end, uint16_t pieces[IPV6_PIECES])
{
    char text[INET6_ADDRSTRLEN] = "";
    size_t length = (size_t)(end - p);
    if (length >= sizeof text || memchr(p, '\0', length) != NULL) {
        return false;
    }
    memcpy(text, p, length);
    if (inet_pton(AF_INET6, text, pieces) != 1) {
        return false;
    }
    for (size_t i = 0; i < IPV6_PIECES; i++) {
        pieces[i] = ntohs(pieces[i]);
    }
    return true;
}

/* The first longest run of at least two zero pieces; -1 and length 0 when there is none. */
static int find_zero_run(const uint16_t pieces[IPV6_PIECES], int *length)
{
    int best = -1;
    *length = 1;
    for (int i = 0; i < IPV6_PIECES; i++) {
        int n = 0;
        while (i + n < IPV6_PIECES && pieces[i + n] == 0) {
            n++;
        }
        if (n > *length) {
            best = i;
            *length = n;
        }
        i += n;
    }
    return best;
}

static Result append_ipv6(Url *out, const uint16_t pieces[IPV6_PIECES])
{
    char text[64];
    size_t n = 0;
    int run_length = 0;
    int run = find_zero_run(pieces, &run_length);
    text[n++] = '[';
    for (int i = 0; i < IPV6_PIECES; i++) {
        if (i == run) {
            text[n++] = ':';
            if (i == 0) {
                text[n++] = ':';
            }
            i += run_length - 1;
            continue;
        }
        n += (size_t)snprintf(text + n, sizeof text - n, i < IPV6_PIECES - 1 ? "%x:" : "%x",
                              pieces[i]);
    }
    text[n++] = ']';
    return url_append(out, text, n);
}

/* Appends the host with escapes decoded; *ascii says whether all of it is ASCII. */
static Result append_decoded(Url *out, const char *input, size_t length, bool *ascii)
{
    Result rc = url_reserve(out, out->length + length);
    if (rc != RESULT_OK) {
        return rc;
    }
    *ascii = true;
    for (size_t i = 0; i < length; i++) {
        char c = input[i];
        if (c == '%' && length - i > 2) {
            int high = hex_value(input[i + 1]);
            int low = hex_value(input[i + 2]);
            if (high >= 0 && low >= 0) {
                c = (char)(high * 16 + low);
                i += 2;
            }
        }
        *ascii = *ascii && (unsigned char)c < 0x80;
        url_put(out, c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c);
    }
    return RESULT_OK;
}

/* Replaces the decoded, not ASCII domain at start by its ASCII form. */
static Result map_domain(Url *out, uint32_t start)
{
    size_t length = out->length - start;
    char *domain = malloc(length * 3);
    if (domain == NULL) {
        return RESULT_MEMORY;
    }
    /* Decoding may have produced anything: tabs and newlines must survive to be refused. */
    for (uint32_t i = start; i < out->length; i++) {
        if ((unsigned char)out->href[i] < 0x80 && (url_class_of(out->href[i]) & URL_UNCLEAN) != 0) {
            free(domain);
            return RESULT_INVALID;
        }
    }
    size_t n = url_encode_clean(out->href + start, length, domain);
    out->length = start;
    Result rc = url_idna_append(out, domain, n);
    free(domain);
    return rc;
}

Result url_host_append(Url *out, const char *input, size_t length)
{
    if (input[0] == '[') {
        uint16_t pieces[IPV6_PIECES];
        if (length < 2 || input[length - 1] != ']' ||
            !parse_ipv6(input + 1, input + length - 1, pieces)) {
            return RESULT_INVALID;
        }
        return append_ipv6(out, pieces);
    }
    bool ascii = true;
    uint32_t start = out->length;
    Result rc = append_decoded(out, input, length, &ascii);
    if (rc == RESULT_OK && !ascii) {
        rc = map_domain(out, start);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    if (out->length == start) {
        return RESULT_INVALID;
    }
    for (uint32_t i = start; i < out->length; i++) {
        if ((url_class_of(out->href[i]) & URL_HOST_FORBIDDEN) != 0) {
            return RESULT_INVALID;
        }
    }
    const char *host = out->href + start;
    if (ends_in_number(host, out->length - start)) {
        uint32_t address = 0;
        if (!parse_ipv4(host, out->length - start, &address)) {
            return RESULT_INVALID;
        }
        char text[16];
        int n = snprintf(text, sizeof text, "%u.%u.%u.%u", address >> 24, address >> 16 & 255,
                         address >> 8 & 255, address & 255);
        out->length = start;
        return url_append(out, text, (size_t)n);
    }
    return RESULT_OK;
}
