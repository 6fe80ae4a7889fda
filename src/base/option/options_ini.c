/* options_load: inih reads, this file names file and line of every mistake. */
#include "base/option/options.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "base/option/ini_value.h"

#define INI_INCLUDE_DEPTH 8
#define INI_CHUNK         150 /* inih cuts lines at 199 bytes; longer ones are fed to it in pieces */

typedef struct IniFile {
    Options *options;
    const char *path;
    FILE *stream;
    unsigned line;  /* of the physical line last given to inih */
    bool continues; /* the next piece belongs to the same physical line */
    bool indented;  /* or it begins with white space: then inih decides */
    char *text;     /* the physical line being fed */
    size_t text_capacity;
    const char *rest; /* what of it is still to be fed */
    const char *gap;  /* blanks between the last two pieces of it, which inih trims */
    size_t gap_length;
    const char *next_gap; /* those before the piece that comes next */
    size_t next_gap_length;
    char *section; /* the assignment being collected */
    char *key;
    Buffer value;
    unsigned value_line;
    unsigned *lines; /* of each row: where this file gives it; 0 = it does not */
    bool is_own;     /* options_print has written it: remarks are origins */
    Buffer remark;   /* the one on the line before, without its semicolon */
    unsigned remark_line;
    char *origin;          /* of the assignment being collected; NULL: file and line */
    unsigned *piece_lines; /* physical line of the i-th piece: inih counts pieces */
    size_t n_pieces;
    size_t pieces_capacity;
    unsigned depth;
    Buffer *error;
    Result result;
} IniFile;

static Result options_ini_load(Options *options, const char *path, unsigned depth, bool is_own,
                               Buffer *error);

static Result include(IniFile *file, const char *name)
{
    Buffer path;
    buffer_init(&path, 4096);
    const char *slash = strrchr(file->path, '/');
    Result rc = RESULT_OK;
    if (name[0] != '/' && slash != NULL) {
        rc = buffer_append(&path, file->path, (size_t)(slash - file->path) + 1);
    }
    if (rc == RESULT_OK) {
        rc = buffer_append_string(&path, name);
    }
    if (rc == RESULT_OK) {
        rc = options_ini_load(file->options, buffer_string(&path), file->depth + 1, false,
                              file->error);
    }
    buffer_destroy(&path);
    return rc;
}

/* Somebody has given another value to what was left at its standard. */
static bool is_edited(const IniFile *file)
{
    char name[256];
    (void)snprintf(name, sizeof name, "%s.%s", file->section, file->key);
    const OptionSpec *spec = options_find(file->options, name);
    return strcmp(file->origin, "default") == 0 &&
           (spec == NULL || strcmp(spec->standard, buffer_string(&file->value)) != 0);
}

/* The second value would win without a word. An included file may be overridden: that is what it is
 * for. */
static void complain_twice(IniFile *file, const char *name)
{
    const OptionSpec *spec = options_find(file->options, name);
    if (spec == NULL || file->lines == NULL) {
        return;
    }
    unsigned *line = &file->lines[spec - file->options->specs];
    if (*line > 0) {
        (void)buffer_printf(file->error, "%s:%u: %s was given in line %u already\n", file->path,
                            file->value_line, name, *line);
        file->result = RESULT_INVALID;
    }
    *line = file->value_line;
}

/* Applies the assignment collected so far. */
static void options_ini_flush(IniFile *file)
{
    if (file->key == NULL) {
        return;
    }
    char origin[512];
    if (file->origin != NULL && !is_edited(file)) {
        (void)snprintf(origin, sizeof origin, "%s", file->origin);
    } else {
        (void)snprintf(origin, sizeof origin, "%s:%u", file->path, file->value_line);
    }
    Buffer message;
    buffer_init(&message, BUFFER_NO_LIMIT);
    Result rc = RESULT_OK;
    const char *value = buffer_string(&file->value);
    size_t section_length = strlen(file->section);
    if (strcmp(file->key, "include") == 0 && section_length == 0) {
        rc = include(file, value);
        if (rc == RESULT_INVALID) {
            file->result = rc; /* its own lines are in error already */
            rc = RESULT_OK;
        } else if (rc != RESULT_OK) {
            (void)buffer_printf(&message, "include = %s: %s", value, result_name(rc));
        }
    } else if (strncmp(file->section, "site \"", 6) == 0 && section_length > 7 &&
               file->section[section_length - 1] == '"') {
        file->section[section_length - 1] = '\0';
        rc = options_add_site(file->options, file->section + 6, file->key, value, origin, &message);
        file->section[section_length - 1] = '"';
    } else {
        char name[256];
        (void)snprintf(name, sizeof name, "%s.%s", file->section, file->key);
        complain_twice(file, name);
        rc = options_set(file->options, name, value, origin, &message);
    }
    if (rc != RESULT_OK) {
        (void)buffer_printf(file->error, "%s: %s\n", origin, buffer_string(&message));
        file->result = RESULT_INVALID;
    }
    buffer_destroy(&message);
    free(file->section);
    free(file->key);
    free(file->origin);
    file->section = NULL;
    file->key = NULL;
    file->origin = NULL;
    buffer_reset(&file->value);
}

