#include "rules/scope/url_lists.h"

#include <stdlib.h>
#include <string.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/core/ascii.h"
#include "base/memory/array.h"
#include "base/core/hash.h"

/* The dot of the root, at the end, says the same host. */
static MapKey domain_set_domain_key(const char *name, size_t length)
{
    return map_key_of(name, length - (length > 1 && name[length - 1] == '.'));
}
Result domain_set_add(DomainSet *set, const char *name, size_t length)
{
    char *copy = strndup(name, length);
    if (copy == NULL || array_add(&set->names, &set->n, sizeof copy, &copy) != RESULT_OK) {
        free(copy);
        return RESULT_MEMORY;
    }
    for (char *c = copy; *c != '\0'; c++) {
        *c = ascii_lower(*c);
    }
    return map_put(&set->hashes, domain_set_domain_key(copy, length), copy);
}

Result domain_set_parse(DomainSet *set, const char *list)
{
    Result rc = RESULT_OK;
    for (size_t length = 0; rc == RESULT_OK && ascii_next_word(&list, &length, ", \t");) {
        size_t dots = strspn(list, ".");
        rc = dots < length ? domain_set_add(set, list + dots, length - dots) : rc;
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

/* ---- url regex ---- */

#define MATCH_LIMIT 100000u

Result url_regex_compile(const char *text, const char *name, UrlRegex **regex, Buffer *error)
{
    *regex = NULL;
    if (*text == '\0') {
        return RESULT_OK;
    }
    int number = 0;
    PCRE2_SIZE offset = 0;
    *regex = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, &number, &offset, NULL);
    if (*regex == NULL) {
        PCRE2_UCHAR message[128];
        (void)pcre2_get_error_message(number, message, sizeof message);
        (void)buffer_printf(error, "%s: column %zu: %s\n", name, (size_t)offset + 1,
                            (const char *)message);
        return RESULT_INVALID;
    }
    (void)pcre2_jit_compile(*regex, PCRE2_JIT_COMPLETE);
    return RESULT_OK;
}

void url_regex_delete(UrlRegex *regex)
{
    pcre2_code_free(regex);
}

bool url_regex_find(const UrlRegex *regex, const char *url, size_t length, bool at_limit)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    if (data == NULL || limits == NULL) {
        pcre2_match_data_free(data);
        pcre2_match_context_free(limits);
        return at_limit;
    }
    (void)pcre2_set_match_limit(limits, MATCH_LIMIT);
    int rc = pcre2_match(regex, (PCRE2_SPTR)url, length, 0, 0, data, limits);
    pcre2_match_data_free(data);
    pcre2_match_context_free(limits);
    return rc >= 0 || (rc != PCRE2_ERROR_NOMATCH && at_limit);
}
