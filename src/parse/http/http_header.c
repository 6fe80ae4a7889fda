#include "parse/http/http_header.h"

#include <string.h>
#include <strings.h>

static bool http_header_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The end of the line that starts at p (at its LF, or end), and in *next the line behind it. */
static const char *http_header_line_end(const char *p, const char *end, const char **next)
{
    const char *lf = memchr(p, '\n', (size_t)(end - p));
    if (lf == NULL) {
        *next = end;
        return end;
    }
    *next = lf + 1;
    return lf > p && lf[-1] == '\r' ? lf - 1 : lf;
}

/* "HTTP/1.1 200 OK"; the version's second digit and the reason may be missing. */
static bool read_status_line(HttpHeader *header, const char *p, const char *end)
{
    if (end - p < 5 || strncasecmp(p, "HTTP/", 5) != 0) {
        return false;
    }
    p += 5;
    unsigned digits[2] = {0, 0};
    for (int i = 0; i < 2 && p < end && *p >= '0' && *p <= '9'; i++) {
        digits[i] = (unsigned)(*p++ - '0');
        if (p < end && *p == '.') {
            p++;
        }
    }
    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    unsigned status = 0;
    int n = 0;
    for (; p < end && *p >= '0' && *p <= '9' && n < 4; n++) {
        status = status * 10 + (unsigned)(*p++ - '0');
    }
    if (n != 3 || status < 100) {
        return false;
    }
    while (p < end && http_header_is_blank(*p)) {
        p++;
    }
    header->version = digits[0] * 10 + digits[1];
    header->status = status;
    header->reason = p;
    header->reason_length = (size_t)(end - p);
    return true;
}

Result http_header_parse(HttpHeader *header, const char *bytes, size_t length)
{
    *header = (HttpHeader){.reason = ""};
    if (length == 0) {
        return RESULT_INVALID;
    }
    const char *p = bytes;
    const char *end = bytes + length;
    while (p < end && (*p == '\r' || *p == '\n')) {
        p++; /* left over from the response before */
    }
    for (;;) {
        const char *next = NULL;
        const char *stop = http_header_line_end(p, end, &next);
        if (!read_status_line(header, p, stop)) {
            *header = (HttpHeader){.reason = ""};
            return RESULT_INVALID;
        }
        header->fields = next;
        header->is_complete = false;
        for (p = next; p < end; p = next) {
            stop = http_header_line_end(p, end, &next);
            if (stop == p && next > p) {
                header->is_complete = true;
                break;
            }
        }
        header->fields_length = (size_t)(p - header->fields);
        p = header->is_complete ? next : p;
        header->bytes = (size_t)(p - bytes);
        if (header->status >= 200 || p >= end) {
            return RESULT_OK;
        }
    }
}

static void http_header_trim(const char **start, const char **end)
{
    while (*start < *end && http_header_is_blank(**start)) {
        (*start)++;
    }
    while (*start < *end && http_header_is_blank((*end)[-1])) {
        (*end)--;
    }
}

bool http_header_next(const HttpHeader *header, size_t *position, HttpField *field)
{
    const char *end = header->fields + header->fields_length;
    const char *p = header->fields == NULL ? end : header->fields + *position;
    while (p < end) {
        const char *next = NULL;
        const char *stop = http_header_line_end(p, end, &next);
        while (next < end && (*next == ' ' || *next == '\t')) {
            stop = http_header_line_end(next, end, &next);
        }
        const char *colon = memchr(p, ':', (size_t)(stop - p));
        const char *name = p;
        p = next;
        if (colon == NULL || http_header_is_blank(*name)) {
            continue;
        }
        const char *name_end = colon;
        const char *value = colon + 1;
        http_header_trim(&name, &name_end);
        http_header_trim(&value, &stop);
        if (name == name_end) {
            continue;
        }
        *position = (size_t)(p - header->fields);
        *field = (HttpField){.name = name,
                             .name_length = (size_t)(name_end - name),
                             .value = value,
                             .value_length = (size_t)(stop - value)};
        return true;
    }
    *position = header->fields_length;
    return false;
}

bool http_header_next_named(const HttpHeader *header, const char *name, size_t *position,
                            HttpField *field)
{
    size_t length = strlen(name);
    const char *end = header->fields + header->fields_length;
    const char *p = header->fields + *position;
    while (header->fields != NULL && p < end) {
        /* Most fields have another first letter, and are not looked at. */
        if (((*p ^ *name) & ~0x20) != 0) {
            (void)http_header_line_end(p, end, &p);
            continue;
        }
        HttpField next;
        *position = (size_t)(p - header->fields);
        if (!http_header_next(header, position, &next)) {
            return false;
        }
        if (next.name_length == length && strncasecmp(next.name, name, length) == 0) {
            *field = next;
            return true;
        }
        p = header->fields + *position;
    }
    *position = header->fields_length;
    return false;
}

bool http_header_find(const HttpHeader *header, const char *name, HttpField *field)
{
    size_t position = 0;
    return http_header_next_named(header, name, &position, field);
}

bool http_header_find_list(const HttpHeader *header, const char *name, Buffer *scratch,
                           HttpField *field)
{
    size_t position = 0;
    HttpField more;
    buffer_reset(scratch);
    if (!http_header_next_named(header, name, &position, field)) {
        return false;
    }
    while (http_header_next_named(header, name, &position, &more)) {
        if ((scratch->length == 0 &&
             buffer_append(scratch, field->value, field->value_length) != RESULT_OK) ||
            buffer_append_string(scratch, ", ") != RESULT_OK ||
            buffer_append(scratch, more.value, more.value_length) != RESULT_OK) {
            return true;
        }
        field->value = scratch->data;
        field->value_length = scratch->length;
    }
    return true;
}