static int on_assignment(void *context, const char *section, const char *key, const char *value)
{
    IniFile *file = context;
    /* A line that begins with white space continues the value before it (joined by a blank), unless
     * a section was opened in between: then inih calls it a key of that section. */
    bool joined = file->indented && file->key != NULL && strcmp(file->key, key) == 0 &&
                  strcmp(file->section, section) == 0;
    if (joined) {
        (void)buffer_append_char(&file->value, ' ');
    }
    file->indented = false;
    if (!joined && !(file->continues && file->key != NULL)) {
        options_ini_flush(file);
        file->section = strdup(section);
        file->key = strdup(key);
        file->value_line = file->line;
        bool has_origin = file->is_own && file->remark_line + 1 == file->line;
        file->origin = has_origin ? strdup(buffer_string(&file->remark)) : NULL;
        if (file->section == NULL || file->key == NULL) {
            file->result = RESULT_MEMORY;
            return 0;
        }
    }
    if (file->continues) {
        (void)buffer_append(&file->value, file->gap, file->gap_length);
    }
    (void)buffer_append_string(&file->value, value);
    return 1;
}

/* Where to cut a long line: the next piece begins there. */
static size_t options_ini_cut(const char *text)
{
    size_t at = INI_CHUNK;
    while (at > 1 && ini_value_is_bad_start(text[at])) {
        at--;
    }
    return at > 1 ? at : INI_CHUNK; /* ini_value_read lets no value be like that */
}

/* A remark goes before a line is cut, or its second half would be taken for text. */
static void strip_remark(char *line, bool is_first)
{
    char *start = line + (is_first && strncmp(line, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
    start += strspn(start, " \t");
    if (*start == ';' || *start == '#') {
        *start = '\0';
        return;
    }
    for (char *p = start; *p != '\0'; p++) {
        if (*p == ';' && p > start && isspace((unsigned char)p[-1])) {
            *p = '\0';
            return;
        }
    }
}

static bool note_piece(IniFile *file)
{
    if (file->n_pieces == file->pieces_capacity) {
        size_t capacity = file->pieces_capacity == 0 ? 256 : file->pieces_capacity * 2;
        unsigned *lines = realloc(file->piece_lines, capacity * sizeof *lines);
        if (lines == NULL) {
            file->result = RESULT_MEMORY;
            return false;
        }
        file->piece_lines = lines;
        file->pieces_capacity = capacity;
    }
    file->piece_lines[file->n_pieces++] = file->line;
    return true;
}

static char *next_piece(char *line, int size, void *context)
{
    IniFile *file = context;
    if (file->rest == NULL || *file->rest == '\0') {
        ssize_t n = getline(&file->text, &file->text_capacity, file->stream);
        if (n < 0) {
            return NULL;
        }
        file->line++;
        if (strlen(file->text) != (size_t)n) {
            (void)buffer_printf(file->error, "%s:%u: a zero byte: the file is damaged\n",
                                file->path, file->line);
            file->result = RESULT_INVALID;
        }
        if (file->is_own && *file->text == ';') {
            buffer_reset(&file->remark);
            (void)buffer_append(&file->remark, file->text + 1 + strspn(file->text + 1, " "),
                                strcspn(file->text + 1 + strspn(file->text + 1, " "), "\r\n"));
            file->remark_line = file->line;
        }
        strip_remark(file->text, file->line == 1);
        file->rest = file->text;
        file->continues = false;
        file->indented = *file->text == ' ' || *file->text == '\t';
    } else {
        file->continues = true;
    }
    size_t length = strlen(file->rest);
    size_t give = length < (size_t)size - 2 ? length : options_ini_cut(file->rest);
    const char *prefix = file->rest == file->text ? "" : " ";
    (void)snprintf(line, (size_t)size, "%s%.*s", prefix, (int)give, file->rest);
    file->gap = file->next_gap;
    file->gap_length = file->next_gap_length;
    file->rest += give;
    file->next_gap = file->rest;
    while (file->next_gap > file->text && isspace((unsigned char)file->next_gap[-1])) {
        file->next_gap--;
    }
    file->next_gap_length = (size_t)(file->rest - file->next_gap);
    return note_piece(file) ? line : NULL;
}

static Result options_ini_load(Options *options, const char *path, unsigned depth, bool is_own,
                               Buffer *error)
{
    if (depth > INI_INCLUDE_DEPTH) {
        (void)buffer_printf(error, "%s: included more than %d levels deep\n", path,
                            INI_INCLUDE_DEPTH);
        return RESULT_INVALID;
    }
    IniFile file = {
        .options = options, .path = path, .depth = depth, .is_own = is_own, .error = error};
    buffer_init(&file.value, BUFFER_NO_LIMIT);
    buffer_init(&file.remark, 4096);
    file.lines = calloc(options->n_specs, sizeof *file.lines);
    file.stream = fopen(path, "re");
    if (file.stream == NULL) {
        int code = errno;
        buffer_destroy(&file.remark);
        free(file.lines);
        return result_of_errno(code);
    }
    /* inih goes on after a line it does not understand and returns the first such line. */
    int bad = ini_parse_stream(next_piece, &file, on_assignment, &file);
    options_ini_flush(&file);
    if (bad != 0 && (file.result == RESULT_OK || file.result == RESULT_INVALID)) {
        unsigned at = bad > 0 && (size_t)bad <= file.n_pieces ? file.piece_lines[bad - 1] : 0;
        (void)buffer_printf(error, "%s:%u: expected 'key = value', '[section]' or a comment\n",
                            path, at);
        file.result = RESULT_INVALID;
    }
    if (ferror(file.stream) && file.result == RESULT_OK) {
        file.result = RESULT_IO;
    }
    (void)fclose(file.stream);
    free(file.text);
    free(file.piece_lines);
    free(file.section);
    free(file.key);
    free(file.origin);
    free(file.lines);
    buffer_destroy(&file.remark);
    buffer_destroy(&file.value);
    return file.result;
}

Result options_load(Options *options, const char *path, Buffer *error)
{
    return options_ini_load(options, path, 0, false, error);
}

Result options_load_printed(Options *options, const char *path, Buffer *error)
{
    return options_ini_load(options, path, 0, true, error);
}
