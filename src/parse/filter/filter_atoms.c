#include "parse/filter/filter_atoms.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/option/option.h"
#include "parse/filter/filter_tests.h"
#include "parse/usage/usage.h"
#include "base/core/ascii.h"

/* ---- The arguments of atoms ---- */

/* An argument as written, and where. */
typedef struct Raw {
    const char *text;
    size_t length;
    size_t at;
    char quote; /* '"', '\'' or 0 */
} Raw;

void filter_compiler_skip_space(FilterCompiler *compiler)
{
    while (compiler->at < compiler->length && ascii_is_xml_space(compiler->text[compiler->at])) {
        compiler->at++;
    }
}

static Result read_quoted(FilterCompiler *compiler, Raw *raw)
{
    size_t start = compiler->at;
    char quote = compiler->text[start];
    size_t end = start + 1;
    while (end < compiler->length && compiler->text[end] != quote) {
        end += quote == '"' && compiler->text[end] == '\\' ? 2 : 1;
    }
    if (end >= compiler->length) {
        return filter_compiler_fail(compiler, start, "this quote is never closed");
    }
    *raw = (Raw){compiler->text + start + 1, end - start - 1, start, quote};
    compiler->at = end + 1;
    return RESULT_OK;
}

/* The end of a bracket expression that begins at start, or start + 1 when it is none. */
static size_t skip_brackets(const FilterCompiler *compiler, size_t start)
{
    const char *text = compiler->text;
    size_t end = start + 1;
    end += end < compiler->length && text[end] == '^';
    end += end < compiler->length && text[end] == ']';
    while (end < compiler->length && text[end] != ']') {
        end += text[end] == '\\' ? 2 : 1;
    }
    return end < compiler->length ? end + 1 : start + 1;
}

/* A bare argument ends before the ")" that matches or, in a list, before a comma. */
static Result read_bare(FilterCompiler *compiler, const FilterAtomType *type, size_t open, Raw *raw)
{
    const char *text = compiler->text;
    bool is_regex = type->arguments == FILTER_REGEX || type->arguments == FILTER_REGEX_SEARCH;
    size_t start = compiler->at;
    size_t end = start;
    size_t depth = 0;
    while (end < compiler->length) {
        char c = text[end];
        bool separator =
            type->is_list && depth == 0 &&
            (c == ',' || (c == '\\' && end + 1 < compiler->length && text[end + 1] == ','));
        if (separator || (c == ')' && depth == 0)) {
            break;
        }
        depth += c == '(';
        depth -= c == ')';
        if (c == '[' && is_regex) {
            end = skip_brackets(compiler, end);
        } else {
            end += c == '\\' ? 2 : 1;
        }
    }
    if (end >= compiler->length) {
        return filter_compiler_fail(compiler, open, "this '(' is never closed");
    }
    compiler->at = end;
    while (end > start && ascii_is_xml_space(text[end - 1])) {
        end--;
    }
    *raw = (Raw){text + start, end - start, start, 0};
    return RESULT_OK;
}

/* Copies an argument into the arena, without the escapes of its quotes. */
static Result copy_item(FilterCompiler *compiler, const Raw *raw, FilterItem *item)
{
    char *copy = arena_copy(&compiler->filter->arena, raw->text, raw->length);
    if (copy == NULL) {
        return RESULT_MEMORY;
    }
    size_t n = 0;
    for (size_t i = 0; i < raw->length; i++) {
        bool escape = raw->quote == '"' && copy[i] == '\\' && i + 1 < raw->length;
        i += escape && (copy[i + 1] == '"' || copy[i + 1] == '\\');
        copy[n++] = copy[i];
    }
    copy[n] = '\0';
    *item = (FilterItem){.text = copy, .length = n};
    return RESULT_OK;
}

static Result replace_text(FilterCompiler *compiler, FilterItem *item, const char *text,
                           size_t length)
{
    item->text = arena_copy(&compiler->filter->arena, text, length);
    item->length = length;
    return item->text == NULL ? RESULT_MEMORY : RESULT_OK;
}

