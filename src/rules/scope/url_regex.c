#include "rules/scope/url_regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

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
