#include "parse/url/url_fast.h"

#include <string.h>

#include "parse/url/url_encode.h"
#include "parse/url/url_text.h"

/* Almost every link of a real page is printable ASCII that the standard would leave as it is, apart
 * from leading "./" and "../". Such input is checked by one scan with a table and copied in two
 * pieces: what is kept of base, and the input up to the fragment. Anything that could need more
 * (upper-case hosts, default ports, escapes, inner dot segments, backslashes, white space) is left
 * to the states of the standard. */

typedef struct Pieces {
    const char *kept; /* of base's href, from its start */
    size_t n_kept;
    const char *rest; /* of the input */
    const char *end;  /* of the input */
} Pieces;

/* Whether the segment at p is, or could be, a dot segment. */
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

/* Scans a host that is no number and needs no mapping; NULL when it may be anything else. */
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

/* Scans ":81" in normal form; NULL when it is not, or is the scheme's own port. */
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
    out->host_start = (uint32_t)(pieces->n_kept + (size_t)(host - pieces->rest));
    out->host_end = (uint32_t)(pieces->n_kept + (size_t)(host_end - pieces->rest));
    out->path_start = (uint32_t)(pieces->n_kept + (size_t)(authority_end - pieces->rest));
    return url_fast_finish(out, pieces, p, query_end);
}

/* Length of base's href up to and including the last slash of its path before upto. */
static uint32_t directory(const Url *base, uint32_t upto)
{
    while (base->href[upto - 1] != '/') {
        upto--;
    }
    return upto;
}

/* "./" and "../" at the start of a relative path: shortens what is kept of base. */
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

/* A scheme would end with a ":" in the first segment. */
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
    if (length > 1 && input[0] == '/' && input[1] == '\\') {
        return false;
    }
    return url_fast_parse_relative(out, base, &pieces);
}
