#include "base/option/options.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/memory/array.h"

/* ---- The machine behind the option table ---- */

/* ---- one row ---- */

static Result options_store(Options *options, size_t row, const char *text,
                            const OptionValue *parsed)
{
    const OptionSpec *spec = &options->specs[row];
    void *place = (char *)options->values + spec->offset;
    if (spec->type != OPTION_TEXT) {
        option_store(spec, parsed, place);
        return RESULT_OK;
    }
    char *copy = strdup(text);
    if (copy == NULL) {
        return RESULT_MEMORY;
    }
    /* Only now: without memory the row keeps the value that it had. */
    free(*(char **)place);
    *(char **)place = copy;
    return RESULT_OK;
}

static Result options_replace(char **string, const char *with)
{
    char *copy = strdup(with);
    if (copy == NULL) {
        return RESULT_MEMORY;
    }
    free(*string);
    *string = copy;
    return RESULT_OK;
}

/* The value of a row, its text and its origin. */
static Result options_assign(Options *options, size_t row, const OptionValue *parsed,
                             const char *value, const char *text, const char *origin)
{
    Result rc = options_store(options, row, value, parsed);
    if (rc == RESULT_OK) {
        rc = options_replace(&options->texts[row], text);
    }
    return rc == RESULT_OK ? options_replace(&options->origins[row], origin) : rc;
}

/* "section.key" */
typedef struct OptionName {
    char text[256];
} OptionName;

static const char *option_name(OptionName *name, const OptionSpec *spec)
{
    /* cppcheck-suppress ctuuninitvar */
    (void)snprintf(name->text, sizeof name->text, "%s.%s", spec->section, spec->key);
    return name->text;
}

/* ---- the table ---- */

Result options_init(Options *options, const OptionSpec *specs, size_t n_specs, void *values)
{
    *options = (Options){.specs = specs, .n_specs = n_specs, .values = values};
    options->texts = calloc(n_specs, sizeof *options->texts);
    options->origins = calloc(n_specs, sizeof *options->origins);
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    Result rc = options->texts == NULL || options->origins == NULL ? RESULT_MEMORY : RESULT_OK;
    if (rc != RESULT_OK) {
        return rc;
    }
    for (size_t i = 0; i < n_specs; i++) {
        OptionValue parsed = {0};
        rc = option_parse(&specs[i], specs[i].standard, &parsed, &error);
        if (rc == RESULT_OK) {
            rc = options_assign(options, i, &parsed, specs[i].standard, specs[i].standard,
                                "default");
        }
        if (rc != RESULT_OK) {
            break;
        }
    }
    if (rc == RESULT_INVALID) {
        (void)fprintf(stderr, "ragno: option table: %s\n", buffer_string(&error));
        rc = RESULT_INTERNAL;
    }
    buffer_destroy(&error);
    return rc;
}

static void site_destroy(OptionSite *site)
{
    free(site->pattern);
    free(site->text);
    free(site->origin);
}

static void free_sections(OptionSite *lines, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        site_destroy(&lines[i]);
    }
    free(lines);
}

static void options_free_sites(Options *options)
{
    free_sections(options->sites, options->n_sites);
    options->sites = NULL;
    options->n_sites = 0;
}

void options_destroy(Options *options)
{
    for (size_t i = 0; i < options->n_specs; i++) {
        if (options->texts != NULL) {
            free(options->texts[i]);
        }
        if (options->origins != NULL) {
            free(options->origins[i]);
        }
        if (options->specs[i].type == OPTION_TEXT) {
            char **text = (char **)(void *)((char *)options->values + options->specs[i].offset);
            free(*text);
            *text = NULL;
        }
    }
    options_free_sites(options);
    free_sections(options->identities, options->n_identities);
    free(options->texts);
    free(options->origins);
    *options = (Options){.specs = NULL};
}

static bool options_row_is(const OptionSpec *spec, const char *name)
{
    size_t n = strlen(spec->section);
    return strncmp(spec->section, name, n) == 0 && name[n] == '.' &&
           strcmp(spec->key, name + n + 1) == 0;
}

const OptionSpec *options_find(const Options *options, const char *name)
{
    for (size_t i = 0; i < options->n_specs; i++) {
        if (options_row_is(&options->specs[i], name)) {
            return &options->specs[i];
        }
    }
    return NULL;
}

