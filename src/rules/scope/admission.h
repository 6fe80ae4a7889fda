/* Admission: whether a URL that is scheduled may still be fetched, by scope and denials as they are
 * now.
 *
 * What: a URL is judged when it is found (rules/scope/scope.h), and once more before it is fetched,
 * since the operator may have changed his mind in between. What is asked is a URL, or a host alone:
 *
 *   denials       hosts, addresses, URLs: of all URLs
 *   exclusions    scope.exclude_domains, scope.reject_regex: of all URLs
 *   the rest      scope.domains, accept_regex, max_url_length, ports: of all URLs but seeds, which
 *                 are in scope by definition, and, the first two, but what pages embed
 *
 * Owns: its scope and its denials. Immutable once made; a change makes another
 * (base/thread/shared.h).
 * Threads: any. */
#pragma once

#include "rules/scope/denials.h"
#include "rules/scope/scope.h"

typedef struct Admission Admission;

typedef struct AdmissionQuestion {
    const char *url; /* absolute, normalised, NUL-terminated; NULL: the host alone */
    size_t length;
    const char *host; /* its name; NULL: that of the URL */
    size_t host_length;
    const IpAddress *address; /* NULL: not known */
    uint8_t hop;              /* how it was found: 'M' a seed, 'E' embedded in a page */
} AdmissionQuestion;

typedef struct AdmissionAnswer {
    Refusal refusal;  /* REFUSALS: it is admitted */
    const char *rule; /* that refuses it, as the operator wrote it, or the name of an option;
                         borrowed from the admission; NULL when it is admitted */
    bool whole_host;  /* the rule refuses all URLs of the host */
} AdmissionAnswer;

/* denials are normalised (denials_normalise). RESULT_INVALID: error says which is wrong. */
Result admission_new(Admission **admission, const ScopeOptions *scope, const char *const *denials,
                     size_t n_denials, Buffer *error);
void admission_delete(void *admission); /* an Admission or NULL */
/* Whether `ragno forget` has erased it: nothing may write it down again. */
bool admission_forgot(const Admission *admission, const char *url, size_t length);
AdmissionAnswer admission_judge(const Admission *admission, const AdmissionQuestion *question);
