#include "parse/cookie/cookie_jar.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/ascii.h"
#include "base/core/bounds.h"
#include "parse/http/http_header.h"

#define SESSION INT64_MAX /* no expiry: kept as long as the jar */

typedef struct Cookie {
    char *bytes; /* name, value, path; owned */
    size_t name_length;
    size_t value_length;
    size_t path_length;
    int64_t expiry_s;
    bool secure;
} Cookie;

struct CookieJar {
    Cookie cookies[COOKIE_JAR_MOST]; /* the oldest first */
    size_t n;
    size_t bytes;
};

/* What one Set-Cookie says; borrowed from it. */
typedef struct Parsed {
    const char *name;
    size_t name_length;
    const char *value;
    size_t value_length;
    const char *path; /* NULL: the default */
    size_t path_length;
    const char *domain; /* NULL: none is given */
    size_t domain_length;
    int64_t expiry_s;
    bool has_max_age;
    bool secure;
} Parsed;

typedef struct Part {
    const char *bytes;
    size_t length;
} Part;

CookieJar *cookie_jar_new(void)
{
    return calloc(1, sizeof(CookieJar));
}

void cookie_jar_delete(CookieJar *jar)
{
    for (size_t i = 0; jar != NULL && i < jar->n; i++) {
        free(jar->cookies[i].bytes);
    }
    free(jar);
}

size_t cookie_jar_count(const CookieJar *jar)
{
    return jar == NULL ? 0 : jar->n;
}

size_t cookie_jar_bytes(const CookieJar *jar)
{
    return jar == NULL ? 0 : sizeof *jar + jar->bytes;
}

/* ---- reading a Set-Cookie ---- */

static Part trimmed(const char *bytes, size_t length)
{
    ascii_trim_blanks(&bytes, &length);
    return (Part){bytes, length};
}

static bool begins(const char *bytes, size_t length, const char *word)
{
    return length >= strlen(word) && strncasecmp(bytes, word, strlen(word)) == 0;
}

/* Cuts "name=value" off the front, up to the next semicolon. */
static void next_pair(const char **at, const char *end, Part *name, Part *value)
{
    const char *semicolon = *at < end ? memchr(*at, ';', (size_t)(end - *at)) : NULL;
    const char *stop = semicolon == NULL ? end : semicolon;
    const char *equal = *at < stop ? memchr(*at, '=', (size_t)(stop - *at)) : NULL;
    *name = trimmed(*at, (size_t)((equal == NULL ? stop : equal) - *at));
    *value = equal == NULL ? (Part){stop, 0} : trimmed(equal + 1, (size_t)(stop - equal - 1));
    *at = semicolon == NULL ? end : semicolon + 1;
}

/* "-5", "3600": seconds; false when it is no number. */
static bool read_max_age(Part value, int64_t *seconds)
{
    bool is_negative = value.length > 0 && *value.bytes == '-';
    int64_t n = 0;
    if (value.length <= is_negative) {
        return false;
    }
    for (size_t i = is_negative; i < value.length; i++) {
        if (value.bytes[i] < '0' || value.bytes[i] > '9') {
            return false;
        }
        n = n > HTTP_MAX_SECONDS ? n : n * 10 + (value.bytes[i] - '0');
    }
    *seconds = bounds_int64(is_negative ? 0 : n, 0, HTTP_MAX_SECONDS);
    return true;
}

static void cookie_jar_read_attribute(Parsed *parsed, Part name, Part value, int64_t now_s)
{
    int64_t seconds = 0;
    if (ascii_is(name.bytes, name.length, "max-age") && read_max_age(value, &seconds)) {
        parsed->expiry_s = now_s + seconds;
        parsed->has_max_age = true;
    } else if (ascii_is(name.bytes, name.length, "expires") && !parsed->has_max_age &&
               http_header_date(value.bytes, value.length, &seconds)) {
        parsed->expiry_s = seconds;
    } else if (ascii_is(name.bytes, name.length, "path")) {
        parsed->path = value.length > 0 && *value.bytes == '/' ? value.bytes : NULL;
        parsed->path_length = value.length;
    } else if (ascii_is(name.bytes, name.length, "domain") && value.length > 0) {
        size_t dot = *value.bytes == '.';
        parsed->domain = value.bytes + dot;
        parsed->domain_length = value.length - dot;
    } else if (ascii_is(name.bytes, name.length, "secure")) {
        parsed->secure = true;
    }
}

