#include "crawl/control/control_words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool control_words_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* What neither a terminal nor a log should get to see. */
static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

static Result check_bytes(const char *line, size_t length, Buffer *error)
{
    for (size_t i = 0; i < length; i++) {
        if (is_control(line[i])) {
            (void)buffer_printf(error,
                                "byte %zu is a control character (0x%02x); a request is text",
                                i + 1, (unsigned)(unsigned char)line[i]);
            return RESULT_INVALID;
        }
    }
    return RESULT_OK;
}

/* Copies the word at *at to *out, which moves behind its NUL. */
static Result control_words_take_word(const char *line, size_t length, size_t *at, char **out,
                                      Buffer *error)
{
    size_t i = *at;
    char *to = *out;
    bool quoted = line[i] == '"';
    size_t opened = i;
    i += quoted;
    while (i < length && (quoted ? line[i] != '"' : !control_words_is_blank(line[i]))) {
        if (quoted && line[i] == '\\' && i + 1 < length) {
            i++;
            if (line[i] != '"' && line[i] != '\\') {
                (void)buffer_printf(error,
                                    "byte %zu: after a backslash in quotes only \" or \\ is "
                                    "expected",
                                    i + 1);
                return RESULT_INVALID;
            }
        }
        *to++ = line[i++];
    }
    if (quoted && i == length) {
        (void)buffer_printf(error, "the quote at byte %zu is not closed", opened + 1);
        return RESULT_INVALID;
    }
    i += quoted;
    if (quoted && i < length && !control_words_is_blank(line[i])) {
        (void)buffer_printf(error, "byte %zu: a blank is expected after a closed quote", i + 1);
        return RESULT_INVALID;
    }
    *to++ = '\0';
    *at = i;
    *out = to;
    return RESULT_OK;
}

Result control_words_parse(ControlWords *words, const char *line, size_t length, Buffer *error)
{
    *words = (ControlWords){.n = 0};
    Result rc = check_bytes(line, length, error);
    if (rc != RESULT_OK) {
        return rc;
    }
    /* A word and its NUL need no more than the word and the blank behind it. */
    words->bytes = malloc(length + 1);
    words->words = calloc(length / 2 + 1, sizeof *words->words);
    rc = words->bytes == NULL || words->words == NULL ? RESULT_MEMORY : RESULT_OK;
    char *next = words->bytes;
    size_t i = 0;
    while (rc == RESULT_OK) {
        while (i < length && control_words_is_blank(line[i])) {
            i++;
        }
        if (i == length) {
            return RESULT_OK;
        }
        words->words[words->n++] = next;
        rc = control_words_take_word(line, length, &i, &next, error);
    }
    control_words_destroy(words);
    return rc;
}

void control_words_destroy(ControlWords *words)
{
    free(words->words);
    free(words->bytes);
    *words = (ControlWords){.n = 0};
}

static Result control_words_append_word(const char *word, Buffer *line)
{
    if (*word != '\0' && *word != '"' && strpbrk(word, " \t") == NULL) {
        return buffer_append_string(line, word);
    }
    Result rc = buffer_append_char(line, '"');
    for (; rc == RESULT_OK && *word != '\0'; word++) {
        if (*word == '"' || *word == '\\') {
            rc = buffer_append_char(line, '\\');
        }
        if (rc == RESULT_OK) {
            rc = buffer_append_char(line, *word);
        }
    }
    return rc == RESULT_OK ? buffer_append_char(line, '"') : rc;
}

Result control_words_join(char *const *words, size_t n, Buffer *line, Buffer *error)
{
    Result rc = RESULT_OK;
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        for (const char *c = words[i]; *c != '\0'; c++) {
            if (is_control(*c)) {
                (void)buffer_printf(error, "word %zu has a control character", i + 1);
                return RESULT_INVALID;
            }
        }
        rc = i == 0 ? RESULT_OK : buffer_append_char(line, ' ');
        if (rc == RESULT_OK) {
            rc = control_words_append_word(words[i], line);
        }
    }
    return rc;
}
