#include "audit/audit_hosts.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"

/* ---- Audit findings ---- */

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

/* ---- Audit hosts ---- */

void audit_hosts_init(AuditHosts *hosts)
{
    map_init(&hosts->hosts);
    map_init(&hosts->addresses);
}

void audit_hosts_destroy(AuditHosts *hosts)
{
    size_t place = 0;
    AuditHost *host = NULL;
    AuditAddress *address = NULL;
    while ((host = map_next(&hosts->hosts, &place)) != NULL) {
        robots_delete(host->rules);
        free(host->subject.ends);
        free(host->origin);
        free(host);
    }
    place = 0;
    while ((address = map_next(&hosts->addresses, &place)) != NULL) {
        free(address->subject.ends);
        free(address);
    }
    map_destroy(&hosts->hosts);
    map_destroy(&hosts->addresses);
}

static const AuditSubject no_request = {.owes = -1, .asks = -1, .closest = {.slack = INT64_MAX}};

AuditHost *audit_hosts_find(AuditHosts *hosts, LogText origin, bool *is_new)
{
    Hash128 hash = hash_128(origin.bytes, origin.length);
    MapKey key = {.high = hash.high, .low = hash.low};
    AuditHost *host = map_get(&hosts->hosts, key);
    *is_new = host == NULL;
    if (host != NULL) {
        return host;
    }
    host = calloc(1, sizeof *host);
    char *copy = strndup(origin.bytes, origin.length);
    if (host == NULL || copy == NULL || map_put(&hosts->hosts, key, host) != RESULT_OK) {
        free(copy);
        free(host);
        return NULL;
    }
    host->subject = no_request;
    host->origin = copy;
    host->rules_version = -1;
    host->delay_ms = -1;
    return host;
}

AuditAddress *audit_hosts_find_address(AuditHosts *hosts, const IpAddress *ip, bool *is_new)
{
    MapKey key = ip_address_key(ip);
    AuditAddress *address = map_get(&hosts->addresses, key);
    *is_new = address == NULL;
    if (address != NULL) {
        return address;
    }
    address = calloc(1, sizeof *address);
    if (address == NULL || map_put(&hosts->addresses, key, address) != RESULT_OK) {
        free(address);
        return NULL;
    }
    address->subject = no_request;
    address->ip = *ip;
    return address;
}

void audit_hosts_forget_rules(AuditHosts *hosts)
{
    size_t place = 0;
    AuditHost *host = NULL;
    while ((host = map_next(&hosts->hosts, &place)) != NULL) {
        robots_delete(host->rules);
        host->rules = NULL;
        host->rules_version = -1;
    }
}
