#include "store/cdxj/surt.h"

#include <stdlib.h>

#include "base/core/ascii.h"
#include "base/memory/base64.h"

/* Undoes escapes in place until none is left. Repeating passes over "%25252525..." would be
 * quadratic; decoding onto a stack, as here, looks back after each decoded byte and is linear. */
static size_t unescape(char *s, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        s[n++] = s[i];
        while (n >= 3 && s[n - 3] == '%') {
            int high = hex_value(s[n - 2]);
            int low = hex_value(s[n - 1]);
            if (high < 0 || low < 0) {
                break;
            }
            s[n - 3] = (char)(high * 16 + low);
            n -= 2;
        }
    }
    return n;
}

/* Appends bytes in lower case; blanks, controls, '#', '%' and bytes beyond ASCII are escaped. */
static void surt_escape(Buffer *out, const char *s, size_t length)
{
    buffer_reserve(out, length);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c <= 0x20 || c >= 0x7f || c == '#' || c == '%') {
            buffer_printf(out, "%%%02x", (unsigned)c);
        } else {
            buffer_append_char(out, ascii_lower((char)c));
        }
    }
}

/* Drops "." segments and empty ones but the last, resolves ".."; the path starts with '/'. */
static size_t normalize_path(char *path, size_t length)
{
    size_t n = 1;
    for (size_t at = 1; at <= length;) {
        const char *slash = at < length ? memchr(path + at, '/', length - at) : NULL;
        size_t end = slash == NULL ? length : (size_t)(slash - path);
        size_t segment = end - at;
        bool last = slash == NULL;
        if (segment == 2 && memcmp(path + at, "..", 2) == 0 && n > 1) {
            n--;
            while (path[n - 1] != '/') {
                n--;
            }
        } else if (segment > 0 && !(segment == 1 && path[at] == '.')) {
            memmove(path + n, path + at, segment);
            n += segment;
            if (!last) {
                path[n++] = '/';
            }
        }
        at = end + 1;
    }
    return n;
}

/* The end of "(" 24 letters or digits ")/" at s, with one-letter names "(a(...)b(...))/" too. */
static size_t path_session(const char *s, size_t length)
{
    size_t i = 1;
    bool named = length > 2 && s[2] == '(';
    do {
        if (named && (i + 2 > length || !ascii_is_alnum(s[i]) || s[i + 1] != '(')) {
            return 0;
        }
        i += named ? 2 : 0;
        for (size_t k = 0; k < 24; k++, i++) {
            if (i >= length || !ascii_is_alnum(s[i])) {
                return 0;
            }
        }
        if (i >= length || s[i++] != ')') {
            return 0;
        }
    } while (named && i < length && s[i] != ')');
    if (named) {
        i++;
    }
    return i < length && s[i] == '/' ? i + 1 : 0;
}

/* Where the last ".aspx" starts; NULL when there is none. */
static const char *last_aspx(const char *path, size_t length)
{
    for (size_t at = length; at-- > 0;) {
        if (path[at] == '.' && length - at >= 5 && memcmp(path + at, ".aspx", 5) == 0) {
            return path + at;
        }
    }
    return NULL;
}

/* ASP.NET's session ids: "/(S(24 characters))/page.aspx". The last one goes. */
static size_t strip_path_session(char *path, size_t length)
{
    const char *aspx = last_aspx(path, length);
    for (size_t at = length; aspx != NULL && at-- > 0;) {
        if (path[at] != '/' || at + 1 == length || path[at + 1] != '(') {
            continue;
        }
        size_t n = path_session(path + at + 1, length - at - 1);
        if (n > 0 && path + at + 1 + n < aspx) {
            memmove(path + at + 1, path + at + 1 + n, length - at - 1 - n);
            return length - n;
        }
    }
    return length;
}

/* The end of an argument's value of exactly count bytes of the kind that ends the query or is
 * followed by '&'; 0 when it is not so. */
static size_t exact_value(const char *s, size_t length, size_t at, size_t count, bool (*kind)(char))
{
    size_t end = at + count;
    if (end > length) {
        return 0;
    }
    for (size_t i = at; i < end; i++) {
        if (!kind(s[i])) {
            return 0;
        }
    }
    return end == length || s[end] == '&' ? end : 0;
}

