#include "audit/audit_findings.h"

#include <stdlib.h>
#include <string.h>

const char *audit_breach_name(AuditBreach breach)
{
    static const char *const names[AUDIT_BREACHES] = {
        [BREACH_HOST_PAUSE] = "host-pause", [BREACH_IP_PAUSE] = "ip-pause",
        [BREACH_AT_ONCE] = "at-once",       [BREACH_OWED] = "owed-too-little",
        [BREACH_STATED] = "stated-pause",   [BREACH_FORBIDDEN] = "forbidden",
        [BREACH_NO_ROBOTS] = "no-robots"};
    return names[breach];
}

void audit_findings_destroy(AuditFindings *findings)
{
    for (size_t i = 0; i < findings->n_kept; i++) {
        free(findings->kept[i].subject);
        free(findings->kept[i].rule);
    }
    free(findings->kept);
    *findings = (AuditFindings){.kept = NULL};
}

void audit_findings_add(AuditFindings *findings, const AuditFinding *finding, const char *subject,
                        size_t length, const char *rule)
{
    findings->count[finding->breach]++;
    if (findings->kept == NULL) {
        findings->kept = calloc(AUDIT_FINDINGS_KEPT, sizeof *findings->kept);
    }
    if (findings->kept == NULL || findings->n_kept == AUDIT_FINDINGS_KEPT) {
        return;
    }
    AuditFinding *kept = &findings->kept[findings->n_kept];
    *kept = *finding;
    kept->subject = strndup(subject, length);
    kept->rule = rule == NULL ? NULL : strdup(rule);
    if (kept->subject == NULL) {
        free(kept->rule);
        return;
    }
    findings->n_kept++;
}

uint64_t audit_findings_total(const AuditFindings *findings)
{
    uint64_t total = 0;
    for (size_t i = 0; i < AUDIT_BREACHES; i++) {
        total += findings->count[i];
    }
    return total;
}
