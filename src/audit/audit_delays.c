#include "audit/audit_delays.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- going back ---- */

static bool is_now(const Config *config, const AuditChange *change)
{
    const Options *options = &config->options;
    const OptionSpec *spec = options_find(options, change->name);
    const char *text = "";
    for (size_t i = 0; change->site != NULL && i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        bool is_it =
            &options->specs[site->spec] == spec && strcmp(site->pattern, change->site) == 0;
        text = is_it ? site->text : text;
    }
    if (change->site == NULL && spec != NULL) {
        text = options->texts[spec - options->specs];
    }
    return spec != NULL && strcmp(text, change->to) == 0;
}

/* Gives an option the value that it had before the change, or has since. */
static Result audit_delays_put(Config *config, const AuditChange *change, const char *text)
{
    Buffer ignored;
    buffer_init(&ignored, 4096);
    Result rc = RESULT_OK;
    if (change->site == NULL) {
        rc = options_set(&config->options, change->name, text, "", &ignored);
    } else if (*text == '\0') {
        (void)options_drop_site(&config->options, change->site,
                                options_find(&config->options, change->name), NULL);
    } else {
        rc = options_add_site(&config->options, change->site, change->name, text, "", &ignored);
    }
    buffer_destroy(&ignored);
    return rc;
}

static Result copy(const Config *config, Config **out)
{
    Config *made = malloc(sizeof *made);
    Result rc = made == NULL ? RESULT_MEMORY : config_init(made);
    if (rc != RESULT_OK) {
        free(made);
        return rc;
    }
    rc = options_copy(&made->options, &config->options);
    if (rc != RESULT_OK) {
        config_destroy(made);
        free(made);
        return rc;
    }
    *out = made;
    return RESULT_OK;
}

/* Fills in epochs, from the last change to the first. */
static Result go_back(AuditDelays *delays)
{
    Result rc = RESULT_OK;
    const Config *later = &delays->config;
    size_t n = delays->changes.n;
    delays->dark_until.us = INT64_MIN;
    delays->epochs = calloc(AUDIT_EPOCHS, sizeof *delays->epochs);
    if (delays->epochs == NULL) {
        return RESULT_MEMORY;
    }
    while (n-- > 0 && rc == RESULT_OK) {
        const AuditChange *change = &delays->changes.list[n];
        Config *earlier = NULL;
        bool is_last = delays->n_epochs == 0;
        if (change->name != NULL && is_last && !delays->is_known) {
            (void)audit_delays_put(&delays->config, change,
                                   change->to); /* nothing else says what it is now */
        }
        if (change->name == NULL || delays->n_epochs == AUDIT_EPOCHS || !is_now(later, change)) {
            delays->dark_until = change->time;
            break;
        }
        rc = copy(later, &earlier);
        if (rc == RESULT_OK) {
            delays->epochs[delays->n_epochs++] =
                (AuditEpoch){.until = change->time, .config = earlier};
            rc = audit_delays_put(earlier, change, change->from);
            later = earlier;
        }
        if (rc == RESULT_INVALID) {
            delays->dark_until = change->time;
            return RESULT_OK;
        }
    }
    return rc;
}

/* in-force.ini, or what older crawls have. */
static Result audit_delays_read_config(AuditDelays *delays, const char *directory, Buffer *error)
{
    static const char *const names[] = {"in-force.ini", "config.ini"};
    struct stat st = {.st_size = 0};
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = RESULT_NOT_FOUND;
    for (size_t i = 0; i < 2 && rc == RESULT_NOT_FOUND; i++) {
        buffer_reset(&path);
        rc = buffer_printf(&path, "%s/%s", directory, names[i]);
        if (rc == RESULT_OK && stat(buffer_string(&path), &st) != 0) {
            rc = result_of_errno(errno);
        }
    }
    if (rc == RESULT_OK) {
        rc = options_load(&delays->config.options, buffer_string(&path), error);
    }
    delays->since.us = (int64_t)st.st_mtim.tv_sec * 1000000 + (int64_t)st.st_mtim.tv_nsec / 1000;
    buffer_destroy(&path);
    return rc;
}

