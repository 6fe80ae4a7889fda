#include "parse/url/url.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "parse/url/url_encode.h"
#include "parse/url/url_host.h"
#include "parse/url/url_legacy.h"

/* ---- URLs that are in normal form already, resolved by one scan with a table ---- */

/* Almost every link of a real page is printable ASCII that the standard would leave as it is, apart
 * from leading "./" and "../". Such input is checked by one scan with a table and copied in two
 * pieces: what is kept of base, and the input up to the fragment. Anything that could need more
 * (upper-case hosts, default ports, escapes, inner dot segments, backslashes, white space) is left
 * to the states of the standard. */

/* How the two ways divide the work (url_parse_in_document):
 *
 *   url_fast_parse       normal form     "http://", "https://", "//host", "/path", "?q", "#f",
 * "a/b" |  false: not sure url_parse_standard   anything        clean -> scheme -> authority ->
 * host -> port -> path -> query
 *
 * The first may say false as often as it likes; what it accepts must be what the second one makes
 * of it (tests/fuzz/fuzz_url.c compares them). It writes nothing into `out` before it is sure but
 * offsets, which the second one sets anew. */
typedef struct Pieces {
    const char *kept; /* of base's href, from its start */
    size_t n_kept;
    const char *rest; /* of the input */
    const char *end;  /* of the input */
} Pieces;

/* Whether the segment at p is, or could be, a dot segment: ".", "..", and either with "%2e", which
 * is said of anything that begins so. Names like ".well-known" and "..a" are none. */
static bool is_dotted(const char *p, const char *end)
{
    if (p == end) {
        return false;
    }
    if (*p == '%') {
        return end - p >= 3 && p[1] == '2' && (p[2] | 0x20) == 'e';
    }
    if (*p != '.') {
        return false;
    }
    p++;
    if (p < end && *p == '.') {
        p++;
    }
    return p == end || *p == '%' || (url_class_of(*p) & URL_AUTHORITY_END) != 0;
}

/* Scans a path from the start of a segment to "?", "#" or the end; NULL when it is not plain. */
static const char *scan_path(const char *p, const char *end)
{
    if (is_dotted(p, end)) {
        return NULL;
    }
    for (;;) {
        while (p < end && (url_class_of(*p) & URL_PATH_SAFE) != 0) {
            p++;
        }
        if (p == end || *p == '?' || *p == '#') {
            return p;
        }
        if (*p != '/' || is_dotted(p + 1, end)) {
            return NULL;
        }
        p++;
    }
}

/* Scans from "?", "#" or the end to "#" or the end; NULL when the query is not plain. */
static const char *scan_query(const char *p, const char *end)
{
    if (p < end && *p == '?') {
        p++;
        while (p < end && (url_class_of(*p) & URL_QUERY_SAFE) != 0) {
            p++;
        }
    }
    return p == end || *p == '#' ? p : NULL;
}

/* Scans a host that is no number and needs no mapping; NULL when it may be anything else. The
 * last label decides: one that begins with a digit may make the whole an IPv4 address
 * ("0x7f.1"), which the standard rewrites. */
static const char *scan_host(const char *p, const char *end)
{
    const char *start = p;
    const char *label = p; /* the last one that is not empty at the end of the name */
    while (p < end && (url_class_of(*p) & URL_HOST_PLAIN) != 0) {
        if (*p == '.' && p + 1 < end && (url_class_of(p[1]) & URL_HOST_PLAIN) != 0) {
            label = p + 1;
        }
        p++;
    }
    bool plain = p > start && *label != '.' && (*label < '0' || *label > '9');
    return plain ? p : NULL;
}

/* Scans ":81" in normal form; NULL when it is not, or is the scheme's own port, which is not
 * written. A leading zero would be dropped, and an empty port with its colon. */
static const char *scan_port(const char *p, const char *end, uint16_t *port)
{
    unsigned value = 0;
    const char *start = ++p;
    while (p < end && *p >= '0' && *p <= '9' && p - start < 5) {
        value = value * 10 + (unsigned)(*p - '0');
        p++;
    }
    bool ended = p == end || *p == '/' || *p == '?' || *p == '#';
    if (p == start || *start == '0' || value > 65535 || value == *port || !ended) {
        return NULL;
    }
    *port = (uint16_t)value;
    return p;
}

/* Writes out what both pieces are; out's offsets up to path_start are set. A missing path (after an
 * authority) becomes "/". */
