#include "base/core/ascii.h"
#include "base/option/option.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- A value as an INI file can hold it ---- */

#define MOST_IN_A_ROW 64 /* blanks and signs of a remark: a long line is cut between them */

bool ini_value_is_bad_start(char c)
{
    return isspace((unsigned char)c) || c == ';' || c == '#';
}

Result ini_value_read(const char *text, Buffer *value, Buffer *error)
{
    const char *end = text + strlen(text);
    while (isspace((unsigned char)*text)) {
        text++;
    }
    while (end > text && isspace((unsigned char)end[-1])) {
        end--;
    }
    size_t run = 0;
    for (const char *p = text; p < end; p++) {
        run = ini_value_is_bad_start(*p) ? run + 1 : 0;
        if (run > MOST_IN_A_ROW) {
            (void)buffer_printf(error, "has more than %d blanks, ';' or '#' in a row",
                                MOST_IN_A_ROW);
            return RESULT_INVALID;
        }
        if (iscntrl((unsigned char)*p) && *p != '\t') {
            (void)buffer_printf(error, "has a control character, which no file can hold");
            return RESULT_INVALID;
        }
        if (*p == ';' && (p == text || isspace((unsigned char)p[-1]))) {
            (void)buffer_printf(error, "has a ';' after a blank, which begins a comment in a file");
            return RESULT_INVALID;
        }
    }
    return buffer_append(value, text, (size_t)(end - text));
}

/* ---- One option ---- */

#define NO_BOUND 9e15 /* and more: only keeps sums from overflowing */

static Result option_parse_number(const char *text, double *number, const char **rest)
{
    char *end = NULL;
    while (isspace((unsigned char)*text)) {
        text++;
    }
    if (!isdigit((unsigned char)*text) && *text != '-' && *text != '.') {
        return RESULT_INVALID; /* no "inf", "nan" games */
    }
    const char *digits = text + (*text == '-');
    if (digits[0] == '0' && (digits[1] | 32) == 'x') {
        return RESULT_INVALID; /* nor hexadecimal ones */
    }
    errno = 0;
    *number = strtod(text, &end);
    if (end == text || errno != 0 || !isfinite(*number)) {
        return RESULT_INVALID;
    }
    while (isspace((unsigned char)*end)) {
        end++;
    }
    *rest = end;
    return RESULT_OK;
}

typedef struct Unit {
    const char *name;
    double factor;
} Unit;

static const Unit time_units[] = {{"ms", 1},     {"s", 1000},    {"m", 60e3}, {"min", 60e3},
                                  {"h", 3600e3}, {"d", 86400e3}, {"", 1000},  {NULL, 0}};
static const Unit size_units[] = {{"", 1},
                                  {"B", 1},
                                  {"K", 1e3},
                                  {"kB", 1e3},
                                  {"Ki", 1024.0},
                                  {"M", 1e6},
                                  {"MB", 1e6},
                                  {"Mi", 1048576.0},
                                  {"G", 1e9},
                                  {"GB", 1e9},
                                  {"Gi", 1073741824.0},
                                  {"T", 1e12},
                                  {"TB", 1e12},
                                  {"Ti", 1099511627776.0},
                                  {"k", 1e3},
                                  {"KiB", 1024.0},
                                  {"MiB", 1048576.0},
                                  {"GiB", 1073741824.0},
                                  {NULL, 0}};

static Result parse_with_units(const char *text, const Unit *units, int64_t *value)
{
    double number = 0;
    const char *rest = NULL;
    Result rc = option_parse_number(text, &number, &rest);
    if (rc != RESULT_OK) {
        return rc;
    }
    size_t length = strlen(rest);
    while (length > 0 && isspace((unsigned char)rest[length - 1])) {
        length--;
    }
    for (const Unit *u = units; u->name != NULL; u++) {
        if (strlen(u->name) == length && strncmp(u->name, rest, length) == 0) {
            number *= u->factor;
            if (fabs(number) > 9e18) {
                return RESULT_INVALID;
            }
            *value = llround(number);
            return RESULT_OK;
        }
    }
    return RESULT_INVALID;
}

Result option_parse_time(const char *text, int64_t *ms)
{
    return parse_with_units(text, time_units, ms);
}

Result option_parse_size(const char *text, int64_t *bytes)
{
    return parse_with_units(text, size_units, bytes);
}

static Result parse_bool(const char *text, bool *value)
{
    static const char *const yes[] = {"yes", "true", "on", "1"};
    static const char *const no[] = {"no", "false", "off", "0"};
    for (size_t i = 0; i < 4; i++) {
        if (strcasecmp(text, yes[i]) == 0) {
            *value = true;
            return RESULT_OK;
        }
        if (strcasecmp(text, no[i]) == 0) {
            *value = false;
            return RESULT_OK;
        }
    }
    return RESULT_INVALID;
}

static Result parse_word(const char *words, const char *text, int *place)
{
    size_t length = strlen(text);
    int i = 0;
    for (const char *word = words; word != NULL; i++) {
        const char *bar = strchr(word, '|');
        size_t n = bar == NULL ? strlen(word) : (size_t)(bar - word);
        if (n == length && strncasecmp(word, text, n) == 0) {
            *place = i;
            return RESULT_OK;
        }
        word = bar == NULL ? NULL : bar + 1;
    }
    return RESULT_INVALID;
}

