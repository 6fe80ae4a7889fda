/* Which URLs to schedule, fetch, parse, follow and store: BUbiNG's boolean filter language.
 *
 *   expression  = or
 *   or          = and { ("or" | "|" | "||" | U+2228) and }
 *   and         = not { ("and" | "&" | "&&" | U+2227) not }
 *   not         = { "not" | "!" | "~" | U+00AC } ground
 *   ground      = NAME "(" arguments ")" | "true" | "false" | "(" or ")"
 *
 * What: keywords may also be all upper case; white space is free; parentheses nest to any depth.
 * NAME is an atom of the table in filter_tests.c (`ragno check filter --atoms` prints it). A class
 * name with dots, as BUbiNG takes, is its last part. Arguments are
 *
 * - "quoted": anything; \" is a quote, \\ a backslash, and any other backslash stands for itself,
 *   so "\d+" and "\\d+" are both the regular expression \d+;
 * - 'quoted': anything but a single quote;
 * - bare: up to the closing parenthesis that matches, trimmed; inner ones must be balanced, escaped
 *   or, in a regular expression, in brackets;
 * - lists of these, separated by "," (or "\,", as in BUbiNG's property files).
 *
 * A regular expression is PCRE2's, on bytes. URLMatchesRegex and ResponseMatches must match all of
 * the text, as in BUbiNG; URLContainsRegex and ResponseContainsRegex look anywhere. What an atom
 * asks about may be absent (no response yet, no source): then the atom is false.
 *
 * Expressions are compiled to a list of tests and jumps, so neither depth nor length costs stack.
 * Files are read by the caller's function, at compile time only.
 *
 * Owns: a Filter owns its code and arguments.
 * Threads: a Filter is immutable once compiled: any number of threads evaluate it, each with a
 * FilterScratch of its own. To change a filter in a running crawl, compile another and replace it.
 * Errors: RESULT_INVALID with message, column and hint; RESULT_MEMORY.
 * Source: BUbiNG's filter package and grammar. */
#pragma once

#include "parse/filter/filter_types.h"

/* Compiles an expression. options may be NULL: everything available, no files. error is filled
 * whenever the result is not RESULT_OK: RESULT_INVALID for the expression, RESULT_LIMIT when it is
 * too long, RESULT_MEMORY, or what read_file said. */
Result filter_compile(Filter **filter, const char *text, size_t length,
                      const FilterOptions *options, FilterError *error);
void filter_delete(Filter *filter);
/* What its atoms ask about: FILTER_HAS_... */
unsigned filter_needs(const Filter *filter);

/* Evaluates, from left to right, no more atoms than needed. */
bool filter_matches(const Filter *filter, const FilterInput *input, FilterScratch *scratch);
/* The same, and appends the atoms that were evaluated ("HostEquals(a.com) false, ..."): the reason
 * for `ragno why`. Errors as buffer_append. */
Result filter_explain(const Filter *filter, const FilterInput *input, FilterScratch *scratch,
                      bool *matches, Buffer *out);