static bool has_control(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)bytes[i] < 0x20 || bytes[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

/* The folder of a path: "/a" for "/a/b?c"; "/" when there is none. */
static Part folder_of(const CookiePlace *place)
{
    size_t length = 0;
    while (length < place->path_length && place->path[length] != '?') {
        length++;
    }
    while (length > 0 && place->path[length - 1] != '/') {
        length--;
    }
    return length < 2 || place->path[0] != '/' ? (Part){"/", 1} : (Part){place->path, length - 1};
}

static bool domain_fits(const Parsed *parsed, const CookiePlace *place)
{
    size_t n = parsed->domain_length;
    const char *end = place->host + place->host_length;
    return parsed->domain == NULL ||
           (n > 0 && n <= place->host_length && strncasecmp(end - n, parsed->domain, n) == 0 &&
            (n == place->host_length || end[-(ptrdiff_t)n - 1] == '.'));
}

static bool cookie_jar_parse(Parsed *parsed, const char *value, size_t length,
                             const CookiePlace *place)
{
    const char *at = value;
    const char *end = value + length;
    Part name, text;
    next_pair(&at, end, &name, &text);
    *parsed = (Parsed){.name = name.bytes,
                       .name_length = name.length,
                       .value = text.bytes,
                       .value_length = text.length,
                       .expiry_s = SESSION};
    while (at < end) {
        next_pair(&at, end, &name, &text);
        cookie_jar_read_attribute(parsed, name, text, place->now_s);
    }
    bool is_host = begins(parsed->name, parsed->name_length, "__Host-");
    bool is_secure = is_host || begins(parsed->name, parsed->name_length, "__Secure-");
    if ((is_secure && !parsed->secure) || (parsed->secure && !place->https) ||
        (is_host && (parsed->domain != NULL || parsed->path == NULL || parsed->path_length != 1))) {
        return false;
    }
    if (parsed->path == NULL) {
        Part folder = folder_of(place);
        parsed->path = folder.bytes;
        parsed->path_length = folder.length;
    }
    return parsed->name_length > 0 && domain_fits(parsed, place) &&
           !has_control(parsed->name, parsed->name_length) &&
           !has_control(parsed->value, parsed->value_length) &&
           parsed->name_length + parsed->value_length + parsed->path_length <= COOKIE_JAR_BYTES / 2;
}

/* ---- the jar ---- */

static size_t bytes_of(const Cookie *cookie)
{
    return cookie->name_length + cookie->value_length + cookie->path_length;
}

static void cookie_jar_drop(CookieJar *jar, size_t i)
{
    jar->bytes -= bytes_of(&jar->cookies[i]);
    free(jar->cookies[i].bytes);
    jar->n--;
    memmove(&jar->cookies[i], &jar->cookies[i + 1], (jar->n - i) * sizeof *jar->cookies);
}

static void cookie_jar_add(CookieJar *jar, const Parsed *parsed)
{
    Cookie cookie = {.name_length = parsed->name_length,
                     .value_length = parsed->value_length,
                     .path_length = parsed->path_length,
                     .expiry_s = parsed->expiry_s,
                     .secure = parsed->secure};
    cookie.bytes = malloc(bytes_of(&cookie));
    if (cookie.bytes == NULL) {
        return;
    }
    memcpy(cookie.bytes, parsed->name, parsed->name_length);
    memcpy(cookie.bytes + cookie.name_length, parsed->value, parsed->value_length);
    memcpy(cookie.bytes + cookie.name_length + cookie.value_length, parsed->path,
           parsed->path_length);
    while (jar->n == COOKIE_JAR_MOST ||
           (jar->n > 0 && jar->bytes + bytes_of(&cookie) > COOKIE_JAR_BYTES)) {
        cookie_jar_drop(jar, 0);
    }
    jar->bytes += bytes_of(&cookie);
    jar->cookies[jar->n++] = cookie;
}

bool cookie_jar_take(CookieJar *jar, const char *value, size_t length, const CookiePlace *place)
{
    Parsed parsed;
    if (!cookie_jar_parse(&parsed, value, length, place)) {
        return false;
    }
    /* The place of the cookie with this name and path; n when there is none. */
    size_t i = 0;
    while (i < jar->n) {
        const Cookie *cookie = &jar->cookies[i];
        if (cookie->name_length == parsed.name_length &&
            cookie->path_length == parsed.path_length &&
            memcmp(cookie->bytes, parsed.name, parsed.name_length) == 0 &&
            memcmp(cookie->bytes + cookie->name_length + cookie->value_length, parsed.path,
                   parsed.path_length) == 0) {
            break;
        }
        i++;
    }
    bool is_same = i < jar->n && jar->cookies[i].value_length == parsed.value_length &&
                   memcmp(jar->cookies[i].bytes + jar->cookies[i].name_length, parsed.value,
                          parsed.value_length) == 0;
    if (i < jar->n) {
        cookie_jar_drop(jar, i);
    }
    if (parsed.expiry_s <= place->now_s) {
        return false; /* that is how a cookie is taken back */
    }
    cookie_jar_add(jar, &parsed);
    return !is_same;
}

/* RFC 6265 5.1.4. */
static bool path_fits(const Cookie *cookie, const CookiePlace *place)
{
    const char *path = cookie->bytes + cookie->name_length + cookie->value_length;
    size_t n = cookie->path_length;
    return n <= place->path_length && memcmp(path, place->path, n) == 0 &&
           (n == place->path_length || path[n - 1] == '/' || place->path[n] == '/' ||
            place->path[n] == '?');
}

Result cookie_jar_write(const CookieJar *jar, const CookiePlace *place, Buffer *out)
{
    CookiePlace at = *place;
    bool any = false;
    if (at.path_length == 0) {
        at.path = "/";
        at.path_length = 1;
    }
    for (size_t i = 0; jar != NULL && i < jar->n; i++) {
        const Cookie *cookie = &jar->cookies[i];
        if (cookie->expiry_s > at.now_s && (at.https || !cookie->secure) &&
            path_fits(cookie, &at)) {
            (void)buffer_printf(out, "%s%.*s=%.*s", any ? "; " : "", (int)cookie->name_length,
                                cookie->bytes, (int)cookie->value_length,
                                cookie->bytes + cookie->name_length);
            any = true;
        }
    }
    return out->failed; /* an error sticks */
}
