#include "rules/config.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parse/host/ip_address.h"
#include "parse/usage/usage.h"
#include "rules/dedup.h"
#include "fetch/connect/port_map.h"
#include "fetch/identity/message_signature.h"
#include "fetch/site/credentials.h"
#include "fetch/site/cut_rules.h"
#include "fetch/site/proxy.h"
#include "fetch/tls/tls_trust.h"
#include "rules/config_check.h"
#include "rules/filters.h"
#include "rules/listen_address.h"
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
static void config_complain(const Config *config, const char *name, const char *what, Buffer *error)
{
    const OptionSpec *spec = options_find(&config->options, name);
    size_t row = (size_t)(spec - config->options.specs);
    (void)buffer_printf(error, "%s: %s: %s\n", config->options.origins[row], name, what);
}

static void check_listen(const Config *config, Buffer *what, Buffer *error)
{
    ListenAddress address;
    buffer_reset(what);
    if (*config->control_listen != '\0' &&
        listen_address_parse(&address, config->control_listen, what) != RESULT_OK) {
        config_complain(config, "control.listen", buffer_string(what), error);
    }
    if (config->control_web_write && *config->control_listen == '\0') {
        config_complain(config, "control.web_write",
                        "there is no status page without control.listen", error);
    }
}

static void config_check_cluster(const Config *config, Buffer *what, Buffer *error)
{
    const char *name = NULL;
    buffer_reset(what);
    if (config_cluster_check(config, &name, what) != RESULT_OK) {
        config_complain(config, name, buffer_string(what), error);
    }
}

/* Texts that are right or wrong by themselves, wherever they stand. */
typedef Result TextCheck(const char *text, Buffer *error);

/* Checks an option, and what [site] sections say of it. */
static void check_text(const Config *config, const char *name, TextCheck *check, Buffer *what,
                       Buffer *error)
{
    const Options *options = &config->options;
    const OptionSpec *spec = options_find(options, name);
    const char *const *text =
        (const char *const *)(const void *)((const char *)config + spec->offset);
    buffer_reset(what);
    if (check(*text, what) != RESULT_OK) {
        config_complain(config, name, buffer_string(what), error);
    }
    for (size_t i = 0; i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        buffer_reset(what);
        if (&options->specs[site->spec] == spec && check(site->text, what) != RESULT_OK) {
            (void)buffer_printf(error, "%s: %s: %s\n", site->origin, name, buffer_string(what));
        }
    }
}

static Result check_ranges(const char *text, Buffer *error)
{
    IpRanges ranges;
    Result rc = ip_ranges_parse(&ranges, text, error);
    if (rc == RESULT_OK) {
        ip_ranges_destroy(&ranges);
    }
    return rc;
}

/* Lines are separated by |; each is "Name: value". */
static Result check_headers(const char *text, Buffer *error)
{
    while (*text != '\0') {
        text += strspn(text, " ");
        size_t length = strcspn(text, "|");
        size_t name = strcspn(text, ": |");
        if (length > 0 && (name == 0 || text[name] != ':')) {
            (void)buffer_printf(error, "'%.*s' is not a header field: expected 'Name: value'",
                                (int)length, text);
            return RESULT_INVALID;
        }
        text += length + (text[length] == '|');
    }
    return RESULT_OK;
}

static Result check_credentials(const char *path, Buffer *error)
{
    Credentials *credentials = NULL;
    Buffer why;
    buffer_init(&why, BUFFER_NO_LIMIT);
    Result rc = *path == '\0' ? RESULT_OK : credentials_read(&credentials, path, &why);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s: %s", path,
                            why.length > 0 ? buffer_string(&why) : result_name(rc));
    }
    buffer_destroy(&why);
    credentials_delete(credentials);
    return rc;
}

/* fetch.tls_verify, for all or for a site, needs certificates to trust. */
static void check_trust(const Config *config, Buffer *what, Buffer *error)
{
    const Options *options = &config->options;
    bool verifies = config->fetch_tls_verify;
    for (size_t i = 0; i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        verifies |= &options->specs[site->spec] == options_find(options, "fetch.tls_verify") &&
                    site->value.flag;
    }
    buffer_reset(what);
    TlsTrust trust = {.store = NULL};
    if (verifies && *config->fetch_ca_file == '\0' &&
        tls_trust_init(&trust, "", what) != RESULT_OK) {
        config_complain(config, "fetch.tls_verify", buffer_string(what), error);
    }
    tls_trust_destroy(&trust);
}

static Result check_usage(const char *text, Buffer *error)
{
    UsageRules rules;
    return usage_rules_parse(text, &rules, error);
}

static Result check_key(const char *path, Buffer *error)
{
    SigningKey *key = NULL;
    Buffer why;
    buffer_init(&why, BUFFER_NO_LIMIT);
    Result rc = *path == '\0' ? RESULT_OK : signing_key_read(&key, path, &why);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s: %s", path,
                            why.length > 0 ? buffer_string(&why) : result_name(rc));
    }
    buffer_destroy(&why);
    signing_key_delete(key);
    return rc;
}

