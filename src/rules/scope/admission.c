#include "rules/scope/admission.h"

#include <stdlib.h>

#include "parse/host/authority.h"

struct Admission {
    Scope *scope;
    Denials *denials; /* NULL: none */
};

Result admission_new(Admission **out, const ScopeOptions *scope, const char *const *denials,
                     size_t n_denials, Buffer *error)
{
    Admission *admission = calloc(1, sizeof *admission);
    *out = NULL;
    Result rc = admission == NULL ? RESULT_MEMORY : scope_new(&admission->scope, scope, error);
    if (rc == RESULT_OK && n_denials > 0) {
        rc = denials_new(&admission->denials, denials, n_denials, error);
    }
    if (rc != RESULT_OK) {
        admission_delete(admission);
        return rc;
    }
    *out = admission;
    return RESULT_OK;
}

void admission_delete(void *object)
{
    Admission *admission = object;
    if (admission != NULL) {
        scope_delete(admission->scope);
        denials_delete(admission->denials);
        free(admission);
    }
}

static AdmissionAnswer admission_refuse(Refusal refusal, const char *rule, bool whole_host)
{
    return (AdmissionAnswer){.refusal = refusal, .rule = rule, .whole_host = whole_host};
}

static AdmissionAnswer ask_denials(const Denials *denials, const AdmissionQuestion *q)
{
    const char *rule = denials_host(denials, q->host, q->host_length);
    if (rule == NULL && q->address != NULL) {
        rule = denials_address(denials, q->address);
    }
    if (rule != NULL) {
        return admission_refuse(REFUSED_DENIED, rule, true);
    }
    rule = q->url == NULL ? NULL : denials_url(denials, q->url, q->length);
    return admission_refuse(rule == NULL ? REFUSALS : REFUSED_DENIED, rule, false);
}

bool admission_forgot(const Admission *admission, const char *url, size_t length)
{
    return scope_rule(admission->scope, url, length) == SCOPE_FORGOTTEN;
}

AdmissionAnswer admission_judge(const Admission *admission, const AdmissionQuestion *question)
{
    AdmissionQuestion q = *question;
    if (admission->denials != NULL) {
        if (q.host == NULL) {
            Authority at = authority_of(q.url, q.length);
            q.host = q.url + at.host;
            q.host_length = at.host_end - at.host;
        }
        AdmissionAnswer answer = ask_denials(admission->denials, &q);
        if (answer.refusal != REFUSALS) {
            return answer;
        }
    }
    if (q.url == NULL) {
        bool excluded = scope_excludes_host(admission->scope, q.host, q.host_length);
        return excluded ? admission_refuse(REFUSED_SCOPE, scope_rule_name(SCOPE_EXCLUDED), true)
                        : admission_refuse(REFUSALS, NULL, false);
    }
    ScopeRule rule = scope_rule_of(admission->scope, q.url, q.length, q.hop);
    return rule == SCOPE_IN ? admission_refuse(REFUSALS, NULL, false)
                            : admission_refuse(scope_rule_refusal(rule), scope_rule_name(rule),
                                               rule == SCOPE_EXCLUDED);
}