static Result lower_item(FilterCompiler *compiler, FilterItem *item)
{
    char *copy = arena_copy(&compiler->filter->arena, item->text, item->length);
    if (copy == NULL) {
        return RESULT_MEMORY;
    }
    for (size_t i = 0; i < item->length; i++) {
        copy[i] = (char)(copy[i] >= 'A' && copy[i] <= 'Z' ? copy[i] | 0x20 : copy[i]);
    }
    item->text = copy;
    return RESULT_OK;
}

/* Parses prefix + item as a URL; what may stand in it is for the caller to check. */
static Result parse_url(const char *prefix, const FilterItem *item, Url *url)
{
    Buffer text = {.limit = URL_MAX_BYTES};
    (void)buffer_append_string(&text, prefix);
    (void)buffer_append(&text, item->text, item->length);
    Result rc = buffer_end(&text, 0);
    if (rc == RESULT_OK) {
        rc = url_parse(url, NULL, text.data, text.length);
    }
    buffer_destroy(&text);
    return rc;
}

static Result normalize_url(FilterCompiler *compiler, FilterItem *item, size_t at)
{
    Url url = {.href = NULL};
    Result rc = parse_url("", item, &url);
    if (rc == RESULT_OK) {
        rc = replace_text(compiler, item, url.href, url.length);
    } else if (rc != RESULT_MEMORY) {
        rc = filter_compiler_fail(compiler, at, "expected an http or https URL");
    }
    url_destroy(&url);
    return rc;
}

/* A host by the URL parser. The end of a host is parsed behind a letter when it begins with a dot.
 */
static Result normalize_host(FilterCompiler *compiler, FilterItem *item, size_t at, bool is_end)
{
    bool behind_letter = is_end && item->length > 0 && item->text[0] == '.';
    bool ascii = true;
    for (size_t i = 0; i < item->length; i++) {
        ascii = ascii && (unsigned char)item->text[i] < 0x80;
    }
    if (is_end && ascii) {
        return lower_item(compiler, item);
    }
    Url url = {.href = NULL};
    Result rc = parse_url(behind_letter ? "http://x" : "http://", item, &url);
    if (rc == RESULT_OK && url.host_start == 7 && url.host_end + 1 == url.length &&
        strpbrk(item->text, "/\\?#") == NULL) {
        rc = replace_text(compiler, item, url.href + url.host_start + behind_letter,
                          url.host_end - url.host_start - behind_letter);
    } else if (rc != RESULT_MEMORY) {
        rc = filter_compiler_fail(compiler, at, "expected a host name");
    }
    url_destroy(&url);
    return rc;
}

/* Reads digits; returns how many characters, 0 when there are none or too many. */
static size_t scan_number(const char *text, uint64_t *value)
{
    size_t n = strspn(text, "0123456789");
    *value = 0;
    return n <= 18 && ascii_number(text, n, UINT64_MAX, value) ? n : 0;
}

static Result filter_args_read_number(FilterCompiler *compiler, FilterItem *item, size_t at)
{
    size_t n = scan_number(item->text, &item->low);
    item->high = item->low;
    return n > 0 && n == item->length ? RESULT_OK
                                      : filter_compiler_fail(compiler, at, "expected a number");
}

static Result filter_args_read_size(FilterCompiler *compiler, FilterItem *item, size_t at)
{
    int64_t bytes = 0;
    if (option_parse_size(item->text, &bytes) != RESULT_OK || bytes < 0) {
        return filter_compiler_fail(
            compiler, at, "expected a size: a number, then K, Ki, M, Mi, G, Gi or nothing");
    }
    item->low = (uint64_t)bytes;
    return RESULT_OK;
}

static Result read_range(FilterCompiler *compiler, FilterItem *item, size_t at)
{
    size_t n = scan_number(item->text, &item->low);
    size_t more = 0;
    item->high = item->low;
    if (n > 0 && item->text[n] == '-') {
        more = scan_number(item->text + n + 1, &item->high);
        n += more + 1;
        n = more == 0 ? 0 : n;
    }
    return n > 0 && n == item->length && item->low <= item->high
               ? RESULT_OK
               : filter_compiler_fail(compiler, at, "expected a number or a range such as 300-399");
}

