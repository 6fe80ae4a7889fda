#include "parse/robots/robots_line.h"

#include <string.h>
#include <strings.h>

#include "parse/robots/robots.h"

typedef struct LineName {
    const char *name;
    RobotsLineKind kind;
} LineName;

/* The misspellings are those on which Google's parser and its descendants agree. */
static const LineName line_names[] = {
    {"disallow", ROBOTS_LINE_DISALLOW},    {"allow", ROBOTS_LINE_ALLOW},
    {"user-agent", ROBOTS_LINE_AGENT},     {"crawl-delay", ROBOTS_LINE_DELAY},
    {"sitemap", ROBOTS_LINE_SITEMAP},      {"site-map", ROBOTS_LINE_SITEMAP},
    {"useragent", ROBOTS_LINE_AGENT},      {"user agent", ROBOTS_LINE_AGENT},
    {"dissallow", ROBOTS_LINE_DISALLOW},   {"dissalow", ROBOTS_LINE_DISALLOW},
    {"disalow", ROBOTS_LINE_DISALLOW},     {"diasllow", ROBOTS_LINE_DISALLOW},
    {"disallaw", ROBOTS_LINE_DISALLOW},    {"content-usage", ROBOTS_LINE_USAGE},
    {"content-signal", ROBOTS_LINE_USAGE},
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\0';
}

static void trim(const char **start, const char **end)
{
    while (*start < *end && is_blank(**start)) {
        (*start)++;
    }
    while (*start < *end && is_blank((*end)[-1])) {
        (*end)--;
    }
}

static const char *skip_word(const char *p, const char *end)
{
    while (p < end && !is_blank(*p)) {
        p++;
    }
    return p;
}

static RobotsLineKind kind_of_name(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof line_names / sizeof *line_names; i++) {
        if (strlen(line_names[i].name) == length &&
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

static void read_fields(RobotsLine *line)
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
        trim(&word, &word_end);
        if (word == word_end || skip_word(word, word_end) != word_end) {
            return;
        }
    }
    const char *value_end = end;
    trim(&value, &value_end);
    const char *name = start;
    trim(&name, &name_end);
    line->kind = kind_of_name(name, (size_t)(name_end - name));
    line->value = value;
    line->value_length = (size_t)(value_end - value);
    if (line->kind == ROBOTS_LINE_OTHER && is_bare_sitemap(start, end)) {
        line->kind = ROBOTS_LINE_SITEMAP;
        line->value = start;
        line->value_length = line->text_length;
    }
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
}

bool robots_reader_next(RobotsReader *reader, RobotsLine *line)
{
    if (reader->next >= reader->end) {
        return false;
    }
    const char *start = reader->next;
    const char *end = start;
    while (end < reader->end && *end != '\n' && *end != '\r') {
        end++;
    }
    reader->next = end < reader->end ? end + 1 : end;
    if (end + 1 < reader->end && end[0] == '\r' && end[1] == '\n') {
        reader->next = end + 2;
    }
    reader->number++;

    const char *comment = memchr(start, '#', (size_t)(end - start));
    if (comment != NULL) {
        end = comment;
    }
    trim(&start, &end);
    *line = (RobotsLine){.kind = ROBOTS_LINE_OTHER,
                         .number = reader->number,
                         .text = start,
                         .text_length = (size_t)(end - start),
                         .value = end};
    if (start < end) {
        read_fields(line);
    }
    return true;
}

static bool is_token_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

size_t robots_token_length(const char *value, size_t length)
{
    size_t n = 0;
    while (n < length && is_token_char(value[n])) {
        n++;
    }
    return n;
}

bool robots_is_any_agent(const char *value, size_t length)
{
    return length > 0 && value[0] == '*' && (length == 1 || is_blank(value[1]) || value[1] == '<');
}
