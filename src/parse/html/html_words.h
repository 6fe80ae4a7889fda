/* HTML words: words in the values of attributes.
 *
 * What: lists separated by white space, link types, and the URL of a refresh.
 * Threads: any; pure. */
#ifndef PARSE_HTML_HTML_WORDS_H
#define PARSE_HTML_HTML_WORDS_H

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "parse/html/html_tree_types.h"

/* LINK_NOFOLLOW ... in a list of link types. */
unsigned html_rel_flags(const HtmlSlice *rel);
/* The URL in the content of a refresh: "5; url=x", "0;x", "1,URL = 'x'". False: it has none. */
bool html_refresh_url(const HtmlSlice *content, HtmlSlice *url);

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