static bool url_fast_finish(Url *out, const Pieces *pieces, const char *path_end,
                            const char *query_end)
{
    size_t n_path = (size_t)(path_end - pieces->rest);
    size_t n_query = (size_t)(query_end - path_end);
    /* One more, for the slash that may be missing. */
    size_t length = pieces->n_kept + n_path + 1 + n_query;
    if (length > URL_MAX_BYTES || url_reserve(out, length) != RESULT_OK) {
        return false;
    }
    char *to = out->href;
    memcpy(to, pieces->kept, pieces->n_kept);
    to += pieces->n_kept;
    memcpy(to, pieces->rest, n_path);
    to += n_path;
    if ((size_t)(to - out->href) == out->path_start) {
        *to++ = '/';
    }
    out->query_start = (uint32_t)(to - out->href);
    memcpy(to, path_end, n_query);
    to += n_query;
    *to = '\0';
    out->length = (uint32_t)(to - out->href);
    return true;
}

/* "http://host:81/path?query" (kept is empty) or "//host..." (kept is base's scheme). */
static bool parse_absolute(Url *out, const Pieces *pieces, const char *host, bool https)
{
    const char *end = pieces->end;
    const char *p = scan_host(host, end);
    if (p == NULL) {
        return false;
    }
    const char *host_end = p;
    uint16_t port = https ? 443 : 80;
    if (p < end && *p == ':') {
        p = scan_port(p, end, &port);
    }
    if (p == NULL || (p < end && *p != '/' && *p != '?' && *p != '#')) {
        return false;
    }
    const char *authority_end = p;
    if (p < end && *p == '/') {
        p = scan_path(p + 1, end);
    }
    const char *query_end = p == NULL ? NULL : scan_query(p, end);
    if (query_end == NULL) {
        return false;
    }
    out->https = https;
    out->port = port;
    /* Offsets into what url_fast_finish puts together: `rest` begins behind what is kept of
     * base. */
    out->host_start = (uint32_t)(pieces->n_kept + (size_t)(host - pieces->rest));
    out->host_end = (uint32_t)(pieces->n_kept + (size_t)(host_end - pieces->rest));
    out->path_start = (uint32_t)(pieces->n_kept + (size_t)(authority_end - pieces->rest));
    return url_fast_finish(out, pieces, p, query_end);
}

/* Length of base's href up to and including the last slash of its path before upto. It ends,
 * because a path begins with a slash (invariant 3 of url.h). */
static uint32_t directory(const Url *base, uint32_t upto)
{
    while (base->href[upto - 1] != '/') {
        upto--;
    }
    return upto;
}

/* "./" and "../" at the start of a relative path: shortens what is kept of base. At the root ".."
 * leads nowhere else. */
static void climb(Pieces *pieces, const Url *base)
{
    uint32_t kept = directory(base, base->query_start);
    const char *p = pieces->rest;
    for (;;) {
        if (pieces->end - p >= 2 && p[0] == '.' && p[1] == '/') {
            p += 2;
        } else if (pieces->end - p >= 3 && p[0] == '.' && p[1] == '.' && p[2] == '/') {
            p += 3;
            kept = kept - 1 > base->path_start ? directory(base, kept - 1) : kept;
        } else {
            break;
        }
    }
    pieces->rest = p;
    pieces->n_kept = kept;
}

/* A scheme would end with a ":" in the first segment. Also "a:b" without slashes has one. */
static bool may_have_scheme(const char *p, const char *end)
{
    while (p < end && (url_class_of(*p) & URL_SCHEME) != 0) {
        p++;
    }
    return p < end && *p == ':';
}

static bool url_fast_parse_relative(Url *out, const Url *base, Pieces *pieces)
{
    const char *p = pieces->rest;
    const char *end = pieces->end;
    /* An empty reference is base without its fragment, as "#" is. */
    char first = p < end ? *p : '#';
    if (first == '/') {
        pieces->n_kept = base->path_start;
        p = scan_path(p + 1, end);
    } else if (first == '?') {
        pieces->n_kept = base->query_start;
    } else if (first == '#') {
        pieces->n_kept = base->length;
    } else if (may_have_scheme(p, end)) {
        return false;
    } else {
        climb(pieces, base);
        p = scan_path(pieces->rest, end);
    }
    const char *query_end = p == NULL ? NULL : scan_query(p, end);
    if (query_end == NULL) {
        return false;
    }
    out->https = base->https;
    out->port = base->port;
    out->host_start = base->host_start;
    out->host_end = base->host_end;
    out->path_start = base->path_start;
    bool done = url_fast_finish(out, pieces, p, query_end);
    /* All of base was kept, so its query begins where it did there. */
    if (done && first == '#') {
        out->query_start = base->query_start;
    }
    return done;
}

