#include "logs/log_text.h"

#include <stdlib.h>
#include <string.h>

#define REAL_BYTES 64u

/* ---- Status JSON ---- */

LogText status_json_get(const char *json, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strchr(json, '"'); at != NULL; at = strchr(at + 1, '"')) {
        if (strncmp(at + 1, name, n) != 0 || strncmp(at + 1 + n, "\": ", 3) != 0) {
            continue;
        }
        const char *value = at + n + 4;
        bool quoted = *value == '"';
        value += quoted;
        return (LogText){value, strcspn(value, quoted ? "\"" : ",}\n")};
    }
    return (LogText){NULL, 0};
}

/* A decimal number such as "12.5"; `absent` when the text is no such number. */
static double log_text_real(LogText text, double absent)
{
    char copy[REAL_BYTES];
    char *end = NULL;
    if (text.length == 0 || text.length >= sizeof copy) {
        return absent;
    }
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    double number = strtod(copy, &end);
    return *end == '\0' && copy[strspn(copy, "-.0123456789")] == '\0' ? number : absent;
}

double status_json_number(const char *json, const char *name, double absent)
{
    return log_text_real(status_json_get(json, name), absent);
}

/* ---- Status log line ---- */

LogText status_log_get(const char *line, size_t length, const char *key)
{
    size_t n = strlen(key);
    size_t at = 0;
    while (at + n + 1 < length) {
        const char *blank = memchr(line + at, ' ', length - at);
        size_t end = blank == NULL ? length : (size_t)(blank - line);
        if (end - at > n && line[at + n] == '=' && memcmp(line + at, key, n) == 0) {
            return (LogText){line + at + n + 1, end - at - n - 1};
        }
        at = end + 1;
    }
    return (LogText){NULL, 0};
}

double status_log_number(const char *line, size_t length, const char *key, double absent)
{
    return log_text_real(status_log_get(line, length, key), absent);
}

bool status_log_time(const char *line, size_t length, WallTime *time)
{
    return log_text_time(status_log_get(line, length, "time"), time);
}

/* ---- Log text ---- */

#define DIGITS_MAX 18u /* of a number that fits into 63 bits */

bool log_text_is(LogText text, const char *word)
{
    return text.length == strlen(word) &&
           (text.length == 0 || memcmp(text.bytes, word, text.length) == 0);
}

/* ---- numbers ---- */

/* Reads n digits. */
static bool digits(const char *text, size_t n, int64_t *out)
{
    int64_t value = 0;
    if (n == 0 || n > DIGITS_MAX) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (text[i] - '0');
    }
    *out = value;
    return true;
}

bool log_text_number(LogText text, int64_t *out)
{
    bool negative = text.length > 0 && text.bytes[0] == '-';
    bool ok = digits(text.bytes + negative, text.length - negative, out);
    *out = ok && negative ? -*out : *out;
    return ok;
}

bool log_text_time(LogText text, WallTime *out)
{
    return wall_parse_iso(text.bytes, text.length, out);
}

/* ---- URLs ---- */

/* Where the authority of a URL begins and ends. */
static bool authority_of(LogText url, size_t *from, size_t *to)
{
    const char *slashes = url.length < 3 ? NULL : memmem(url.bytes, url.length, "//", 2);
    if (slashes == NULL) {
        return false;
    }
    *from = (size_t)(slashes - url.bytes) + 2;
    *to = *from;
    while (*to < url.length && strchr("/?#", url.bytes[*to]) == NULL) {
        ++*to;
    }
    return true;
}

/* Where the host begins: behind user information. */
static size_t log_text_host_of(LogText url, size_t from, size_t to)
{
    const char *at = memrchr(url.bytes + from, '@', to - from);
    return at == NULL ? from : (size_t)(at - url.bytes) + 1;
}

LogText log_text_origin(LogText url, char scratch[LOG_ORIGIN_BYTES])
{
    size_t from = 0;
    size_t to = 0;
    if (!authority_of(url, &from, &to)) {
        return (LogText){NULL, 0};
    }
    size_t host = log_text_host_of(url, from, to);
    if (host == from) {
        return (LogText){url.bytes, to};
    }
    if (from + (to - host) > LOG_ORIGIN_BYTES) {
        return (LogText){NULL, 0};
    }
    memcpy(scratch, url.bytes, from);
    memcpy(scratch + from, url.bytes + host, to - host);
    return (LogText){scratch, from + (to - host)};
}

LogText log_text_host(LogText url)
{
    size_t from = 0;
    size_t to = 0;
    if (!authority_of(url, &from, &to)) {
        return (LogText){NULL, 0};
    }
    from = log_text_host_of(url, from, to);
    const char *bracket = memchr(url.bytes + from, ']', to - from);
    size_t search = bracket == NULL ? from : (size_t)(bracket - url.bytes);
    const char *colon = memchr(url.bytes + search, ':', to - search);
    return (LogText){url.bytes + from, (colon == NULL ? to : (size_t)(colon - url.bytes)) - from};
}
