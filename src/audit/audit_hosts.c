#include "audit/audit_hosts.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"

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
