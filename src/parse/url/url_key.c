#include "parse/url/url_key.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "parse/url/url_encode.h"
#include "base/core/ascii.h"

/* Names are compared without case. */
static const char *const session_names[] = {
    "jsessionid", "phpsessid",         "sessionid", "session_id", "sessid", "sid",  "aspsessionid",
    "cfid",       "cftoken",           "osid",      "zenid",      "s",      "sess", "sesskey",
    "session",    "asp.net_sessionid",
};
static const char *const path_session_names[] = {"jsessionid", "sid", "sessionid", "phpsessid"};
static const char *const tracking_names[] = {
    "gclid",  "gclsrc", "dclid",  "fbclid",    "msclkid", "yclid",     "twclid",
    "igshid", "mc_cid", "mc_eid", "_hsenc",    "_hsmi",   "_openstat", "wickedid",
    "ttclid", "wbraid", "gbraid", "li_fat_id", "mkt_tok", "_ga",       "vero_id",
};
static const char *const tracking_prefixes[] = {"utm_", "pk_", "mtm_", "hsa_"};
static const char *const index_names[] = {
    "index.html",  "index.htm",    "index.php",   "index.asp",    "index.aspx",
    "index.jsp",   "index.shtml",  "index.cgi",   "default.html", "default.htm",
    "default.asp", "default.aspx", "index.xhtml", "index.php3",
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool url_key_is_one_of(const char *text, size_t length, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strlen(names[i]) == length && strncasecmp(text, names[i], length) == 0) {
            return true;
        }
    }
    return false;
}

/* Sixteen or more letters and digits, both kinds among them: nobody types such a value. */
static bool looks_random(const char *value, size_t length)
{
    const size_t least = 16;
    bool has_digit = false;
    bool has_letter = false;
    for (size_t i = 0; i < length; i++) {
        unsigned class = url_class_of(value[i]);
        if ((class & URL_SCHEME) == 0 && value[i] != '_') {
            return false;
        }
        bool digit = value[i] >= '0' && value[i] <= '9';
        has_digit = has_digit || digit;
        has_letter = has_letter || !digit;
    }
    return length >= least && has_digit && has_letter;
}

/* Whether a parameter carries a session or merely tracks; name and value as in the query. */
static bool url_key_is_session(const char *name, size_t name_length, const char *value,
                               size_t value_length)
{
    return url_key_is_one_of(name, name_length, session_names, COUNT(session_names)) &&
           looks_random(value, value_length);
}

static bool url_key_is_tracking(const char *name, size_t name_length)
{
    for (size_t i = 0; i < COUNT(tracking_prefixes); i++) {
        size_t n = strlen(tracking_prefixes[i]);
        if (name_length > n && strncasecmp(name, tracking_prefixes[i], n) == 0) {
            return true;
        }
    }
    return url_key_is_one_of(name, name_length, tracking_names, COUNT(tracking_names));
}

/* Step 1. The result is never longer than the text; returns its length. */
static size_t normalize_escapes(const char *text, size_t length, char *to)
{
    char *start = to;
    const char *end = text + length;
    while (text < end) {
        int high = *text == '%' && end - text >= 3 ? hex_value(text[1]) : -1;
        int low = high >= 0 ? hex_value(text[2]) : -1;
        if (low < 0) {
            *to++ = *text++;
            continue;
        }
        char c = (char)(high * 16 + low);
        if (ascii_is_alnum(c) || (c != '\0' && strchr("-._~", c) != NULL)) {
            *to++ = c;
        } else {
            *to++ = '%';
            *to++ = (char)(text[1] >= 'a' ? text[1] - 32 : text[1]);
            *to++ = (char)(text[2] >= 'a' ? text[2] - 32 : text[2]);
        }
        text += 3;
    }
    return (size_t)(to - start);
}

/* Steps 2 and 4 on a path; returns the new length. */
static size_t shorten_path(char *path, size_t length, const UrlKeyOptions *options)
{
    char *slash = memrchr(path, '/', length);
    char *semicolon = slash == NULL ? NULL : memchr(slash, ';', length - (size_t)(slash - path));
    if (options->session_ids && semicolon != NULL) {
        const char *name = semicolon + 1;
        const char *equals = memchr(name, '=', (size_t)(path + length - name));
        if (equals != NULL && url_key_is_one_of(name, (size_t)(equals - name), path_session_names,
                                                COUNT(path_session_names))) {
            length = (size_t)(semicolon - path);
        }
    }
    if (options->index_pages && slash != NULL) {
        const char *last = slash + 1;
        size_t n = (size_t)(path + length - last);
        length -= url_key_is_one_of(last, n, index_names, COUNT(index_names)) ? n : 0;
    }
    return length;
}

