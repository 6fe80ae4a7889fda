#include "parse/url/url_standard.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "parse/url/url_encode.h"
#include "parse/url/url_host.h"
#include "parse/url/url_legacy.h"
#include "parse/url/url_text.h"

typedef struct Parser {
    const char *p;   /* next byte */
    const char *end; /* of the input, which has no tabs, newlines, or bad UTF-8 */
    const Url *base; /* or NULL */
    Url *out;        /* filled from left to right */
    const char *encoding;
} Parser;

static bool is_slash(char c)
{
    return c == '/' || c == '\\';
}

static Result append_scheme(Parser *parser, bool https)
{
    parser->out->https = https;
    parser->out->port = https ? 443 : 80;
    return https ? url_append(parser->out, "https://", 8) : url_append(parser->out, "http://", 7);
}

/* Username and password: everything before the last "@" of the authority. Only the first ":"
 * separates them; empty ones leave no trace. */
static Result append_userinfo(Url *out, const char *bytes, size_t length)
{
    const char *colon = memchr(bytes, ':', length);
    size_t name_length = colon != NULL ? (size_t)(colon - bytes) : length;
    size_t password_length = colon != NULL ? length - name_length - 1 : 0;
    if (name_length == 0 && password_length == 0) {
        return RESULT_OK;
    }
    Result rc = url_encode_append(out, bytes, name_length, URL_USERINFO_SAFE);
    if (rc == RESULT_OK && password_length > 0) {
        rc = url_append(out, ":", 1);
        if (rc == RESULT_OK) {
            rc = url_encode_append(out, colon + 1, password_length, URL_USERINFO_SAFE);
        }
    }
    return rc == RESULT_OK ? url_append(out, "@", 1) : rc;
}

/* The port state: digits only, at most 65 535; the scheme's own port is not written. */
static Result append_port(Url *out, const char *p, const char *end)
{
    unsigned port = 0;
    if (p == end) {
        return RESULT_OK;
    }
    for (; p < end; p++) {
        if (*p < '0' || *p > '9') {
            return RESULT_INVALID;
        }
        port = port * 10 + (unsigned)(*p - '0');
        if (port > 65535) {
            return RESULT_INVALID;
        }
    }
    if (port == out->port) {
        return RESULT_OK;
    }
    out->port = (uint16_t)port;
    char text[8];
    size_t n = sizeof text;
    do {
        text[--n] = (char)('0' + port % 10);
        port /= 10;
    } while (port > 0);
    text[--n] = ':';
    return url_append(out, text + n, sizeof text - n);
}

/* The end of the host inside an authority: the first ":" outside brackets. */
static const char *find_host_end(const char *p, const char *end)
{
    bool in_brackets = false;
    for (; p < end; p++) {
        if (*p == '[') {
            in_brackets = true;
        } else if (*p == ']') {
            in_brackets = false;
        } else if (*p == ':' && !in_brackets) {
            break;
        }
    }
    return p;
}

/* Authority, host and port states. */
static Result url_standard_append_authority(Parser *parser)
{
    Url *out = parser->out;
    const char *start = parser->p;
    const char *end = start;
    const char *at = NULL;
    while (end < parser->end && (url_class_of(*end) & URL_AUTHORITY_END) == 0) {
        if (*end == '@') {
            at = end;
        }
        end++;
    }
    parser->p = end;
    if (at != NULL) {
        Result rc = append_userinfo(out, start, (size_t)(at - start));
        if (rc != RESULT_OK) {
            return rc;
        }
        start = at + 1;
    }
    const char *host_end = find_host_end(start, end);
    if (host_end == start) {
        return RESULT_INVALID;
    }
    out->host_start = out->length;
    Result rc = url_host_append(out, start, (size_t)(host_end - start));
    if (rc != RESULT_OK) {
        return rc;
    }
    out->host_end = out->length;
    rc = host_end < end ? append_port(out, host_end + 1, end) : RESULT_OK;
    out->path_start = out->length;
    return rc;
}

/* Takes scheme and authority from base as they are. */
static Result copy_authority(Parser *parser)
{
    Url *out = parser->out;
    const Url *base = parser->base;
    out->https = base->https;
    out->port = base->port;
    out->host_start = base->host_start;
    out->host_end = base->host_end;
    out->path_start = base->path_start;
    return url_append(out, base->href, base->path_start);
}

/* 1 for a single-dot segment, 2 for a double-dot segment, else 0; a dot may be written %2e. */
static int count_dots(const char *p, const char *end)
{
    int dots = 0;
    while (p < end && dots <= 2) {
        if (*p == '.') {
            p++;
        } else if (end - p >= 3 && p[0] == '%' && p[1] == '2' && (p[2] | 0x20) == 'e') {
            p += 3;
        } else {
            return 0;
        }
        dots++;
    }
    return dots <= 2 ? dots : 0;
}

/* Removes the last segment with its slash; a path of no segments stays one. */
static void pop_segment(Url *out)
{
    uint32_t n = out->length;
    while (n > out->path_start) {
        n--;
        if (out->href[n] == '/') {
            break;
        }
    }
    out->length = n;
}

/* The path state. A path is the list of its segments, each written with a slash before it. Every
 * byte is written once and removed at most once: linear. */
