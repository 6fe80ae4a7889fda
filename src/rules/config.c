#include "rules/config.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/file.h"

static const OptionSpec table[] = {
#define CONFIG_ROW(section, key, type, ctype, standard, least, most, words, marks, help)           \
    {#section,                                                                                     \
     #key,                                                                                         \
     OPTION_##type,                                                                                \
     offsetof(Config, section##_##key),                                                            \
     standard,                                                                                     \
     least,                                                                                        \
     most,                                                                                         \
     words,                                                                                        \
     ((marks)&OPTION_LIVE) != 0,                                                                   \
     ((marks)&OPTION_SITE) != 0,                                                                   \
     help,                                                                                         \
     ((marks) & (OPTION_AGREED | OPTION_DIVIDED)) != 0,                                            \
     ((marks)&OPTION_DIVIDED) != 0,                                                                \
     ((marks)&OPTION_IDENTITY) != 0},
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

/* What files of earlier programs may have. */
static const OptionGone gone[] = {
    {"fetch.cut_status", "filter.body = not StatusIsOneOf(404, 500-599) ends such answers"},
    {"fetch.mime_types", "filter.body = MIMEIsOneOf(text/html) reads no others"},
    {"scope.sitemap_location", "filter.schedule = SameHost() refuses entries of other hosts"},
    {"limits.path_segments", "filter.schedule = PathDepthLessThan(20) refuses deeper paths"},
    {"limits.query_parameters", "filter.schedule = ParametersLessThan(10) refuses longer queries"},
    {NULL, NULL}};

Result config_init(Config *config)
{
    memset(config, 0, sizeof *config);
    Result rc = options_init(&config->options, table, sizeof table / sizeof *table, config);
    config->options.gone = gone;
    return rc;
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

unsigned config_threads_for(int64_t option, int processors)
{
    if (option > 0) {
        return (unsigned)option;
    }
    return processors < CONFIG_MOST_THREADS ? (unsigned)processors : CONFIG_MOST_THREADS;
}

unsigned config_threads(int64_t option)
{
    cpu_set_t processors;
    CPU_ZERO(&processors);
    int n = sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
    return config_threads_for(option, n);
}

bool config_is_continuous(const Config *config)
{
    return config->schedule_mode == SCHEDULE_CONTINUOUS;
}

Result config_resolve_paths(Config *config, Buffer *error)
{
    static const char *const names[] = {
        "score.rules",         "score.model",           "schedule.rules",
        "fetch.credentials",   "fetch.ca_file",         "crawl.signature_key",
        "cluster.credentials", "cluster.tls_authority", "cluster.tls_certificate",
        "cluster.tls_key"};
    Result rc = RESULT_OK;
    for (size_t i = 0; i < config->options.n_identities; i++) {
        OptionSite *line = &config->options.identities[i];
        bool is_key =
            config->options.specs[line->spec].offset == offsetof(Config, crawl_signature_key);
        char *path = is_key && *line->text != '/' ? realpath(line->text, NULL) : NULL;
        if (path != NULL) {
            free(line->text);
            line->text = path;
        }
    }
    for (size_t i = 0; i < sizeof names / sizeof *names && rc == RESULT_OK; i++) {
        const OptionSpec *spec = options_find(&config->options, names[i]);
        const char *text = config->options.texts[spec - config->options.specs];
        if (*text == '\0' || *text == '/') {
            continue;
        }
        char *origin = strdup(config->options.origins[spec - config->options.specs]);
        char *path = realpath(text, NULL);
        if (path != NULL && origin != NULL) {
            rc = options_set(&config->options, names[i], path, origin, error);
        }
        rc = origin == NULL ? RESULT_MEMORY : rc;
        free(path);
        free(origin);
    }
    return rc;
}

void site_values_of(const Config *config, const char *host, Config *values)
{
    *values = *config;
    options_site_values(&config->options, host, values);
}

Result config_identify(Config *config, Buffer *error)
{
    Buffer why = {.limit = BUFFER_NO_LIMIT};
    Result rc = RESULT_OK;
    if (*config->crawl_identity != '\0') {
        rc = options_pick_identity(&config->options, config->crawl_identity, &why);
    }
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "crawl.identity: %s\n",
                            why.length > 0 ? buffer_string(&why) : result_name(rc));
    }
    buffer_destroy(&why);
    return rc;
}

Result config_load_of(Config *config, const char *directory, Buffer *error)
{
    Path path;
    Buffer ignored = {.limit = BUFFER_NO_LIMIT};
    Result rc = options_load(&config->options, file_path(&path, "%s/config.ini", directory),
                             error == NULL ? &ignored : error);
    buffer_destroy(&ignored);
    return rc;
}

unsigned config_usages(const Config *config)
{
    unsigned bits = 0;
    Buffer error = {.limit = 1024};
    (void)usage_list_parse(config->crawl_usages, &bits, &error); /* it was checked */
    buffer_destroy(&error);
    return bits;
}

Result config_user_agent(const Config *config, Buffer *text)
{
    if (*config->crawl_user_agent != '\0') {
        return buffer_append_string(text, config->crawl_user_agent);
    }
    Result rc = buffer_printf(text, "ragno/%s", RAGNO_VERSION);
    return rc == RESULT_OK && *config->crawl_contact != '\0'
               ? buffer_printf(text, " (+%s)", config->crawl_contact)
               : rc;
}
