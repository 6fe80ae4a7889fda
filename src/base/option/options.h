/* The machine behind the option table: one row for each option, and from it the struct of values,
 * the parser with units and ranges, the INI reader, --help-config and --print-config.
 *
 * What: the table itself is the program's (src/rules/config.c) and the only place where an option
 * exists. A value comes from, least to most urgent: the table, the INI file, the environment
 * (RAGNO_SECTION_KEY), the command line; where it came from is kept. Sections [site "pattern"]
 * override the rows marked per_site for matching hosts.
 * Owns: its texts and sites; the struct of values is the program's.
 * Threads: main; read-only once the program runs. Live changes go through options_set under the
 * agent's lock.
 * Errors: sentences in a Buffer: where, what is wrong, what was expected, the nearest name.
 * Source: the idea is that of Varnish's params. */
#ifndef BASE_OPTION_OPTIONS_H
#define BASE_OPTION_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/memory/buffer.h"
#include "base/option/option.h"
#include "base/core/result.h"

typedef struct OptionSite {
    char *pattern; /* of host names, with * and ? */
    size_t spec;   /* which row */
    char *text;    /* the value as written */
    char *origin;  /* "FILE:LINE" */
    union {
        int64_t number;
        double real;
    } value;
} OptionSite;

typedef struct Options {
    const OptionSpec *specs;
    size_t n_specs;
    void *values;   /* the struct that offsets point into; owned by the program */
    char **texts;   /* per row: the value as written */
    char **origins; /* per row: "default", "FILE:LINE", "environment", "command line" */
    OptionSite *sites;
    size_t n_sites;
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
/* One line of a [site "pattern"] section. RESULT_INVALID: error says why. */
Result options_add_site(Options *options, const char *pattern, const char *key, const char *text,
                        const char *origin, Buffer *error);
/* Reads the environment's RAGNO_SECTION_KEY variables. */
Result options_load_environment(Options *options, const char *prefix, Buffer *error);

/* Copies the live rows in which fresh, of the same table, differs. Returns their number. */
size_t options_take_live(Options *options, const Options *fresh);

const OptionSpec *options_find(const Options *options, const char *name);
/* The value of a per_site row (by offset) for a host, or false when no pattern matches. */
bool options_site_number(const Options *options, size_t offset, const char *host, int64_t *number);

/* "section.key = value" rows that load again, with units, defaults and ranges. */
void options_print(const Options *options, FILE *out);
/* The table for people; only rows that contain word, unless it is NULL. */
void options_help(const Options *options, const char *word, FILE *out);
/* A commented INI file with every default: config/ragno.ini. */
void options_print_sample(const Options *options, FILE *out);

#endif
