#include "rules/score_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "rules/filters.h"

#define BLANKS " \t\r\f\v"

typedef struct ScoreRule {
    float weight;
    Filter *filter;
} ScoreRule;

struct ScoreRules {
    ScoreRule *rules;
    size_t n;
};

/* Where a rule was read from, for complaints. */
typedef struct Place {
    const char *path;
    size_t line;
    Buffer *error;
} Place;

static Result score_rules_complain(const Place *place, size_t column, const char *what,
                                   const char *hint)
{
    (void)buffer_printf(place->error, "%s:%zu: column %zu: %s%s%s", place->path, place->line,
                        column, what, *hint == '\0' ? "" : "; ", hint);
    return RESULT_INVALID;
}

static Result score_rules_add_rule(ScoreRules *rules, const char *line, const Place *place)
{
    const char *number = line + strspn(line, BLANKS);
    if (*number == '\0' || *number == '#') {
        return RESULT_OK;
    }
    char *end = NULL;
    ScoreRule rule = {.weight = strtof(number, &end)};
    if (end == number || !(rule.weight >= 0.0f && rule.weight <= 1.0f) ||
        strspn(end, BLANKS) == 0) {
        return score_rules_complain(place, (size_t)(number - line) + 1,
                                    "expected a weight from 0 to 1, blanks, and a filter", "");
    }
    const char *text = end + strspn(end, BLANKS);
    FilterOptions options = {.available = FILTER_HAS_ALL, .read_file = filters_read_list};
    FilterError why;
    Result rc = filter_compile(&rule.filter, text, strlen(text), &options, &why);
    if (rc != RESULT_OK) {
        return rc == RESULT_MEMORY ? rc
                                   : score_rules_complain(place, (size_t)(text - line) + why.column,
                                                          why.message, why.hint);
    }
    rc = array_add(&rules->rules, &rules->n, sizeof rule, &rule);
    if (rc != RESULT_OK) {
        filter_delete(rule.filter);
    }
    return rc;
}

Result score_rules_read(ScoreRules **out, const char *path, Buffer *error)
{
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    *out = NULL;
    Result rc = filters_read_list(NULL, path, &text);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s: cannot be read: %s", path, result_name(rc));
        buffer_destroy(&text);
        return rc;
    }
    ScoreRules *rules = calloc(1, sizeof *rules);
    if (rules == NULL || buffer_append_char(&text, '\0') != RESULT_OK) {
        rc = RESULT_MEMORY;
    }
    if (rc == RESULT_OK) {
        Place place = {.path = path, .error = error};
        rc = RESULT_OK;
        char *rest = text.data;
        while (rc == RESULT_OK && rest != NULL) {
            char *line = strsep(&rest, "\n");
            place.line++;
            rc = score_rules_add_rule(rules, line, &place);
        }
    }
    buffer_destroy(&text);
    if (rc != RESULT_OK) {
        score_rules_delete(rules);
        return rc;
    }
    *out = rules;
    return RESULT_OK;
}

void score_rules_delete(ScoreRules *rules)
{
    if (rules == NULL) {
        return;
    }
    for (size_t i = 0; i < rules->n; i++) {
        filter_delete(rules->rules[i].filter);
    }
    free(rules->rules);
    free(rules);
}

unsigned score_rules_need(const ScoreRules *rules)
{
    unsigned needs = 0;
    for (size_t i = 0; i < rules->n; i++) {
        needs |= filter_needs(rules->rules[i].filter);
    }
    return needs;
}

float score_rules_find(const ScoreRules *rules, const FilterInput *input, FilterScratch *scratch)
{
    for (size_t i = 0; i < rules->n; i++) {
        if (filter_matches(rules->rules[i].filter, input, scratch)) {
            return rules->rules[i].weight;
        }
    }
    return SCORE_RULES_NEUTRAL;
}