Result audit_delays_read(AuditDelays *delays, const char *directory, Buffer *error)
{
    *delays = (AuditDelays){.is_known = false};
    const AuditChanges *changes = &delays->changes;
    Result rc = config_init(&delays->config);
    rc = rc == RESULT_OK ? audit_delays_read_config(delays, directory, error) : rc;
    delays->is_known = rc == RESULT_OK;
    Result of_log = audit_changes_read(&delays->changes, directory);
    of_log = of_log == RESULT_OK ? go_back(delays) : of_log;
    if (changes->is_whole) {
        delays->since = changes->since;
    } else if (changes->n > 0 &&
               changes->list[changes->n - 1].time.us >= delays->since.us - AUDIT_CHANGE_US) {
        delays->since.us += AUDIT_CHANGE_US;
    }
    if (delays->dark_until.us > delays->since.us - AUDIT_CHANGE_US) {
        delays->since.us = delays->dark_until.us + AUDIT_CHANGE_US;
    }
    return of_log != RESULT_OK ? of_log : rc;
}

void audit_delays_destroy(AuditDelays *delays)
{
    for (size_t i = 0; i < delays->n_epochs; i++) {
        config_destroy(delays->epochs[i].config);
        free(delays->epochs[i].config);
    }
    free(delays->epochs);
    config_destroy(&delays->config);
    audit_changes_destroy(&delays->changes);
}

/* ---- what holds for a host ---- */

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

/* The values of a host in an earlier configuration. */
static AuditForce values_of(const Config *config, const char *name)
{
    int64_t host = config->politeness_host_delay;
    AuditForce force = {.ip_ms = config->politeness_ip_delay,
                        .keep_alive_ms = config->politeness_keep_alive_time,
                        .connections = config->politeness_connections};
    const Options *options = &config->options;
    (void)options_site_number(options, offsetof(Config, politeness_host_delay), name, &host);
    (void)options_site_number(options, offsetof(Config, politeness_ip_delay), name, &force.ip_ms);
    (void)options_site_number(options, offsetof(Config, politeness_keep_alive_time), name,
                              &force.keep_alive_ms);
    (void)options_site_number(options, offsetof(Config, politeness_connections), name,
                              &force.connections);
    force.least_ms = host;
    force.most_ms = host;
    return force;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void audit_delays_widen(AuditForce *force, const AuditForce *other, bool *any)
{
    if (!*any) {
        *force = *other;
        *any = true;
        return;
    }
    force->has_changed = true;
    force->least_ms = least(force->least_ms, other->least_ms);
    force->most_ms = most(force->most_ms, other->most_ms);
    force->ip_ms = least(force->ip_ms, other->ip_ms);
    force->keep_alive_ms = most(force->keep_alive_ms, other->keep_alive_ms);
    force->connections = most(force->connections, other->connections);
}

AuditForce audit_delays_in_force(const AuditDelays *delays, const AuditHost *host, WallTime from,
                                 WallTime until)
{
    AuditForce force = {.least_ms = host->delay_ms,
                        .most_ms = host->delay_ms,
                        .ip_ms = host->ip_delay_ms,
                        .keep_alive_ms = host->keep_alive_ms,
                        .connections = host->connections};
    if (delays->changes.n == 0) {
        return force;
    }
    char text[LOG_ORIGIN_BYTES] = "";
    LogText name = log_text_host((LogText){host->origin, strlen(host->origin)});
    memcpy(text, name.bytes, name.length < sizeof text ? name.length : 0);
    bool any = false;
    int64_t first = from.us - AUDIT_CHANGE_US;
    int64_t last = until.us + AUDIT_CHANGE_US;
    for (size_t i = 0; i <= delays->n_epochs; i++) { /* the i-th ends with change i - 1 */
        bool begins_in_time = i == delays->n_epochs || delays->epochs[i].until.us <= last;
        bool ends_in_time = i == 0 || delays->epochs[i - 1].until.us >= first;
        if (begins_in_time && ends_in_time) {
            const Config *config = i == 0 ? &delays->config : delays->epochs[i - 1].config;
            AuditForce values = values_of(config, text);
            audit_delays_widen(&force, &values, &any);
        }
    }
    if (first <= delays->dark_until.us) {
        force.has_changed = true;
        force.least_ms = 0;
        force.most_ms = INT64_MAX;
    }
    return force;
}

int64_t audit_delays_due(const AuditDelays *delays, const AuditFetch *fetch, WallTime before,
                         int64_t owes)
{
    AuditForce force = audit_delays_in_force(delays, fetch->host, before, fetch->start);
    bool is_more = owes > force.most_ms && !(delays->config.politeness_adaptive_factor > 0);
    if (owes < 0 || !force.has_changed || is_more) {
        return owes;
    }
    return least(most(fetch->crawl_delay, force.least_ms), owes);
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