/* The same for "cfid=...&cftoken=..."; amp is where the first '&' behind at is, or length. */
static size_t cfid_end(const char *s, size_t length, size_t at, size_t amp)
{
    static const char second[] = "&cftoken=";
    size_t n = sizeof second - 1;
    if (amp <= at || length - amp <= n || memcmp(s + amp, second, n) != 0) {
        return 0;
    }
    size_t token = amp + n;
    const char *next = memchr(s + token, '&', length - token);
    size_t stop = next == NULL ? length : (size_t)(next - s);
    return stop > token ? stop : 0;
}

typedef struct SessionName {
    const char *name; /* in lower case, with "=" */
    size_t length;
    size_t value; /* length of its value; 0 = see cfid_end */
} SessionName;

static const SessionName session_names[] = {
    {"jsessionid=", 11, 32},
    {"phpsessid=", 10, 32},
    {"sid=", 4, 32},
    {"cfid=", 5, 0},
};

static size_t session_end(const char *s, size_t length, size_t at, size_t amp,
                          const SessionName *session)
{
    if (length - at < session->length || memcmp(s + at, session->name, session->length) != 0) {
        return 0;
    }
    at += session->length;
    return session->value == 0 ? cfid_end(s, length, at, amp)
                               : exact_value(s, length, at, session->value, ascii_is_alnum);
}

/* "aspsessionid", eight letters, "=" and 24 more. */
static size_t asp_session_end(const char *s, size_t length, size_t at)
{
    static const char name[] = "aspsessionid";
    size_t n = sizeof name - 1;
    if (length - at < n + 8 + 1 + 24 || memcmp(s + at, name, n) != 0 || s[at + n + 8] != '=') {
        return 0;
    }
    for (size_t i = at + n; i < at + n + 8; i++) {
        if (!ascii_is_letter(s[i])) {
            return 0;
        }
    }
    return exact_value(s, length, at + n + 9, 24, ascii_is_letter);
}

/* Removes the last session argument of each kind with the '&' behind it; query is in lower case. */
static size_t strip_query_sessions(char *query, size_t length)
{
    size_t n_names = sizeof session_names / sizeof *session_names;
    for (size_t kind = 0; kind <= n_names; kind++) {
        size_t amp = length;
        for (size_t at = length; at-- > 0;) {
            amp = query[at] == '&' ? at : amp;
            size_t end = kind < n_names ? session_end(query, length, at, amp, &session_names[kind])
                                        : asp_session_end(query, length, at);
            if (end > 0) {
                end += end < length ? 1 : 0;
                memmove(query + at, query + end, length - end);
                length -= end - at;
                break;
            }
        }
    }
    return length;
}

typedef struct Argument {
    const char *bytes;
    size_t length;
    size_t name; /* bytes before "=" */
} Argument;

static int compare_bytes(const char *a, size_t n_a, const char *b, size_t n_b)
{
    int order = memcmp(a, b, n_a < n_b ? n_a : n_b);
    return order != 0 ? order : (n_a > n_b) - (n_a < n_b);
}

/* By name, then by what follows it: "a" before "a=" before "a=1". */
static int compare_arguments(const void *left, const void *right)
{
    const Argument *a = left;
    const Argument *b = right;
    int order = compare_bytes(a->bytes, a->name, b->bytes, b->name);
    return order != 0 ? order
                      : compare_bytes(a->bytes + a->name, a->length - a->name, b->bytes + b->name,
                                      b->length - b->name);
}

static void surt_append_sorted(Buffer *out, const char *query, size_t length)
{
    size_t n = 1;
    for (size_t i = 0; i < length; i++) {
        n += query[i] == '&';
    }
    Argument *arguments = malloc(n * sizeof *arguments);
    if (arguments == NULL) {
        out->failed = RESULT_MEMORY;
        return;
    }
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const char *start = query + at;
        const char *amp = at < length ? memchr(start, '&', length - at) : NULL;
        size_t bytes = amp == NULL ? length - at : (size_t)(amp - start);
        const char *equals = bytes == 0 ? NULL : memchr(start, '=', bytes);
        arguments[i] = (Argument){.bytes = start,
                                  .length = bytes,
                                  .name = equals == NULL ? bytes : (size_t)(equals - start)};
        at += bytes + 1;
    }
    qsort(arguments, n, sizeof *arguments, compare_arguments);
    for (size_t i = 0; i < n; i++) {
        if (i > 0) {
            buffer_append_char(out, '&');
        }
        buffer_append(out, arguments[i].bytes, arguments[i].length);
    }
    free(arguments);
}

