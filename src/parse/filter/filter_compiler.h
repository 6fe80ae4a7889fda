/* A filter while it is compiled: its text, how far it is read, and what is wrong with it.
 *
 * What: the grammar (filter_parse.c) and the arguments (filter_args.h) both move over the text and
 * complain about a place in it.
 * Owns: nothing; filter, options and error belong to the caller of filter_compile.
 * Threads: the one that compiles. */
#ifndef PARSE_FILTER_FILTER_COMPILER_H
#define PARSE_FILTER_FILTER_COMPILER_H

#include "parse/filter/filter_code.h"

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

#endif
