#include "fetch/site/fetch_site.h"
#include "parse/host/authority.h"
#include "parse/http/http_header.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ENVIRONMENT "environment"
#define BLANKS      ", \t"

static const char *const schemes[] = {"http://", "https://", "socks5://", "socks5h://"};

/* The scheme that a proxy's URL begins with, or NULL. */
static const char *scheme_of(const char *url)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0) {
            return schemes[i];
        }
    }
    return NULL;
}

/* "HOST", "HOST:PORT", "[ADDRESS]:PORT", and at most a slash behind it. */
static bool is_place(const char *text)
{
    const char *end = text + (*text == '[' ? strcspn(text, "]") : strcspn(text, ":/"));
    bool is_open = *text == '[' && *end != ']';
    end += *end == ']';
    bool is_named = !is_open && end > text && strcspn(text, " \t@?#") >= (size_t)(end - text);
    if (*end == ':') {
        char *rest = NULL;
        unsigned long port = strtoul(end + 1, &rest, 10);
        if (rest == end + 1 || port < 1 || port > 65535 || strchr("+- \t", end[1]) != NULL) {
            return false;
        }
        end = rest;
    }
    return is_named && (*end == '\0' || strcmp(end, "/") == 0);
}

Result proxy_check(const char *text, Buffer *error)
{
    if (*text == '\0' || strcmp(text, ENVIRONMENT) == 0) {
        return RESULT_OK;
    }
    const char *scheme = scheme_of(text);
    if (scheme != NULL && strchr(text, '@') != NULL) {
        (void)buffer_append_string(
            error, "user and password do not belong here: write 'proxy HOST:PORT USER:PASSWORD' "
                   "into the file of fetch.credentials");
        return RESULT_INVALID;
    }
    if (scheme == NULL || !is_place(text + strlen(scheme))) {
        (void)buffer_printf(error,
                            "'%s' is not a proxy: expected http://HOST:PORT, https://HOST:PORT, "
                            "socks5://HOST:PORT, socks5h://HOST:PORT or environment",
                            text);
        return RESULT_INVALID;
    }
    return RESULT_OK;
}

/* ---- exceptions ---- */

Result proxy_check_exceptions(const char *text, Buffer *error)
{
    for (text += strspn(text, BLANKS); *text != '\0'; text += strspn(text, BLANKS)) {
        size_t length = strcspn(text, BLANKS);
        IpRange range;
        if (memchr(text, '/', length) != NULL &&
            ip_range_parse(text, length, &range) != RESULT_OK) {
            (void)buffer_printf(error, "'%.*s' is neither a host nor an address nor a prefix",
                                (int)length, text);
            return RESULT_INVALID;
        }
        text += length;
    }
    return RESULT_OK;
}

static bool item_matches(const char *item, size_t length, const ProxyTarget *target)
{
    const char *host = target->hostname;
    size_t host_length = strlen(host);
    IpRange range;
    if (length == 1 && *item == '*') {
        return true;
    }
    if (ip_range_parse(item, length, &range) == RESULT_OK) {
        IpRanges ranges = {.ranges = &range, .n_ranges = 1};
        return target->address != NULL && ip_ranges_contain(&ranges, target->address);
    }
    while (length > 0 && (*item == '.' || *item == '*')) {
        item++;
        length--;
    }
    return length > 0 && length <= host_length &&
           strncasecmp(host + host_length - length, item, length) == 0 &&
           (length == host_length || host[host_length - length - 1] == '.');
}

static bool is_exception(const char *list, const ProxyTarget *target)
{
    for (list += strspn(list, BLANKS); *list != '\0'; list += strspn(list, BLANKS)) {
        size_t length = strcspn(list, BLANKS);
        if (item_matches(list, length, target)) {
            return true;
        }
        list += length;
    }
    return false;
}

/* ---- the choice ---- */

/* The first of two variables that is set and not empty, or NULL. */
static const char *variable(const char *lower, const char *upper)
{
    const char *value = getenv(lower);
    if ((value == NULL || *value == '\0') && upper != NULL) {
        value = getenv(upper);
    }
    return value == NULL || *value == '\0' ? NULL : value;
}

static const char *of_environment(const ProxyTarget *target)
{
    /* HTTP_PROXY is what a web server calls a visitor's header "Proxy", so it does not count. */
    const char *url =
        target->https ? variable("https_proxy", "HTTPS_PROXY") : variable("http_proxy", NULL);
    const char *except = variable("no_proxy", "NO_PROXY");
    url = url == NULL ? variable("all_proxy", "ALL_PROXY") : url;
    return except != NULL && is_exception(except, target) ? NULL : url;
}

Proxy proxy_choose(const char *proxy, const char *exceptions, const ProxyTarget *target)
{
    const char *url = *proxy == '\0'                    ? NULL
                      : strcmp(proxy, ENVIRONMENT) == 0 ? of_environment(target)
                                                        : proxy;
    if (url == NULL || is_exception(exceptions, target)) {
        return (Proxy){.url = NULL};
    }
    return (Proxy){.url = url, .wants_address = strncasecmp(url, "socks5://", 9) == 0};
}

/* ---- Host cookies ---- */

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
