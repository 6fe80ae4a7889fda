/* A set of host names from a file: what HostInFile and DomainInFile look into.
 *
 * What: a million names cost about 16 bytes each beside their text.
 * Owns: its names.
 * Threads: immutable once built; any thread may ask.
 * Errors: RESULT_INVALID names the line; RESULT_MEMORY. */
#ifndef PARSE_FILTER_FILTER_SET_H
#define PARSE_FILTER_FILTER_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/result.h"

typedef struct FilterSet FilterSet;

/* Builds a set from text: one host or http(s) URL (its host counts) a line; blank lines and lines
 * that begin with "#" are skipped; names are brought to the form they have in Url.href. *line is
 * the first line that is none of these (RESULT_INVALID), else 0. RESULT_LIMIT: over 1 GiB;
 * RESULT_MEMORY. */
Result filter_set_new(FilterSet **set, const char *text, size_t length, size_t *line);
void filter_set_delete(FilterSet *set);

/* Whether a host is there; a trailing dot does not count. */
bool filter_set_contains(const FilterSet *set, const char *host, size_t length);
/* Whether a host, or one of the domains above it, is there. */
bool filter_set_contains_domain(const FilterSet *set, const char *host, size_t length);

#endif
