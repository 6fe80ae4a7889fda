/* Scope: which URLs belong to the crawl, by port, domain, regular expression and length.
 *
 * What: immutable once made; a change of the live options makes another (base/thread/shared.h).
 * A bad port (parse/host/port_set.h) is never in scope. Seeds are in scope by definition, but for
 * those on such a port.
 * Threads: any. */
#ifndef RULES_SCOPE_H
#define RULES_SCOPE_H

#include <stddef.h>

#include "base/memory/buffer.h"
#include "base/core/result.h"
#include "rules/config.h"
#include "rules/refusal.h"

typedef struct Scope Scope;

typedef struct ScopeOptions {
    const char *domains; /* comma separated; "" = all */
    const char *exclude_domains;
    const char *accept_regex; /* "" = none */
    const char *reject_regex;
    const char *ports; /* "" = all that are not bad */
    size_t max_url_length;
} ScopeOptions;

/* What the configuration says; borrowed from it. */
ScopeOptions scope_options(const Config *config);
/* RESULT_INVALID: error says which expression is wrong, and where. */
Result scope_new(Scope **scope, const ScopeOptions *options, Buffer *error);
void scope_delete(void *scope); /* a Scope or NULL */
/* REFUSALS when the URL (absolute, normalised) is in scope, otherwise why not. */
Refusal scope_refuses(const Scope *scope, const char *url, size_t length);

#endif
