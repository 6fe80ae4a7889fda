#include "audit/audit_hosts.h"

#include <stdlib.h>
#include <string.h>
#include <fnmatch.h>

#include "base/option/option.h"
#include "parse/host/domain.h"

/* ---- Audit findings ---- */

const char *audit_breach_name(AuditBreach breach)
{
    static const char *const names[] = {WORDS_NAMES(AUDIT_BREACH_WORDS)};
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
    MapKey key = map_key_of(origin.bytes, origin.length);
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
    return host;
}

AuditAddress *audit_hosts_find_address(AuditHosts *hosts, const IpAddress *ip, bool *is_new)
{
    size_t before = hosts->addresses.count;
    AuditAddress *address = map_get_or_new(&hosts->addresses, ip_address_key(ip), sizeof *address);
    *is_new = hosts->addresses.count > before;
    if (*is_new) {
        address->subject = no_request;
        address->ip = *ip;
    }
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

/* ---- audit whom ---- */

/* The URL of a host that is named with or without scheme. */
static Result audit_whom_url(const char *text, Url *url)
{
    Buffer full = {.limit = URL_MAX_BYTES};
    bool has_scheme = strstr(text, "://") != NULL;
    bool is_v6 = !has_scheme && *text != '[' && strchr(text, ':') != strrchr(text, ':');
    Result rc = buffer_printf(&full, "%s%s%s%s", has_scheme ? "" : "http://", is_v6 ? "[" : "",
                              text, is_v6 ? "]" : "");
    if (rc == RESULT_OK) {
        rc = url_parse(url, NULL, buffer_string(&full), full.length);
    }
    buffer_destroy(&full);
    return rc;
}

Result audit_whom_parse(AuditWhom *whom, const char *text)
{
    Url url = {.href = NULL};
    *whom = (AuditWhom){.name = NULL};
    if (strpbrk(text, "*?") != NULL && strstr(text, "://") == NULL) {
        whom->is_pattern = true;
        whom->name = strdup(text);
        return whom->name == NULL ? RESULT_MEMORY : RESULT_OK;
    }
    Result rc = audit_whom_url(text, &url);
    if (rc == RESULT_OK) {
        const char *host = url.href + url.host_start;
        size_t n = url.host_end - url.host_start;
        bool is_v6 = n > 2 && host[0] == '[';
        n -= n > 1 && host[n - 1] == '.';
        whom->is_address =
            ip_address_parse(host + is_v6, n - 2 * (size_t)is_v6, &whom->address) == RESULT_OK;
        bool is_standard = url.port == (url.https ? 443 : 80);
        whom->port = is_standard ? 0 : url.port;
        whom->name = strndup(host, n);
        rc = whom->name == NULL ? RESULT_MEMORY : RESULT_OK;
    }
    url_destroy(&url);
    return rc == RESULT_LIMIT ? RESULT_INVALID : rc;
}

void audit_whom_destroy(AuditWhom *whom)
{
    free(whom->name);
    whom->name = NULL;
}

/* Whether the host of an origin is the one that is named, or below it. */
static bool audit_whom_has(const AuditWhom *whom, const char *origin)
{
    Url url = {.href = NULL};
    bool is_it = false;
    if (url_parse(&url, NULL, origin, strlen(origin)) == RESULT_OK) {
        const char *host = url.href + url.host_start;
        size_t n = url.host_end - url.host_start;
        n -= n > 1 && host[n - 1] == '.';
        is_it = domain_contains(whom->name, strlen(whom->name), host, n) &&
                (whom->port == 0 || whom->port == url.port);
    }
    url_destroy(&url);
    return is_it;
}

bool audit_whom_is_host(const AuditWhom *whom, const char *origin)
{
    if (whom->name == NULL || whom->is_address) {
        return true;
    }
    if (!whom->is_pattern) {
        return audit_whom_has(whom, origin);
    }
    char host[LOG_ORIGIN_BYTES] = "";
    LogText name = log_text_host((LogText){origin, strlen(origin)});
    memcpy(host, name.bytes, name.length < sizeof host ? name.length : sizeof host - 1);
    return fnmatch(whom->name, host, FNM_CASEFOLD) == 0 ||
           fnmatch(whom->name, origin, FNM_CASEFOLD) == 0;
}

bool audit_whom_is_address(const AuditWhom *whom, const IpAddress *address)
{
    if (!whom->is_address) {
        return true;
    }
    MapKey a = ip_address_key(&whom->address);
    MapKey b = ip_address_key(address);
    return a.low == b.low && a.high == b.high;
}

const char *audit_whom_nearest(const AuditWhom *whom, const AuditHosts *hosts)
{
    size_t place = 0;
    OptionNear near = {whom->name, .least = strlen(whom->name) / 2 + 1};
    const char *nearest = NULL;
    const AuditHost *host = NULL;
    while ((host = map_next(&hosts->hosts, &place)) != NULL) {
        const char *name = strstr(host->origin, "//");
        name = name == NULL ? host->origin : name + 2;
        nearest = option_near_look(&near, name) ? host->origin : nearest;
    }
    return nearest;
}
