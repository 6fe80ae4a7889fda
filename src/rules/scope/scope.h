/* Scope: which URLs belong to the crawl, by port, domain, regular expression and length.
 *
 * What: immutable once made; a change of the live options makes another (base/thread/shared.h).
 * A bad port (parse/host/port_set.h) is never in scope. Seeds are in scope by definition, but for
 * those on such a port.
 * Threads: any. */
#pragma once

#include "base/memory/buffer.h"
#include "rules/scope/stay_set.h"

/* Refusal: why a URL was not scheduled, or was scheduled and not fetched.
 *
 * What: a refusal has a name (status.log, skipped.log, the summary) and a status (crawl.log).
 * Threads: any.
 * Invariant: the enum only grows at its end, because the numbers by reason are saved with each
 * commit (page/stats.h). */

/* Why a URL was not scheduled or not fetched. */
/* clang-format off */
#define REFUSAL_LIST(REFUSAL) \
    REFUSAL(REFUSED_ROBOTS, "robots", STATUS_ROBOTS) \
    REFUSAL(REFUSED_SCOPE, "scope", STATUS_SCOPE) \
    REFUSAL(REFUSED_DEPTH, "depth", STATUS_TOO_DEEP) \
    REFUSAL(REFUSED_LENGTH, "length", STATUS_BLOCKED) \
    REFUSAL(REFUSED_NOFOLLOW, "nofollow", STATUS_BLOCKED) \
    REFUSAL(REFUSED_KIND, "embed", STATUS_BLOCKED) /* embeds, when they are not followed */ \
    REFUSAL(REFUSED_HOST, "host-dropped", STATUS_DROPPED) /* its host was dropped */ \
    REFUSAL(REFUSED_QUOTA, "quota", STATUS_QUOTA) /* its host's budget is used up */ \
    REFUSAL(REFUSED_REDIRECTS, "redirects", STATUS_REDIRECTS) \
    REFUSAL(REFUSED_BAD_URL, "bad-url", STATUS_BAD_URL) \
    /* more links on a page than parse.max_links */ \
    REFUSAL(REFUSED_MANY, "too-many-links", STATUS_BLOCKED) \
    REFUSAL(REFUSED_FILTER, "filter", STATUS_BLOCKED) /* filter.schedule or filter.fetch */ \
    /* limits.path_segments and the like, or a pattern that yields nothing new */ \
    REFUSAL(REFUSED_TRAP, "trap", STATUS_TRAP) \
    REFUSAL(REFUSED_PORT, "port", STATUS_BAD_URL) /* a bad port, or not in scope.ports */ \
    REFUSAL(REFUSED_DENIED, "denied", STATUS_DENIED) /* by the operator: ragno ctl DIR deny */ \
    /* its registered domain has enough: limits.hosts_per_domain and the like */ \
    REFUSAL(REFUSED_DOMAIN, "domain", STATUS_QUOTA) \
    REFUSAL(REFUSED_ADDRESS, "address", STATUS_QUOTA) /* the same of its address */ \
    /* not the first feed of a page, or beyond limits.feeds_per_host */ \
    REFUSAL(REFUSED_FEEDS, "feeds", STATUS_BLOCKED) \
    REFUSAL(REFUSED_ELSEWHERE, "elsewhere", STATUS_BLOCKED) /* warc.dedup_fresh */
/* clang-format on */

#define REFUSAL_CONSTANT(constant, name, status) constant,
typedef enum Refusal { REFUSAL_LIST(REFUSAL_CONSTANT) REFUSALS } Refusal;
#undef REFUSAL_CONSTANT

const char *refusal_name(Refusal refusal);
int refusal_status(Refusal refusal);

typedef struct Scope Scope;

typedef struct ScopeOptions {
    const char *domains; /* comma separated; "" = all */
    const char *exclude_domains;
    const char *accept_regex; /* "" = none */
    const char *reject_regex;
    const char *ports; /* "" = all that are not bad */
    size_t max_url_length;
    const StaySet *stay; /* NULL = anywhere; may grow; borrowed */
    const char *const
        *denied; /* rules (denials.h); those of what was forgotten hold for every URL */
    size_t n_denied;
} ScopeOptions;

/* RESULT_INVALID: error says which expression is wrong, and where. */
Result scope_new(Scope **scope, const ScopeOptions *options, Buffer *error);
void scope_delete(void *scope); /* a Scope or NULL */

/* The first rule that a URL breaks, in the order in which they are asked. */
typedef enum ScopeRule {
    SCOPE_IN, /* none */
    SCOPE_LENGTH,
    SCOPE_PORT,
    SCOPE_EXCLUDED, /* the whole host is */
    SCOPE_DOMAINS,
    SCOPE_STAY,
    SCOPE_REJECTED,
    SCOPE_NOT_ACCEPTED,
    SCOPE_FORGOTTEN /* asked first: `ragno forget` has erased it, nothing may write it down again */
} ScopeRule;

/* url is absolute and normalised; all rules hold. */
ScopeRule scope_rule(const Scope *scope, const char *url, size_t length);
/* The same of those rules that hold for a URL that was found this way (the letter of crawl.log):
 * seeds (M) are in scope by definition, and what a page embeds (E) is fetched wherever it lives;
 * what the operator excludes or rejects holds for all. */
ScopeRule scope_rule_of(const Scope *scope, const char *url, size_t length, uint8_t hop);
Refusal scope_rule_refusal(ScopeRule rule); /* REFUSALS for SCOPE_IN */
/* The option that says so: "scope.domains". */
const char *scope_rule_name(ScopeRule rule);
/* Whether scope.exclude_domains has a host, by its name. */
bool scope_excludes_host(const Scope *scope, const char *name, size_t length);
