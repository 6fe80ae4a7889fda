#include "audit/audit_delays.h"

#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>

Result audit_delays_read(AuditDelays *delays, const char *directory, Buffer *error)
{
    struct stat st = {.st_size = 0};
    Buffer path;
    *delays = (AuditDelays){.is_known = false};
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = config_init(&delays->config);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&path, "%s/config.ini", directory);
    }
    if (rc == RESULT_OK && stat(buffer_string(&path), &st) != 0) {
        rc = result_of_errno(errno);
    }
    if (rc == RESULT_OK) {
        rc = options_load(&delays->config.options, buffer_string(&path), error);
    }
    delays->is_known = rc == RESULT_OK;
    delays->since.us = (int64_t)st.st_mtim.tv_sec * 1000000 + (int64_t)st.st_mtim.tv_nsec / 1000;
    Result of_log = audit_changes_read(&delays->changes, directory);
    const AuditChanges *changes = &delays->changes;
    if (changes->n > 0 &&
        changes->list[changes->n - 1].time.us >= delays->since.us - AUDIT_CHANGE_US) {
        delays->since.us += AUDIT_CHANGE_US;
    }
    buffer_destroy(&path);
    return of_log != RESULT_OK ? of_log : rc;
}

void audit_delays_destroy(AuditDelays *delays)
{
    config_destroy(&delays->config);
    audit_changes_destroy(&delays->changes);
}

/* What the [site] sections say of a host, or else what holds for all. */
static int64_t of_site(const AuditDelays *delays, size_t option, const char *name, int64_t of_all)
{
    int64_t ms = -1;
    if (!delays->is_known) {
        return -1;
    }
    return options_site_number(&delays->config.options, option, name, &ms) ? ms : of_all;
}

int64_t audit_delays_of_host(const AuditDelays *delays, const char *name)
{
    return of_site(delays, offsetof(Config, politeness_host_delay), name,
                   delays->config.politeness_host_delay);
}

int64_t audit_delays_keep_alive(const AuditDelays *delays, const char *name)
{
    return of_site(delays, offsetof(Config, politeness_keep_alive_time), name,
                   delays->config.politeness_keep_alive_time);
}

int64_t audit_delays_of_address(const AuditDelays *delays, const char *name)
{
    return of_site(delays, offsetof(Config, politeness_ip_delay), name,
                   delays->config.politeness_ip_delay);
}

int64_t audit_delays_connections(const AuditDelays *delays, const char *name)
{
    return of_site(delays, offsetof(Config, politeness_connections), name,
                   delays->config.politeness_connections);
}

int64_t audit_delays_due(const AuditDelays *delays, const AuditFetch *fetch, WallTime before,
                         int64_t owes)
{
    AuditForce force =
        audit_changes_between(&delays->changes, before, fetch->start, fetch->host->delay_ms);
    bool is_more = owes > force.most_ms && !(delays->config.politeness_adaptive_factor > 0);
    if (owes < 0 || !force.has_changed || is_more) {
        return owes;
    }
    int64_t least = fetch->crawl_delay > force.least_ms ? fetch->crawl_delay : force.least_ms;
    return least < owes ? least : owes;
}

int64_t audit_delays_of_robots(const AuditDelays *delays, int64_t crawl_delay_ms)
{
    int64_t most = delays->config.politeness_crawl_delay_max;
    if (!delays->is_known || crawl_delay_ms < 0) {
        return -1;
    }
    return crawl_delay_ms < most ? crawl_delay_ms : most;
}

const char *audit_delays_agent(const AuditDelays *delays)
{
    return delays->config.robots_agent;
}
