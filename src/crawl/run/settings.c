#include "crawl/run/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/option/option_changes.h"
#include "rules/memory_budget.h"
#include "base/memory/array.h"

#define OPERATOR "operator" /* origin of what one has set */

/* ---- what operators have set ---- */

static SettingsEntry *settings_find(const Settings *settings, const char *pattern, const char *name)
{
    for (size_t i = 0; i < settings->n_set; i++) {
        if (strcmp(settings->set[i].name, name) == 0 &&
            strcmp(settings->set[i].pattern, pattern) == 0) {
            return &settings->set[i];
        }
    }
    return NULL;
}

static void settings_release(SettingsEntry *entry)
{
    free(entry->pattern);
    free(entry->name);
    free(entry->text);
    free(entry->before);
    free(entry->origin);
}

/* The last one takes its place. */
static void settings_forget(Settings *settings, SettingsEntry *entry)
{
    settings_release(entry);
    *entry = settings->set[--settings->n_set];
}

/* before, origin: of the value that is replaced. */
static Result settings_remember(Settings *settings, const char *pattern, const char *name,
                                const char *text, const char *before, const char *origin)
{
    SettingsEntry *known = settings_find(settings, pattern, name);
    char *copy = strdup(text);
    if (known != NULL && copy != NULL) {
        free(known->text);
        known->text = copy;
        return RESULT_OK;
    }
    SettingsEntry entry = {.pattern = strdup(pattern),
                           .name = strdup(name),
                           .text = copy,
                           .before = strdup(before),
                           .origin = strdup(origin)};
    if (entry.pattern == NULL || entry.name == NULL || copy == NULL || entry.before == NULL ||
        entry.origin == NULL ||
        array_add(&settings->set, &settings->n_set, sizeof entry, &entry) != RESULT_OK) {
        settings_release(&entry);
        return RESULT_MEMORY;
    }
    return RESULT_OK;
}

/* Sets one value in a configuration that is not in effect. */
static Result settings_put(Config *config, const char *pattern, const char *name, const char *text,
                           Buffer *error)
{
    return *pattern == '\0'
               ? options_set(&config->options, name, text, OPERATOR, error)
               : options_add_site(&config->options, pattern, name, text, OPERATOR, error);
}

void settings_init(Settings *settings, const AgentOptions *options, AgentParts *parts)
{
    *settings = (Settings){.options = options, .parts = parts};
}

void settings_destroy(Settings *settings)
{
    for (size_t i = 0; i < settings->n_set; i++) {
        settings_release(&settings->set[i]);
    }
    free(settings->set);
    *settings = (Settings){.n_set = 0};
}

/* ---- taking over ---- */

typedef struct Asker {
    const Settings *settings;
    const char *who;
} Asker;

/* One agent of a cluster cannot change what is divided among all. */
static bool is_live(const void *context, const OptionSpec *spec)
{
    const Settings *settings = context;
    return spec->live && (settings->parts->cluster == NULL || !spec->divided);
}

static void tell_cluster(const Asker *asker, const OptionChange *change)
{
    const OptionSpec *spec = change->spec;
    if (asker->settings->parts->cluster != NULL && !asker->settings->by_all &&
        is_live(asker->settings, spec) && (change->site != NULL || spec->agreed)) {
        LOG_WARN("config", "changed at this agent alone, and all agents must have the same",
                 "key=%s.%s next=\"change it at all of them, or this one is refused at its next "
                 "start\"",
                 spec->section, spec->key);
    }
}

