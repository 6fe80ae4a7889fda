#include "fetch/site/cut_rules.h"

#include <string.h>
#include <strings.h>

#include "base/option/option.h"
#include "base/core/ascii.h"
#include "parse/usage/usage.h"

#define BLANKS     ", \t"
#define TYPE_BYTES 256u

const char *cut_reason_name(CutReason reason)
{
    static const char *const names[] = {"", "status", "type", "length", "usage", "filter"};
    return names[reason];
}

/* "404" or "5xx". */
static bool is_status(const char *item, size_t length)
{
    return length == 3 && item[0] >= '2' && item[0] <= '9' &&
           ((ascii_is_digit(item[1]) && ascii_is_digit(item[2])) ||
            strncasecmp(item + 1, "xx", 2) == 0);
}

Result cut_rules_check_statuses(const char *text, Buffer *error)
{
    return option_check_words(text, BLANKS, is_status,
                              "is no status: expected one such as 404 or 5xx", error);
}

static bool is_type(const char *item, size_t length)
{
    const char *slash = memchr(item, '/', length);
    return slash != NULL && slash > item && slash < item + length - 1;
}

Result cut_rules_check_types(const char *text, Buffer *error)
{
    return option_check_words(text, BLANKS, is_type,
                              "is no MIME type: expected one such as text/html or text/*", error);
}

static bool lists_status(const char *list, int status)
{
    for (size_t length = 0; ascii_next_word(&list, &length, BLANKS);) {
        bool is_class = length == 3 && !ascii_is_digit(list[1]);
        int number = is_status(list, length) && !is_class
                         ? (list[0] - '0') * 100 + (list[1] - '0') * 10 + list[2] - '0'
                         : 0;
        if (number == status || (is_class && list[0] - '0' == status / 100)) {
            return true;
        }
    }
    return false;
}

static bool lists_type(const char *list, const char *type, size_t type_length)
{
    bool is_empty = list[strspn(list, BLANKS)] == '\0';
    for (size_t length = 0; ascii_next_word(&list, &length, BLANKS);) {
        bool is_open = list[length - 1] == '*';
        size_t n = is_open ? length - 1 : length;
        if (n <= type_length && (is_open || n == type_length) && strncasecmp(list, type, n) == 0) {
            return true;
        }
    }
    return is_empty;
}

static bool passes_filter(const CutRules *rules, int status, const HttpField *type)
{
    char text[TYPE_BYTES] = "";
    if (type->value != NULL) {
        size_t n = type->value_length < sizeof text ? type->value_length : sizeof text - 1;
        memcpy(text, type->value, n);
        text[n] = '\0';
    }
    FilterInput input = {.url = rules->url,
                         .has_depth = true,
                         .depth = (uint32_t)rules->depth,
                         .status = status,
                         .content_type = type->value == NULL ? NULL : text};
    return filter_matches(rules->filter, &input, rules->scratch);
}

CutReason cut_rules_judge(const CutRules *rules, int status, const HttpHeader *header,
                          int64_t told_bytes)
{
    HttpField field = {.value = NULL, .value_length = 0};
    HttpContentType type = {.type = NULL};
    if (lists_status(rules->statuses, status)) {
        return CUT_STATUS;
    }
    if (http_header_find(header, "Content-Type", &field)) {
        type = http_header_content_type(field.value, field.value_length);
    }
    if (type.type != NULL && !lists_type(rules->mime_types, type.type, type.type_length)) {
        return CUT_TYPE;
    }
    if (rules->most_bytes > 0 && told_bytes > rules->most_bytes) {
        return CUT_LENGTH;
    }
    if (rules->usages != 0 && (usage_of_header(header, NULL).denied & rules->usages) != 0) {
        return CUT_USAGE;
    }
    return rules->filter == NULL || passes_filter(rules, status, &field) ? CUT_NOT : CUT_FILTER;
}
