/* The machine behind the option table: one row for each option, and from it the struct of values,
 * the parser with units and ranges, the INI reader, --help-config and --print-config.
 *
 * What: the table itself is the program's (src/rules/config.c) and the only place where an option
 * exists. A value comes from, least to most urgent: the table, the INI file, the environment
 * (RAGNO_SECTION_KEY), the command line; where it came from is kept. Sections [site "pattern"]
 * override the rows marked per_site for matching hosts; of the sections [identity "name"], with
 * rows marked of_identity, one is picked once all sources are read.
 * Owns: its texts and sites; the struct of values is the program's.
 * Threads: main; read-only once the program runs. Live changes go through options_set under the
 * agent's lock.
 * Errors: sentences in a Buffer: where, what is wrong, what was expected, the nearest name.
 * Source: the idea is that of Varnish's params. */
#pragma once

#include <stdio.h>

#include "base/option/option.h"

typedef struct OptionSite {
    char *pattern; /* of host names, with * and ? */
    size_t spec;   /* which row */
    char *text;    /* the value as written; of OPTION_TEXT the value itself */
    char *origin;  /* "FILE:LINE" */
    OptionValue value;
} OptionSite;

/* An option that earlier programs had. */
typedef struct OptionGone {
    const char *name;    /* "section.key"; NULL: the end of a list */
    const char *instead; /* what does the same now */
} OptionGone;

typedef struct Options {
    const OptionSpec *specs;
    size_t n_specs;
    void *values;   /* the struct that offsets point into; owned by the program */
    char **texts;   /* per row: the value as written */
    char **origins; /* per row: "default", "FILE:LINE", "environment", "command line" */
    OptionSite *sites;
    size_t n_sites;
    OptionSite *identities; /* their patterns are names */
    size_t n_identities;
    const OptionGone *gone; /* borrowed; NULL: none */
} Options;

/* Fills values with the defaults. RESULT_MEMORY. */
Result options_init(Options *options, const OptionSpec *specs, size_t n_specs, void *values);
void options_destroy(Options *options);

/* Sets one value; name is "section.key". RESULT_INVALID: error says why, nothing changed. */
Result options_set(Options *options, const char *name, const char *text, const char *origin,
                   Buffer *error);
/* Reads an INI file (with `include = FILE` before any section). Every error is reported, one line
 * each; RESULT_INVALID when there was any, RESULT_NOT_FOUND or RESULT_IO when it cannot be read. */
Result options_load(Options *options, const char *path, Buffer *error);
/* The same for a file that options_print has written: the remark before each value is where it
 * comes from, and is kept. A default of an option that is gone is passed over. */
Result options_load_printed(Options *options, const char *path, Buffer *error);
/* Reads the environment's RAGNO_SECTION_KEY variables. One that names no option is a warning in
 * error
 * ("warning: ..."), and no failure. */
Result options_load_environment(Options *options, const char *prefix, Buffer *error);

/* Whether a row may change while the program runs. */
typedef bool (*OptionMayChange)(const void *context, const OptionSpec *spec);
/* Copies the rows that may change and in which fresh, of the same table, differs, and its sites.
 * Returns the number of values that differ. */
size_t options_take(Options *options, const Options *fresh, OptionMayChange may_change,
                    const void *context);
/* Makes options (of the same table, initialised) a copy of from. RESULT_MEMORY. */
Result options_copy(Options *options, const Options *from);

const OptionSpec *options_find(const Options *options, const char *name);
/* ---- sites (options.c) ---- */

/* One line of a [site "pattern"] section; key is "key" or "section.key". RESULT_INVALID: error says
 * why. */
Result options_add_site(Options *options, const char *pattern, const char *key, const char *text,
                        const char *origin, Buffer *error);
/* Sets the rows that the sections of a name have. RESULT_INVALID: there is none, or the environment
 * or the command line says otherwise; error has a sentence, without its line end. */
Result options_pick_identity(Options *options, const char *name, Buffer *error);
/* Writes one site's value over its field in values, a flat copy of the struct of values: a text is
 * borrowed from the site. */
void options_site_apply(const Options *options, const OptionSite *site, void *values);
/* The same with the values of every site that a host (a name, with or without the dot of the root)
 * matches. */
void options_site_values(const Options *options, const char *host, void *values);
/* Removes the lines of a site that have this origin, NULL: any. Returns how many. */
size_t options_drop_site(Options *options, const char *pattern, const OptionSpec *spec,
                         const char *origin);
/* Replaces the sites by copies of from's. RESULT_MEMORY: nothing changed. */
Result options_copy_sites(Options *options, const Options *from);

/* ---- printing ---- */

/* "section.key = value" rows that load again, with units, defaults and ranges. */
void options_print(const Options *options, FILE *out);
/* The table for people; only rows that contain word, unless it is NULL. Returns how many. */
size_t options_help(const Options *options, const char *word, FILE *out);
/* A commented INI file with every default: config/ragno.ini. */
void options_print_sample(const Options *options, FILE *out);