static Result url_standard_append_path(Parser *parser)
{
    Url *out = parser->out;
    for (;;) {
        const char *start = parser->p;
        const char *p = start;
        while (p < parser->end && (url_class_of(*p) & URL_AUTHORITY_END) == 0) {
            p++;
        }
        parser->p = p;
        bool last = p == parser->end || !is_slash(*p);
        int dots = count_dots(start, p);
        Result rc = RESULT_OK;
        if (dots == 2) {
            pop_segment(out);
        }
        if (dots == 0 || last) {
            rc = url_append(out, "/", 1);
        }
        if (dots == 0 && rc == RESULT_OK) {
            rc = url_encode_append(out, start, (size_t)(p - start), URL_PATH_SAFE);
        }
        if (rc != RESULT_OK || last) {
            return rc;
        }
        parser->p = p + 1;
    }
}

/* Path start state: the slash before the first segment is optional. */
static Result append_path_from_root(Parser *parser)
{
    if (parser->p < parser->end && is_slash(*parser->p)) {
        parser->p++;
    }
    return url_standard_append_path(parser);
}

/* Query state; what follows "#" is dropped. */
static Result url_standard_append_query(Parser *parser)
{
    Url *out = parser->out;
    out->query_start = out->length;
    if (parser->p == parser->end || *parser->p != '?') {
        return RESULT_OK;
    }
    const char *start = parser->p + 1;
    const char *hash = memchr(start, '#', (size_t)(parser->end - start));
    size_t length = (size_t)((hash != NULL ? hash : parser->end) - start);
    Result rc = url_append(out, "?", 1);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (url_legacy_applies(parser->encoding)) {
        return url_legacy_append(out, start, length, parser->encoding);
    }
    return url_encode_append(out, start, length, URL_QUERY_SAFE);
}

/* Special authority ignore slashes state, and all that follows. */
static Result parse_from_authority(Parser *parser, bool https)
{
    while (parser->p < parser->end && is_slash(*parser->p)) {
        parser->p++;
    }
    Result rc = append_scheme(parser, https);
    if (rc == RESULT_OK) {
        rc = url_standard_append_authority(parser);
    }
    if (rc == RESULT_OK) {
        rc = append_path_from_root(parser);
    }
    return rc == RESULT_OK ? url_standard_append_query(parser) : rc;
}

/* Relative state. */
static Result url_standard_parse_relative(Parser *parser)
{
    const Url *base = parser->base;
    if (base == NULL) {
        return RESULT_INVALID;
    }
    char first = parser->p < parser->end ? *parser->p : '#';
    if (is_slash(first) && parser->p + 1 < parser->end && is_slash(parser->p[1])) {
        return parse_from_authority(parser, base->https);
    }
    Result rc = copy_authority(parser);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (is_slash(first)) {
        rc = append_path_from_root(parser);
        return rc == RESULT_OK ? url_standard_append_query(parser) : rc;
    }
    uint32_t upto = first == '#' ? base->length : base->query_start;
    rc = url_append(parser->out, base->href + base->path_start, upto - base->path_start);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (first == '#') {
        parser->out->query_start = base->query_start;
        return RESULT_OK;
    }
    if (first != '?') {
        pop_segment(parser->out);
        rc = url_standard_append_path(parser);
    }
    return rc == RESULT_OK ? url_standard_append_query(parser) : rc;
}

/* The length of a scheme with its colon, or 0. */
static size_t scan_scheme(const char *p, const char *end)
{
    const char *start = p;
    if (p == end || (*p | 0x20) < 'a' || (*p | 0x20) > 'z') {
        return 0;
    }
    while (p < end && (url_class_of(*p) & URL_SCHEME) != 0) {
        p++;
    }
    return p < end && *p == ':' ? (size_t)(p - start) + 1 : 0;
}

static bool scheme_is(const char *scheme, size_t length, const char *name)
{
    size_t n = strlen(name);
    return length == n && strncasecmp(scheme, name, n) == 0;
}

/* Scheme start, scheme and no scheme states. */
static Result parse_clean(Parser *parser)
{
    size_t n = scan_scheme(parser->p, parser->end);
    if (n == 0) {
        return url_standard_parse_relative(parser);
    }
    bool https = scheme_is(parser->p, n, "https:");
    if (!https && !scheme_is(parser->p, n, "http:")) {
        return RESULT_INVALID;
    }
    parser->p += n;
    bool has_slashes = parser->end - parser->p >= 2 && parser->p[0] == '/' && parser->p[1] == '/';
    if (parser->base != NULL && parser->base->https == https && !has_slashes) {
        return url_standard_parse_relative(parser);
    }
    return parse_from_authority(parser, https);
}

Result url_parse_standard(Url *out, const Url *base, const char *input, size_t length,
                          const char *encoding)
{
    url_clear(out);
    if (length > URL_MAX_BYTES) {
        return RESULT_LIMIT;
    }
    const char *end = input + length;
    while (input < end && (unsigned char)*input <= ' ') {
        input++;
    }
    while (input < end && (unsigned char)end[-1] <= ' ') {
        end--;
    }
    char *copy = NULL;
    if (input < end && !url_encode_is_clean(input, (size_t)(end - input))) {
        copy = malloc((size_t)(end - input) * 3);
        if (copy == NULL) {
            return RESULT_MEMORY;
        }
        end = copy + url_encode_clean(input, (size_t)(end - input), copy);
        input = copy;
    }
    Parser parser = {.p = input, .end = end, .base = base, .out = out, .encoding = encoding};
    Result rc = parse_clean(&parser);
    if (rc == RESULT_OK && out->length > URL_MAX_BYTES) {
        rc = RESULT_LIMIT;
    }
    if (rc == RESULT_OK) {
        out->href[out->length] = '\0';
    } else {
        url_clear(out);
    }
    free(copy);
    return rc;
}
