#include "rules/scope.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/memory/map.h"
#include "parse/host/authority.h"
#include "parse/host/port_set.h"

#define REGEX_MATCH_LIMIT 100000u

typedef struct DomainSet {
    Map hashes; /* of lower-case names, to the names */
    char **names;
    size_t n;
} DomainSet;

struct Scope {
    DomainSet domains;
    DomainSet excluded;
    pcre2_code *accept;
    pcre2_code *reject;
    size_t max_url_length;
    PortSet ports;
};

static MapKey domain_key(const char *name, size_t length)
{
    Hash128 h = hash_128(name, length);
    return (MapKey){.high = h.high, .low = h.low};
}

static Result domain_set_parse(DomainSet *set, const char *list)
{
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && *(list += strspn(list, ", \t.")) != '\0') {
        size_t length = strcspn(list, ", \t");
        char *name = strndup(list, length);
        char **names = realloc(set->names, (set->n + 1) * sizeof *names);
        if (names != NULL) {
            set->names = names;
        }
        if (name == NULL || names == NULL) {
            free(name);
            return RESULT_MEMORY;
        }
        for (char *c = name; *c != '\0'; c++) {
            *c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 32) : *c;
        }
        names[set->n++] = name;
        rc = map_put(&set->hashes, domain_key(name, length), name);
        list += length;
    }
    return rc;
}

static void domain_set_destroy(DomainSet *set)
{
    for (size_t i = 0; i < set->n; i++) {
        free(set->names[i]);
    }
    free(set->names);
    map_destroy(&set->hashes);
}

/* Whether the host or a domain above it is in the set. */
static bool domain_set_covers(const DomainSet *set, const char *host, size_t length)
{
    while (length > 0 && set->n > 0) {
        if (map_get(&set->hashes, domain_key(host, length)) != NULL) {
            return true;
        }
        const char *dot = memchr(host, '.', length);
        if (dot == NULL) {
            return false;
        }
        length -= (size_t)(dot - host) + 1;
        host = dot + 1;
    }
    return false;
}

static Result compile(const char *text, const char *what, pcre2_code **code, Buffer *error)
{
    *code = NULL;
    if (*text == '\0') {
        return RESULT_OK;
    }
    int number = 0;
    PCRE2_SIZE offset = 0;
    *code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, &number, &offset, NULL);
    if (*code == NULL) {
        PCRE2_UCHAR message[128];
        (void)pcre2_get_error_message(number, message, sizeof message);
        (void)buffer_printf(error, "%s: column %zu: %s\n", what, (size_t)offset + 1,
                            (const char *)message);
        return RESULT_INVALID;
    }
    (void)pcre2_jit_compile(*code, PCRE2_JIT_COMPLETE);
    return RESULT_OK;
}

static Result ports_parse(PortSet *ports, const char *list, Buffer *error)
{
    Buffer what;
    buffer_init(&what, 1024);
    Result rc = port_set_parse(ports, list == NULL ? "" : list, &what);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "scope.ports: %s\n", buffer_string(&what));
    }
    buffer_destroy(&what);
    return rc;
}

ScopeOptions scope_options(const Config *config)
{
    return (ScopeOptions){.domains = config->scope_domains,
                          .exclude_domains = config->scope_exclude_domains,
                          .accept_regex = config->scope_accept_regex,
                          .reject_regex = config->scope_reject_regex,
                          .ports = config->scope_ports,
                          .max_url_length = (size_t)config->scope_max_url_length};
}

Result scope_new(Scope **out, const ScopeOptions *options, Buffer *error)
{
    Scope *scope = calloc(1, sizeof *scope);
    if (scope == NULL) {
        return RESULT_MEMORY;
    }
    *out = NULL;
    scope->max_url_length = options->max_url_length;
    Result rc = ports_parse(&scope->ports, options->ports, error);
    if (rc == RESULT_OK) {
        rc = domain_set_parse(&scope->domains, options->domains);
    }
    if (rc == RESULT_OK) {
        rc = domain_set_parse(&scope->excluded, options->exclude_domains);
    }
    if (rc == RESULT_OK) {
        rc = compile(options->accept_regex, "scope.accept_regex", &scope->accept, error);
    }
    if (rc == RESULT_OK) {
        rc = compile(options->reject_regex, "scope.reject_regex", &scope->reject, error);
    }
    if (rc != RESULT_OK) {
        scope_delete(scope);
        return rc;
    }
    *out = scope;
    return RESULT_OK;
}

void scope_delete(void *object)
{
    Scope *scope = object;
    if (scope != NULL) {
        domain_set_destroy(&scope->domains);
        domain_set_destroy(&scope->excluded);
        pcre2_code_free(scope->accept);
        pcre2_code_free(scope->reject);
        free(scope);
    }
}

/* An expression that runs into its match limit counts as found: caution wins for rejects, and a URL
 * that makes an accept expression explode is no loss. */
static bool found(const pcre2_code *code, const char *url, size_t length, bool at_limit)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    if (data == NULL || limits == NULL) {
        pcre2_match_data_free(data);
        pcre2_match_context_free(limits);
        return at_limit;
    }
    (void)pcre2_set_match_limit(limits, REGEX_MATCH_LIMIT);
    int rc = pcre2_match(code, (PCRE2_SPTR)url, length, 0, 0, data, limits);
    pcre2_match_data_free(data);
    pcre2_match_context_free(limits);
    return rc >= 0 || (rc != PCRE2_ERROR_NOMATCH && at_limit);
}

Refusal scope_refuses(const Scope *scope, const char *url, size_t length)
{
    if (length > scope->max_url_length) {
        return REFUSED_LENGTH;
    }
    Authority at = authority_of(url, length);
    if (!port_set_has(&scope->ports, at.port)) {
        return REFUSED_PORT;
    }
    if ((scope->domains.n > 0 &&
         !domain_set_covers(&scope->domains, url + at.host, at.host_end - at.host)) ||
        domain_set_covers(&scope->excluded, url + at.host, at.host_end - at.host)) {
        return REFUSED_SCOPE;
    }
    if ((scope->accept != NULL && !found(scope->accept, url, length, false)) ||
        (scope->reject != NULL && found(scope->reject, url, length, true))) {
        return REFUSED_SCOPE;
    }
    return REFUSALS;
}
