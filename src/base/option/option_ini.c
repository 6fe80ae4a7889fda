#include "base/option/option_ini.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INCLUDE_DEPTH 8
#define WHITE         " \t\r\n\v\f"
#define BYTE_MARK     "\xEF\xBB\xBF" /* a mark that editors put before the first line */

/* An assignment is collected line by line (option_ini_take_line), and applied at the next key, the
 * next section or the end of the file (option_ini_flush). */
typedef struct IniFile {
    Options *options;
    const char *path;
    unsigned depth; /* of includes */
    bool is_own;    /* options_print has written it: remarks are origins */
    unsigned line;  /* the number of the last one that was read */
    char *section;  /* NULL: none yet */
    char *key;      /* of the assignment that is collected; NULL: there is none */
    Buffer value;
    unsigned value_line; /* where it begins */
    char *origin;        /* what the file says of it; NULL: file and line */
    Buffer remark;       /* the one on the line before, without its semicolon */
    unsigned remark_line;
    unsigned *lines; /* of each row: where this file gives it; 0 = it does not */
    Buffer *error;
    Result result; /* RESULT_INVALID does not end the reading */
} IniFile;

static Result option_ini_read(Options *options, const char *path, unsigned depth, bool is_own,
                              Buffer *error);

/* ---- an assignment ---- */

static Result option_ini_include(IniFile *file, const char *name)
{
    Buffer path = {.limit = 4096};
    const char *slash = strrchr(file->path, '/');
    int folder = name[0] != '/' && slash != NULL ? (int)(slash - file->path) + 1 : 0;
    Result rc = buffer_printf(&path, "%.*s%s", folder, file->path, name);
    if (rc == RESULT_OK) {
        rc = option_ini_read(file->options, buffer_string(&path), file->depth + 1, false,
                             file->error);
    }
    buffer_destroy(&path);
    return rc;
}

/* Somebody has given another value to what was left at its standard. */
static bool option_ini_is_edited(const IniFile *file, const OptionSpec *spec)
{
    return strcmp(file->origin, "default") == 0 &&
           (spec == NULL || strcmp(spec->standard, buffer_string(&file->value)) != 0);
}

/* The second value would win without a word. */
static void option_ini_note_row(IniFile *file, const OptionSpec *spec)
{
    unsigned *line = &file->lines[spec - file->options->specs];
    if (*line > 0) {
        (void)buffer_printf(file->error, "%s:%u: %s.%s was given in line %u already\n", file->path,
                            file->value_line, spec->section, spec->key, *line);
        file->result = RESULT_INVALID;
    }
    *line = file->value_line;
}

static Result option_ini_apply(IniFile *file, Buffer *message)
{
    const char *value = buffer_string(&file->value);
    const char *section = file->section == NULL ? "" : file->section;
    size_t length = strlen(section);
    char name[256];
    char origin[512];
    (void)snprintf(name, sizeof name, "%s.%s", section, file->key);
    const OptionSpec *spec = options_find(file->options, name);
    (void)snprintf(origin, sizeof origin, "%s:%u", file->path, file->value_line);
    if (file->origin != NULL && !option_ini_is_edited(file, spec)) {
        (void)snprintf(origin, sizeof origin, "%s", file->origin);
    }
    if (length == 0 && strcmp(file->key, "include") == 0) {
        Result rc = option_ini_include(file, value);
        if (rc != RESULT_OK && rc != RESULT_INVALID) {
            (void)buffer_printf(message, "include = %s: %s", value, result_name(rc));
        }
        return rc;
    }
    if (length > 7 && strncmp(section, "site \"", 6) == 0 && section[length - 1] == '"') {
        file->section[length - 1] = '\0';
        Result rc = options_add_site(file->options, section + 6, file->key, value, origin, message);
        file->section[length - 1] = '"';
        return rc;
    }
    if (spec != NULL) {
        option_ini_note_row(file, spec);
    }
    return options_set(file->options, name, value, origin, message);
}

static void option_ini_flush(IniFile *file)
{
    Buffer message = {.limit = BUFFER_NO_LIMIT};
    if (file->key == NULL) {
        return;
    }
    if (option_ini_apply(file, &message) != RESULT_OK) {
        file->result = RESULT_INVALID;
    }
    if (message.length > 0) { /* an included file has told of its own lines */
        (void)buffer_printf(file->error, "%s:%u: %s\n", file->path, file->value_line,
                            buffer_string(&message));
    }
    buffer_destroy(&message);
    free(file->key);
    free(file->origin);
    file->key = NULL;
    file->origin = NULL;
    buffer_reset(&file->value);
}

/* ---- lines ---- */

