#include "rules/scope/denial_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "base/memory/file.h"
#include "rules/scope/denials.h"

static size_t denial_list_find(const DenialList *list, const char *rule)
{
    size_t i = 0;
    while (i < list->n && strcmp(list->rules[i], rule) != 0) {
        i++;
    }
    return i;
}

Result denial_list_add(DenialList *list, const char *rule, const char *note)
{
    if (denial_list_find(list, rule) < list->n) {
        return RESULT_EXISTS;
    }
    size_t n = list->n;
    char *rule_copy = strdup(rule);
    char *note_copy = strdup(note);
    if (rule_copy == NULL || note_copy == NULL ||
        array_add(&list->notes, &n, sizeof note_copy, &note_copy) != RESULT_OK ||
        array_add(&list->rules, &list->n, sizeof rule_copy, &rule_copy) != RESULT_OK) {
        free(rule_copy);
        free(note_copy);
        return RESULT_MEMORY;
    }
    return RESULT_OK;
}

Result denial_list_remove(DenialList *list, const char *rule)
{
    size_t i = denial_list_find(list, rule);
    if (i == list->n) {
        return RESULT_NOT_FOUND;
    }
    free(list->rules[i]);
    free(list->notes[i]);
    list->n--;
    memmove(list->rules + i, list->rules + i + 1, (list->n - i) * sizeof *list->rules);
    memmove(list->notes + i, list->notes + i + 1, (list->n - i) * sizeof *list->notes);
    return RESULT_OK;
}

void denial_list_destroy(DenialList *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->rules[i]);
        free(list->notes[i]);
    }
    free(list->rules);
    free(list->notes);
    *list = (DenialList){.n = 0};
}

/* One line without its end. */
static Result denial_list_take_line(DenialList *list, char *line, Buffer *rule, Buffer *error)
{
    char *note = strchr(line, '\t');
    if (note != NULL) {
        *note++ = '\0';
    }
    char *start = line + strspn(line, " ");
    size_t length = strlen(start);
    while (length > 0 && start[length - 1] == ' ') {
        start[--length] = '\0';
    }
    if (length == 0 || *start == '#') {
        return RESULT_OK;
    }
    buffer_reset(rule);
    Result rc = denials_normalise(start, rule, error);
    if (rc == RESULT_OK) {
        rc = denial_list_add(list, buffer_string(rule), note == NULL ? "" : note);
    }
    return rc == RESULT_EXISTS ? RESULT_OK : rc;
}

static Result denial_list_read_lines(DenialList *list, FILE *file, const char *path, Buffer *error)
{
    Buffer rule = {.limit = BUFFER_NO_LIMIT};
    Buffer why = {.limit = BUFFER_NO_LIMIT};
    char *line = NULL;
    size_t capacity = 0;
    size_t number = 0;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && getline(&line, &capacity, file) >= 0) {
        number++;
        line[strcspn(line, "\r\n")] = '\0';
        rc = denial_list_take_line(list, line, &rule, &why);
    }
    if (rc == RESULT_INVALID) {
        (void)buffer_printf(error, "%s:%zu: %s", path, number, buffer_string(&why));
    } else if (rc == RESULT_OK && ferror(file)) {
        (void)buffer_printf(error, "%s: %s", path, strerror(errno));
        rc = RESULT_IO;
    }
    free(line);
    buffer_destroy(&rule);
    buffer_destroy(&why);
    return rc;
}

Result denial_list_read(DenialList *list, const char *directory, Buffer *error)
{
    DenialList fresh = {.n = 0};
    Path path;
    FILE *file = fopen(file_path(&path, "%s/" DENIAL_LIST_FILE, directory), "re");
    int code = errno;
    Result rc = RESULT_OK;
    if (file != NULL) {
        rc = denial_list_read_lines(&fresh, file, path.text, error);
        (void)fclose(file);
    } else if (code != ENOENT) {
        (void)buffer_printf(error, "%s: %s", path.text, strerror(code));
        rc = result_of_errno(code);
    }
    if (rc != RESULT_OK) {
        denial_list_destroy(&fresh);
        return rc;
    }
    denial_list_destroy(list);
    *list = fresh;
    return RESULT_OK;
}

Result denial_list_write(const DenialList *list, const char *directory, Buffer *error)
{
    Path path;
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    (void)buffer_append_string(
        &text, "# What is never fetched, one rule a line; behind a tab, when and by whom it was "
               "denied.\n# ragno ctl DIR deny RULE and allow RULE change it; SIGHUP reads it.\n");
    for (size_t i = 0; i < list->n; i++) {
        (void)buffer_printf(&text, "%s%s%s\n", list->rules[i], *list->notes[i] == '\0' ? "" : "\t",
                            list->notes[i]);
    }
    Result rc = buffer_end(&text, 0);
    if (rc == RESULT_OK) {
        rc = file_replace(file_path(&path, "%s/" DENIAL_LIST_FILE, directory), text.data,
                          text.length);
    }
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s/" DENIAL_LIST_FILE " cannot be written: %s", directory,
                            result_name(rc));
    }
    buffer_destroy(&text);
    return rc;
}
