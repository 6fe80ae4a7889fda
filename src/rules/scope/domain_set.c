#include "rules/scope/domain_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"

static MapKey domain_set_domain_key(const char *name, size_t length)
{
    Hash128 h = hash_128(name, length);
    return (MapKey){.high = h.high, .low = h.low};
}

Result domain_set_add(DomainSet *set, const char *name, size_t length)
{
    char *copy = strndup(name, length);
    char **names = realloc(set->names, (set->n + 1) * sizeof *names);
    if (names != NULL) {
        set->names = names;
    }
    if (copy == NULL || names == NULL) {
        free(copy);
        return RESULT_MEMORY;
    }
    for (char *c = copy; *c != '\0'; c++) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 32) : *c;
    }
    names[set->n++] = copy;
    return map_put(&set->hashes, domain_set_domain_key(copy, length), copy);
}

Result domain_set_parse(DomainSet *set, const char *list)
{
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && *(list += strspn(list, ", \t.")) != '\0') {
        size_t length = strcspn(list, ", \t");
        rc = domain_set_add(set, list, length);
        list += length;
    }
    return rc;
}

void domain_set_destroy(DomainSet *set)
{
    for (size_t i = 0; i < set->n; i++) {
        free(set->names[i]);
    }
    free(set->names);
    map_destroy(&set->hashes);
    *set = (DomainSet){.n = 0};
}

const char *domain_set_find(const DomainSet *set, const char *host, size_t length)
{
    while (length > 0 && set->n > 0) {
        const char *name = map_get(&set->hashes, domain_set_domain_key(host, length));
        if (name != NULL) {
            return name;
        }
        const char *dot = memchr(host, '.', length);
        if (dot == NULL) {
            return NULL;
        }
        length -= (size_t)(dot - host) + 1;
        host = dot + 1;
    }
    return NULL;
}
