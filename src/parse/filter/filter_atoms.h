/* Filter atoms: their arguments, and which atom is meant by a name.
 *
 * What: the table of atoms is in filter_tests.c.
 * Threads: constant. */
#pragma once

#include "parse/filter/filter_atom.h"

/* A filter while it is compiled: its text, how far it is read, and what is wrong with it.
 *
 * What: the grammar (filter.c) and the arguments (filter_atoms.h) both move over the text and
 * complain about a place in it.
 * Owns: nothing; filter, options and error belong to the caller of filter_compile.
 * Threads: the one that compiles. */

typedef struct FilterCompiler {
    Filter *filter;
    const FilterOptions *options;
    FilterError *error;
    const char *text;
    size_t length;
    size_t at; /* next byte */
} FilterCompiler;

/* Fills the error with what is wrong at a byte of the text. RESULT_INVALID. */
Result filter_compiler_fail(FilterCompiler *compiler, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Moves to the next byte that is no white space. */
void filter_compiler_skip_space(FilterCompiler *compiler);

/* The arguments of atoms: read as written, and brought into the form in which they are compared.
 *
 * What: host names become as in Url.href, extensions lose their dot, ranges become two numbers,
 * regular expressions are compiled, files of hosts are loaded.
 * Owns: nothing; items go into the arena of the filter, regex and set become the atom's.
 * Threads: the one that compiles.
 * Errors: RESULT_INVALID with words in the compiler's error; RESULT_MEMORY. */

/* Reads "( arguments )" from compiler->at on into atom, whose type is set. */
Result filter_read_arguments(FilterCompiler *compiler, FilterAtom *atom);

/* The type called name, or NULL. */
const FilterAtomType *filter_atom_find(const char *name, size_t length);
/* The name that is most similar to the given one; NULL when none is similar. */
const char *filter_atom_nearest(const char *name, size_t length);

const FilterAtomHelp *filter_atom_help(size_t i);
