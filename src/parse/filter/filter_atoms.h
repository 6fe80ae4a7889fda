/* The table of atoms: names, help, arguments, tests.
 *
 * What: a new atom is a row in filter_atoms.c and a test (filter_tests.h).
 * Threads: constant. */
#ifndef PARSE_FILTER_FILTER_ATOMS_H
#define PARSE_FILTER_FILTER_ATOMS_H

#include "parse/filter/filter_atom.h"

/* The i-th type, or NULL behind the last. */
const FilterAtomType *filter_atom_type(size_t i);
/* The type called name, or NULL. */
const FilterAtomType *filter_atom_find(const char *name, size_t length);
/* The name that is most similar to the given one; NULL when none is similar. */
const char *filter_atom_nearest(const char *name, size_t length);

#endif