static Result compile_regex(FilterCompiler *compiler, FilterAtom *atom, const Raw *raw)
{
    char message[FILTER_REGEX_MESSAGE_BYTES];
    size_t offset = 0;
    Result rc = filter_regex_compile(atom, message, &offset);
    if (rc == RESULT_INVALID) {
        return filter_compiler_fail(compiler, raw->at + (raw->quote != 0) + offset,
                                    "regular expression: %s", message);
    }
    return rc;
}

static Result load_set(FilterCompiler *compiler, FilterAtom *atom, size_t at)
{
    const FilterOptions *options = compiler->options;
    const char *path = atom->items[0].text;
    if (options == NULL || options->read_file == NULL) {
        return filter_compiler_fail(compiler, at, "files cannot be read here");
    }
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    Result rc = options->read_file(options->context, path, &text);
    if (rc != RESULT_OK) {
        (void)filter_compiler_fail(compiler, at, "%.100s: %s", path, result_name(rc));
    } else {
        size_t line = 0;
        rc = filter_set_read(&atom->set, buffer_string(&text), text.length, &line);
        if (rc == RESULT_INVALID) {
            (void)filter_compiler_fail(compiler, at, "%.100s:%zu: expected a host name", path,
                                       line);
        } else if (rc != RESULT_OK) {
            (void)filter_compiler_fail(compiler, at, "%.100s: %s", path, result_name(rc));
        }
    }
    buffer_destroy(&text);
    return rc;
}

/* Brings one argument into the form it is compared in. */
static Result filter_args_prepare(FilterCompiler *compiler, FilterAtom *atom, FilterItem *item,
                                  const Raw *raw)
{
    Result rc = RESULT_OK;
    const char *colon = NULL;
    switch (atom->type->arguments) {
    case FILTER_NO_ARGUMENTS:
    case FILTER_TEXT:
    case FILTER_NAME_VALUES:
        return RESULT_OK;
    case FILTER_LOWER:
        return lower_item(compiler, item);
    case FILTER_HOST:
        return normalize_host(compiler, item, raw->at, false);
    case FILTER_HOST_END:
        return normalize_host(compiler, item, raw->at, true);
    case FILTER_URL:
        return normalize_url(compiler, item, raw->at);
    case FILTER_EXTENSION:
        rc = lower_item(compiler, item);
        item->text += item->text[0] == '.';
        item->length = strlen(item->text);
        return rc;
    case FILTER_HEX:
        rc = lower_item(compiler, item);
        colon = strrchr(item->text, ':');
        item->text = colon == NULL ? item->text : colon + 1;
        item->length = strlen(item->text);
        return rc;
    case FILTER_NUMBER:
        return filter_args_read_number(compiler, item, raw->at);
    case FILTER_TIMES:
        rc = filter_args_read_number(compiler, item, raw->at);
        return rc == RESULT_OK && item->low < 2
                   ? filter_compiler_fail(compiler, raw->at, "expected a number of at least 2")
                   : rc;
    case FILTER_SIZE:
        return filter_args_read_size(compiler, item, raw->at);
    case FILTER_NUMBER_RANGE:
        return read_range(compiler, item, raw->at);
    case FILTER_REGEX:
    case FILTER_REGEX_SEARCH:
        return compile_regex(compiler, atom, raw);
    case FILTER_FILE:
        return load_set(compiler, atom, raw->at);
    case FILTER_USAGE:
        item->low = usage_asked(item->text, item->length);
        return item->low != 0 ? RESULT_OK
                              : filter_compiler_fail(compiler, raw->at, "expected " USAGE_WORDS);
    }
    return RESULT_INTERNAL;
}

/* Adds one item to the atom; lists grow by doubling inside the arena. */
static Result filter_args_add_item(FilterCompiler *compiler, FilterAtom *atom, const Raw *raw)
{
    if ((atom->n_items & (atom->n_items - 1)) == 0) {
        size_t capacity = atom->n_items == 0 ? 1 : atom->n_items * 2;
        FilterItem *items = arena_alloc(&compiler->filter->arena, capacity * sizeof *items);
        if (items == NULL) {
            return RESULT_MEMORY;
        }
        if (atom->n_items > 0) {
            memcpy(items, atom->items, atom->n_items * sizeof *items);
        }
        atom->items = items;
    }
    FilterItem *item = &atom->items[atom->n_items];
    Result rc = copy_item(compiler, raw, item);
    return rc == RESULT_OK ? filter_args_prepare(compiler, atom, item, raw) : rc;
}