/* The row nearest to a name that does not exist: same key elsewhere, or the fewest edits. */
static const OptionSpec *nearest(const Options *options, const char *name)
{
    const OptionSpec *best = NULL;
    size_t best_distance = SIZE_MAX;
    const char *dot = strchr(name, '.');
    const char *key = dot == NULL ? name : dot + 1;
    size_t length = strlen(name);
    size_t most = 1 + strlen(key) / 3; /* the section is as a rule right */
    for (size_t i = 0; i < options->n_specs; i++) {
        OptionName full;
        size_t n = strlen(option_name(&full, &options->specs[i]));
        bool is_same = strcmp(options->specs[i].key, key) == 0;
        bool is_far = n > length + most || length > n + most;
        size_t edits = is_far ? SIZE_MAX : option_distance(name, full.text);
        if ((is_same ? 1 : edits) < best_distance) {
            /* A key typed under the wrong section counts as one edit, however unlike the sections
             * are. */
            best_distance = is_same ? 1 : edits;
            best = &options->specs[i];
        }
    }
    return best_distance <= most ? best : NULL;
}

static void options_complain_unknown(const Options *options, const char *name, Buffer *error)
{
    const OptionSpec *near = nearest(options, name);
    for (const OptionGone *gone = options->gone; gone != NULL && gone->name != NULL; gone++) {
        if (strcmp(gone->name, name) == 0) {
            (void)buffer_printf(error, "option '%s' is gone: %s", name, gone->instead);
            return;
        }
    }
    (void)buffer_printf(error, "unknown option '%s'", name);
    if (near != NULL) {
        (void)buffer_printf(error, ", did you mean '%s.%s'?", near->section, near->key);
    } else {
        (void)buffer_append_string(error, " (ragno --help-config lists them all)");
    }
}

/* The text as an INI file has it, and what it says. */
static Result options_read_value(const OptionSpec *spec, const char *name, const char *text,
                                 Buffer *value, OptionValue *parsed, Buffer *error)
{
    Buffer why = {.limit = BUFFER_NO_LIMIT};
    Result rc = ini_value_read(text, value, &why);
    if (rc == RESULT_INVALID) {
        (void)buffer_printf(error, "%s: '%s' %s", name, text, buffer_string(&why));
    }
    buffer_destroy(&why);
    return rc == RESULT_OK ? option_parse(spec, buffer_string(value), parsed, error) : rc;
}

static Result options_set_row(Options *options, size_t row, const char *text, const char *origin,
                              Buffer *error)
{
    OptionName name;
    OptionValue parsed = {0};
    Buffer value = {.limit = BUFFER_NO_LIMIT};
    const OptionSpec *spec = &options->specs[row];
    Result rc = options_read_value(spec, option_name(&name, spec), text, &value, &parsed, error);
    if (rc == RESULT_OK) {
        rc = options_assign(options, row, &parsed, buffer_string(&value), buffer_string(&value),
                            origin);
    }
    buffer_destroy(&value);
    return rc;
}

Result options_set(Options *options, const char *name, const char *text, const char *origin,
                   Buffer *error)
{
    const OptionSpec *spec = options_find(options, name);
    if (spec == NULL) {
        options_complain_unknown(options, name, error);
        return RESULT_INVALID;
    }
    return options_set_row(options, (size_t)(spec - options->specs), text, origin, error);
}

extern char **environ;

/* A variable that looks like an option, and is none: told, but not fatal, since it may be meant for
 * somebody else. */
static void warn_of_variable(const Options *options, const char *variable, size_t prefix,
                             size_t length, Buffer *error)
{
    char name[128];
    const char *underscore = memchr(variable + prefix, '_', length);
    size_t n = length < sizeof name - 1 ? length : sizeof name - 1;
    for (size_t i = 0; i < n; i++) {
        char c = variable[prefix + i];
        name[i] = c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
    }
    name[n] = '\0';
    size_t at = (size_t)(underscore - variable) - prefix;
    if (at < n) {
        name[at] = '.';
    }
    (void)buffer_printf(error, "warning: environment variable %.*s: ", (int)(prefix + length),
                        variable);
    options_complain_unknown(options, name, error);
    (void)buffer_append_char(error, '\n');
}

