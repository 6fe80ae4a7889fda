/* Domain set: names of hosts, each of which stands for itself and for all hosts below it.
 *
 * What: "example.org" covers www.example.org. A look costs one hash for each label of the name that
 * is asked for, however large the set is.
 * Owns: its copies of the names.
 * Threads: readers any; the set is filled by one thread before. */
#ifndef RULES_DOMAIN_SET_H
#define RULES_DOMAIN_SET_H

#include <stddef.h>

#include "base/core/result.h"
#include "base/memory/map.h"

typedef struct DomainSet {
    Map hashes; /* of lower-case names, to the names */
    char **names;
    size_t n;
} DomainSet; /* all zero: an empty set */

/* Adds one name, in lower case. RESULT_MEMORY. */
Result domain_set_add(DomainSet *set, const char *name, size_t length);
/* Adds a list with commas or blanks between the names. RESULT_MEMORY. */
Result domain_set_parse(DomainSet *set, const char *list);
void domain_set_destroy(DomainSet *set);
/* The name in the set that covers this host, or NULL. */
const char *domain_set_find(const DomainSet *set, const char *host, size_t length);

#endif
