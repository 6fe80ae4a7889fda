#include "rules/scope/denials.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/core/ascii.h"
#include "base/core/hash.h"
#include "parse/host/authority.h"
#include "parse/url/url.h"
#include "rules/scope/url_lists.h"

#define REGEX_WORD   "regex:"
#define REGEX_LENGTH (sizeof REGEX_WORD - 1)
#define NAME_BYTES   255 /* of a host name at most */

typedef enum DenialKind {
    DENIAL_NAME,    /* a host, and what is below it */
    DENIAL_NAMES,   /* a pattern of names */
    DENIAL_ADDRESS, /* an address or a range */
    DENIAL_BELOW,   /* a URL, and what is below it */
    DENIAL_URLS,    /* a pattern of URLs */
    DENIAL_REGEX,
    DENIAL_TOMB_HOST, /* what `ragno forget` has erased, by its hash */
    DENIAL_TOMB_URL
} DenialKind;

typedef struct Denial {
    DenialKind kind;
    char *rule; /* owned */
    size_t length;
    IpRanges ranges; /* DENIAL_ADDRESS */
    UrlRegex *regex; /* DENIAL_REGEX */
    Hash128 hash;    /* DENIAL_TOMB_... */
} Denial;

struct Denials {
    Denial *denials;
    size_t n;
    DomainSet names; /* of the rules of kind DENIAL_NAME */
    size_t n_tombs;
};

/* ---- tombstones ---- */

#define TOMB_HOST DENIAL_TOMB "host:"
#define TOMB_URL  DENIAL_TOMB "url:"

/* The expression of a rule of kind DENIAL_REGEX. */
static const char *regex_of(const char *rule)
{
    return strstr(rule, REGEX_WORD) + REGEX_LENGTH;
}

Result denials_tomb(bool is_host, const char *text, size_t length, Buffer *out)
{
    Hash128 hash = hash_128(text, length);
    return buffer_printf(out, "%s%016" PRIx64 "%016" PRIx64, is_host ? TOMB_HOST : TOMB_URL,
                         hash.high, hash.low);
}

static bool tomb_read(const char *rule, Hash128 *hash)
{
    const char *digits = strrchr(rule, ':') + 1;
    char high[17] = "";
    if (strlen(digits) != 32 || strspn(digits, "0123456789abcdef") != 32) {
        return false;
    }
    memcpy(high, digits, 16);
    *hash = (Hash128){.high = strtoull(high, NULL, 16), .low = strtoull(digits + 16, NULL, 16)};
    return true;
}

static const char *tomb_find(const Denials *denials, DenialKind kind, const char *text,
                             size_t length)
{
    Hash128 hash = hash_128(text, length);
    for (size_t i = 0; i < denials->n; i++) {
        const Denial *denial = &denials->denials[i];
        if (denial->kind == kind && denial->hash.high == hash.high &&
            denial->hash.low == hash.low) {
            return denial->rule;
        }
    }
    return NULL;
}

/* The host itself, or one above it. */
static const char *tomb_find_host(const Denials *denials, const char *name, size_t length)
{
    const char *end = name + length;
    const char *rule = NULL;
    while (denials->n_tombs > 0 && rule == NULL && name < end) {
        const char *dot = memchr(name, '.', (size_t)(end - name));
        rule = tomb_find(denials, DENIAL_TOMB_HOST, name, (size_t)(end - name));
        name = dot == NULL ? end : dot + 1;
    }
    return rule;
}

/* ---- what a rule is ---- */

static bool is_pattern(const char *text)
{
    IpAddress address;
    const char *sign = strpbrk(text, "*?[");
    size_t length = sign == NULL ? 0 : strcspn(sign, "]");
    if (length > 0 && ip_address_parse(sign, strnlen(sign, length + 1), &address) == RESULT_OK) {
        sign = strpbrk(sign + length, "*?["); /* behind the host of http://[::1]/ */
    }
    return sign != NULL;
}

static bool is_range(const char *rule)
{
    IpRanges ranges;
    Buffer ignored = {.limit = 1024};
    bool is_one = strchr(rule, ',') == NULL &&
                  ip_ranges_parse(&ranges, rule, &ignored) == RESULT_OK && ranges.n_ranges == 1;
    if (is_one) {
        ip_ranges_destroy(&ranges);
    }
    buffer_destroy(&ignored);
    return is_one;
}

