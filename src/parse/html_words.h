/* Words in attribute values and headers. Internal to parse/html*. */
#ifndef PARSE_HTML_WORDS_H
#define PARSE_HTML_WORDS_H

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "parse/html_tree.h"

/* LINK_NOFOLLOW ... for a list of link types. */
unsigned html_rel_flags(const char *rel, size_t length);

static inline bool html_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

static inline bool html_is_word(const HtmlSlice *s, const char *word)
{
    size_t n = strlen(word);
    return s->length == n && strncasecmp(s->bytes, word, n) == 0;
}

static inline void html_trim(HtmlSlice *s)
{
    while (s->length > 0 && html_is_space(s->bytes[0])) {
        s->bytes++;
        s->length--;
    }
    while (s->length > 0 && html_is_space(s->bytes[s->length - 1])) {
        s->length--;
    }
}

#endif
