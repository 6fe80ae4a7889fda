#include "base/option/options.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/option/ini_value.h"

static void site_destroy(OptionSite *site)
{
    free(site->pattern);
    free(site->text);
    free(site->origin);
}

void options_free_sites(Options *options)
{
    for (size_t i = 0; i < options->n_sites; i++) {
        site_destroy(&options->sites[i]);
    }
    free(options->sites);
    options->sites = NULL;
    options->n_sites = 0;
}

/* Appends a copy of what the three texts and the value say. */
static Result add_site(Options *options, const char *pattern, const char *text, const char *origin,
                       const OptionSite *of)
{
    OptionSite *sites = realloc(options->sites, (options->n_sites + 1) * sizeof *sites);
    if (sites == NULL) {
        return RESULT_MEMORY;
    }
    options->sites = sites;
    OptionSite site = {.pattern = strdup(pattern),
                       .spec = of->spec,
                       .text = strdup(text),
                       .origin = strdup(origin),
                       .value = of->value};
    if (site.pattern == NULL || site.text == NULL || site.origin == NULL) {
        site_destroy(&site);
        return RESULT_MEMORY;
    }
    sites[options->n_sites++] = site;
    return RESULT_OK;
}

size_t options_drop_site(Options *options, const char *pattern, const OptionSpec *spec,
                         const char *origin)
{
    size_t kept = 0;
    for (size_t i = 0; i < options->n_sites; i++) {
        OptionSite *site = &options->sites[i];
        if (&options->specs[site->spec] == spec && strcmp(site->pattern, pattern) == 0 &&
            (origin == NULL || strcmp(site->origin, origin) == 0)) {
            site_destroy(site);
        } else {
            options->sites[kept++] = *site;
        }
    }
    size_t dropped = options->n_sites - kept;
    options->n_sites = kept;
    return dropped;
}

Result options_copy_sites(Options *options, const Options *from)
{
    Options copy = {.specs = NULL};
    Result rc = RESULT_OK;
    for (size_t i = 0; i < from->n_sites && rc == RESULT_OK; i++) {
        const OptionSite *site = &from->sites[i];
        rc = add_site(&copy, site->pattern, site->text, site->origin, site);
    }
    if (rc != RESULT_OK) {
        options_free_sites(&copy);
        return rc;
    }
    options_free_sites(options);
    options->sites = copy.sites;
    options->n_sites = copy.n_sites;
    return RESULT_OK;
}

size_t options_compare_sites(const Options *a, const Options *b)
{
    size_t differing = 0;
    size_t most = a->n_sites > b->n_sites ? a->n_sites : b->n_sites;
    for (size_t i = 0; i < most; i++) {
        if (i >= a->n_sites || i >= b->n_sites) {
            differing++;
            continue;
        }
        const OptionSite *x = &a->sites[i];
        const OptionSite *y = &b->sites[i];
        differing += x->spec != y->spec || strcmp(x->pattern, y->pattern) != 0 ||
                     strcmp(x->text, y->text) != 0;
    }
    return differing;
}

/* Whether a row is called "key" or "section.key". */
static bool is_called(const OptionSpec *spec, const char *name)
{
    size_t n = strlen(spec->section);
    return strcmp(spec->key, name) == 0 || (strncmp(spec->section, name, n) == 0 &&
                                            name[n] == '.' && strcmp(spec->key, name + n + 1) == 0);
}

static const OptionSpec *find_per_site(const Options *options, const char *name, Buffer *error)
{
    for (size_t i = 0; i < options->n_specs; i++) {
        if (options->specs[i].per_site && is_called(&options->specs[i], name)) {
            return &options->specs[i];
        }
    }
    (void)buffer_printf(error, "'%s' cannot be set for a site; these can:", name);
    for (size_t i = 0; i < options->n_specs; i++) {
        if (options->specs[i].per_site) {
            (void)buffer_printf(error, " %s", options->specs[i].key);
        }
    }
    return NULL;
}

Result options_add_site(Options *options, const char *pattern, const char *key, const char *text,
                        const char *origin, Buffer *error)
{
    const OptionSpec *spec = find_per_site(options, key, error);
    if (spec == NULL) {
        return RESULT_INVALID;
    }
    OptionSite site = {.spec = (size_t)(spec - options->specs)};
    Buffer value, why;
    buffer_init(&value, BUFFER_NO_LIMIT);
    buffer_init(&why, BUFFER_NO_LIMIT);
    Result rc = ini_value_read(text, &value, &why);
    if (rc == RESULT_INVALID) {
        (void)buffer_printf(error, "%s: '%s' %s", key, text, buffer_string(&why));
    }
    rc = rc == RESULT_OK ? option_parse(spec, buffer_string(&value), &site.value, error) : rc;
    rc = rc == RESULT_OK ? add_site(options, pattern, buffer_string(&value), origin, &site) : rc;
    buffer_destroy(&value);
    buffer_destroy(&why);
    return rc;
}

bool options_site_number(const Options *options, size_t offset, const char *host, int64_t *number)
{
    bool found = false;
    for (size_t i = 0; i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        if (options->specs[site->spec].offset == offset &&
            fnmatch(site->pattern, host, FNM_CASEFOLD) == 0) {
            *number = site->value.number; /* the last match wins */
            found = true;
        }
    }
    return found;
}

void options_site_apply(const Options *options, const OptionSite *site, void *values)
{
    const OptionSpec *spec = &options->specs[site->spec];
    void *field = (char *)values + spec->offset;
    if (spec->type == OPTION_TEXT) {
        *(char **)field = site->text;
    } else {
        option_store(spec, &site->value, field);
    }
}
