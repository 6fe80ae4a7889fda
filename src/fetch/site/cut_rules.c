#include "fetch/site/cut_rules.h"

#include <string.h>

#include "parse/usage/usage.h"

#define TYPE_BYTES 256u

const char *cut_reason_name(CutReason reason)
{
    static const char *const names[] = {"", "length", "usage", "filter"};
    return names[reason];
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
    if (rules->most_bytes > 0 && told_bytes > rules->most_bytes) {
        return CUT_LENGTH;
    }
    if (rules->usages != 0 && (usage_of_header(header, NULL).denied & rules->usages) != 0) {
        return CUT_USAGE;
    }
    (void)http_header_find(header, "Content-Type", &field);
    return rules->filter == NULL || passes_filter(rules, status, &field) ? CUT_NOT : CUT_FILTER;
}
