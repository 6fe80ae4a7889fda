#include "fetch/site/fetch_site.h"
#include "base/option/option.h"
#include "base/core/ascii.h"
#include "base/memory/array.h"
#include "parse/host/authority.h"
#include "parse/host/port_set.h"
#include "base/memory/base64.h"
#include "base/memory/file.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>

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
        end++;
        is_named = is_named && port_read(&end) > 0;
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

static bool may_be_exception(const char *item, size_t length)
{
    IpRange range;
    return memchr(item, '/', length) == NULL || ip_range_parse(item, length, &range) == RESULT_OK;
}

Result proxy_check_exceptions(const char *text, Buffer *error)
{
    return option_check_words(text, BLANKS, may_be_exception,
                              "is neither a host nor an address nor a prefix", error);
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
    for (size_t length = 0; ascii_next_word(&list, &length, BLANKS);) {
        if (item_matches(list, length, target)) {
            return true;
        }
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
    const char *url = strcmp(proxy, ENVIRONMENT) == 0 ? of_environment(target) : proxy;
    if (url == NULL || *url == '\0' || is_exception(exceptions, target)) {
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
    Buffer pairs = {.limit = 2 * COOKIE_JAR_BYTES};
    CookiePlace place = host_cookies_place_of(visit_state, url, now_s);
    Result rc = cookie_jar_write(visit_state->cookies, &place, &pairs);
    if (rc == RESULT_OK && pairs.length > 0) {
        rc =
            buffer_printf(line, "Cookie: %s", buffer_string(&pairs)); /* no control byte is in it */
    }
    buffer_destroy(&pairs);
    return rc;
}

/* ---- Credentials ---- */

#define CREDENTIAL_BLANKS " \t"

typedef struct Credential {
    char *host; /* a pattern; of a proxy "HOST:PORT" */
    char *line; /* the header line; of a proxy "USER:PASSWORD" */
    bool for_proxy;
    bool over_https;
    bool over_http;
    uint16_t port; /* 0 = any */
} Credential;

struct Credentials {
    Credential *lines;
    size_t n;
};

void credentials_delete(Credentials *credentials)
{
    if (credentials != NULL) {
        for (size_t i = 0; i < credentials->n; i++) {
            free(credentials->lines[i].host);
            free(credentials->lines[i].line);
        }
        free(credentials->lines);
        free(credentials);
    }
}

/* ---- reading ---- */

static bool is_header(const char *line)
{
    size_t name = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "!#$%&'*+-.^_`|~");
    return name > 0 && line[name] == ':';
}

/* The header line that a kind of secret makes; NULL: error says why. */
static char *make_line(const char *kind, const char *secret, Buffer *error)
{
    Buffer line = {.limit = BUFFER_NO_LIMIT};
    Result rc = RESULT_INVALID;
    if (strcmp(kind, "basic") == 0 && strchr(secret, ':') != NULL) {
        (void)buffer_append_string(&line, "Authorization: Basic ");
        (void)base64_append(&line, secret, strlen(secret), BASE64_STANDARD);
        rc = line.failed;
    } else if (strcmp(kind, "bearer") == 0 && *secret != '\0') {
        rc = buffer_printf(&line, "Authorization: Bearer %s", secret);
    } else if (strcmp(kind, "header") == 0 && is_header(secret)) {
        rc = buffer_append_string(&line, secret);
    }
    if (rc == RESULT_INVALID) {
        (void)buffer_append_string(
            error, "expected 'SITE basic USER:PASSWORD', 'SITE bearer TOKEN', 'SITE "
                   "header NAME: VALUE' or 'proxy HOST:PORT USER:PASSWORD'");
    }
    if (rc != RESULT_OK) {
        buffer_destroy(&line);
        return NULL;
    }
    return buffer_detach(&line);
}

/* Cuts a word off the front of *text. */
static char *credentials_take_word(char **text)
{
    char *word = *text + strspn(*text, CREDENTIAL_BLANKS);
    char *end = word + strcspn(word, CREDENTIAL_BLANKS);
    *text = end + strspn(end, CREDENTIAL_BLANKS);
    *end = '\0';
    return word;
}

static Result credentials_read_line(Credential *credential, char *text, Buffer *error)
{
    char *first = credentials_take_word(&text);
    char *second = credentials_take_word(&text);
    if (strcmp(first, "proxy") == 0 && *second != '\0' && strchr(text, ':') != NULL) {
        credential->for_proxy = true;
        credential->host = strdup(second);
        credential->line = strdup(text);
        return credential->host == NULL || credential->line == NULL ? RESULT_MEMORY : RESULT_OK;
    }
    credential->line = make_line(second, text, error);
    if (credential->line == NULL) {
        return error->length > 0 ? RESULT_INVALID : RESULT_MEMORY;
    }
    /* A pattern of hosts with a scheme and a port, each of which may be missing. */
    const char *site = first;
    credential->over_https = strncasecmp(site, "http://", 7) != 0;
    credential->over_http = !credential->over_https;
    if (credential->over_http) {
        site += strlen("http://");
    } else if (strncasecmp(site, "https://", 8) == 0) {
        site += strlen("https://");
    }
    const char *end = site + strcspn(site, *site == '[' ? "]" : ":");
    end += *end == ']';
    size_t length = (size_t)(end - site);
    bool has_port = *end == ':';
    end += has_port;
    int port = has_port ? port_read(&end) : 0;
    if (length == 0 || strpbrk(site, "/@") != NULL || *end != '\0' || port < has_port) {
        (void)buffer_append_string(error,
                                   "expected a site such as www.example.org, *.example.org:8443 or "
                                   "http://intranet.example before the kind of secret");
        return RESULT_INVALID;
    }
    credential->port = (uint16_t)port;
    credential->host = strndup(site, length);
    return credential->host == NULL ? RESULT_MEMORY : RESULT_OK;
}

static Result credentials_add_line(Credentials *credentials, char *text, Buffer *error)
{
    Credential none = {.host = NULL};
    Result rc = array_add(&credentials->lines, &credentials->n, sizeof none, &none);
    if (rc != RESULT_OK) {
        return rc;
    }
    return credentials_read_line(&credentials->lines[credentials->n - 1], text, error);
}

static Result credentials_read_lines(Credentials *credentials, FILE *file, Buffer *error)
{
    char *line = NULL;
    size_t capacity = 0;
    unsigned number = 0;
    Result rc = RESULT_OK;
    ssize_t length = 0;
    while ((length = getline(&line, &capacity, file)) >= 0) {
        number++;
        while (length > 0 && strchr("\r\n \t", line[length - 1]) != NULL) {
            line[--length] = '\0';
        }
        char *text = line + strspn(line, CREDENTIAL_BLANKS);
        if (*text == '\0' || *text == '#') {
            continue;
        }
        Buffer why = {.limit = BUFFER_NO_LIMIT};
        rc = strlen(line) == (size_t)length ? credentials_add_line(credentials, text, &why)
                                            : RESULT_INVALID;
        if (rc == RESULT_INVALID) {
            (void)buffer_printf(error, "line %u: %s", number,
                                why.length > 0 ? buffer_string(&why) : "has a zero byte");
        }
        buffer_destroy(&why);
        if (rc != RESULT_OK) {
            break;
        }
    }
    if (rc == RESULT_OK && ferror(file) != 0) {
        rc = RESULT_IO;
    }
    if (line != NULL) {
        explicit_bzero(line, capacity);
    }
    free(line);
    return rc;
}

Result credentials_read(Credentials **out, const char *path, Buffer *error)
{
    FILE *file = NULL;
    Credentials *credentials = calloc(1, sizeof *credentials);
    if (credentials == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = file_open_private(&file, path, error);
    if (rc == RESULT_OK) {
        rc = credentials_read_lines(credentials, file, error);
        (void)fclose(file);
    }
    if (rc != RESULT_OK) {
        credentials_delete(credentials);
        return rc;
    }
    *out = credentials;
    return RESULT_OK;
}

/* ---- use ---- */

static bool matches(const Credential *credential, const char *url, const Authority *at, bool https)
{
    char host[256];
    size_t length = at->host_end - at->host;
    if (credential->for_proxy || !(https ? credential->over_https : credential->over_http) ||
        (credential->port != 0 && credential->port != at->port) || length >= sizeof host) {
        return false;
    }
    memcpy(host, url + at->host, length);
    host[length] = '\0';
    return *credential->host == '[' ? strcasecmp(credential->host, host) == 0
                                    : fnmatch(credential->host, host, FNM_CASEFOLD) == 0;
}

const char *credentials_next(const Credentials *credentials, const char *url, size_t length,
                             size_t *place)
{
    if (credentials == NULL || credentials->n == 0) {
        return NULL;
    }
    Authority at = authority_of(url, length);
    bool https = strncasecmp(url, "https:", 6) == 0;
    while (*place < credentials->n) {
        const Credential *credential = &credentials->lines[(*place)++];
        if (matches(credential, url, &at, https)) {
            return credential->line;
        }
    }
    return NULL;
}

const char *credentials_of_proxy(const Credentials *credentials, const char *proxy_url)
{
    const char *place = strstr(proxy_url, "://");
    place = place == NULL ? proxy_url : place + 3;
    size_t length = strcspn(place, "/");
    for (size_t i = 0; credentials != NULL && i < credentials->n; i++) {
        const Credential *credential = &credentials->lines[i];
        if (credential->for_proxy && strlen(credential->host) == length &&
            strncasecmp(credential->host, place, length) == 0) {
            return credential->line;
        }
    }
    return NULL;
}
