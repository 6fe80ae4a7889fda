#include "rules/config.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/host/ip_address.h"
#include "rules/dedup.h"
#include "fetch/connect/port_map.h"
#include "rules/filters.h"
#include "frontier/visit/politeness.h"
#include "rules/revisit_policy.h"
#include "rules/scope/scope.h"
#include "rules/score_rules.h"
#include "store/schedule/schedule.h"
#include "store/warc/warc_compress.h"

static const OptionSpec table[] = {
#define CONFIG_ROW(section, key, type, ctype, standard, least, most, words, live, site, help)      \
    {                                                                                              \
        #section, #key,  OPTION_##type, offsetof(Config, section##_##key),                         \
        standard, least, most,          words,                                                     \
        live,     site,  help},
    CONFIG_TABLE(CONFIG_ROW)
#undef CONFIG_ROW
};

ConfigFile config_file_look(const char *path)
{
    char *line = NULL;
    size_t capacity = 0;
    ConfigFile found = CONFIG_FILE_NONE;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return errno == ENOENT ? CONFIG_FILE_NONE : CONFIG_FILE_WHOLE;
    }
    while (found != CONFIG_FILE_WHOLE && getline(&line, &capacity, file) > 0) {
        found = strcmp(line, CONFIG_END) == 0 ? CONFIG_FILE_WHOLE : CONFIG_FILE_CUT;
    }
    bool failed = ferror(file) != 0;
    free(line);
    (void)fclose(file);
    return failed ? CONFIG_FILE_WHOLE : found;
}

Result config_init(Config *config)
{
    memset(config, 0, sizeof *config);
    return options_init(&config->options, table, sizeof table / sizeof *table, config);
}

void config_destroy(Config *config)
{
    options_destroy(&config->options);
}

ScopeOptions config_scope(const Config *config)
{
    return (ScopeOptions){.domains = config->scope_domains,
                          .exclude_domains = config->scope_exclude_domains,
                          .accept_regex = config->scope_accept_regex,
                          .reject_regex = config->scope_reject_regex,
                          .ports = config->scope_ports,
                          .max_url_length = (size_t)config->scope_max_url_length};
}

/* "FILE:LINE: politeness.retry: ..." */
static void complain(const Config *config, const char *name, const char *what, Buffer *error)
{
    const OptionSpec *spec = options_find(&config->options, name);
    size_t row = (size_t)(spec - config->options.specs);
    (void)buffer_printf(error, "%s: %s: %s\n", config->options.origins[row], name, what);
}

static void check_revisits(const Config *config, Buffer *what, Buffer *error)
{
    FreqRules *rules = NULL;
    buffer_reset(what);
    if (revisit_policy_load_rules(config->schedule_rules, &rules, what) != RESULT_OK) {
        complain(config, "schedule.rules", buffer_string(what), error);
    }
    freq_rules_delete(rules);
    if (config->schedule_revisit_min > config->schedule_revisit_max) {
        complain(config, "schedule.revisit_min", "is greater than schedule.revisit_max", error);
    }
    if (config_is_continuous(config) && config->schedule_levels >= SCHEDULE_MAX_LEVELS) {
        complain(config, "schedule.levels", "one less, please: revisits need a level", error);
    }
}

bool config_is_continuous(const Config *config)
{
    return config->schedule_mode == 1; /* once|continuous */
}

Result config_resolve_paths(Config *config, Buffer *error)
{
    static const char *const names[] = {"score.rules", "schedule.rules"};
    const char *paths[] = {config->score_rules, config->schedule_rules};
    Result rc = RESULT_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && rc == RESULT_OK; i++) {
        if (*paths[i] == '\0' || *paths[i] == '/') {
            continue;
        }
        const OptionSpec *spec = options_find(&config->options, names[i]);
        char *origin = strdup(config->options.origins[spec - config->options.specs]);
        char *path = realpath(paths[i], NULL);
        if (path != NULL && origin != NULL) {
            rc = options_set(&config->options, names[i], path, origin, error);
        }
        rc = origin == NULL ? RESULT_MEMORY : rc;
        free(path);
        free(origin);
    }
    return rc;
}

Result config_check(const Config *config, Buffer *error)
{
    Buffer what;
    buffer_init(&what, BUFFER_NO_LIMIT);
    size_t before = error->length;
    IpRanges ranges;
    if (ip_ranges_parse(&ranges, config->fetch_allow_addresses, &what) != RESULT_OK) {
        complain(config, "fetch.allow_addresses", buffer_string(&what), error);
    } else {
        ip_ranges_destroy(&ranges);
    }
    buffer_reset(&what);
    PortMap ports;
    if (port_map_parse(&ports, config->fetch_port_map, &what) != RESULT_OK) {
        complain(config, "fetch.port_map", buffer_string(&what), error);
    }
    buffer_reset(&what);
    RetryRule rules[FETCH_CLASSES];
    politeness_default_rules(rules);
    if (politeness_parse_rules(rules, config->politeness_retry, &what) != RESULT_OK) {
        complain(config, "politeness.retry", buffer_string(&what), error);
    }
    buffer_reset(&what);
    ScoreRules *scores = NULL;
    if (*config->score_rules != '\0' &&
        score_rules_read(&scores, config->score_rules, &what) != RESULT_OK) {
        complain(config, "score.rules", buffer_string(&what), error);
    }
    score_rules_delete(scores);
    buffer_reset(&what);
    DedupSteps steps;
    if (dedup_parse_steps(config->scope_dedup_key, &steps, &what) != RESULT_OK) {
        complain(config, "scope.dedup_key", buffer_string(&what), error);
    }
    Scope *scope = NULL;
    ScopeOptions bounds = config_scope(config);
    if (scope_new(&scope, &bounds, error) == RESULT_OK) {
        scope_delete(scope);
    }
    Filters filters;
    (void)filters_compile(&filters, config, error);
    filters_destroy(&filters);
    if (*config->robots_agent == '\0') {
        complain(config, "robots.agent", "must not be empty", error);
    }
    if (config->dns_ttl_min > config->dns_ttl_max) {
        complain(config, "dns.ttl_min", "is greater than dns.ttl_max", error);
    }
    check_revisits(config, &what, error);
    if (config->warc_compression == WARC_GZIP && config->warc_level > WARC_GZIP_LEVELS) {
        complain(config, "warc.level", "gzip has levels up to 12", error);
    }
    buffer_destroy(&what);
    return error->length == before ? RESULT_OK : RESULT_INVALID;
}
