/* The atoms: their names, help, arguments and tests, which answer whether an atom is true.
 *
 * What: one function for each kind of test, all of the signature of FilterAtomType.matches, and the
 * table that names them. The regular expressions' scratch is the caller's.
 * Threads: pure functions but for the scratch. */
#pragma once

#include "parse/filter/filter_atom.h"

/* Regular expressions of filters: compiling and matching, with bounds.
 *
 * What: a match that takes too many steps or too much memory is given up, which is counted and
 * means "does not match".
 * Owns: FilterScratch owns PCRE2's memory for one match at a time.
 * Threads: a scratch belongs to one thread; a compiled expression to all. */

#define FILTER_REGEX_MESSAGE_BYTES 128

/* Compiles the first item of an atom into atom->regex. RESULT_INVALID: message says what is wrong,
 * and offset where in the item. RESULT_MEMORY. */
Result filter_regex_compile(FilterAtom *atom, char message[FILTER_REGEX_MESSAGE_BYTES],
                            size_t *offset);

/* The i-th type of atoms, or NULL behind the last. */
const FilterAtomType *filter_atom_type(size_t i);
