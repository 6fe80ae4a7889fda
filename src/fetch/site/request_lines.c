#include "fetch/site/request_lines.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory/base64.h"
#include "parse/host/authority.h"

/* No longer than need be: libcurl writes it letter by letter for each request. */
static const char page_accept[] = "Accept: text/html,application/xhtml+xml,*/*;q=0.5";

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
    while (*headers != '\0') {
        headers += strspn(headers, " ");
        size_t length = strcspn(headers, "|");
        char *line = strndup(headers, length);
        Result rc = line == NULL ? RESULT_MEMORY : RESULT_OK;
        if (length > 0 && rc == RESULT_OK) {
            rc = request_lines_add(list, line);
        }
        free(line);
        if (rc != RESULT_OK) {
            return rc;
        }
        headers += length + (headers[length] == '|');
    }
    return RESULT_OK;
}

Result request_lines_add_field(struct curl_slist **list, const char *name, const char *text)
{
    Buffer line = {.limit = BUFFER_NO_LIMIT};
    Result rc = buffer_printf(&line, "%s: %s", name, text);
    if (rc == RESULT_OK) {
        rc = request_lines_add(list, buffer_string(&line));
    }
    buffer_destroy(&line);
    return rc;
}

/* Whether the operator's own lines, "A: b | C: d", have one of that name ("A:"). */
static bool request_lines_has(const char *headers, const char *name, size_t length)
{
    for (; headers != NULL; headers = strchr(headers, '|')) {
        headers += strspn(headers, " |");
        if (strncasecmp(headers, name, length) == 0) {
            return true;
        }
    }
    return false;
}

Result request_lines_common(struct curl_slist **list, const char *user_agent, const char *headers,
                            const char *accept_language, bool robots)
{
    Result rc = request_lines_has(headers, "User-Agent:", 11)
                    ? RESULT_OK
                    : request_lines_add_field(list, "User-Agent", user_agent);
    if (rc == RESULT_OK) {
        rc = request_lines_add(list, robots ? "Accept: text/plain,*/*;q=0.8" : page_accept);
    }
    if (rc == RESULT_OK) {
        rc = request_lines_add(list, robots ? "Accept-Encoding: identity"
                                            : "Accept-Encoding: gzip, deflate, br, zstd");
    }
    if (rc == RESULT_OK && *accept_language != '\0') {
        rc = request_lines_add_field(list, "Accept-Language", accept_language);
    }
    return rc == RESULT_OK ? add_user_headers(list, headers) : rc;
}

Result request_lines_secrets(struct curl_slist **list, const Credentials *credentials,
                             const char *url, size_t *n)
{
    size_t place = 0;
    const char *line = NULL;
    while ((line = credentials_next(credentials, url, strlen(url), &place)) != NULL) {
        Result rc = request_lines_add(list, line);
        if (rc != RESULT_OK) {
            return rc;
        }
        *n += 1;
    }
    return RESULT_OK;
}

Result request_lines_signature(struct curl_slist **list, const Signer *signer, const char *url)
{
    SignatureLines lines;
    signature_lines_init(&lines);
    Result rc = message_signature_of(signer, url, strlen(url), wall_now(), &lines);
    if (rc == RESULT_OK && lines.agent.length > 0) {
        rc = request_lines_add(list, buffer_string(&lines.agent));
    }
    if (rc == RESULT_OK) {
        rc = request_lines_add(list, buffer_string(&lines.input));
    }
    if (rc == RESULT_OK) {
        rc = request_lines_add(list, buffer_string(&lines.signature));
    }
    signature_lines_destroy(&lines);
    return rc;
}

/* ---- the text for the archive ---- */

#define TEXT_SPARE 256u /* bytes beside the URL, mostly */

static const char secret[] = "***";

/* "user%40home:word" without its "@" is sent as base64 of "user@home:word"; a name without a
 * password gets the colon, too. */
static Result append_authorization(Buffer *text, const char *userinfo, size_t length, bool masked)
{
    if (masked) {
        return buffer_printf(text, "Authorization: Basic %s\r\n", secret);
    }
    Buffer plain = {.limit = BUFFER_NO_LIMIT};
    for (size_t i = 0; i < length; i++) {
        char c = userinfo[i];
        bool has_two = c == '%' && length - i > 2;
        int high = has_two ? hex_value(userinfo[i + 1]) : -1;
        int low = has_two ? hex_value(userinfo[i + 2]) : -1;
        if (high >= 0 && low >= 0) {
            c = (char)(high * 16 + low);
            i += 2;
        }
        (void)buffer_append_char(&plain, c);
    }
    if (memchr(userinfo, ':', length) == NULL) {
        (void)buffer_append_char(&plain, ':');
    }
    Result rc = buffer_end(&plain, 0);
    (void)buffer_append_string(text, "Authorization: Basic ");
    (void)base64_append(text, buffer_string(&plain), plain.length, BASE64_STANDARD);
    (void)buffer_append_string(text, "\r\n");
    buffer_destroy(&plain);
    return rc;
}

static bool request_lines_is_one_of(const char *line, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strncasecmp(line, *names, strlen(*names)) == 0) {
            return true;
        }
    }
    return false;
}

/* A header that an operator adds may be a key to somewhere (X-Api-Key); nobody can tell. */
static bool is_secret(const char *line, const char *headers)
{
    static const char *const secrets[] = {
        "authorization:", "proxy-authorization:", "cookie:", NULL};
    static const char *const open[] = {"user-agent:", "from:", "accept", "referer:", NULL};
    return request_lines_is_one_of(line, secrets) ||
           (!request_lines_is_one_of(line, open) &&
            request_lines_has(headers, line, strcspn(line, ":") + 1));
}

/* A line as it is sent, or its name and what stands for its value. */
static void append_line(Buffer *text, const char *line, bool masked)
{
    if (masked) {
        (void)buffer_append(text, line, strcspn(line, ":"));
        (void)buffer_append_string(text, ": ");
    }
    (void)buffer_append_string(text, masked ? secret : line);
    (void)buffer_append_string(text, "\r\n");
}

char *request_lines_text(const char *url, const struct curl_slist *lines, RequestMask mask)
{
    size_t length = strlen(url);
    Authority at = authority_of(url, length);
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    Result rc = RESULT_OK;
    (void)buffer_reserve(&text, length + TEXT_SPARE);
    (void)buffer_append_string(&text, url[at.end] == '/' ? "GET " : "GET /");
    (void)buffer_append(&text, url + at.end, length - at.end);
    (void)buffer_append_string(&text, " HTTP/1.1\r\nHost: ");
    (void)buffer_append(&text, url + at.host, at.end - at.host);
    (void)buffer_append_string(&text, "\r\n");
    if (at.host > at.start) {
        rc = append_authorization(&text, url + at.start, at.host - at.start - 1, mask.all);
    }
    size_t n = 0;
    for (const struct curl_slist *line = lines; line != NULL; line = line->next) {
        append_line(&text, line->data,
                    n++ < mask.n_first || (mask.all && is_secret(line->data, mask.headers)));
    }
    (void)buffer_append_string(&text, "\r\n");
    if (result_first(rc, buffer_end(&text, 0)) != RESULT_OK) {
        buffer_destroy(&text);
    }
    return buffer_detach(&text);
}
