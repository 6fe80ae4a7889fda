/* The tests behind the atoms: each answers whether an atom is true of what is asked about.
 *
 * What: one function for each kind of test, all of the signature of FilterAtomType.matches; the
 * table that names them is in filter_atoms.c. The regular expressions' scratch is the caller's.
 * Threads: pure functions but for the scratch. */
#ifndef PARSE_FILTER_FILTER_TESTS_H
#define PARSE_FILTER_FILTER_TESTS_H

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
/* Whether the regular expression of an atom matches. */
bool filter_regex_matches(const FilterAtom *atom, const char *text, size_t length,
                          FilterScratch *scratch);

/* Not every test needs every parameter. */
#define FILTER_TEST(name)                                                                          \
    bool filter_test_##name(const FilterAtom *atom __attribute__((unused)),                        \
                            const FilterInput *input __attribute__((unused)),                      \
                            FilterScratch *scratch __attribute__((unused)))

/* filter_tests.c */
FILTER_TEST(host_equals);
FILTER_TEST(host_ends_with);
FILTER_TEST(host_in_domain);
FILTER_TEST(host_in_file);
FILTER_TEST(domain_in_file);
FILTER_TEST(host_is_address);
FILTER_TEST(registered_domain_is);
FILTER_TEST(same_host);
FILTER_TEST(same_registered_domain);
FILTER_TEST(scheme_equals);
FILTER_TEST(port_is);
FILTER_TEST(url_equals);
FILTER_TEST(url_contains);
FILTER_TEST(url_matches);
FILTER_TEST(url_shorter);
FILTER_TEST(path_starts);
FILTER_TEST(path_ends);
FILTER_TEST(path_depth_below);
FILTER_TEST(duplicate_segments_below);
FILTER_TEST(extension_is);
FILTER_TEST(has_query);
FILTER_TEST(query_contains);
FILTER_TEST(has_parameter);
FILTER_TEST(parameter_is);
FILTER_TEST(parameters_below);
FILTER_TEST(depth_at_most);

/* filter_tests.c */
FILTER_TEST(is_http_response);
FILTER_TEST(status_is);
FILTER_TEST(status_category);
FILTER_TEST(content_type_starts);
FILTER_TEST(mime_is);
FILTER_TEST(size_below);
FILTER_TEST(is_probably_binary);
FILTER_TEST(response_matches);
FILTER_TEST(anchor_matches);
FILTER_TEST(text_matches);
FILTER_TEST(title_matches);
FILTER_TEST(digest_equals);
FILTER_TEST(usage_denied);

#endif
