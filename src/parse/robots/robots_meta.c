#include "parse/robots/robots_meta.h"

#include <string.h>
#include <strings.h>

#include "parse/robots/robots_line.h"

typedef struct Directive {
    const char *name;
    unsigned flags;
} Directive;

static const Directive directives[] = {
    {"noindex", PAGE_NOINDEX},
    {"nofollow", PAGE_NOFOLLOW},
    {"none", PAGE_NOINDEX | PAGE_NOFOLLOW},
    {"noarchive", PAGE_NOARCHIVE},
    {"nocache", PAGE_NOARCHIVE},
};

/* Directives that carry a value behind a colon, which is therefore not an agent's colon. */
static const char *const valued[] = {"unavailable_after", "max-snippet", "max-image-preview",
                                     "max-video-preview"};

static bool robots_meta_equals(const char *bytes, size_t length, const char *word)
{
    return strlen(word) == length && strncasecmp(bytes, word, length) == 0;
}

static unsigned flags_of(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
        if (robots_meta_equals(word, length, directives[i].name)) {
            return directives[i].flags;
        }
    }
    return 0;
}

static bool is_valued(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof valued / sizeof *valued; i++) {
        if (robots_meta_equals(word, length, valued[i])) {
            return true;
        }
    }
    return false;
}

static bool robots_meta_names_agent(const char *name, size_t length, const char *agent)
{
    size_t n = agent == NULL ? 0 : robots_token_length(agent, strlen(agent));
    return n > 0 && n == robots_token_length(name, length) && strncasecmp(name, agent, n) == 0;
}

static bool robots_meta_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
}

static bool is_separator(char c)
{
    return robots_meta_is_blank(c) || c == ',' || c == ';';
}

bool robots_meta_names(const char *name, size_t length, const char *agent)
{
    while (length > 0 && robots_meta_is_blank(name[0])) {
        name++;
        length--;
    }
    while (length > 0 && robots_meta_is_blank(name[length - 1])) {
        length--;
    }
    return robots_meta_equals(name, length, "robots") ||
           robots_meta_names_agent(name, length, agent);
}

unsigned robots_meta_content(const char *content, size_t length)
{
    unsigned flags = 0;
    size_t i = 0;
    while (i < length) {
        size_t start = i;
        while (i < length && !is_separator(content[i])) {
            i++;
        }
        flags |= flags_of(content + start, i - start);
        i++;
    }
    return flags;
}

unsigned robots_meta_header(const char *value, size_t length, const char *agent)
{
    unsigned flags = 0;
    bool is_for_us = true;
    size_t i = 0;
    bool starts_item = true; /* only the first word of an item can be an agent's name */
    while (i < length) {
        if (is_separator(value[i])) {
            starts_item |= !robots_meta_is_blank(value[i]);
            i++;
            continue;
        }
        size_t start = i;
        while (i < length && !is_separator(value[i]) && value[i] != ':') {
            i++;
        }
        const char *word = value + start;
        size_t n = i - start;
        while (i < length && robots_meta_is_blank(value[i])) {
            i++;
        }
        if (i < length && value[i] == ':') {
            if (is_valued(word, n) || !starts_item) {
                while (i < length && value[i] != ',') {
                    i++;
                }
            } else {
                is_for_us = robots_meta_names_agent(word, n, agent) ||
                            robots_meta_equals(word, n, "*") ||
                            robots_meta_equals(word, n, "robots");
                i++;
            }
            continue;
        }
        starts_item = false;
        flags |= is_for_us ? flags_of(word, n) : 0;
    }
    return flags;
}
