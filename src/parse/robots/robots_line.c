#include "parse/robots/robots_line.h"

#include <string.h>
#include <strings.h>

#include "parse/robots/robots_types.h"
#include "base/core/ascii.h"

typedef struct LineName {
    const char *name;
    size_t length;
    RobotsLineKind kind;
} LineName;

#define NAME(text) text, sizeof(text) - 1

/* The misspellings are those on which Google's parser and its descendants agree. */
static const LineName line_names[] = {
    {NAME("disallow"), ROBOTS_LINE_DISALLOW},    {NAME("allow"), ROBOTS_LINE_ALLOW},
    {NAME("user-agent"), ROBOTS_LINE_AGENT},     {NAME("crawl-delay"), ROBOTS_LINE_DELAY},
    {NAME("sitemap"), ROBOTS_LINE_SITEMAP},      {NAME("site-map"), ROBOTS_LINE_SITEMAP},
    {NAME("useragent"), ROBOTS_LINE_AGENT},      {NAME("user agent"), ROBOTS_LINE_AGENT},
    {NAME("dissallow"), ROBOTS_LINE_DISALLOW},   {NAME("dissalow"), ROBOTS_LINE_DISALLOW},
    {NAME("disalow"), ROBOTS_LINE_DISALLOW},     {NAME("diasllow"), ROBOTS_LINE_DISALLOW},
    {NAME("disallaw"), ROBOTS_LINE_DISALLOW},    {NAME("content-usage"), ROBOTS_LINE_USAGE},
    {NAME("content-signal"), ROBOTS_LINE_USAGE}, {NAME("request-rate"), ROBOTS_LINE_RATE},
    {NAME("license"), ROBOTS_LINE_LICENCE},      {NAME("visit-time"), ROBOTS_LINE_HOURS},
};

static bool robots_line_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\0';
}

static void robots_line_trim(const char **start, const char **end)
{
    while (*start < *end && robots_line_is_blank(**start)) {
        (*start)++;
    }
    while (*start < *end && robots_line_is_blank((*end)[-1])) {
        (*end)--;
    }
}

static const char *skip_word(const char *p, const char *end)
{
    while (p < end && !robots_line_is_blank(*p)) {
        p++;
    }
    return p;
}

static RobotsLineKind kind_of_name(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof line_names / sizeof *line_names; i++) {
        if (line_names[i].length == length && line_names[i].name[0] == (name[0] | 0x20) &&
            strncasecmp(name, line_names[i].name, length) == 0) {
            return line_names[i].kind;
        }
    }
    return ROBOTS_LINE_OTHER;
}

/* A sitemap's address whose "Sitemap:" was forgotten. */
static bool is_bare_sitemap(const char *p, const char *end)
{
    size_t length = (size_t)(end - p);
    bool is_url = (length > 7 && strncasecmp(p, "http://", 7) == 0) ||
                  (length > 8 && strncasecmp(p, "https://", 8) == 0);
    if (!is_url || skip_word(p, end) != end) {
        return false;
    }
    for (; end - p >= 7; p++) {
        if (strncasecmp(p, "sitemap", 7) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether an address ends with the name of one of these files. */
static bool robots_line_names_file(const char *value, size_t length)
{
    static const char *const files[] = {"/llms.txt", "/llms-full.txt", "/ai.txt"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t n = strlen(files[i]);
        if (length >= n && strncasecmp(value + length - n, files[i], n) == 0) {
            return true;
        }
    }
    return false;
}

static void robots_line_read_fields(RobotsLine *line)
{
    const char *start = line->text;
    const char *end = start + line->text_length;
    const char *name_end = memchr(start, ':', line->text_length);
    const char *value = NULL;
    if (name_end != NULL) {
        value = name_end + 1;
    } else {
        /* "disallow /x": two words and nothing else. */
        name_end = skip_word(start, end);
        value = name_end;
        const char *word = name_end;
        const char *word_end = end;
        robots_line_trim(&word, &word_end);
        if (word == word_end || skip_word(word, word_end) != word_end) {
            return;
        }
    }
    const char *value_end = end;
    robots_line_trim(&value, &value_end);
    const char *name = start;
    robots_line_trim(&name, &name_end);
    line->kind = kind_of_name(name, (size_t)(name_end - name));
    line->value = value;
    line->value_length = (size_t)(value_end - value);
    if (line->kind == ROBOTS_LINE_OTHER && robots_line_names_file(value, line->value_length)) {
        line->kind = ROBOTS_LINE_FILE;
    }
    if (line->kind == ROBOTS_LINE_OTHER && is_bare_sitemap(start, end)) {
        line->kind = ROBOTS_LINE_SITEMAP;
        line->value = start;
        line->value_length = line->text_length;
    }
}

static void find_lf(RobotsReader *reader)
{
    size_t left = (size_t)(reader->end - reader->next);
    const char *lf = left == 0 ? NULL : memchr(reader->next, '\n', left);
    reader->lf = lf == NULL ? reader->end : lf;
}

void robots_reader_init(RobotsReader *reader, const char *body, size_t length)
{
    static const char mark[] = "\xEF\xBB\xBF";
    if (length > ROBOTS_MAX_BYTES) {
        length = ROBOTS_MAX_BYTES;
        while (length > 0 && body[length - 1] != '\n' && body[length - 1] != '\r') {
            length--;
        }
    }
    reader->number = 0;
    reader->next = body;
    reader->end = length == 0 ? body : body + length;
    /* A byte order mark that lost its tail is skipped too. */
    for (size_t i = 0; i < sizeof mark - 1 && reader->next < reader->end; i++) {
        if (*reader->next != mark[i]) {
            break;
        }
        reader->next++;
    }
    find_lf(reader);
}

/* Where the line ends, and the next one begins. */
static const char *end_of_line(RobotsReader *reader)
{
    const char *start = reader->next;
    const char *cr = memchr(start, '\r', (size_t)(reader->lf - start));
    if (cr != NULL && cr + 1 != reader->lf) {
        reader->next = cr + 1;
        return cr;
    }
    const char *end = cr != NULL ? cr : reader->lf;
    reader->next = reader->lf < reader->end ? reader->lf + 1 : reader->end;
    find_lf(reader);
    return end;
}

bool robots_reader_next(RobotsReader *reader, RobotsLine *line)
{
    if (reader->next >= reader->end) {
        return false;
    }
    const char *start = reader->next;
    const char *end = end_of_line(reader);
    reader->number++;

    const char *comment = memchr(start, '#', (size_t)(end - start));
    if (comment != NULL) {
        end = comment;
    }
    robots_line_trim(&start, &end);
    *line = (RobotsLine){.kind = ROBOTS_LINE_OTHER,
                         .number = reader->number,
                         .text = start,
                         .text_length = (size_t)(end - start),
                         .value = end};
    if (start < end) {
        robots_line_read_fields(line);
    }
    return true;
}

size_t robots_token_length(const char *value, size_t length)
{
    size_t n = 0;
    while (n < length && (ascii_is_alnum(value[n]) || value[n] == '-' || value[n] == '_')) {
        n++;
    }
    return n;
}

bool robots_is_any_agent(const char *value, size_t length)
{
    return length > 0 && value[0] == '*' &&
           (length == 1 || robots_line_is_blank(value[1]) || value[1] == '<');
}