static const char *const type_names[] = {[OPTION_BOOL] = "yes or no",
                                         [OPTION_COUNT] = "a whole number",
                                         [OPTION_TIME] = "a time such as 500ms, 5s, 2m, 1h or 1d",
                                         [OPTION_SIZE] = "a size such as 512Ki, 2Mi or 1G",
                                         [OPTION_REAL] = "a number",
                                         [OPTION_TEXT] = "text",
                                         [OPTION_WORD] = "one of"};

/* Base units as a person writes them, for messages about ranges. */
static void print_quantity(Buffer *out, OptionType type, double value)
{
    static const char *const names[2][5] = {{"d", "h", "m", "s", "ms"},
                                            {"Ti", "Gi", "Mi", "Ki", ""}};
    static const double factors[2][5] = {{86400e3, 3600e3, 60e3, 1000, 1},
                                         {1099511627776.0, 1073741824.0, 1048576.0, 1024.0, 1}};
    if (type != OPTION_TIME && type != OPTION_SIZE) {
        (void)buffer_printf(out, "%.15g", value);
        return;
    }
    bool of_size = type == OPTION_SIZE;
    size_t i = 0;
    while (i < 4 && (value == 0 || fmod(value, factors[of_size][i]) != 0)) {
        i++;
    }
    (void)buffer_printf(out, "%.0f%s", value / factors[of_size][i],
                        value == 0 ? "" : names[of_size][i]);
}

Result option_check_words(const char *text, const char *between,
                          bool (*is_good)(const char *word, size_t length), const char *what,
                          Buffer *error)
{
    for (size_t length = 0; ascii_next_word(&text, &length, between);) {
        if (!is_good(text, length)) {
            (void)buffer_printf(error, "'%.*s' %s", (int)length, text, what);
            return RESULT_INVALID;
        }
    }
    return RESULT_OK;
}

void option_print_bounds(const OptionSpec *spec, Buffer *out)
{
    print_quantity(out, spec->type, spec->least);
    if (spec->greatest >= NO_BOUND) {
        (void)buffer_append_string(out, " or more");
    } else {
        (void)buffer_append_string(out, " to ");
        print_quantity(out, spec->type, spec->greatest);
    }
}

Result option_parse(const OptionSpec *spec, const char *text, OptionValue *value, Buffer *error)
{
    Result rc = RESULT_OK;
    double number = 0;
    const char *rest = "";
    switch (spec->type) {
    case OPTION_BOOL:
        rc = parse_bool(text, &value->flag);
        break;
    case OPTION_COUNT:
        rc = option_parse_number(text, &number, &rest);
        if (rc == RESULT_OK && (*rest != '\0' || floor(number) != number)) {
            rc = RESULT_INVALID;
        }
        value->number = rc == RESULT_OK ? llround(number) : 0;
        break;
    case OPTION_TIME:
        rc = option_parse_time(text, &value->number);
        number = (double)value->number;
        break;
    case OPTION_SIZE:
        rc = option_parse_size(text, &value->number);
        number = (double)value->number;
        break;
    case OPTION_REAL:
        rc = option_parse_number(text, &number, &rest);
        if (rc == RESULT_OK && *rest != '\0') {
            rc = RESULT_INVALID;
        }
        value->real = number;
        break;
    case OPTION_WORD:
        rc = parse_word(spec->words, text, &value->word);
        break;
    case OPTION_TEXT:
        break;
    }
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s.%s: '%s' is not %s%s%s", spec->section, spec->key, text,
                            type_names[spec->type], spec->words == NULL ? "" : " ",
                            spec->words == NULL ? "" : spec->words);
        return RESULT_INVALID;
    }
    bool ranged = spec->type == OPTION_COUNT || spec->type == OPTION_TIME ||
                  spec->type == OPTION_SIZE || spec->type == OPTION_REAL;
    if (ranged && (number < spec->least || number > spec->greatest)) {
        (void)buffer_printf(error, "%s.%s: '%s' is out of range, expected ", spec->section,
                            spec->key, text);
        option_print_bounds(spec, error);
        return RESULT_INVALID;
    }
    return RESULT_OK;
}

size_t option_distance(const char *a, const char *b)
{
    size_t row[64];
    size_t n = strlen(b);
    if (n > 62) {
        return n;
    }
    for (size_t j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t cost = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = cost < other ? cost : other;
        }
    }
    return row[n];
}

bool option_near_look(OptionNear *near, const char *name)
{
    size_t distance = option_distance(near->word, name);
    bool is_nearest = distance < near->least;
    if (is_nearest) {
        near->least = distance;
        near->name = name;
    }
    return is_nearest;
}

void option_store(const OptionSpec *spec, const OptionValue *value, void *field)
{
    switch (spec->type) {
    case OPTION_BOOL:
        *(bool *)field = value->flag;
        break;
    case OPTION_COUNT:
    case OPTION_TIME:
    case OPTION_SIZE:
        *(int64_t *)field = value->number;
        break;
    case OPTION_REAL:
        *(double *)field = value->real;
        break;
    case OPTION_WORD:
        *(int *)field = value->word;
        break;
    case OPTION_TEXT:
        break;
    }
}

OptionValue option_read(const OptionSpec *spec, const void *field)
{
    switch (spec->type) {
    case OPTION_BOOL:
        return (OptionValue){.flag = *(const bool *)field};
    case OPTION_COUNT:
    case OPTION_TIME:
    case OPTION_SIZE:
        return (OptionValue){.number = *(const int64_t *)field};
    case OPTION_REAL:
        return (OptionValue){.real = *(const double *)field};
    case OPTION_WORD:
        return (OptionValue){.word = *(const int *)field};
    case OPTION_TEXT:
        break;
    }
    return (OptionValue){.number = 0};
}
