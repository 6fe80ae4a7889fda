#include "store/frequency/freq_rules.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/memory/array.h"

#define MATCH_LIMIT 100000u

typedef struct FreqRule {
    pcre2_code *code;
    double multiple; /* of the change rate; 0: by interval */
    double interval_s;
} FreqRule;

struct FreqRules {
    FreqRule *rules;
    size_t n;
    pcre2_match_context *limits;
};

/* "xN" or an interval with unit; false: neither. */
static bool parse_how_often(const char *text, FreqRule *rule)
{
    const char *number = text[0] == 'x' ? text + 1 : text;
    char *end = NULL;
    double value = strtod(number, &end);
    if (end == number || !isfinite(value) || !(value > 0.0)) {
        return false;
    }
    if (text[0] == 'x') {
        rule->multiple = value;
        return *end == '\0';
    }
    const char units[] = "smhd";
    const double seconds[] = {1.0, 60.0, 3600.0, 86400.0};
    const char *unit = *end == '\0' ? units : strchr(units, *end);
    if (unit == NULL || (*end != '\0' && end[1] != '\0')) {
        return false;
    }
    rule->interval_s = value * seconds[unit - units];
    float freq = (float)(1.0 / rule->interval_s); /* as the schedule keeps it */
    return isfinite(freq) && freq > 0.0f;
}

static Result freq_rules_complain(char *why, const char *what)
{
    if (why != NULL) {
        (void)snprintf(why, FREQ_RULES_WHY_BYTES, "%s", what);
    }
    return RESULT_INVALID;
}

/* line: NUL-terminated, without blanks around it; it is cut in two. */
static Result freq_rules_add_rule(FreqRules *rules, char *line, char *why)
{
    char *how_often = line + strlen(line);
    while (how_often > line && !isspace((unsigned char)how_often[-1])) {
        how_often--;
    }
    char *end = how_often;
    while (end > line && isspace((unsigned char)end[-1])) {
        end--;
    }
    if (end == line) {
        return freq_rules_complain(why, "expected a regular expression, blanks, and how often");
    }
    FreqRule rule = {0};
    if (!parse_how_often(how_often, &rule)) {
        return freq_rules_complain(
            why, "how often: expected seconds, a number with s, m, h or d, or xN");
    }
    int error = 0;
    PCRE2_SIZE at = 0;
    rule.code = pcre2_compile((PCRE2_SPTR)line, (PCRE2_SIZE)(end - line), 0, &error, &at, NULL);
    if (rule.code == NULL) {
        char words[FREQ_RULES_WHY_BYTES - 64];
        char text[FREQ_RULES_WHY_BYTES];
        (void)pcre2_get_error_message(error, (PCRE2_UCHAR *)words, sizeof words);
        (void)snprintf(text, sizeof text, "column %zu: %s", (size_t)at + 1, words);
        return freq_rules_complain(why, text);
    }
    (void)pcre2_jit_compile(rule.code, PCRE2_JIT_COMPLETE); /* without it matching is slower */
    Result rc = array_add(&rules->rules, &rules->n, sizeof rule, &rule);
    if (rc != RESULT_OK) {
        pcre2_code_free(rule.code);
    }
    return rc;
}

/* One line of the file, as it stands there. */
static Result freq_rules_parse_line(FreqRules *rules, const char *text, size_t length, char *why)
{
    while (length > 0 && isspace((unsigned char)*text)) {
        text++;
        length--;
    }
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        length--;
    }
    if (length == 0 || *text == '#') {
        return RESULT_OK;
    }
    if (memchr(text, '\0', length) != NULL) {
        return freq_rules_complain(why, "a NUL character");
    }
    char *line = strndup(text, length);
    if (line == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = freq_rules_add_rule(rules, line, why);
    free(line);
    return rc;
}

Result freq_rules_new(FreqRules **rules, const char *text, size_t length, size_t *line, char *why)
{
    *line = 0;
    *rules = NULL;
    FreqRules *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = RESULT_OK;
    r->limits = pcre2_match_context_create(NULL);
    if (r->limits == NULL) {
        rc = RESULT_MEMORY;
    } else {
        (void)pcre2_set_match_limit(r->limits, MATCH_LIMIT);
    }
    for (size_t at = 0; rc == RESULT_OK && at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t n = end == NULL ? length - at : (size_t)(end - (text + at));
        *line += 1;
        rc = freq_rules_parse_line(r, text + at, n, why);
        at += n + 1;
    }
    if (rc != RESULT_OK) {
        freq_rules_delete(r);
        return rc;
    }
    *rules = r;
    return RESULT_OK;
}

void freq_rules_delete(FreqRules *rules)
{
    if (rules == NULL) {
        return;
    }
    for (size_t i = 0; i < rules->n; i++) {
        pcre2_code_free(rules->rules[i].code);
    }
    free(rules->rules);
    pcre2_match_context_free(rules->limits);
    free(rules);
}

Result freq_rules_find(const FreqRules *rules, const char *url, size_t length, double rate,
                       double *freq)
{
    *freq = 0.0;
    Result rc = RESULT_NOT_FOUND;
    for (size_t i = 0; rc == RESULT_NOT_FOUND && i < rules->n; i++) {
        const FreqRule *rule = &rules->rules[i];
        pcre2_match_data *match = pcre2_match_data_create(1, NULL);
        if (match == NULL) {
            return RESULT_MEMORY;
        }
        int found = pcre2_match(rule->code, (PCRE2_SPTR)url, length, 0, 0, match, rules->limits);
        pcre2_match_data_free(match);
        if (found < 0) {
            continue;
        }
        if (rule->multiple > 0.0 && !(rate > 0.0)) {
            return RESULT_NOT_FOUND;
        }
        *freq = rule->multiple > 0.0 ? rule->multiple * rate : 1.0 / rule->interval_s;
        rc = RESULT_OK;
    }
    return rc;
}

double freq_change_rate(uint64_t n_crawls, uint64_t n_changes, double first_crawl,
                        double last_crawl)
{
    double span = last_crawl - first_crawl;
    if (n_crawls < 2 || !(span > 0.0)) {
        return -1.0;
    }
    double n = (double)(n_crawls - 1);
    double changed = (double)n_changes < n ? (double)n_changes : n;
    return -log((n - changed + 0.5) / (n + 0.5)) / (span / n);
}