static DenialKind denials_kind_of(const char *rule)
{
    if (denials_is_tomb(rule) &&
        strncmp(rule, DENIAL_TOMB REGEX_WORD, sizeof DENIAL_TOMB REGEX_WORD - 1) != 0) {
        return strncmp(rule, TOMB_URL, sizeof TOMB_URL - 1) == 0 ? DENIAL_TOMB_URL
                                                                 : DENIAL_TOMB_HOST;
    }
    if (denials_is_tomb(rule) || strncmp(rule, REGEX_WORD, REGEX_LENGTH) == 0) {
        return DENIAL_REGEX;
    }
    if (is_range(rule)) {
        return DENIAL_ADDRESS;
    }
    if (strstr(rule, "://") != NULL) {
        return is_pattern(rule) ? DENIAL_URLS : DENIAL_BELOW;
    }
    return is_pattern(rule) ? DENIAL_NAMES : DENIAL_NAME;
}

/* ---- one rule ---- */

static Result denials_complain(const char *rule, const char *what, Buffer *error)
{
    (void)buffer_printf(error,
                        "'%.128s' is %s; expected a host (example.org), a pattern of hosts "
                        "(*.example.org), an address or range (192.0.2.0/24), a URL or pattern of "
                        "URLs (https://example.org/private), or regex:EXPRESSION",
                        rule, what);
    return RESULT_INVALID;
}

static Result append_lower(const char *text, Buffer *out)
{
    for (; *text != '\0'; text++) {
        (void)buffer_append_char(out, ascii_lower(*text));
    }
    return out->failed; /* an error sticks */
}

/* A name or a URL as the parser of URLs writes it. */
static Result append_parsed(const char *rule, DenialKind kind, Buffer *out, Buffer *error)
{
    Url url = {.href = NULL};
    Buffer text = {.limit = 65536};
    const char *name = rule + (kind == DENIAL_NAME ? strspn(rule, ".") : 0);
    Result rc = buffer_printf(&text, "%s%s", kind == DENIAL_NAME ? "http://" : "", name);
    if (rc == RESULT_OK) {
        rc = url_parse(&url, NULL, text.data, text.length);
    }
    bool is_name = rc == RESULT_OK && url.path_start + 1u == url.length && url.port == 80 &&
                   strpbrk(name, "/?#@\\ ") == NULL;
    if (rc == RESULT_INVALID || (rc == RESULT_OK && kind == DENIAL_NAME && !is_name)) {
        rc =
            denials_complain(rule, kind == DENIAL_NAME ? "no host" : "no http or https URL", error);
    } else if (rc == RESULT_OK) {
        size_t start = kind == DENIAL_NAME ? url.host_start : 0;
        size_t end = url.host_end; /* without the dot of the root */
        end -= end - url.host_start > 1 && url.href[end - 1] == '.';
        rc = buffer_append(out, url.href + start, end - start);
    }
    if (rc == RESULT_OK && kind != DENIAL_NAME) {
        rc = buffer_append(out, url.href + url.host_end, url.length - url.host_end);
    }
    url_destroy(&url);
    buffer_destroy(&text);
    return rc;
}

Result denials_normalise(const char *rule, Buffer *out, Buffer *error)
{
    DenialKind kind = denials_kind_of(rule);
    UrlRegex *regex = NULL;
    Hash128 hash;
    Result rc = RESULT_OK;
    if (*rule == '\0') {
        return denials_complain(rule, "empty", error);
    }
    switch (kind) {
    case DENIAL_REGEX:
        rc = url_regex_compile(regex_of(rule), rule, &regex, error);
        if (rc == RESULT_OK && regex == NULL) {
            rc = denials_complain(rule, "an empty expression", error);
        }
        url_regex_delete(regex);
        return rc == RESULT_OK ? buffer_append_string(out, rule) : rc;
    case DENIAL_NAME:
    case DENIAL_BELOW:
        return append_parsed(rule, kind, out, error);
    case DENIAL_NAMES:
        if (strpbrk(rule, "/@\\ ") != NULL) {
            return denials_complain(rule, "no pattern of hosts, nor of URLs", error);
        }
        return append_lower(rule, out);
    case DENIAL_ADDRESS:
        return append_lower(rule, out);
    case DENIAL_TOMB_HOST:
    case DENIAL_TOMB_URL:
        return tomb_read(rule, &hash)
                   ? buffer_append_string(out, rule)
                   : denials_complain(rule, "no hash of what was forgotten", error);
    case DENIAL_URLS:
        break;
    }
    if (strncmp(rule, "http", 4) != 0 && *rule != '*') {
        return denials_complain(rule, "no pattern of http or https URLs", error);
    }
    return buffer_append_string(out, rule);
}

static Result denial_init(Denial *denial, const char *rule, Buffer *error)
{
    *denial = (Denial){.kind = denials_kind_of(rule), .rule = strdup(rule), .length = strlen(rule)};
    if (denial->rule == NULL) {
        return RESULT_MEMORY;
    }
    if (denial->kind == DENIAL_ADDRESS) {
        return ip_ranges_parse(&denial->ranges, rule, error);
    }
    if (denial->kind == DENIAL_TOMB_HOST || denial->kind == DENIAL_TOMB_URL) {
        return tomb_read(rule, &denial->hash) ? RESULT_OK : RESULT_INVALID;
    }
    return denial->kind == DENIAL_REGEX
               ? url_regex_compile(regex_of(rule), rule, &denial->regex, error)
               : RESULT_OK;
}