/* Cuts a remark off: a line of its own, or behind a blank. */
static void option_ini_strip_remark(char *line)
{
    char *start = line + strspn(line, WHITE);
    if (*start == '#') {
        *start = '\0';
    }
    for (char *p = start; *p != '\0'; p++) {
        if (*p == ';' && (p == start || isspace((unsigned char)p[-1]))) {
            *p = '\0';
        }
    }
}

static void option_ini_begin(IniFile *file, char *text, char *separator)
{
    size_t length = (size_t)(separator - text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        length--;
    }
    option_ini_flush(file);
    file->key = strndup(text, length);
    file->value_line = file->line;
    if (file->is_own && file->remark_line + 1 == file->line) {
        file->origin = strdup(buffer_string(&file->remark));
    }
    char *value = separator + 1 + strspn(separator + 1, WHITE);
    if (file->key == NULL || buffer_append_string(&file->value, value) != RESULT_OK) {
        file->result = RESULT_MEMORY;
    }
}

static void option_ini_open_section(IniFile *file, const char *text, size_t length)
{
    option_ini_flush(file);
    free(file->section);
    file->section = strndup(text + 1, length - 2);
    file->result = file->section == NULL ? RESULT_MEMORY : file->result;
}

static void option_ini_take_line(IniFile *file, char *line)
{
    option_ini_strip_remark(line);
    char *text = line + strspn(line, WHITE);
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        text[--length] = '\0';
    }
    char *separator = strpbrk(text, "=:");
    if (length == 0) {
        return;
    }
    if (text > line && file->key != NULL) {
        if (buffer_printf(&file->value, " %s", text) != RESULT_OK) {
            file->result = RESULT_MEMORY;
        }
    } else if (*text == '[' && text[length - 1] == ']') {
        option_ini_open_section(file, text, length);
    } else if (*text != '[' && separator != NULL) {
        option_ini_begin(file, text, separator);
    } else {
        (void)buffer_printf(file->error,
                            "%s:%u: expected 'key = value', '[section]' or a comment\n", file->path,
                            file->line);
        file->result = RESULT_INVALID;
    }
}

static void option_ini_note_remark(IniFile *file, const char *line)
{
    const char *text = line + 1 + strspn(line + 1, " ");
    buffer_reset(&file->remark);
    (void)buffer_append(&file->remark, text, strcspn(text, "\r\n"));
    file->remark_line = file->line;
}

static void option_ini_read_lines(IniFile *file, FILE *stream)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n = getline(&line, &room, stream);
    while (n >= 0 && file->result != RESULT_MEMORY) {
        file->line++;
        if (strlen(line) != (size_t)n) {
            (void)buffer_printf(file->error,
                                "%s:%u: a zero byte: the file is no text, or damaged\n", file->path,
                                file->line);
            file->result = RESULT_INVALID;
            break;
        }
        if (file->is_own && *line == ';') {
            option_ini_note_remark(file, line);
        }
        bool is_marked = file->line == 1 && strncmp(line, BYTE_MARK, 3) == 0;
        option_ini_take_line(file, line + (is_marked ? 3 : 0));
        n = getline(&line, &room, stream);
    }
    option_ini_flush(file);
    if (ferror(stream) && file->result == RESULT_OK) {
        file->result = RESULT_IO;
    }
    free(line);
}

/* ---- files ---- */

static Result option_ini_read(Options *options, const char *path, unsigned depth, bool is_own,
                              Buffer *error)
{
    IniFile file = {
        .options = options, .path = path, .depth = depth, .is_own = is_own, .error = error};
    struct stat st;
    if (depth > INCLUDE_DEPTH) {
        (void)buffer_printf(error, "%s: included more than %d levels deep\n", path, INCLUDE_DEPTH);
        return RESULT_INVALID;
    }
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        return result_of_errno(errno);
    }
    buffer_init(&file.value, BUFFER_NO_LIMIT);
    buffer_init(&file.remark, 4096);
    file.lines = calloc(options->n_specs, sizeof *file.lines);
    if (file.lines == NULL) {
        file.result = RESULT_MEMORY;
    } else if (fstat(fileno(stream), &st) == 0 && S_ISDIR(st.st_mode)) {
        (void)buffer_printf(error, "%s: is a directory, not a file of options\n", path);
        file.result = RESULT_INVALID;
    } else {
        option_ini_read_lines(&file, stream);
    }
    (void)fclose(stream);
    free(file.section);
    free(file.lines);
    buffer_destroy(&file.remark);
    buffer_destroy(&file.value);
    return file.result;
}

Result option_ini_load(Options *options, const char *path, Buffer *error)
{
    return option_ini_read(options, path, 0, false, error);
}

Result option_ini_load_printed(Options *options, const char *path, Buffer *error)
{
    return option_ini_read(options, path, 0, true, error);
}
