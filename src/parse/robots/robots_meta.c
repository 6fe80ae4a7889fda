#include "parse/robots/robots_meta.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/core/ascii.h"
#include "parse/http/http_header.h"
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

#define DATE_MOST 64u /* bytes of a date */

static unsigned flags_of(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
        if (ascii_is(word, length, directives[i].name)) {
            return directives[i].flags;
        }
    }
    return 0;
}

static bool is_valued(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof valued / sizeof *valued; i++) {
        if (ascii_is(word, length, valued[i])) {
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

static bool is_separator(char c)
{
    return ascii_is_space(c) || c == ',' || c == ';';
}

bool robots_meta_names(const char *name, size_t length, const char *agent)
{
    ascii_trim(&name, &length);
    return ascii_is(name, length, "robots") || robots_meta_names_agent(name, length, agent);
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

/* ---- until when ---- */

/* "2026-01-31" and "2026-01-31T12:00:00": UTC, whatever zone is named. */
static bool robots_meta_iso_date(const char *text, size_t length, int64_t *unix_s)
{
    char copy[20] = "";
    struct tm tm = {.tm_mday = 0};
    memcpy(copy, text, length < sizeof copy - 1 ? length : sizeof copy - 1);
    copy[10] = copy[10] == ' ' ? 'T' : copy[10];
    const char *end = strptime(copy, "%Y-%m-%dT%H:%M:%S", &tm);
    if (end == NULL) {
        tm = (struct tm){.tm_mday = 0};
        end = strptime(copy, "%Y-%m-%d", &tm);
    }
    *unix_s = end == NULL ? 0 : (int64_t)timegm(&tm);
    return *unix_s > 0;
}

/* Commas stand in dates and behind them: the longest part that is a date counts. */
static int64_t robots_meta_date(const char *text, size_t length)
{
    int64_t unix_s = 0;
    while (length > 0 && is_separator(*text)) {
        text++;
        length--;
    }
    length = length < DATE_MOST ? length : DATE_MOST;
    if (robots_meta_iso_date(text, length, &unix_s)) {
        return unix_s;
    }
    while (length > 0) {
        if (http_header_date(text, length, &unix_s) && unix_s > 0) {
            return unix_s;
        }
        do {
            length--;
        } while (length > 0 && text[length] != ',');
    }
    return 0;
}

/* Behind the word, which may be followed by blanks and must be by a colon. */
static int64_t robots_meta_end_at(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length && ascii_is_space(text[i])) {
        i++;
    }
    return i < length && text[i] == ':' ? robots_meta_date(text + i + 1, length - i - 1) : 0;
}

int64_t robots_meta_end(const char *content, size_t length)
{
    static const char word[] = "unavailable_after";
    size_t n = sizeof word - 1;
    for (size_t i = 0; i + n <= length; i++) {
        if ((content[i] == 'u' || content[i] == 'U') && strncasecmp(content + i, word, n) == 0) {
            return robots_meta_end_at(content + i + n, length - i - n);
        }
    }
    return 0;
}

/* ---- headers ---- */

static unsigned robots_meta_read(const char *value, size_t length, const char *agent, int64_t *end)
{
    unsigned flags = 0;
    bool is_for_us = true;
    size_t i = 0;
    bool starts_item = true; /* only the first word of an item can be an agent's name */
    while (i < length) {
        if (is_separator(value[i])) {
            starts_item |= !ascii_is_space(value[i]);
            i++;
            continue;
        }
        size_t start = i;
        while (i < length && !is_separator(value[i]) && value[i] != ':') {
            i++;
        }
        const char *word = value + start;
        size_t n = i - start;
        while (i < length && ascii_is_space(value[i])) {
            i++;
        }
        if (i < length && value[i] == ':') {
            if (*end == 0 && is_for_us && ascii_is(word, n, valued[0])) {
                *end = robots_meta_end_at(value + i, length - i);
            }
            if (is_valued(word, n) || !starts_item) {
                while (i < length && value[i] != ',') {
                    i++;
                }
            } else {
                is_for_us = robots_meta_names_agent(word, n, agent) || ascii_is(word, n, "*") ||
                            ascii_is(word, n, "robots");
                i++;
            }
            continue;
        }
        starts_item = false;
        flags |= is_for_us ? flags_of(word, n) : 0;
    }
    return flags;
}

unsigned robots_meta_header(const char *value, size_t length, const char *agent)
{
    int64_t end = 0;
    return robots_meta_read(value, length, agent, &end);
}

int64_t robots_meta_header_end(const char *value, size_t length, const char *agent)
{
    int64_t end = 0;
    (void)robots_meta_read(value, length, agent, &end);
    return end;
}