Result options_load_environment(Options *options, const char *prefix, Buffer *error)
{
    Result rc = RESULT_OK;
    size_t n = strlen(prefix);
    for (char **entry = environ; *entry != NULL; entry++) {
        const char *equals = strchr(*entry, '=');
        if (equals == NULL || strncmp(*entry, prefix, n) != 0) {
            continue;
        }
        size_t length = (size_t)(equals - *entry) - n;
        /* Names are compared with '_' for '.', not parsed: sections and keys have underscores of
         * their own. */
        bool is_known = false;
        for (size_t i = 0; i < options->n_specs; i++) {
            char variable[128];
            (void)snprintf(variable, sizeof variable, "%s_%s", options->specs[i].section,
                           options->specs[i].key);
            bool is_this =
                strlen(variable) == length && strncasecmp(variable, *entry + n, length) == 0;
            is_known |= is_this;
            if (is_this &&
                options_set_row(options, i, equals + 1, "environment", error) != RESULT_OK) {
                (void)buffer_append_string(error, " (from the environment)\n");
                rc = RESULT_INVALID;
            }
        }
        if (!is_known && memchr(*entry + n, '_', length) != NULL) {
            warn_of_variable(options, *entry, n, length, error);
        }
    }
    return rc;
}

/* In how many values the sites of two differ. */
static size_t options_compare_sites(const Options *a, const Options *b)
{
    size_t least = a->n_sites < b->n_sites ? a->n_sites : b->n_sites;
    size_t differing = a->n_sites + b->n_sites - 2 * least;
    for (size_t i = 0; i < least; i++) {
        const OptionSite *x = &a->sites[i];
        const OptionSite *y = &b->sites[i];
        differing += x->spec != y->spec || strcmp(x->pattern, y->pattern) != 0 ||
                     strcmp(x->text, y->text) != 0;
    }
    return differing;
}

size_t options_take(Options *options, const Options *fresh, OptionMayChange may_change,
                    const void *context)
{
    size_t taken = 0;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    for (size_t i = 0; i < options->n_specs; i++) {
        taken +=
            may_change(context, &options->specs[i]) &&
            strcmp(options->texts[i], fresh->texts[i]) != 0 &&
            options_set_row(options, i, fresh->texts[i], fresh->origins[i], &error) == RESULT_OK;
    }
    buffer_destroy(&error);
    /* Sites have no key of their own and their order counts: one that differs replaces all. */
    size_t differing = options_compare_sites(options, fresh);
    return differing > 0 && options_copy_sites(options, fresh) == RESULT_OK ? taken + differing
                                                                            : taken;
}

