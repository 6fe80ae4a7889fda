/* HTML words: words in the values of attributes.
 *
 * What: lists separated by white space, link types, and the URL of a refresh.
 * Threads: any; pure. */
#pragma once

#include "base/core/ascii.h"
#include "parse/html/html_tree_types.h"

/* Takes the next word out of a list. False: there is none. */
bool html_next_word(HtmlSlice *list, HtmlSlice *word);
/* Whether a list has a word, letter by letter; html_lists: whatever its case. */
bool html_has_word(HtmlSlice list, HtmlSlice word);
bool html_lists(HtmlSlice list, const char *word);
/* LINK_NOFOLLOW ... in a list of link types. */
unsigned html_rel_flags(const HtmlSlice *rel);
/* The URL in the content of a refresh: "5; url=x", "0;x", "1,URL = 'x'". False: it has none. */
bool html_refresh_url(const HtmlSlice *content, HtmlSlice *url);

static inline bool html_is_word(const HtmlSlice *s, const char *word)
{
    return ascii_is(s->bytes, s->length, word);
}

static inline void html_trim(HtmlSlice *s)
{
    ascii_trim(&s->bytes, &s->length);
}