typedef struct Parameter {
    const char *text; /* "name=value" */
    size_t length;
    size_t name_length;
    size_t order; /* in the query */
} Parameter;

static int compare_parameters(const void *a, const void *b)
{
    const Parameter *x = a;
    const Parameter *y = b;
    size_t n = x->name_length < y->name_length ? x->name_length : y->name_length;
    int order = memcmp(x->text, y->text, n);
    if (order == 0) {
        order = (x->name_length > y->name_length) - (x->name_length < y->name_length);
    }
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

static bool url_key_is_dropped(const Parameter *parameter, const UrlKeyOptions *options)
{
    size_t value_start = parameter->name_length + (parameter->name_length < parameter->length);
    if (options->tracking && url_key_is_tracking(parameter->text, parameter->name_length)) {
        return true;
    }
    return options->session_ids &&
           url_key_is_session(parameter->text, parameter->name_length,
                              parameter->text + value_start, parameter->length - value_start);
}

/* Splits a query at "&" into parameters, without those that are dropped. Returns how many. */
static size_t split_query(const char *query, size_t length, const UrlKeyOptions *options,
                          Parameter *parameters)
{
    const char *p = query;
    const char *end = query + length;
    size_t n = 0;
    for (;;) {
        const char *amp = memchr(p, '&', (size_t)(end - p));
        const char *stop = amp != NULL ? amp : end;
        const char *equals = memchr(p, '=', (size_t)(stop - p));
        parameters[n] = (Parameter){
            .text = p,
            .length = (size_t)(stop - p),
            .name_length = (size_t)((equals != NULL ? equals : stop) - p),
            .order = n,
        };
        n += !url_key_is_dropped(&parameters[n], options);
        if (amp == NULL) {
            return n;
        }
        p = amp + 1;
    }
}

/* Steps 2, 3 and 5 on a query without its "?". */
static Result url_key_append_query(Buffer *out, const char *query, size_t length,
                                   const UrlKeyOptions *options)
{
    size_t most = 1;
    for (size_t i = 0; i < length; i++) {
        most += query[i] == '&';
    }
    Parameter *parameters = calloc(most, sizeof *parameters);
    if (parameters == NULL) {
        return RESULT_MEMORY;
    }
    size_t n = split_query(query, length, options, parameters);
    if (options->sorted_query) {
        qsort(parameters, n, sizeof *parameters, compare_parameters);
    }
    for (size_t i = 0; i < n; i++) {
        (void)buffer_append_char(out, i == 0 ? '?' : '&');
        (void)buffer_append(out, parameters[i].text, parameters[i].length);
    }
    free(parameters);
    return out->failed; /* an error sticks */
}

static Result append_key(const Url *url, const UrlKeyOptions *options, Buffer *out)
{
    Result rc = buffer_reserve(out, url->length);
    if (rc != RESULT_OK) {
        return rc;
    }
    (void)buffer_append(out, url->href, url->path_start);
    char *path = out->data + out->length;
    size_t n =
        normalize_escapes(url->href + url->path_start, url->query_start - url->path_start, path);
    out->length += shorten_path(path, n, options);
    out->data[out->length] = '\0';
    if (url->query_start == url->length) {
        return RESULT_OK;
    }
    const char *query = url->href + url->query_start;
    size_t length = url->length - url->query_start;
    if (!options->session_ids && !options->tracking && !options->sorted_query) {
        out->length += normalize_escapes(query, length, out->data + out->length);
        out->data[out->length] = '\0';
        return RESULT_OK;
    }
    char *normal = calloc(1, length);
    if (normal == NULL) {
        return RESULT_MEMORY;
    }
    size_t n_normal = normalize_escapes(query + 1, length - 1, normal);
    rc = url_key_append_query(out, normal, n_normal, options);
    free(normal);
    return rc;
}

Result url_key(const Url *url, const UrlKeyOptions *options, Buffer *out)
{
    static const UrlKeyOptions none = {.session_ids = false};
    size_t before = out->length;
    Result rc = append_key(url, options == NULL ? &none : options, out);
    if (rc != RESULT_OK && out->data != NULL) {
        out->length = before;
        out->data[before] = '\0';
    }
    return rc;
}
