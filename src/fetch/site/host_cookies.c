#include "fetch/site/host_cookies.h"

#include <string.h>

#include "parse/host/authority.h"
#include "parse/http/http_header.h"

static CookiePlace host_cookies_place_of(const VisitState *visit_state, const char *url,
                                         int64_t now_s)
{
    size_t length = strlen(url);
    Authority at = authority_of(url, length);
    return (CookiePlace){.host = url + at.host,
                         .host_length = at.host_end - at.host,
                         .path = url + at.end,
                         .path_length = length - at.end,
                         .https = visit_state->identity.https,
                         .now_s = now_s};
}

bool host_cookies_take(VisitState *visit_state, const char *bytes, size_t length, const char *url,
                       int64_t now_s)
{
    HttpHeader header;
    HttpField field;
    size_t position = 0;
    bool is_new = false;
    if (length == 0 || http_header_parse(&header, bytes, length) != RESULT_OK) {
        return false;
    }
    CookiePlace place = host_cookies_place_of(visit_state, url, now_s);
    while (http_header_next_named(&header, "Set-Cookie", &position, &field)) {
        if (visit_state->cookies == NULL) {
            visit_state->cookies = cookie_jar_new();
        }
        if (visit_state->cookies != NULL) {
            is_new |=
                cookie_jar_take(visit_state->cookies, field.value, field.value_length, &place);
        }
    }
    return is_new;
}

Result host_cookies_write(const VisitState *visit_state, const char *url, int64_t now_s,
                          Buffer *line)
{
    Buffer pairs;
    CookiePlace place = host_cookies_place_of(visit_state, url, now_s);
    buffer_init(&pairs, 2 * COOKIE_JAR_BYTES);
    Result rc = cookie_jar_write(visit_state->cookies, &place, &pairs);
    if (rc == RESULT_OK && pairs.length > 0) {
        rc = buffer_append_string(line, "Cookie: ");
        rc = rc == RESULT_OK ? buffer_append(line, pairs.data, pairs.length) : rc;
    }
    buffer_destroy(&pairs);
    return rc;
}