static void tell_change(void *context, const OptionChange *change)
{
    const Asker *asker = context;
    const char *who = asker->who;
    const OptionSpec *spec = change->spec;
    if (change->site != NULL) {
        LOG_INFO("config", "changed", "key=%s.%s site=\"%s\" old=\"%s\" new=\"%s\" from=\"%s\" %s",
                 spec->section, spec->key, change->site, change->from, change->to, change->origin,
                 who);
    } else if (is_live(asker->settings, spec)) {
        LOG_INFO("config", "changed", "key=%s.%s old=\"%s\" new=\"%s\" from=\"%s\" %s",
                 spec->section, spec->key, change->from, change->to, change->origin, who);
    } else {
        LOG_WARN("config", "cannot change while the crawl runs",
                 "key=%s.%s value=\"%s\" wanted=\"%s\" from=\"%s\" next=\"%s\" %s", spec->section,
                 spec->key, change->from, change->to, change->origin,
                 spec->live ? "it is divided among all agents: stop them all, and start them with "
                              "the new value"
                            : "it takes effect at the next start with the same files and options",
                 who);
    }
    tell_cluster(asker, change);
}

/* The parts take what has changed. */
static Result settings_apply(Settings *settings, Buffer *error)
{
    log_set_level((LogLevel)settings->options->config->log_level);
    return parts_configure(settings->parts, error);
}

/* crawl.memory was divided at the start; nothing may grow beyond it. */
static Result check_budget(const Config *config, Buffer *error)
{
    if (config->crawl_memory == 0 || memory_budget_sum(config) <= config->crawl_memory) {
        return RESULT_OK;
    }
    (void)buffer_printf(error,
                        "all parts together could need %lld Mi, which is more than crawl.memory: "
                        "lower another limit first",
                        (long long)(memory_budget_sum(config) >> 20));
    return RESULT_INVALID;
}

static Result take_over(Settings *settings, const Config *fresh, const char *who, size_t *changed,
                        Buffer *error)
{
    Options *options = &settings->options->config->options;
    Asker asker = {.settings = settings, .who = who};
    Config before;
    Result rc = config_init(&before);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = options_copy(&before.options, options);
    if (rc == RESULT_OK) {
        *changed = options_take(options, &fresh->options, is_live, settings);
        rc = check_budget(settings->options->config, error);
    }
    if (rc == RESULT_OK) {
        rc = settings_apply(settings, error);
    }
    if (rc == RESULT_OK) {
        option_changes_tell(&before.options, &fresh->options, tell_change, &asker);
        option_changes_tell_sites(&before.options, &fresh->options, tell_change, &asker);
        if (option_changes_has_moved_sites(&before.options, &fresh->options)) {
            LOG_INFO("config", "changed", "key=[site] order=other %s", asker.who);
        }
    } else {
        (void)options_take(options, &before.options, is_live, settings);
        Buffer ignored = {.limit = BUFFER_NO_LIMIT};
        (void)settings_apply(settings, &ignored);
        buffer_destroy(&ignored);
    }
    config_destroy(&before);
    if (rc == RESULT_OK && *changed > 0 &&
        settings_write(settings->options->config, settings->parts->store->directory) != RESULT_OK) {
        LOG_WARN("config", "config.ini cannot be written", "next=\"a restart has the old values\"");
    }
    return rc;
}

