#include "request.h"

#include <string.h>
#include <strings.h>

static bool starts_with(const char *line, size_t length, const char *name)
{
    size_t n = strlen(name);
    return length >= n && strncasecmp(line, name, n) == 0;
}

/* The value of a field, without the blanks in front. */
static const char *read_value(const char *value, size_t length, size_t *value_length)
{
    while (length > 0 && *value == ' ') {
        value++;
        length--;
    }
    *value_length = length;
    return value;
}

static void read_host(const char *value, size_t length, Request *request)
{
    value = read_value(value, length, &length);
    const char *colon = memchr(value, ':', length);
    request->host = value;
    request->host_length = colon == NULL ? length : (size_t)(colon - value);
}

static bool contains(const char *value, size_t length, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= length; i++) {
        if (strncasecmp(value + i, word, n) == 0) {
            return true;
        }
    }
    return false;
}

/* The request line without its CRLF. */
static RequestState parse_first_line(const char *line, size_t length, Request *request)
{
    const char *space = memchr(line, ' ', length);
    if (space == NULL) {
        return REQUEST_BAD;
    }
    const char *target = space + 1;
    size_t rest = length - (size_t)(target - line);
    const char *end = memchr(target, ' ', rest);
    if (end == NULL || rest - (size_t)(end - target) != sizeof " HTTP/1.1" - 1 ||
        memcmp(end, " HTTP/1.", sizeof " HTTP/1." - 1) != 0 || target[0] != '/') {
        return REQUEST_BAD;
    }
    request->target = target;
    request->target_length = (size_t)(end - target);
    request->keep_alive = line[length - 1] != '0';
    request->head = space - line == 4 && memcmp(line, "HEAD", 4) == 0;
    bool is_get = space - line == 3 && memcmp(line, "GET", 3) == 0;
    return is_get || request->head ? REQUEST_COMPLETE : REQUEST_OTHER_METHOD;
}

RequestState request_parse(const char *bytes, size_t length, Request *request)
{
    *request = (Request){0};
    const char *end = memmem(bytes, length, "\r\n\r\n", 4);
    if (end == NULL) {
        return REQUEST_INCOMPLETE;
    }
    request->bytes = (size_t)(end + 4 - bytes);
    const char *line = bytes;
    const char *line_end = memchr(line, '\r', request->bytes);
    RequestState state = parse_first_line(line, (size_t)(line_end - line), request);
    while (state == REQUEST_COMPLETE && line_end < end) {
        line = line_end + 2;
        line_end = memmem(line, (size_t)(end + 2 - line), "\r\n", 2);
        size_t n = (size_t)(line_end - line);
        if (starts_with(line, n, "host:")) {
            read_host(line + 5, n - 5, request);
        } else if (starts_with(line, n, "if-none-match:")) {
            request->if_none_match = read_value(line + 14, n - 14, &request->if_none_match_length);
        } else if (starts_with(line, n, "if-modified-since:")) {
            request->if_modified_since =
                read_value(line + 18, n - 18, &request->if_modified_since_length);
        } else if (starts_with(line, n, "connection:")) {
            request->keep_alive = request->keep_alive && !contains(line + 11, n - 11, "close");
        }
    }
    return state;
}
