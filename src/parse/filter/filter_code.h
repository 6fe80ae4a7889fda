/* A compiled filter: steps over one truth value, with jumps.
 *
 * What: "and" and "or" are jumps over their right side, "not" turns the value round, and each atom
 * is a test that sets it.
 * Owns: code, atoms, and the arena with the text and the arguments.
 * Threads: immutable once compiled. */
#ifndef PARSE_FILTER_FILTER_CODE_H
#define PARSE_FILTER_FILTER_CODE_H

#include "base/memory/arena.h"
#include "parse/filter/filter_atom.h"

typedef enum FilterOp {
    FILTER_OP_TEST,          /* value = atom number argument */
    FILTER_OP_CONSTANT,      /* value = argument */
    FILTER_OP_NOT,           /* value = !value */
    FILTER_OP_JUMP_IF_FALSE, /* go on at argument when value is false */
    FILTER_OP_JUMP_IF_TRUE,
} FilterOp;

typedef struct FilterStep {
    FilterOp op;
    uint32_t argument;
} FilterStep;

struct Filter {
    Arena arena;
    char *text;
    FilterStep *code; /* owned */
    size_t n_code;
    FilterAtom *atoms; /* owned */
    size_t n_atoms;
};

#endif
