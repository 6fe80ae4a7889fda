#include "crawl/cluster/cluster_settings.h"

#include <string.h>

#include "parse/host/domain.h"

/* Sections of which every option counts, and single ones. */
static const char *const sections[] = {"politeness", "robots", "scope", "limits"};
static const char *const names[] = {
    "crawl.contact", "crawl.user_agent",    "crawl.max_pages",     "crawl.max_bytes",
    "cluster.lease", "filter.schedule",     "filter.fetch",        "filter.follow",
    "schedule.mode", "fetch.total_timeout", "fetch.max_redirects", "fetch.deny_addresses",
    "fetch.rate"};
/* Of these sections, what each machine may have as it likes. */
static const char *const own[] = {"limits.front", "limits.workbench_memory"};

/* What the ledger divides (cluster/whole/ledger.h). */
static const char *const divided[] = {"crawl.max_pages", "crawl.max_bytes", "fetch.rate"};

static bool cluster_settings_is_named(const OptionSpec *spec, const char *name)
{
    size_t length = strlen(spec->section);
    return strncmp(name, spec->section, length) == 0 && name[length] == '.' &&
           strcmp(name + length + 1, spec->key) == 0;
}

static bool is_among(const OptionSpec *spec, const char *const *list, size_t n)
{
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        found = found || cluster_settings_is_named(spec, list[i]);
    }
    return found;
}

bool cluster_settings_is_divided(const OptionSpec *spec)
{
    return is_among(spec, divided, sizeof divided / sizeof *divided);
}

bool cluster_settings_counts(const OptionSpec *spec)
{
    bool found = is_among(spec, names, sizeof names / sizeof *names);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        found = found || strcmp(spec->section, sections[i]) == 0;
    }
    return found && !is_among(spec, own, sizeof own / sizeof *own);
}

/* As a number where it is one, so that 5s is 5000ms. */
static Result cluster_settings_write_value(const OptionSpec *spec, const char *text,
                                           const void *field, Buffer *out)
{
    OptionValue value = option_read(spec, field);
    switch (spec->type) {
    case OPTION_COUNT:
    case OPTION_TIME:
    case OPTION_SIZE:
        return buffer_printf(out, "%s.%s = %lld\n", spec->section, spec->key,
                             (long long)value.number);
    case OPTION_REAL:
        return buffer_printf(out, "%s.%s = %.9g\n", spec->section, spec->key, value.real);
    case OPTION_BOOL:
        return buffer_printf(out, "%s.%s = %s\n", spec->section, spec->key,
                             value.flag ? "yes" : "no");
    case OPTION_TEXT:
    case OPTION_WORD:
        return buffer_printf(out, "%s.%s = %s\n", spec->section, spec->key, text);
    }
    return RESULT_INVALID;
}

Result cluster_settings_write(const Config *config, Buffer *out)
{
    const Options *options = &config->options;
    Result rc = buffer_printf(out, "version = %s\npublic_suffix_list = %s\n", RAGNO_VERSION,
                              domain_list_sha1());
    for (size_t i = 0; rc == RESULT_OK && i < options->n_specs; i++) {
        const OptionSpec *spec = &options->specs[i];
        if (cluster_settings_counts(spec)) {
            rc = cluster_settings_write_value(spec, options->texts[i],
                                              (const char *)options->values + spec->offset, out);
        }
    }
    for (size_t i = 0; rc == RESULT_OK && i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        const OptionSpec *spec = &options->specs[site->spec];
        rc = buffer_printf(out, "[site \"%s\"] %s.%s = %s\n", site->pattern, spec->section,
                           spec->key, site->text);
    }
    return rc;
}