Result filter_read_arguments(FilterCompiler *compiler, FilterAtom *atom)
{
    size_t open = compiler->at++;
    bool more = atom->type->arguments != FILTER_NO_ARGUMENTS;
    filter_compiler_skip_space(compiler);
    while (more) {
        Raw raw = {.text = NULL};
        filter_compiler_skip_space(compiler);
        char c = compiler->at < compiler->length ? compiler->text[compiler->at] : '\0';
        Result rc = c == '"' || c == '\'' ? read_quoted(compiler, &raw)
                                          : read_bare(compiler, atom->type, open, &raw);
        if (rc == RESULT_OK && raw.length == 0 && raw.quote == 0) {
            rc = filter_compiler_fail(compiler, raw.at, "expected %s", atom->type->help.arguments);
        }
        if (rc == RESULT_OK) {
            rc = filter_args_add_item(compiler, atom, &raw);
        }
        if (rc != RESULT_OK) {
            return rc;
        }
        atom->n_items++;
        filter_compiler_skip_space(compiler);
        const char *next = compiler->text + compiler->at;
        size_t left = compiler->length - compiler->at;
        size_t n_comma = left > 0 && next[0] == ',' ? 1 : 0;
        n_comma = left > 1 && next[0] == '\\' && next[1] == ',' ? 2 : n_comma;
        more = atom->type->is_list && n_comma > 0;
        compiler->at += more ? n_comma : 0;
    }
    if (compiler->at >= compiler->length) {
        return filter_compiler_fail(compiler, open, "this '(' is never closed");
    }
    if (compiler->text[compiler->at] != ')') {
        return filter_compiler_fail(compiler, compiler->at,
                                    atom->type->arguments == FILTER_NO_ARGUMENTS
                                        ? "%s takes no arguments: expected ')'"
                                        : "expected ')' behind the argument of %s",
                                    atom->type->help.name);
    }
    if (atom->type->arguments == FILTER_NAME_VALUES && atom->n_items < 2) {
        return filter_compiler_fail(compiler, compiler->at, "expected ',' and a value");
    }
    compiler->at++;
    return RESULT_OK;
}

const FilterAtomHelp *filter_atom_help(size_t i)
{
    const FilterAtomType *type = filter_atom_type(i);
    return type == NULL ? NULL : &type->help;
}

/* ---- Atoms by name, and the name most like a wrong one ---- */

#define NAME_MAX_BYTES 40

const FilterAtomType *filter_atom_find(const char *name, size_t length)
{
    for (size_t i = 0; filter_atom_type(i) != NULL; i++) {
        const FilterAtomType *type = filter_atom_type(i);
        if (strlen(type->help.name) == length && memcmp(type->help.name, name, length) == 0) {
            return type;
        }
    }
    return NULL;
}

const char *filter_atom_nearest(const char *name, size_t length)
{
    char word[NAME_MAX_BYTES + 1];
    OptionNear near = {word, .least = length / 3 + 2};
    if (length > NAME_MAX_BYTES) {
        return NULL;
    }
    (void)snprintf(word, sizeof word, "%.*s", (int)length, name);
    for (size_t i = 0; filter_atom_type(i) != NULL; i++) {
        (void)option_near_look(&near, filter_atom_type(i)->help.name);
    }
    return near.name;
}

/* ---- A filter while it is compiled ---- */

Result filter_compiler_fail(FilterCompiler *compiler, size_t at, const char *format, ...)
{
    FilterError *error = compiler->error;
    error->column = 1;
    for (size_t i = 0; i < at && i < compiler->length; i++) {
        error->column += ((unsigned char)compiler->text[i] & 0xC0) != 0x80;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return RESULT_INVALID;
}
