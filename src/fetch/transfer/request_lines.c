#include "fetch/transfer/request_lines.h"

#include <stdlib.h>
#include <string.h>

#define ACCEPT                                                                                     \
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,text/*;q=0.8,*/*;q=0.5"

Result request_lines_add(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer == NULL) {
        return RESULT_MEMORY;
    }
    *list = longer;
    return RESULT_OK;
}

static Result add_user_headers(struct curl_slist **list, const char *headers)
{
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && *headers != '\0') {
        headers += strspn(headers, " ");
        size_t length = strcspn(headers, "|");
        char *line = strndup(headers, length);
        rc = line == NULL ? RESULT_MEMORY : length == 0 ? RESULT_OK : request_lines_add(list, line);
        free(line);
        headers += length + (headers[length] == '|');
    }
    return rc;
}

Result request_lines_common(struct curl_slist **list, const FetcherOptions *options, bool robots)
{
    Result rc = request_lines_add(list, robots ? "Accept: text/plain,*/*;q=0.8" : ACCEPT);
    if (rc == RESULT_OK) {
        rc = request_lines_add(list, robots ? "Accept-Encoding: identity"
                                            : "Accept-Encoding: gzip, deflate, br, zstd");
    }
    if (rc == RESULT_OK && *options->accept_language != '\0') {
        Buffer line;
        buffer_init(&line, 4096);
        rc = buffer_printf(&line, "Accept-Language: %s", options->accept_language);
        if (rc == RESULT_OK) {
            rc = request_lines_add(list, buffer_string(&line));
        }
        buffer_destroy(&line);
    }
    return rc == RESULT_OK ? add_user_headers(list, options->headers) : rc;
}

char *request_lines_text(const char *url, const char *user_agent, const struct curl_slist *lines)
{
    const char *host = strstr(url, "//");
    host = host == NULL ? url : host + 2;
    size_t authority = strcspn(host, "/?");
    const char *path = host + authority;
    for (size_t i = 0; i < authority; i++) {
        if (host[i] == '@') { /* user information is not part of Host */
            host += i + 1;
            authority -= i + 1;
            i = 0;
        }
    }
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&text, "GET %s%s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: %s\r\n",
                              *path == '/' ? "" : "/", path, (int)authority, host, user_agent);
    for (const struct curl_slist *line = lines; rc == RESULT_OK && line != NULL;
         line = line->next) {
        rc = buffer_printf(&text, "%s\r\n", line->data);
    }
    if (rc == RESULT_OK) {
        rc = buffer_append_string(&text, "\r\n");
    }
    if (rc != RESULT_OK) {
        buffer_destroy(&text);
    }
    return buffer_detach(&text);
}