static void surt_append_query(Buffer *out, char *query, size_t length)
{
    Buffer escaped; /* arguments are sorted in the form they are written in */
    buffer_init(&escaped, BUFFER_NO_LIMIT);
    surt_escape(&escaped, query, unescape(query, length));
    if (escaped.failed != RESULT_OK) {
        out->failed = escaped.failed;
    } else if (escaped.length > 0) {
        escaped.length = strip_query_sessions(escaped.data, escaped.length);
        if (escaped.length > 0) {
            buffer_append_char(out, '?');
            surt_append_sorted(out, escaped.data, escaped.length);
        }
    }
    buffer_destroy(&escaped);
}

static void surt_append_path(Buffer *out, char *path, size_t length)
{
    length = unescape(path, length);
    length = normalize_path(path, length);
    for (size_t i = 0; i < length; i++) {
        path[i] = ascii_lower(path[i]);
    }
    length = strip_path_session(path, length);
    if (length > 1 && path[length - 1] == '/') {
        length--;
    }
    surt_escape(out, path, length);
}

/* "www.", "www2." and the like at the start of a host. */
static size_t www_length(const char *host, size_t length)
{
    if (length < 4 || strncasecmp(host, "www", 3) != 0) {
        return 0;
    }
    size_t i = 3;
    while (i < length && ascii_is_digit(host[i])) {
        i++;
    }
    return i < length && host[i] == '.' ? i + 1 : 0;
}

static void surt_append_host(Buffer *out, const char *host, size_t length)
{
    if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
        surt_escape(out, host + 1, length - 2); /* as pywb writes IPv6 addresses */
        return;
    }
    while (length > 0 && host[length - 1] == '.') {
        length--;
    }
    size_t www = www_length(host, length);
    host += www;
    length -= www;
    for (size_t end = length;;) {
        const char *dot = end == 0 ? NULL : memrchr(host, '.', end);
        size_t start = dot == NULL ? 0 : (size_t)(dot - host) + 1;
        surt_escape(out, host + start, end - start);
        if (start == 0) {
            break;
        }
        buffer_append_char(out, ',');
        end = start - 1;
    }
}

static void surt_append_authority(Buffer *out, const char *s, size_t length,
                                  const char *default_port)
{
    const char *at = length == 0 ? NULL : memrchr(s, '@', length);
    if (at != NULL) {
        length -= (size_t)(at + 1 - s);
        s = at + 1;
    }
    const char *colon = length == 0 ? NULL : memrchr(s, ':', length);
    if (colon != NULL && memchr(colon, ']', length - (size_t)(colon - s)) != NULL) {
        colon = NULL; /* within an IPv6 address */
    }
    size_t n_host = colon == NULL ? length : (size_t)(colon - s);
    surt_append_host(out, s, n_host);
    size_t n_port = length - n_host;
    if (n_port > 1 &&
        !(strlen(default_port) == n_port && memcmp(colon, default_port, n_port) == 0)) {
        surt_escape(out, colon, n_port);
    }
    buffer_append_char(out, ')');
}

static void surt_append_rest(Buffer *out, char *rest, size_t length)
{
    const char *hash = length == 0 ? NULL : memchr(rest, '#', length);
    length = hash == NULL ? length : (size_t)(hash - rest);
    const char *mark = length == 0 ? NULL : memchr(rest, '?', length);
    size_t n_path = mark == NULL ? length : (size_t)(mark - rest);
    if (n_path == 0 || rest[0] != '/') {
        buffer_append_char(out, '/');
    } else {
        surt_append_path(out, rest, n_path);
    }
    if (mark != NULL) {
        surt_append_query(out, rest + n_path + 1, length - n_path - 1);
    }
}

Result surt_append(Buffer *out, const char *url, size_t length)
{
    size_t before = out->length;
    bool https = length > 8 && strncasecmp(url, "https://", 8) == 0;
    size_t start = https ? 8 : 7;
    if (!https && !(length > 7 && strncasecmp(url, "http://", 7) == 0)) {
        surt_escape(out, url, length);
    } else {
        size_t end = start;
        while (end < length && url[end] != '/' && url[end] != '?' && url[end] != '#') {
            end++;
        }
        char *rest = malloc(length - end + 1);
        if (rest == NULL) {
            return RESULT_MEMORY;
        }
        memcpy(rest, url + end, length - end);
        surt_append_authority(out, url + start, end - start, https ? ":443" : ":80");
        surt_append_rest(out, rest, length - end);
        free(rest);
    }
    return buffer_end(out, before);
}