Result settings_reload(Settings *settings, const char *who, size_t *changed, Buffer *error)
{
    Config fresh;
    *changed = 0;
    const AgentOptions *options = settings->options;
    Result rc =
        options->reload(options->reload_context, &fresh, error) ? RESULT_OK : RESULT_INVALID;
    for (size_t i = 0; i < settings->n_set && rc == RESULT_OK; i++) {
        const SettingsEntry *entry = &settings->set[i];
        rc = settings_put(&fresh, entry->pattern, entry->name, entry->text, error);
        if (rc != RESULT_OK) {
            config_destroy(&fresh);
        }
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = take_over(settings, &fresh, who, changed, error);
    config_destroy(&fresh);
    if (rc == RESULT_OK) {
        LOG_INFO("agent", "configuration read anew", "changed=%zu %s", *changed, who);
    }
    return rc;
}

/* ---- one option ---- */

/* A copy of what is in effect, with one other value. */
static Result try_value(const Settings *settings, const char *pattern, const char *name,
                        const char *text, Config *fresh, Buffer *error)
{
    Result rc = config_init(fresh);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = options_copy(&fresh->options, &settings->options->config->options);
    if (rc == RESULT_OK) {
        rc = settings_put(fresh, pattern, name, text, error);
    }
    if (rc == RESULT_OK) {
        rc = config_resolve_paths(fresh, error);
    }
    if (rc == RESULT_OK) {
        rc = config_check(fresh, error);
    }
    if (rc != RESULT_OK) {
        config_destroy(fresh);
    }
    return rc;
}

static const char *settings_text_of(const Settings *settings, const OptionSpec *spec)
{
    const Options *options = &settings->options->config->options;
    return options->texts[spec - options->specs];
}

static Result settings_refuse(const Settings *settings, const char *name, const char *text,
                              Buffer *answer)
{
    const OptionSpec *spec = options_find(&settings->options->config->options, name);
    const char *what = spec == NULL || !spec->live
                           ? "Stop the crawl, and start it again"
                           : "It is divided among all agents: stop them all, and start them again";
    (void)buffer_printf(
        answer, "%s cannot change while the crawl runs; it is '%s'. %s with --set %s=%s", name,
        spec == NULL ? "" : settings_text_of(settings, spec), what, name, text);
    return RESULT_LIMIT;
}

Result settings_set(Settings *settings, const char *pattern, const char *name, const char *text,
                    const char *who, Buffer *answer)
{
    Config fresh;
    Buffer before = {.limit = BUFFER_NO_LIMIT};
    Buffer origin = {.limit = BUFFER_NO_LIMIT};
    size_t changed = 0;
    const Options *options = &settings->options->config->options;
    const OptionSpec *spec = options_find(options, name);
    Result rc = try_value(settings, pattern, name, text, &fresh, answer);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (spec == NULL || !is_live(settings, spec)) {
        config_destroy(&fresh);
        return settings_refuse(settings, name, text, answer);
    }
    (void)buffer_append_string(&before, settings_text_of(settings, spec));
    (void)buffer_append_string(&origin, options->origins[spec - options->specs]);
    rc = take_over(settings, &fresh, who, &changed, answer);
    config_destroy(&fresh);
    if (rc == RESULT_OK) {
        rc = settings_remember(settings, pattern, name, text, buffer_string(&before),
                               buffer_string(&origin));
    }
    if (rc == RESULT_OK && *pattern != '\0') {
        (void)buffer_printf(answer, "%s of %s = %s (others: %s)", name, pattern, text,
                            settings_text_of(settings, spec));
    } else if (rc == RESULT_OK) {
        (void)buffer_printf(answer, changed > 0 ? "%s = %s (it was '%s')" : "%s is %s already",
                            name, settings_text_of(settings, spec), buffer_string(&before));
    }
    buffer_destroy(&before);
    buffer_destroy(&origin);
    return rc;
}

Result settings_unset(Settings *settings, const char *pattern, const char *name, const char *who,
                      Buffer *answer)
{
    SettingsEntry *entry = settings_find(settings, pattern, name);
    const Options *options = &settings->options->config->options;
    const OptionSpec *spec = options_find(options, name);
    bool is_set = entry != NULL || (spec != NULL && *pattern == '\0' &&
                                    strcmp(options->origins[spec - options->specs], OPERATOR) == 0);
    Config fresh;
    size_t changed = 0;
    Result rc = spec == NULL ? RESULT_NOT_FOUND : config_init(&fresh);
    if (rc == RESULT_MEMORY) {
        return rc;
    }
    if (rc == RESULT_OK) {
        rc = options_copy(&fresh.options, options);
        is_set |= options_drop_site(&fresh.options, pattern, spec, OPERATOR) > 0;
        if (rc == RESULT_OK && *pattern == '\0' && is_set) {
            rc = options_set(&fresh.options, name, entry == NULL ? spec->standard : entry->before,
                             entry == NULL ? "default" : entry->origin, answer);
        }
        if (rc == RESULT_OK && is_set) {
            rc = take_over(settings, &fresh, who, &changed, answer);
        }
        config_destroy(&fresh);
    }
    if (!is_set) {
        (void)buffer_printf(answer, "%s%s%s was not set by an operator", name,
                            *pattern == '\0' ? "" : " of ", pattern);
        return RESULT_NOT_FOUND;
    }
    if (rc == RESULT_OK) {
        (void)buffer_printf(answer, "%s = %s", name, settings_text_of(settings, spec));
        if (entry != NULL) {
            settings_forget(settings, entry);
        }
    }
    return rc;
}

/* ---- since the run before ---- */

typedef struct StartChanges {
    const Options *options;
    size_t n;
} StartChanges;

static void tell_start_change(void *context, const OptionChange *change)
{
    StartChanges *changes = context;
    if (options_find(changes->options, change->origin) != NULL) {
        return; /* it follows from another one */
    }
    const OptionSpec *spec = change->spec;
    bool of_site = change->site != NULL;
    LOG_INFO("config", "changed", "key=%s.%s %s%s%sold=\"%s\" new=\"%s\" from=\"%s\" at=start",
             spec->section, spec->key, of_site ? "site=\"" : "", of_site ? change->site : "",
             of_site ? "\" " : "", change->from, change->to, change->origin);
    changes->n++;
}

/* What was in force before; not config.ini, which somebody may have edited. False: nothing was, and
 * before is not to be destroyed. */
static bool settings_before(Config *before, const char *directory, Result *rc)
{
    Path path;
    Buffer ignored = {.limit = BUFFER_NO_LIMIT};
    (void)file_path(&path, "%s/in-force.ini", directory);
    if (config_file_look(path.text) == CONFIG_FILE_NONE || config_init(before) != RESULT_OK) {
        return false;
    }
    *rc = options_load_printed(&before->options, path.text, &ignored);
    buffer_destroy(&ignored);
    return true;
}

Result settings_keep_identity(const Config *config, const char *directory, Buffer *error)
{
    Config before;
    Result read = RESULT_OK;
    Result rc = RESULT_OK;
    if (!settings_before(&before, directory, &read)) {
        return RESULT_OK;
    }
    if (read == RESULT_OK && *before.crawl_identity != '\0' &&
        strcmp(before.crawl_identity, config->crawl_identity) != 0) {
        (void)buffer_printf(error,
                            "crawl.identity: this crawl was begun as '%s' and stays so; as '%s' "
                            "begin another one, in a directory of its own",
                            before.crawl_identity, config->crawl_identity);
        rc = RESULT_INVALID;
    }
    config_destroy(&before);
    return rc;
}

void settings_tell_start(const Config *config, const char *directory)
{
    Config before;
    Result read = RESULT_OK;
    StartChanges changes = {.options = &config->options};
    if (!settings_before(&before, directory, &read)) {
        LOG_INFO("config", "is new", "uid=%u", (unsigned)getuid());
        return;
    }
    if (read == RESULT_OK) {
        option_changes_tell(&before.options, &config->options, tell_start_change, &changes);
        option_changes_tell_sites(&before.options, &config->options, tell_start_change, &changes);
        if (option_changes_has_moved_sites(&before.options, &config->options)) {
            LOG_INFO("config", "changed", "key=[site] order=other at=start");
        }
        LOG_INFO("config", "compared with that of the run before", "changed=%zu uid=%u", changes.n,
                 (unsigned)getuid());
    }
    config_destroy(&before);
}

/* ---- the file ---- */

/* Synced, since a resumed crawl reads them: half a file must not get the name. They may hold
 * secrets, such as those of fetch.headers: nobody else reads them (crawl_store_keep_private). */
Result settings_write(const Config *config, const char *directory)
{
    static const char *const names[] = {"config.ini", "in-force.ini"};
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    if (file == NULL) {
        return RESULT_MEMORY;
    }
    options_print(&config->options, file);
    (void)fputs("\n" CONFIG_END, file);
    Result rc = fclose(file) == 0 ? RESULT_OK : RESULT_MEMORY;
    for (size_t i = 0; i < 2 && rc == RESULT_OK; i++) {
        Path path;
        rc = file_replace(file_path(&path, "%s/%s", directory, names[i]), text, length);
    }
    free(text);
    return rc;
}
