#include "parse/html.h"

#include <string.h>
#include <strings.h>

#include "parse/html_words.h"
#include "parse/skim_scan.h"

unsigned html_rel_flags(const char *rel, size_t length)
{
    unsigned flags = 0;
    const char *p = rel;
    const char *end = rel + length;
    while (p < end) {
        HtmlSlice word = {.bytes = p, .length = 0};
        while (p < end && !html_is_space(*p)) {
            p++;
        }
        word.length = (size_t)(p - word.bytes);
        p += p < end ? 1 : 0;
        flags |= html_is_word(&word, "nofollow")    ? LINK_NOFOLLOW
                 : html_is_word(&word, "ugc")       ? LINK_UGC
                 : html_is_word(&word, "sponsored") ? LINK_SPONSORED
                 : html_is_word(&word, "canonical") ? LINK_CANONICAL
                                                    : 0u;
    }
    return flags;
}

/* Whether a word before ":" names a crawler: "unavailable_after: DATE" and its like do not, nor do
 * the hours of a date. */
static bool is_agent_name(const HtmlSlice *word)
{
    return word->length > 0 && memchr(word->bytes, ' ', word->length) == NULL &&
           (word->bytes[0] < '0' || word->bytes[0] > '9') &&
           !html_is_word(word, "unavailable_after") &&
           !(word->length > 4 && strncasecmp(word->bytes, "max-", 4) == 0);
}

unsigned html_robots_instructions(const char *value, size_t length, const char *agent)
{
    const char *p = value;
    const char *end = value + length;
    unsigned flags = 0;
    bool ours = true; /* since the last "name:" */
    while (p < end) {
        HtmlSlice word = {.bytes = p, .length = 0};
        while (p < end && *p != ',' && *p != ':') {
            p++;
        }
        word.length = (size_t)(p - word.bytes);
        html_trim(&word);
        if (p < end && *p == ':' && agent != NULL) {
            if (is_agent_name(&word)) {
                ours = html_is_word(&word, agent);
            } else {
                p = find_byte(p, end, ',');
            }
        } else if (ours) {
            flags |= html_is_word(&word, "noindex")     ? PAGE_NOINDEX
                     : html_is_word(&word, "nofollow")  ? PAGE_NOFOLLOW
                     : html_is_word(&word, "noarchive") ? PAGE_NOARCHIVE
                     : html_is_word(&word, "none")      ? PAGE_NOINDEX | PAGE_NOFOLLOW
                                                        : 0u;
        }
        p += p < end ? 1 : 0;
    }
    return flags;
}

/* The URL in the content of a refresh: "5; url=x", "0;x", "1,URL = 'x'". */
bool html_refresh_url(const char *content, size_t length, const char **url, size_t *url_length)
{
    const char *p = content;
    const char *end = content + length;
    while (p < end && html_is_space(*p)) {
        p++;
    }
    const char *digits = p;
    while (p < end && ((*p >= '0' && *p <= '9') || *p == '.')) {
        p++;
    }
    if (p == digits || p == end || (*p != ';' && *p != ',' && !html_is_space(*p))) {
        return false;
    }
    while (p < end && html_is_space(*p)) {
        p++;
    }
    if (p < end && (*p == ';' || *p == ',')) {
        p++;
    }
    while (p < end && html_is_space(*p)) {
        p++;
    }
    if (end - p >= 3 && strncasecmp(p, "url", 3) == 0) {
        const char *q = p + 3;
        while (q < end && html_is_space(*q)) {
            q++;
        }
        if (q < end && *q == '=') {
            p = q + 1;
            while (p < end && html_is_space(*p)) {
                p++;
            }
        }
    }
    if (p < end && (*p == '"' || *p == '\'')) {
        const char *close = memchr(p + 1, *p, (size_t)(end - p - 1));
        end = close == NULL ? end : close;
        p++;
    }
    *url = p;
    *url_length = (size_t)(end - p);
    return p < end;
}

/* ---- Link: <url>; rel="next canonical"; title="x, y", <url2> ---- */

/* The end of a parameter's value: at ";" or ",", but not within quotes. */
static const char *skip_value(const char *p, const char *end)
{
    bool quoted = false;
    while (p < end && (quoted || (*p != ';' && *p != ','))) {
        if (quoted && *p == '\\' && p + 1 < end) {
            p++;
        } else if (*p == '"') {
            quoted = !quoted;
        }
        p++;
    }
    return p;
}

/* One "; name=value"; returns what follows it. */
static const char *read_parameter(const char *p, const char *end, unsigned *flags)
{
    HtmlSlice name = {.bytes = p, .length = 0};
    while (p < end && *p != '=' && *p != ';' && *p != ',') {
        p++;
    }
    name.length = (size_t)(p - name.bytes);
    html_trim(&name);
    if (p == end || *p != '=') {
        return p;
    }
    HtmlSlice value = {.bytes = p + 1, .length = 0};
    p = skip_value(p + 1, end);
    value.length = (size_t)(p - value.bytes);
    html_trim(&value);
    if (value.length >= 2 && value.bytes[0] == '"') {
        value.bytes++;
        value.length -= value.bytes[value.length - 2] == '"' ? 2 : 1;
    }
    if (html_is_word(&name, "rel")) {
        *flags |= html_rel_flags(value.bytes, value.length);
    }
    return p;
}

bool html_link_header_next(const char **header, size_t *length, HtmlHeaderLink *link)
{
    const char *p = *header;
    const char *end = p + *length;
    p = find_byte(p, end, '<');
    const char *close = p == end ? end : find_byte(p, end, '>');
    if (close == end) {
        *header = end;
        *length = 0;
        return false;
    }
    *link = (HtmlHeaderLink){.url = p + 1, .length = (size_t)(close - p - 1), .flags = 0};
    p = close + 1;
    while (p < end && *p != ',') {
        p = *p == ';' ? read_parameter(p + 1, end, &link->flags) : p + 1;
    }
    p += p < end ? 1 : 0;
    *header = p;
    *length = (size_t)(end - p);
    return true;
}
