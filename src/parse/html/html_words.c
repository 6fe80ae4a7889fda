#include "parse/html/html_words.h"

#include <string.h>

#include "parse/html/html.h"
#include "parse/http/http_header.h"

bool html_next_word(HtmlSlice *list, HtmlSlice *word)
{
    const char *end = list->bytes + list->length;
    word->bytes = skip_class(list->bytes, end, SCAN_SPACE);
    const char *stop = find_class(word->bytes, end, SCAN_SPACE);
    word->length = (size_t)(stop - word->bytes);
    *list = (HtmlSlice){.bytes = stop, .length = (size_t)(end - stop)};
    return word->length > 0;
}

bool html_has_word(HtmlSlice list, HtmlSlice word)
{
    HtmlSlice one;
    while (html_next_word(&list, &one)) {
        if (one.length == word.length && memcmp(one.bytes, word.bytes, word.length) == 0) {
            return true;
        }
    }
    return false;
}

bool html_lists(HtmlSlice list, const char *word)
{
    HtmlSlice one;
    while (html_next_word(&list, &one)) {
        if (html_is_word(&one, word)) {
            return true;
        }
    }
    return false;
}

/* What a rel says the other document is: a page. Those of HTML 4 are still found in manuals. */
static const char *const page_rels[] = {
    "canonical", "next",     "prev",       "previous", "alternate", "first",  "last",
    "start",     "up",       "top",        "contents", "toc",       "index",  "chapter",
    "section",   "appendix", "subsection", "glossary", "help",      "author", "license",
    "copyright", "bookmark", "llms-txt",   "ai-txt",
};

/* What a browser loads to show the page. */
static const char *const requisite_rels[] = {
    "stylesheet",
    "icon",
    "preload",
    "modulepreload",
    "manifest",
    "apple-touch-icon",
    "apple-touch-icon-precomposed",
    "mask-icon",
};

static bool html_is_among(const HtmlSlice *word, const char *const *words, size_t n)
{
    while (n > 0 && !html_is_word(word, words[n - 1])) {
        n--;
    }
    return n > 0;
}

/* The flags of a list of link types; *names_feed: of such a type it leads to a feed. */
static unsigned read_rel(const HtmlSlice *rel, bool *names_feed)
{
    static const struct {
        const char *word;
        unsigned flag;
    } marks[] = {{"nofollow", LINK_NOFOLLOW},
                 {"ugc", LINK_UGC},
                 {"sponsored", LINK_SPONSORED},
                 {"canonical", LINK_CANONICAL}};
    unsigned flags = 0;
    bool is_style = false;
    HtmlSlice list = *rel;
    HtmlSlice word;
    *names_feed = false;
    while (html_next_word(&list, &word)) {
        is_style = is_style || html_is_word(&word, "stylesheet");
        *names_feed =
            *names_feed || html_is_word(&word, "alternate") || html_is_word(&word, "feed");
        flags |=
            html_is_among(&word, page_rels, sizeof page_rels / sizeof *page_rels) ? LINK_PAGE : 0u;
        flags |=
            html_is_among(&word, requisite_rels, sizeof requisite_rels / sizeof *requisite_rels)
                ? LINK_REQUISITE
                : 0u;
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
            flags |= html_is_word(&word, marks[i].word) ? marks[i].flag : 0u;
        }
    }
    *names_feed = *names_feed && !is_style;
    return is_style ? flags & ~(unsigned)LINK_PAGE : flags;
}

unsigned html_rel_flags(const HtmlSlice *rel)
{
    bool names_feed = false;
    return read_rel(rel, &names_feed);
}

unsigned html_link_flags(const char *rel, size_t rel_length, const char *type, size_t type_length)
{
    HtmlSlice rels = {.bytes = rel, .length = rel_length};
    /* A type without its parameters. */
    const char *end = memchr(type, ';', type_length);
    HtmlSlice essence = {.bytes = type, .length = end == NULL ? type_length : (size_t)(end - type)};
    html_trim(&essence);
    bool names_feed = false;
    unsigned flags = read_rel(&rels, &names_feed);
    bool is_page = essence.length == 0 || html_is_word(&essence, "text/html") ||
                   html_is_word(&essence, "application/xhtml+xml");
    bool is_feed = html_is_word(&essence, "application/rss+xml") ||
                   html_is_word(&essence, "application/atom+xml");
    flags |= names_feed && is_feed ? LINK_TO_FEED : 0u;
    return is_page ? flags : flags & ~(unsigned)LINK_PAGE; /* else it is for programs */
}

bool html_refresh_url(const HtmlSlice *content, HtmlSlice *url)
{
    int64_t seconds = 0;
    return http_header_refresh(content->bytes, content->length, &seconds, &url->bytes,
                               &url->length) &&
           url->length > 0;
}