/* ---- the set ---- */

Result denials_new(Denials **out, const char *const *rules, size_t n, Buffer *error)
{
    Denials *denials = calloc(1, sizeof *denials);
    *out = NULL;
    if (denials == NULL) {
        return RESULT_MEMORY;
    }
    denials->denials = calloc(n == 0 ? 1 : n, sizeof *denials->denials);
    Result rc = denials->denials == NULL ? RESULT_MEMORY : RESULT_OK;
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        Denial *denial = &denials->denials[denials->n++];
        rc = denial_init(denial, rules[i], error);
        denials->n_tombs += denials_is_tomb(rules[i]);
        if (rc == RESULT_OK && denial->kind == DENIAL_NAME) {
            rc = domain_set_add(&denials->names, denial->rule, denial->length);
        }
    }
    if (rc != RESULT_OK) {
        denials_delete(denials);
        return rc;
    }
    *out = denials;
    return RESULT_OK;
}

void denials_delete(Denials *denials)
{
    if (denials == NULL) {
        return;
    }
    for (size_t i = 0; i < denials->n; i++) {
        free(denials->denials[i].rule);
        ip_ranges_destroy(&denials->denials[i].ranges);
        url_regex_delete(denials->denials[i].regex);
    }
    free(denials->denials);
    domain_set_destroy(&denials->names);
    free(denials);
}

const char *denials_host(const Denials *denials, const char *name, size_t length)
{
    char text[NAME_BYTES + 1];
    length -= length > 1 && name[length - 1] == '.'; /* of the root: the same host */
    const char *rule = domain_set_find(&denials->names, name, length);
    rule = rule == NULL ? tomb_find_host(denials, name, length) : rule;
    if (rule != NULL || denials->names.n == denials->n || length >= sizeof text) {
        return rule;
    }
    memcpy(text, name, length);
    text[length] = '\0';
    for (size_t i = 0; i < denials->n; i++) {
        if (denials->denials[i].kind == DENIAL_NAMES &&
            fnmatch(denials->denials[i].rule, text, FNM_CASEFOLD) == 0) {
            return denials->denials[i].rule;
        }
    }
    return NULL;
}

const char *denials_address(const Denials *denials, const IpAddress *address)
{
    for (size_t i = 0; i < denials->n; i++) {
        if (denials->denials[i].kind == DENIAL_ADDRESS &&
            ip_ranges_contain(&denials->denials[i].ranges, address)) {
            return denials->denials[i].rule;
        }
    }
    return NULL;
}

/* "http://a/b" has below it itself, "http://a/b/c", "http://a/b?c". */
static bool is_below(const Denial *denial, const char *url, size_t length)
{
    return length >= denial->length && memcmp(url, denial->rule, denial->length) == 0 &&
           (length == denial->length || denial->rule[denial->length - 1] == '/' ||
            url[denial->length] == '/' || url[denial->length] == '?');
}

static bool denies_url(const Denial *denial, const char *url, size_t length)
{
    switch (denial->kind) {
    case DENIAL_BELOW:
        return is_below(denial, url, length);
    case DENIAL_URLS:
        return fnmatch(denial->rule, url, 0) == 0;
    case DENIAL_REGEX:
        return url_regex_find(denial->regex, url, length, true);
    case DENIAL_TOMB_URL:
    case DENIAL_TOMB_HOST:
    case DENIAL_NAME:
    case DENIAL_NAMES:
    case DENIAL_ADDRESS:
        break;
    }
    return false;
}

static const char *denials_url_as_it_is(const Denials *denials, const char *url, size_t length)
{
    const char *rule =
        denials->n_tombs == 0 ? NULL : tomb_find(denials, DENIAL_TOMB_URL, url, length);
    for (size_t i = 0; i < denials->n && rule == NULL; i++) {
        if (denies_url(&denials->denials[i], url, length)) {
            rule = denials->denials[i].rule;
        }
    }
    return rule;
}

const char *denials_url(const Denials *denials, const char *url, size_t length)
{
    const char *rule = denials_url_as_it_is(denials, url, length);
    size_t dot = authority_of(url, length).host_end;
    if (rule != NULL || dot == 0 || url[--dot] != '.') {
        return rule;
    }
    /* Without the dot of the root, which says the same host. */
    char *bare = strdup(url);
    if (bare != NULL) {
        memmove(bare + dot, url + dot + 1, length - dot);
        rule = denials_url_as_it_is(denials, bare, length - 1);
        free(bare);
    }
    return rule;
}
