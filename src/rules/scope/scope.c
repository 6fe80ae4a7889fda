#include "rules/scope/scope.h"

#include <stdlib.h>

#include "fetch/transfer/fetch_result.h"
#include "parse/host/authority.h"
#include "parse/host/port_set.h"
#include "rules/scope/denials.h"
#include "rules/scope/url_lists.h"

/* ---- Refusal ---- */

#define REFUSAL_FACTS(constant, name, status) [constant] = {name, status},
static const struct {
    const char *name;
    int status;
} refusal_facts[REFUSALS] = {REFUSAL_LIST(REFUSAL_FACTS)};

const char *refusal_name(Refusal refusal)
{
    return refusal_facts[refusal].name;
}

int refusal_status(Refusal refusal)
{
    return refusal_facts[refusal].status;
}

/* ---- Scope ---- */

struct Scope {
    DomainSet domains;
    DomainSet excluded;
    UrlRegex *accept;
    UrlRegex *reject;
    size_t max_url_length;
    const StaySet *stay; /* NULL = anywhere */
    PortSet ports;
    Denials *forgotten; /* NULL: nothing was */
};

static Result scope_set_forgotten(Scope *scope, const ScopeOptions *options, Buffer *error)
{
    const char **tombs = calloc(options->n_denied + 1, sizeof *tombs);
    size_t n = 0;
    for (size_t i = 0; tombs != NULL && i < options->n_denied; i++) {
        if (denials_is_tomb(options->denied[i])) {
            tombs[n++] = options->denied[i];
        }
    }
    Result rc = tombs == NULL ? RESULT_MEMORY : RESULT_OK;
    if (rc == RESULT_OK && n > 0) {
        rc = denials_new(&scope->forgotten, tombs, n, error);
    }
    free(tombs);
    return rc;
}

Result scope_new(Scope **out, const ScopeOptions *options, Buffer *error)
{
    Scope *scope = calloc(1, sizeof *scope);
    if (scope == NULL) {
        return RESULT_MEMORY;
    }
    *out = NULL;
    scope->max_url_length = options->max_url_length;
    scope->stay = options->stay;
    Buffer what = {.limit = 1024};
    Result rc = port_set_parse(&scope->ports, options->ports == NULL ? "" : options->ports, &what);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "scope.ports: %s\n", buffer_string(&what));
    }
    buffer_destroy(&what);
    if (rc == RESULT_OK) {
        rc = domain_set_parse(&scope->domains, options->domains);
    }
    if (rc == RESULT_OK) {
        rc = domain_set_parse(&scope->excluded, options->exclude_domains);
    }
    if (rc == RESULT_OK) {
        rc = url_regex_compile(options->accept_regex, "scope.accept_regex", &scope->accept, error);
    }
    if (rc == RESULT_OK) {
        rc = url_regex_compile(options->reject_regex, "scope.reject_regex", &scope->reject, error);
    }
    if (rc == RESULT_OK) {
        rc = scope_set_forgotten(scope, options, error);
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
        url_regex_delete(scope->accept);
        url_regex_delete(scope->reject);
        denials_delete(scope->forgotten);
        free(scope);
    }
}

ScopeRule scope_rule_of(const Scope *scope, const char *url, size_t length, uint8_t hop)
{
    bool is_seed = hop == 'M';
    bool anywhere = is_seed || hop == 'E';
    Authority at = authority_of(url, length);
    const char *host = url + at.host;
    size_t host_length = at.host_end - at.host;
    if (scope->forgotten != NULL && (denials_host(scope->forgotten, host, host_length) != NULL ||
                                     denials_url(scope->forgotten, url, length) != NULL)) {
        return SCOPE_FORGOTTEN;
    }
    if (!is_seed && length > scope->max_url_length) {
        return SCOPE_LENGTH;
    }
    if (!is_seed && !port_set_has(&scope->ports, at.port)) {
        return SCOPE_PORT;
    }
    if (domain_set_find(&scope->excluded, host, host_length) != NULL) {
        return SCOPE_EXCLUDED;
    }
    if (!anywhere && scope->domains.n > 0 &&
        domain_set_find(&scope->domains, host, host_length) == NULL) {
        return SCOPE_DOMAINS;
    }
    if (!anywhere && scope->stay != NULL && !stay_set_has(scope->stay, url, length)) {
        return SCOPE_STAY;
    }
    /* An expression that runs into its match limit counts as found for rejects, since caution wins;
     * and a URL that makes an accept expression explode is no loss. */
    if (scope->reject != NULL && url_regex_find(scope->reject, url, length, true)) {
        return SCOPE_REJECTED;
    }
    return anywhere || scope->accept == NULL || url_regex_find(scope->accept, url, length, false)
               ? SCOPE_IN
               : SCOPE_NOT_ACCEPTED;
}

ScopeRule scope_rule(const Scope *scope, const char *url, size_t length)
{
    return scope_rule_of(scope, url, length, 'L');
}

static const struct {
    const char *name;
    Refusal refusal;
} scope_rules[] = {[SCOPE_IN] = {"", REFUSALS},
                   [SCOPE_LENGTH] = {"scope.max_url_length", REFUSED_LENGTH},
                   [SCOPE_PORT] = {"scope.ports", REFUSED_PORT},
                   [SCOPE_EXCLUDED] = {"scope.exclude_domains", REFUSED_SCOPE},
                   [SCOPE_DOMAINS] = {"scope.domains", REFUSED_SCOPE},
                   [SCOPE_STAY] = {"scope.stay", REFUSED_SCOPE},
                   [SCOPE_REJECTED] = {"scope.reject_regex", REFUSED_SCOPE},
                   [SCOPE_NOT_ACCEPTED] = {"scope.accept_regex", REFUSED_SCOPE},
                   [SCOPE_FORGOTTEN] = {"ragno forget", REFUSED_DENIED}};

Refusal scope_rule_refusal(ScopeRule rule)
{
    return scope_rules[rule].refusal;
}

const char *scope_rule_name(ScopeRule rule)
{
    return scope_rules[rule].name;
}

bool scope_excludes_host(const Scope *scope, const char *name, size_t length)
{
    return domain_set_find(&scope->excluded, name, length) != NULL;
}
