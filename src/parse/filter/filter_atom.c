#include "parse/filter/filter_atom.h"
#include <string.h>
#include "base/core/hash.h"

/* A dot at the end does not count. */
static MapKey filter_set_key(const char *host, size_t length)
{
    length -= length > 0 && host[length - 1] == '.';
    return map_key_of(host, length);
}

/* Adds a line that is not blank. The URL parser brings the host into its form. */
static Result filter_set_add_line(Map *set, const char *line, size_t length, Url *url, Buffer *text)
{
    buffer_reset(text);
    bool is_url = memmem(line, length, "://", 3) != NULL;
    if (!is_url && memchr(line, '/', length) != NULL) {
        return RESULT_INVALID;
    }
    Result rc = is_url ? RESULT_OK : buffer_append_string(text, "http://");
    if (rc == RESULT_OK) {
        rc = buffer_append(text, line, length);
    }
    if (rc == RESULT_OK) {
        rc = url_parse(url, NULL, text->data, text->length);
    }
    if (rc == RESULT_OK && !is_url && url->path_start != url->host_end) {
        rc = RESULT_INVALID;
    }
    if (rc == RESULT_OK) {
        rc = map_put(
            set, filter_set_key(url->href + url->host_start, url->host_end - url->host_start), set);
    }
    return rc;
}

Result filter_set_read(Map *set, const char *text, size_t length, size_t *line)
{
    const char *p = text;
    const char *end = text + length;
    Url url = {.href = NULL};
    Buffer scratch = {.limit = URL_MAX_BYTES};
    Result rc = RESULT_OK;
    for (*line = 1; p < end; *line += 1) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *last = newline != NULL ? newline : end;
        while (p < last && (unsigned char)*p <= ' ') {
            p++;
        }
        while (p < last && (unsigned char)last[-1] <= ' ') {
            last--;
        }
        if (p < last && *p != '#') {
            rc = filter_set_add_line(set, p, (size_t)(last - p), &url, &scratch);
        }
        if (rc != RESULT_OK) {
            break;
        }
        p = newline != NULL ? newline + 1 : end;
    }
    buffer_destroy(&scratch);
    url_destroy(&url);
    return rc;
}

bool filter_set_contains(const Map *set, const char *host, size_t length)
{
    return map_get(set, filter_set_key(host, length)) != NULL;
}

bool filter_set_contains_domain(const Map *set, const char *host, size_t length)
{
    const char *end = host + length;
    while (host < end) {
        if (filter_set_contains(set, host, (size_t)(end - host))) {
            return true;
        }
        const char *dot = memchr(host, '.', (size_t)(end - host));
        host = dot != NULL ? dot + 1 : end;
    }
    return false;
}