Result options_copy(Options *options, const Options *from)
{
    for (size_t i = 0; i < from->n_specs; i++) {
        const void *field = (const char *)from->values + from->specs[i].offset;
        OptionValue value = option_read(&from->specs[i], field);
        const char *text =
            from->specs[i].type == OPTION_TEXT ? *(char *const *)field : from->texts[i];
        Result rc = options_assign(options, i, &value, text, from->texts[i], from->origins[i]);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return options_copy_sites(options, from);
}

/* ---- printing ---- */

static void print_sections(const Options *options, const char *kind, const OptionSite *lines,
                           size_t n, FILE *out)
{
    const char *pattern = "";
    for (size_t i = 0; i < n; i++) {
        const OptionSite *line = &lines[i];
        if (strcmp(pattern, line->pattern) != 0) {
            pattern = line->pattern;
            (void)fprintf(out, "\n[%s \"%s\"]\n", kind, pattern);
        }
        (void)fprintf(out, "; %s\n%s = %s\n", line->origin, options->specs[line->spec].key,
                      line->text);
    }
}

void options_print(const Options *options, FILE *out)
{
    const char *section = "";
    for (size_t i = 0; i < options->n_specs; i++) {
        if (strcmp(section, options->specs[i].section) != 0) {
            section = options->specs[i].section;
            (void)fprintf(out, "%s[%s]\n", i == 0 ? "" : "\n", section);
        }
        /* What follows from another row is not a choice: it is found anew when this is loaded. */
        bool follows = options_find(options, options->origins[i]) != NULL;
        (void)fprintf(out, "; %s\n%s%s = %s\n", options->origins[i], follows ? "; " : "",
                      options->specs[i].key, options->texts[i]);
    }
    print_sections(options, "identity", options->identities, options->n_identities, out);
    print_sections(options, "site", options->sites, options->n_sites, out);
}

static void print_range(const OptionSpec *spec, FILE *out)
{
    Buffer text = {.limit = 256};
    if (spec->type == OPTION_WORD) {
        (void)buffer_append_string(&text, spec->words);
    } else if (spec->type == OPTION_BOOL) {
        (void)buffer_append_string(&text, "yes|no");
    } else if (spec->type == OPTION_TEXT) {
        (void)buffer_append_string(&text, "text");
    } else {
        option_print_bounds(spec, &text);
    }
    (void)fprintf(out, "%s", buffer_string(&text));
    buffer_destroy(&text);
}

size_t options_help(const Options *options, const char *word, FILE *out)
{
    size_t n = 0;
    for (size_t i = 0; i < options->n_specs; i++) {
        const OptionSpec *spec = &options->specs[i];
        OptionName full;
        const char *name = option_name(&full, spec);
        if (word != NULL && strstr(name, word) == NULL && strstr(spec->help, word) == NULL) {
            continue;
        }
        (void)fprintf(out, "%s = %s\n    %s (", name, spec->standard, spec->help);
        print_range(spec, out);
        (void)fprintf(out, "%s%s)\n", spec->live ? "; live" : "",
                      spec->per_site ? "; per site" : "");
        n++;
    }
    return n;
}

void options_print_sample(const Options *options, FILE *out)
{
    (void)fprintf(out, "; ragno.ini: every option with its default. Uncomment what you change.\n"
                       "; Times: ms s m h d (a bare number is seconds). Sizes: K Ki M Mi G Gi.\n"
                       "; This file is made by `ragno --print-config=sample`.\n");
    const char *section = "";
    for (size_t i = 0; i < options->n_specs; i++) {
        const OptionSpec *spec = &options->specs[i];
        if (strcmp(section, spec->section) != 0) {
            section = spec->section;
            (void)fprintf(out, "\n[%s]\n", section);
        }
        (void)fprintf(out, "\n; %s\n; (", spec->help);
        print_range(spec, out);
        (void)fprintf(out, "%s%s)\n;%s = %s\n", spec->live ? "; live" : "",
                      spec->per_site ? "; per site" : "", spec->key, spec->standard);
    }
}

/* Appends a copy of what the three texts and the value say. */
static Result add_site(OptionSite **lines, size_t *n, const char *pattern, const char *text,
                       const char *origin, const OptionSite *of)
{
    OptionSite site = {.pattern = strdup(pattern),
                       .spec = of->spec,
                       .text = strdup(text),
                       .origin = strdup(origin),
                       .value = of->value};
    Result rc = site.pattern == NULL || site.text == NULL || site.origin == NULL
                    ? RESULT_MEMORY
                    : array_add(lines, n, sizeof site, &site);
    if (rc != RESULT_OK) {
        site_destroy(&site);
    }
    return rc;
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
    for (size_t i = 0; i < from->n_sites; i++) {
        const OptionSite *site = &from->sites[i];
        Result rc =
            add_site(&copy.sites, &copy.n_sites, site->pattern, site->text, site->origin, site);
        if (rc != RESULT_OK) {
            options_free_sites(&copy);
            return rc;
        }
    }
    options_free_sites(options);
    options->sites = copy.sites;
    options->n_sites = copy.n_sites;
    return RESULT_OK;
}

static bool option_is_for(const OptionSpec *spec, bool of_identity)
{
    return of_identity ? spec->of_identity : spec->per_site;
}

/* The row of a line of a section. */
static const OptionSpec *find_in_section(const Options *options, bool of_identity, const char *name,
                                         Buffer *error)
{
    for (size_t i = 0; i < options->n_specs; i++) {
        const OptionSpec *spec = &options->specs[i];
        if (option_is_for(spec, of_identity) &&
            (strcmp(spec->key, name) == 0 || options_row_is(spec, name))) {
            return spec;
        }
    }
    (void)buffer_printf(error, "'%s' cannot be set for %s; these can:", name,
                        of_identity ? "an identity" : "a site");
    for (size_t i = 0; i < options->n_specs; i++) {
        if (option_is_for(&options->specs[i], of_identity)) {
            (void)buffer_printf(error, " %s", options->specs[i].key);
        }
    }
    return NULL;
}

static Result options_add_line(Options *options, bool of_identity, const char *pattern,
                               const char *key, const char *text, const char *origin, Buffer *error)
{
    const OptionSpec *spec = find_in_section(options, of_identity, key, error);
    if (spec == NULL) {
        return RESULT_INVALID;
    }
    OptionSite line = {.spec = (size_t)(spec - options->specs)};
    OptionSite **lines = of_identity ? &options->identities : &options->sites;
    size_t *n = of_identity ? &options->n_identities : &options->n_sites;
    Buffer value = {.limit = BUFFER_NO_LIMIT};
    Result rc = options_read_value(spec, key, text, &value, &line.value, error);
    if (rc == RESULT_OK) {
        rc = add_site(lines, n, pattern, buffer_string(&value), origin, &line);
    }
    buffer_destroy(&value);
    return rc;
}

Result options_add_site(Options *options, const char *pattern, const char *key, const char *text,
                        const char *origin, Buffer *error)
{
    return options_add_line(options, false, pattern, key, text, origin, error);
}

void options_site_values(const Options *options, const char *host, void *values)
{
    /* The dot of the root says the same host; without memory it counts. */
    size_t length = strlen(host);
    char *bare = length > 1 && host[length - 1] == '.' ? strndup(host, length - 1) : NULL;
    for (size_t i = 0; i < options->n_sites; i++) { /* the last match wins */
        if (fnmatch(options->sites[i].pattern, bare == NULL ? host : bare, FNM_CASEFOLD) == 0) {
            options_site_apply(options, &options->sites[i], values);
        }
    }
    free(bare);
}

Result options_pick_identity(Options *options, const char *name, Buffer *error)
{
    bool is_there = false;
    for (size_t i = 0; i < options->n_identities; i++) {
        const OptionSite *line = &options->identities[i];
        const OptionSpec *spec = &options->specs[line->spec];
        const char *origin = options->origins[line->spec];
        bool is_urgent = strcmp(origin, "command line") == 0 || strcmp(origin, "environment") == 0;
        if (strcmp(line->pattern, name) != 0) {
            continue;
        }
        is_there = true;
        if (is_urgent && strcmp(options->texts[line->spec], line->text) != 0) {
            (void)buffer_printf(error, "%s.%s of the %s is not that of identity '%s' (%s)",
                                spec->section, spec->key, origin, name, line->origin);
            return RESULT_INVALID;
        }
        Result rc = options_set_row(options, line->spec, line->text, line->origin, error);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    if (!is_there) {
        (void)buffer_printf(error, "there is no section [identity \"%s\"]", name);
        return RESULT_INVALID;
    }
    return RESULT_OK;
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

/* options_load: every mistake is told with its file and line. A line only collects:
 *
 *   line -- "key = value" --> options_ini_assign    collected, until the next line tells
 *        -- indented text --> options_ini_line      appended to what is collected
 *        -- "[section]", the next key, the end -->  options_ini_flush applies it */

#define INI_INCLUDE_DEPTH 8

typedef struct IniFile {
    Options *options;
    const char *path;
    unsigned line;
    Buffer section; /* the one that is open: its name, without the quote at its end */
    size_t name_at; /* where in it the name of a site or an identity begins; 0: it is neither */
    Buffer key;     /* the assignment being collected; empty: there is none */
    Buffer value;
    unsigned value_line;
    unsigned *lines; /* of each row: where this file gives it; 0 = it does not */
    bool is_own;     /* options_print has written it: remarks are origins */
    Buffer remark;   /* the one on the line before, without its semicolon */
    unsigned remark_line;
    Buffer origin; /* of the assignment being collected; empty: file and line */
    unsigned depth;
    Buffer *error;
    Result result;
} IniFile;

static Result options_ini_load(Options *options, const char *path, unsigned depth, bool is_own,
                               Buffer *error);

/* Replaces the contents of one of the buffers. */
static void options_ini_keep(IniFile *file, Buffer *buffer, const char *text, size_t length)
{
    buffer_reset(buffer);
    if (buffer_append(buffer, text, length) != RESULT_OK) {
        file->result = RESULT_MEMORY;
    }
}

static void options_ini_complain(IniFile *file, const char *what)
{
    (void)buffer_printf(file->error, "%s:%u: %s\n", file->path, file->line, what);
    file->result = RESULT_INVALID;
}

static Result include(IniFile *file, const char *name)
{
    Buffer path = {.limit = 4096};
    const char *slash = strrchr(file->path, '/');
    Result rc = RESULT_OK;
    if (name[0] != '/' && slash != NULL) {
        rc = buffer_append(&path, file->path, (size_t)(slash - file->path) + 1);
    }
    if (rc == RESULT_OK) {
        rc = buffer_append_string(&path, name);
    }
    if (rc == RESULT_OK) {
        rc = options_ini_load(file->options, buffer_string(&path), file->depth + 1, false,
                              file->error);
    }
    buffer_destroy(&path);
    return rc;
}

/* Somebody has given another value to what was left at its standard. */
static bool is_edited(const IniFile *file, const OptionSpec *spec)
{
    return strcmp(buffer_string(&file->origin), "default") == 0 &&
           (spec == NULL || strcmp(spec->standard, buffer_string(&file->value)) != 0);
}

/* The second value would win without a word. An included file may be overridden: that is what it is
 * for. */
static void complain_twice(IniFile *file, const OptionSpec *spec)
{
    unsigned *line = &file->lines[spec - file->options->specs];
    if (*line > 0) {
        (void)buffer_printf(file->error, "%s:%u: %s.%s was given in line %u already\n", file->path,
                            file->value_line, spec->section, spec->key, *line);
        file->result = RESULT_INVALID;
    }
    *line = file->value_line;
}

/* Where the name of [site "..."] or [identity "..."] begins; 0: it is another section. */
static size_t options_ini_name(const Buffer *section)
{
    static const char *const kinds[] = {"site \"", "identity \""};
    const char *text = buffer_string(section);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = strlen(kinds[i]);
        if (section->length > n + 1 && strncmp(text, kinds[i], n) == 0 &&
            text[section->length - 1] == '"') {
            return n;
        }
    }
    return 0;
}

/* Applies the assignment collected so far. */
static void options_ini_flush(IniFile *file)
{
    char origin[512];
    char name[256];
    const char *section = buffer_string(&file->section);
    const char *key = buffer_string(&file->key);
    const char *value = buffer_string(&file->value);
    if (file->key.length == 0) {
        return;
    }
    (void)snprintf(name, sizeof name, "%s.%s", section, key);
    const OptionSpec *spec = options_find(file->options, name);
    if (file->origin.length > 0 && !is_edited(file, spec)) {
        (void)snprintf(origin, sizeof origin, "%s", buffer_string(&file->origin));
    } else {
        (void)snprintf(origin, sizeof origin, "%s:%u", file->path, file->value_line);
    }
    Buffer message = {.limit = BUFFER_NO_LIMIT};
    Result rc = RESULT_OK;
    if (strcmp(key, "include") == 0 && *section == '\0') {
        /* An included file is read here, in the midst of this one, so that a later line overrides
         * it. */
        rc = include(file, value);
        if (rc == RESULT_INVALID) {
            file->result = rc; /* its own lines are in error already */
            rc = RESULT_OK;
        } else if (rc != RESULT_OK) {
            (void)buffer_printf(&message, "include = %s: %s", value, result_name(rc));
        }
    } else if (file->name_at > 0) {
        rc = options_add_line(file->options, *section == 'i', section + file->name_at, key, value,
                              origin, &message);
    } else {
        /* What has its default, and is gone since the file was printed, is no mistake. */
        bool is_left = spec == NULL && strcmp(buffer_string(&file->origin), "default") == 0;
        if (spec != NULL) {
            complain_twice(file, spec);
        }
        rc = is_left ? RESULT_OK : options_set(file->options, name, value, origin, &message);
    }
    if (rc != RESULT_OK) {
        (void)buffer_printf(file->error, "%s: %s\n", origin, buffer_string(&message));
        file->result = RESULT_INVALID;
    }
    buffer_destroy(&message);
    buffer_reset(&file->key);
}

/* Cuts off a remark, and the blanks at the end. */
static void strip_remark(char *line)
{
    for (char *p = line; *p != '\0'; p++) {
        if ((p == line && *p == '#') ||
            (*p == ';' && (p == line || isspace((unsigned char)p[-1])))) {
            *p = '\0';
            break;
        }
    }
    size_t length = strlen(line);
    while (length > 0 && isspace((unsigned char)line[length - 1])) {
        length--;
    }
    line[length] = '\0';
}

static void options_ini_open(IniFile *file, const char *text)
{
    const char *end = strchr(text, ']');
    options_ini_flush(file);
    if (end == NULL) {
        options_ini_complain(file, "expected 'key = value', '[section]' or a comment");
        return;
    }
    options_ini_keep(file, &file->section, text, (size_t)(end - text));
    file->name_at = options_ini_name(&file->section);
    if (file->name_at > 0) {
        file->section.data[--file->section.length] = '\0'; /* the quote */
    }
}

static void options_ini_assign(IniFile *file, const char *text)
{
    size_t length = strcspn(text, "=:");
    options_ini_flush(file);
    if (text[length] == '\0') {
        options_ini_complain(file, "expected 'key = value', '[section]' or a comment");
        return;
    }
    const char *value = text + length + 1;
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        length--;
    }
    while (isspace((unsigned char)*value)) {
        value++;
    }
    if (length == 0) {
        options_ini_complain(file, "expected a key before '='");
        return;
    }
    bool has_origin = file->is_own && file->remark_line + 1 == file->line;
    options_ini_keep(file, &file->key, text, length);
    options_ini_keep(file, &file->value, value, strlen(value));
    options_ini_keep(file, &file->origin, buffer_string(&file->remark),
                     has_origin ? file->remark.length : 0);
    file->value_line = file->line;
}

static void options_ini_line(IniFile *file, char *line)
{
    char *start = line;
    if (file->is_own && *line == ';') {
        const char *remark = line + 1 + strspn(line + 1, " ");
        buffer_reset(&file->remark);
        (void)buffer_append(&file->remark, remark, strcspn(remark, "\r\n"));
        file->remark_line = file->line;
    }
    while (isspace((unsigned char)*start)) {
        start++;
    }
    strip_remark(start);
    if (*start == '\0') {
        return;
    }
    if (start > line && file->key.length > 0) { /* it goes on with the value before it */
        if (buffer_printf(&file->value, " %s", start) != RESULT_OK) {
            file->result = RESULT_MEMORY;
        }
    } else if (*start == '[') {
        options_ini_open(file, start + 1);
    } else {
        options_ini_assign(file, start);
    }
}

static void options_ini_read(IniFile *file, FILE *stream)
{
    char *text = NULL;
    size_t capacity = 0;
    ssize_t n = 0;
    while ((n = getline(&text, &capacity, stream)) >= 0) {
        file->line++;
        if (strlen(text) != (size_t)n) {
            options_ini_complain(file, "a zero byte: the file is no text, or damaged");
            break;
        }
        bool has_mark = file->line == 1 && strncmp(text, "\xEF\xBB\xBF", 3) == 0;
        options_ini_line(file, text + (has_mark ? 3 : 0));
    }
    options_ini_flush(file);
    free(text);
    if (feof(stream) == 0 && file->result == RESULT_OK) { /* it failed, or had no memory */
        file->result = RESULT_IO;
    }
}

static Result options_ini_load(Options *options, const char *path, unsigned depth, bool is_own,
                               Buffer *error)
{
    struct stat st;
    if (depth > INI_INCLUDE_DEPTH) {
        (void)buffer_printf(error, "%s: included more than %d levels deep\n", path,
                            INI_INCLUDE_DEPTH);
        return RESULT_INVALID;
    }
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        return result_of_errno(errno);
    }
    IniFile file = {.options = options,
                    .path = path,
                    .depth = depth,
                    .is_own = is_own,
                    .error = error,
                    .section = {.limit = BUFFER_NO_LIMIT},
                    .key = {.limit = BUFFER_NO_LIMIT},
                    .value = {.limit = BUFFER_NO_LIMIT},
                    .origin = {.limit = BUFFER_NO_LIMIT},
                    .remark = {.limit = 4096},
                    .lines = calloc(options->n_specs, sizeof *file.lines)};
    if (fstat(fileno(stream), &st) == 0 && S_ISDIR(st.st_mode)) {
        (void)buffer_printf(error, "%s: is a directory, not a file of options\n", path);
        file.result = RESULT_INVALID;
    } else if (file.lines == NULL) {
        file.result = RESULT_MEMORY;
    } else {
        options_ini_read(&file, stream);
    }
    (void)fclose(stream);
    free(file.lines);
    buffer_destroy(&file.section);
    buffer_destroy(&file.key);
    buffer_destroy(&file.value);
    buffer_destroy(&file.origin);
    buffer_destroy(&file.remark);
    return file.result;
}

Result options_load(Options *options, const char *path, Buffer *error)
{
    return options_ini_load(options, path, 0, false, error);
}

Result options_load_printed(Options *options, const char *path, Buffer *error)
{
    return options_ini_load(options, path, 0, true, error);
}