static void check_identity(const Config *config, Buffer *what, Buffer *error)
{
    check_text(config, "crawl.signature_key", check_key, what, error);
    check_text(config, "crawl.signature_agent", message_signature_check_agent, what, error);
    if (*config->crawl_signature_agent != '\0' && *config->crawl_signature_key == '\0') {
        config_complain(config, "crawl.signature_agent", "needs crawl.signature_key", error);
    }
}

/* Many requests at once are for hosts that are the operator's own: they are named one by one. */
static void check_at_once(const Config *config, Buffer *error)
{
    static const char reason[] =
        "more than 2 at once are for hosts that are yours: name each in a section, [site \"HOST\"]";
    if (config->politeness_connections > CONFIG_FEW_AT_ONCE) {
        config_complain(config, "politeness.connections", reason, error);
    }
    const OptionSpec *row = options_find(&config->options, "politeness.connections");
    for (size_t i = 0; i < config->options.n_sites; i++) {
        const OptionSite *site = &config->options.sites[i];
        if (&config->options.specs[site->spec] == row && site->value.number > CONFIG_FEW_AT_ONCE &&
            strpbrk(site->pattern, "*?") != NULL) {
            (void)buffer_printf(error, "%s: connections: %s\n", site->origin, reason);
        }
    }
}

/* Texts, wherever they stand, and what concerns single hosts: in [site] sections, or for all. */
static void check_sites(const Config *config, Buffer *what, Buffer *error)
{
    check_identity(config, what, error);
    check_trust(config, what, error);
    check_text(config, "fetch.allow_addresses", check_ranges, what, error);
    check_text(config, "fetch.deny_addresses", check_ranges, what, error);
    check_text(config, "fetch.proxy", proxy_check, what, error);
    check_text(config, "fetch.no_proxy", proxy_check_exceptions, what, error);
    check_text(config, "fetch.headers", check_headers, what, error);
    check_text(config, "politeness.usage", check_usage, what, error);
    check_text(config, "fetch.cut_status", cut_rules_check_statuses, what, error);
    check_text(config, "fetch.mime_types", cut_rules_check_types, what, error);
    check_text(config, "fetch.credentials", check_credentials, what, error);
    check_text(config, "robots.agent", config_texts_agent, what, error);
    check_text(config, "crawl.contact", config_texts_contact, what, error);
    check_text(config, "dns.servers", config_texts_servers, what, error);
    if (!config->robots_obey) {
        config_complain(config, "robots.obey",
                        "robots.txt is obeyed; only a [site \"HOST\"] section can except a host",
                        error);
    }
    check_at_once(config, error);
    const OptionSpec *rate = options_find(&config->options, "fetch.host_rate");
    if (config->fetch_host_rate > 0 && config->fetch_host_rate <= config->fetch_slow_rate) {
        config_complain(config, "fetch.host_rate", "must be greater than fetch.slow_rate", error);
    }
    for (size_t i = 0; i < config->options.n_sites; i++) {
        const OptionSite *site = &config->options.sites[i];
        if (&config->options.specs[site->spec] == rate && site->value.number > 0 &&
            site->value.number <= config->fetch_slow_rate) {
            (void)buffer_printf(error, "%s: host_rate: must be greater than fetch.slow_rate\n",
                                site->origin);
        }
    }
}

static void check_revisits(const Config *config, Buffer *what, Buffer *error)
{
    FreqRules *rules = NULL;
    buffer_reset(what);
    if (revisit_policy_load_rules(config->schedule_rules, &rules, what) != RESULT_OK) {
        config_complain(config, "schedule.rules", buffer_string(what), error);
    }
    freq_rules_delete(rules);
    if (config->schedule_revisit_min > config->schedule_revisit_max) {
        config_complain(config, "schedule.revisit_min", "is greater than schedule.revisit_max",
                        error);
    }
    if (config_is_continuous(config) && config->schedule_levels >= SCHEDULE_MAX_LEVELS) {
        config_complain(config, "schedule.levels", "one less, please: revisits need a level",
                        error);
    }
}

unsigned config_threads(int64_t option)
{
    cpu_set_t processors;
    if (option > 0) {
        return (unsigned)option;
    }
    CPU_ZERO(&processors);
    int n = sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
    return n < (int)CONFIG_MOST_AUTOMATIC ? (unsigned)n : CONFIG_MOST_AUTOMATIC;
}

bool config_is_continuous(const Config *config)
{
    return config->schedule_mode == 1; /* once|continuous */
}