bool url_fast_parse(Url *out, const Url *base, const char *input, size_t length)
{
    if (length > URL_MAX_BYTES) {
        return false;
    }
    Pieces pieces = {.kept = "", .n_kept = 0, .rest = input, .end = input + length};
    if (length > 8 && memcmp(input, "https://", 8) == 0) {
        return parse_absolute(out, &pieces, input + 8, true);
    }
    if (length > 7 && memcmp(input, "http://", 7) == 0) {
        return parse_absolute(out, &pieces, input + 7, false);
    }
    if (base == NULL || base->length == 0) {
        return false;
    }
    pieces.kept = base->href;
    if (length > 1 && input[0] == '/' && input[1] == '/') {
        pieces.n_kept = base->https ? 6 : 5; /* "https:" */
        return parse_absolute(out, &pieces, input + 2, base->https);
    }
    /* A backslash is a slash, so this is "//host". */
    if (length > 1 && input[0] == '/' && input[1] == '\\') {
        return false;
    }
    return url_fast_parse_relative(out, base, &pieces);
}

/* ---- The states of the URL standard, in order ---- */

/* What is written into `out` is looked at again by the checks of a host and by pop_segment only;
 * so a pass over the input is all. */
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
        /* At each digit, so that no number of them overflows. */
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

/* Authority, host and port states. The authority ends at the first slash, backslash, "?" or "#",
 * whatever stands before it; of several "@" the last one ends the user's information, or
 * "http://a@b@c/" would lead to two hosts. */
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
    /* The end of the host inside an authority: the first ":" outside brackets. */
    const char *p = start;
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
    const char *host_end = p;
    /* "http://:80/" and "http://?q" have none. */
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

/* 1 for a single-dot segment, 2 for a double-dot segment, else 0; a dot may be written %2e in
 * either case, and each of two by itself. */
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
        /* "a/.." and "a/." end with a slash: the last segment is empty then. */
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
    /* The one part that depends on the document: a browser sends the query in its encoding. */
    if (url_legacy_applies(parser->encoding)) {
        return url_legacy_append(out, start, length, parser->encoding);
    }
    return url_encode_append(out, start, length, URL_QUERY_SAFE);
}

/* Special authority ignore slashes state, and all that follows. Any number of slashes: "http:/a",
 * "http:a" and "http:////a" are all "http://a/" in a browser. */
static Result parse_from_authority(Parser *parser, bool https)
{
    while (parser->p < parser->end && is_slash(*parser->p)) {
        parser->p++;
    }
    parser->out->https = https;
    parser->out->port = https ? 443 : 80;
    Result rc =
        https ? url_append(parser->out, "https://", 8) : url_append(parser->out, "http://", 7);
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
    /* What is kept of base: all but the fragment for "#", path without query for "?" and for a
     * path, whose last segment is replaced. */
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

/* Scheme start, scheme and no scheme states. "http:x" without slashes is relative to a base of the
 * same scheme, and absolute without one; old pages have such links. */
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
    /* C0 controls and blanks at both ends go before anything else. Tabs and newlines within are
     * dropped by url_encode_clean. */
    while (input < end && (unsigned char)*input <= ' ') {
        input++;
    }
    while (input < end && (unsigned char)end[-1] <= ' ') {
        end--;
    }
    char *copy = NULL;
    if (input < end && !url_encode_is_clean(input, (size_t)(end - input))) {
        /* An invalid byte becomes U+FFFD, three bytes. */
        copy = malloc((size_t)(end - input) * 3);
        if (copy == NULL) {
            return RESULT_MEMORY;
        }
        end = copy + url_encode_clean(input, (size_t)(end - input), copy);
        input = copy;
    }
    Parser parser = {.p = input, .end = end, .base = base, .out = out, .encoding = encoding};
    Result rc = parse_clean(&parser);
    /* Escapes may have made it three times as long as the input. */
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

/* ---- URLs as browsers understand them ---- */

Result url_parse_in_document(Url *out, const Url *base, const char *input, size_t length,
                             const char *encoding)
{
    assert(out != base);
    if (url_fast_parse(out, base, input, length)) {
        return RESULT_OK;
    }
    return url_parse_standard(out, base, input, length, encoding);
}

Result url_parse(Url *out, const Url *base, const char *input, size_t length)
{
    return url_parse_in_document(out, base, input, length, NULL);
}

Result url_parse_word(Url *out, const char *word)
{
    Buffer text = {.limit = URL_MAX_BYTES};
    Result rc = buffer_printf(&text, "%s%s", strstr(word, "://") != NULL ? "" : "http://", word);
    if (rc == RESULT_OK) {
        rc = url_parse(out, NULL, text.data, text.length);
    }
    buffer_destroy(&text);
    return rc;
}

Result url_origin(const Url *url, Buffer *out)
{
    const char *scheme = url->https ? "https://" : "http://";
    size_t n = strlen(scheme);
    Result rc = buffer_reserve(out, n + url->path_start - url->host_start);
    if (rc != RESULT_OK) {
        return rc;
    }
    (void)buffer_append(out, scheme, n);
    return buffer_append(out, url->href + url->host_start, url->path_start - url->host_start);
}
