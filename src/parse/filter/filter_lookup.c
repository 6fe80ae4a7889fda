/* Atoms by name, and the name most like a wrong one. */
#include "parse/filter/filter_atoms.h"

#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES 40

const FilterAtomType *filter_atom_find(const char *name, size_t length)
{
    for (size_t i = 0; filter_atom_type(i) != NULL; i++) {
        const FilterAtomType *type = filter_atom_type(i);
        if (strlen(type->help.name) == length && memcmp(type->help.name, name, length) == 0) {
            return type;
        }
    }
    return NULL;
}

/* Edits (insert, delete, replace) between two names, case ignored. */
static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t row[NAME_MAX_BYTES + 1];
    for (size_t k = 0; k <= n_b; k++) {
        row[k] = k;
    }
    for (size_t i = 0; i < n_a; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t k = 0; k < n_b; k++) {
            size_t replaced = diagonal + (strncasecmp(a + i, b + k, 1) != 0);
            diagonal = row[k + 1];
            size_t least = row[k] < row[k + 1] ? row[k] + 1 : row[k + 1] + 1;
            row[k + 1] = replaced < least ? replaced : least;
        }
    }
    return row[n_b];
}

const char *filter_atom_nearest(const char *name, size_t length)
{
    if (length > NAME_MAX_BYTES) {
        return NULL;
    }
    size_t best = length / 3 + 2;
    const char *nearest = NULL;
    for (size_t i = 0; filter_atom_type(i) != NULL; i++) {
        const char *candidate = filter_atom_type(i)->help.name;
        size_t d = distance(name, length, candidate, strlen(candidate));
        if (d < best) {
            best = d;
            nearest = candidate;
        }
    }
    return nearest;
}