Result config_resolve_paths(Config *config, Buffer *error)
{
    static const char *const names[] = {
        "score.rules",         "score.model",           "schedule.rules",
        "fetch.credentials",   "fetch.ca_file",         "crawl.signature_key",
        "cluster.credentials", "cluster.tls_authority", "cluster.tls_certificate",
        "cluster.tls_key"};
    const char *paths[] = {
        config->score_rules,         config->score_model,           config->schedule_rules,
        config->fetch_credentials,   config->fetch_ca_file,         config->crawl_signature_key,
        config->cluster_credentials, config->cluster_tls_authority, config->cluster_tls_certificate,
        config->cluster_tls_key};
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

/* "scope.accept_regex: column 3: ..." gets the place where it stands. */
static void complain_scope(const Config *config, Buffer *what, Buffer *error)
{
    char *text = what->length == 0 ? NULL : what->data;
    char *colon = text == NULL ? NULL : strstr(text, ": ");
    if (colon == NULL) {
        (void)buffer_append_string(error, "scope: no memory\n");
        return;
    }
    *colon = '\0';
    text[what->length - 1] = '\0'; /* the line end */
    config_complain(config, text, colon + 2, error);
}

Result config_check_identity(const Config *config, Buffer *error)
{
    if (*config->crawl_contact != '\0' || *config->crawl_user_agent != '\0' ||
        *config->fetch_allow_addresses != '\0') {
        return RESULT_OK;
    }
    (void)buffer_append_string(
        error, "a contact address is missing: webmasters must be able to find out who crawls "
               "them. Give --contact URL (or crawl.contact = URL). Only crawls of loopback "
               "(fetch.allow_addresses = 127.0.0.0/8) need none");
    return RESULT_INVALID;
}

/* Words of score.scorer, in the order of its row. */
enum { SCORER_CONTENT = 1, SCORER_COMMAND = 4, SCORER_FASTTEXT };

static void check_scorer(const Config *config, Buffer *error)
{
    if (config->score_scorer == SCORER_CONTENT && *config->score_rules == '\0') {
        config_complain(config, "score.scorer",
                        "content goes by score.rules, and there are none: name the file of rules",
                        error);
    }
    if (config->score_scorer == SCORER_COMMAND && *config->score_command == '\0') {
        config_complain(config, "score.scorer", "command: there is none: set score.command", error);
    }
    if (config->score_scorer == SCORER_FASTTEXT && access(config->score_model, R_OK) != 0) {
        config_complain(config, "score.model", "is no file that can be read", error);
    }
}

/* Options that must agree with each other. */
static void check_pairs(const Config *config, Buffer *error)
{
    if (config->dns_ttl_min > config->dns_ttl_max) {
        config_complain(config, "dns.ttl_min", "is greater than dns.ttl_max", error);
    }
    if (config->warc_compression == WARC_GZIP && config->warc_level > WARC_GZIP_LEVELS) {
        config_complain(config, "warc.level", "gzip has levels up to 12", error);
    }
}

Result config_check(const Config *config, Buffer *error)
{
    Buffer what;
    buffer_init(&what, BUFFER_NO_LIMIT);
    size_t before = error->length;
    check_sites(config, &what, error);
    buffer_reset(&what);
    PortMap ports;
    if (port_map_parse(&ports, config->fetch_port_map, &what) != RESULT_OK) {
        config_complain(config, "fetch.port_map", buffer_string(&what), error);
    }
    buffer_reset(&what);
    RetryRule rules[FETCH_CLASSES];
    politeness_default_rules(rules);
    if (politeness_parse_rules(rules, config->politeness_retry, &what) != RESULT_OK) {
        config_complain(config, "politeness.retry", buffer_string(&what), error);
    }
    buffer_reset(&what);
    TlsTrust trust;
    if (*config->fetch_ca_file != '\0' &&
        tls_trust_init(&trust, config->fetch_ca_file, &what) != RESULT_OK) {
        config_complain(config, "fetch.ca_file", buffer_string(&what), error);
    } else if (*config->fetch_ca_file != '\0') {
        tls_trust_destroy(&trust);
    }
    buffer_reset(&what);
    ScoreRules *scores = NULL;
    if (*config->score_rules != '\0' &&
        score_rules_read(&scores, config->score_rules, &what) != RESULT_OK) {
        config_complain(config, "score.rules", buffer_string(&what), error);
    }
    score_rules_delete(scores);
    buffer_reset(&what);
    DedupSteps steps;
    if (dedup_parse_steps(config->scope_dedup_key, &steps, &what) != RESULT_OK) {
        config_complain(config, "scope.dedup_key", buffer_string(&what), error);
    }
    Scope *scope = NULL;
    ScopeOptions bounds = config_scope(config);
    buffer_reset(&what);
    if (scope_new(&scope, &bounds, &what) == RESULT_OK) {
        scope_delete(scope);
    } else {
        complain_scope(config, &what, error);
    }
    Filters filters;
    (void)filters_compile(&filters, config, error);
    filters_destroy(&filters);
    check_scorer(config, error);
    check_pairs(config, error);
    check_revisits(config, &what, error);
    check_listen(config, &what, error);
    config_check_cluster(config, &what, error);
    buffer_destroy(&what);
    return error->length == before ? RESULT_OK : RESULT_INVALID;
}
