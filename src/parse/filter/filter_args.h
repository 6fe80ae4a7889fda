/* The arguments of atoms: read as written, and brought into the form in which they are compared.
 *
 * What: host names become as in Url.href, extensions lose their dot, ranges become two numbers,
 * regular expressions are compiled, files of hosts are loaded.
 * Owns: nothing; items go into the arena of the filter, regex and set become the atom's.
 * Threads: the one that compiles.
 * Errors: RESULT_INVALID with words in the compiler's error; RESULT_MEMORY. */
#ifndef PARSE_FILTER_FILTER_ARGS_H
#define PARSE_FILTER_FILTER_ARGS_H

#include "parse/filter/filter_compiler.h"

/* Reads "( arguments )" from compiler->at on into atom, whose type is set. */
Result filter_read_arguments(FilterCompiler *compiler, FilterAtom *atom);

#endif
