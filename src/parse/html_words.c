#include "parse/html_words.h"

#include "parse/skim_scan.h"

unsigned html_rel_flags(const HtmlSlice *rel)
{
    unsigned flags = 0;
    const char *p = rel->bytes;
    const char *end = p + rel->length;
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

bool html_refresh_url(const HtmlSlice *content, HtmlSlice *url)
{
    const char *p = content->bytes;
    const char *end = p + content->length;
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
    *url = (HtmlSlice){.bytes = p, .length = (size_t)(end - p)};
    return p < end;
}
