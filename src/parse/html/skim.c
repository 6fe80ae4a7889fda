#include "parse/html/skim.h"

#include <string.h>
#include <strings.h>

#include "parse/text/skim_scan.h"

typedef struct Skim {
    const char *p;
    const char *end;
    HtmlTree *tree;
    Digest *digest; /* may be NULL */
    HtmlTag tag;
} Skim;

/* ---- text ---- */

static void text(Skim *s, const char *from, const char *to, bool decode)
{
    size_t n = (size_t)(to - from);
    if (n == 0) {
        return;
    }
    if (s->tree->wants_text) {
        html_tree_text(s->tree, from, n);
    }
    if (s->digest != NULL) {
        digest_text(s->digest, from, n, decode);
    }
}

static void raw_text(Skim *s, const char *from, const char *to, bool decode)
{
    if (s->digest != NULL && to > from) {
        digest_text(s->digest, from, (size_t)(to - from), decode);
    }
}

/* ---- tags ---- */

/* The bits of the attributes to be kept; all of them while foreign content is open. */
static uint32_t attributes_of(const HtmlTree *tree, HtmlTagId id)
{
    return tree->depth > 0 ? ~UINT32_C(0) : html_tag_traits[id].attributes;
}

static void keep_attribute(Skim *s, uint32_t wanted, HtmlSlice name, HtmlSlice value)
{
    uint64_t key = html_name_key(name.bytes, name.length, (size_t)(s->end - name.bytes));
    HtmlAttributeId id = html_attribute_of_key(key);
    if (id == HTML_ATTRS || (wanted >> id & 1) == 0 || html_tag_has(&s->tag, id)) {
        return;
    }
    s->tag.present |= UINT32_C(1) << id;
    s->tag.values[id] = value;
}

/* Reads attributes from p on and the ">" behind them. NULL: the text ends within the tag. */
static const char *read_attributes(Skim *s, const char *p, uint32_t wanted)
{
    const char *end = s->end;
    for (;;) {
        p = skip_class(p, end, SCAN_SPACE);
        if (p == end) {
            return NULL;
        }
        if (*p == '>') {
            return p + 1;
        }
        if (*p == '/') {
            p++;
            s->tag.self_closing = p < end && *p == '>';
            continue;
        }
        HtmlSlice name = {.bytes = p, .length = 0};
        p = find_class(p + 1, end, SCAN_NAME_END); /* a leading "=" belongs to the name */
        name.length = (size_t)(p - name.bytes);
        p = skip_class(p, end, SCAN_SPACE);
        HtmlSlice value = {.bytes = p, .length = 0};
        if (p < end && *p == '=') {
            p = skip_class(p + 1, end, SCAN_SPACE);
            if (p == end) {
                return NULL;
            }
            if (*p == '"' || *p == '\'') {
                value.bytes = p + 1;
                p = find_byte(p + 1, end, *p);
                value.length = (size_t)(p - value.bytes);
                if (p == end) {
                    return NULL;
                }
                p++;
            } else {
                value.bytes = p;
                p = find_class(p, end, SCAN_VALUE_END);
                value.length = (size_t)(p - value.bytes);
            }
        }
        if (wanted != 0) {
            keep_attribute(s, wanted, name, value);
        }
    }
}

/* ---- raw text ---- */

/* Whether p ("</title") is the end tag of this name, and what follows makes it one. */
static bool is_end_tag(const char *p, const char *end, const char *name, size_t length)
{
    if ((size_t)(end - p) < length + 3 || p[1] != '/' || strncasecmp(p + 2, name, length) != 0) {
        return false;
    }
    return (scan_class(p[2 + length]) & (SCAN_SPACE | SCAN_TAG_NAME_END)) != 0;
}

/* The "<" of the end tag that closes raw text, or end. */
static const char *find_raw_end(const char *p, const char *end, const char *name, size_t length)
{
    for (;; p++) {
        p = find_byte(p, end, '<');
        if (p == end || is_end_tag(p, end, name, length)) {
            return p;
        }
    }
}

static bool starts(const char *p, const char *end, const char *word, size_t length)
{
    return (size_t)(end - p) >= length && memcmp(p, word, length) == 0;
}

/* The same for scripts: after "<!--" a "<script" hides the next "</script", until "-->". */
static const char *find_script_end(const char *p, const char *end)
{
    enum { PLAIN, ESCAPED, DOUBLE_ESCAPED } state = PLAIN;
    const char *dashes = p; /* those that opened the escape may also close it */
    while (p < end) {
        if (state == PLAIN) {
            p = find_byte(p, end, '<');
            if (p == end || is_end_tag(p, end, "script", 6)) {
                return p;
            }
            if (starts(p, end, "<!--", 4)) {
                state = ESCAPED;
                dashes = p + 2;
                p += 3;
            }
        } else if (*p == '>') {
            if (p - dashes >= 2 && p[-1] == '-' && p[-2] == '-') {
                state = PLAIN;
            }
        } else if (*p == '<') {
            bool is_end = is_end_tag(p, end, "script", 6);
            if (is_end && state == ESCAPED) {
                return p;
            }
            if (is_end) {
                state = ESCAPED;
                dashes = p;
            } else if (state == ESCAPED && end - p > 7 && strncasecmp(p + 1, "script", 6) == 0 &&
                       (scan_class(p[7]) & (SCAN_SPACE | SCAN_TAG_NAME_END)) != 0) {
                state = DOUBLE_ESCAPED;
                dashes = p;
            }
        }
        p++;
    }
    return end;
}

/* Reads what follows a start tag whose content is no markup, up to its end tag (not over it). */
static void read_raw(Skim *s, HtmlTextMode mode, HtmlTagId id, HtmlSlice name)
{
    const char *from = s->p;
    const char *to = mode == HTML_TEXT_PLAINTEXT ? s->end
                     : mode == HTML_TEXT_SCRIPT
                         ? find_script_end(from, s->end)
                         : find_raw_end(from, s->end, name.bytes, name.length);
    if (id == HTML_TITLE && s->tree->title == NULL && s->tree->n_templates == 0) {
        html_links_set_title(s->tree, from, (size_t)(to - from));
    }
    /* A script that never ends is a page cut short: its text tells such pages apart. */
    if ((id != HTML_SCRIPT && id != HTML_STYLE) || to == s->end) {
        raw_text(s, from, to, mode == HTML_TEXT_RCDATA);
    }
    s->p = to;
}

/* ---- markup ---- */

static void start_tag(Skim *s, const char *p)
{
    const char *end = s->end;
    HtmlSlice name = {.bytes = p, .length = 0};
    p = find_class(p + 1, end, SCAN_SPACE | SCAN_TAG_NAME_END);
    name.length = (size_t)(p - name.bytes);
    HtmlTag *tag = &s->tag;
    tag->key = html_name_key(name.bytes, name.length, (size_t)(end - name.bytes));
    tag->id = html_tag_of_key(tag->key);
    tag->present = 0;
    tag->self_closing = false;
    if (p < end && *p == '>') {
        p++;
    } else {
        p = read_attributes(s, p, attributes_of(s->tree, tag->id));
        if (p == NULL) {
            s->p = end; /* the text ends within the tag: it is none */
            return;
        }
    }
    s->p = p;
    if (s->digest != NULL) {
        digest_tag(s->digest, tag->id, false);
        if ((tag->id == HTML_FRAME || tag->id == HTML_IFRAME) && html_tag_has(tag, HTML_ATTR_SRC)) {
            digest_frame(s->digest, tag->values[HTML_ATTR_SRC].bytes,
                         tag->values[HTML_ATTR_SRC].length);
        }
    }
    HtmlTextMode mode = html_tree_start_tag(s->tree, tag);
    if (mode != HTML_TEXT_DATA) {
        read_raw(s, mode, tag->id, name);
    }
}

static void end_tag(Skim *s, const char *p)
{
    const char *end = s->end;
    const char *name = p;
    p = find_class(p + 1, end, SCAN_SPACE | SCAN_TAG_NAME_END);
    uint64_t key = html_name_key(name, (size_t)(p - name), (size_t)(end - name));
    if (p < end && *p == '>') {
        p++;
    } else {
        p = read_attributes(s, p, 0);
        if (p == NULL) {
            s->p = end;
            return;
        }
    }
    s->p = p;
    HtmlTagId id = html_tag_of_key(key);
    if (s->digest != NULL) {
        digest_tag(s->digest, id, true);
    }
    html_tree_end_tag(s->tree, id, key);
}

/* Behind "<!--": the end of the comment. */
static const char *find_comment_end(const char *p, const char *end)
{
    if (starts(p, end, ">", 1)) {
        return p + 1;
    }
    if (starts(p, end, "->", 2)) {
        return p + 2;
    }
    const char *from = p;
    for (;; p++) {
        p = find_byte(p, end, '>');
        if (p == end) {
            return end;
        }
        if (p - from >= 2 && p[-1] == '-' && p[-2] == '-') {
            return p + 1;
        }
        if (p - from >= 3 && p[-1] == '!' && p[-2] == '-' && p[-3] == '-') {
            return p + 1;
        }
    }
}

/* "<!": a comment, a CDATA section or something to be skipped. */
static void declaration(Skim *s, const char *p)
{
    const char *end = s->end;
    if (starts(p, end, "--", 2)) {
        s->p = find_comment_end(p + 2, end);
        return;
    }
    if (starts(p, end, "[CDATA[", 7) && html_tree_is_foreign(s->tree)) {
        const char *from = p + 7;
        const char *close = memmem(from, (size_t)(end - from), "]]>", 3);
        text(s, from, close == NULL ? end : close, false);
        s->p = close == NULL ? end : close + 3;
        return;
    }
    p = find_byte(p, end, '>');
    s->p = p == end ? end : p + 1;
}

/* At a "<" in text. */
static void markup(Skim *s)
{
    const char *p = s->p + 1;
    const char *end = s->end;
    if (p < end) {
        if ((scan_class(*p) & SCAN_LETTER) != 0) {
            start_tag(s, p);
            return;
        }
        if (*p == '/' && p + 1 < end) {
            if ((scan_class(p[1]) & SCAN_LETTER) != 0) {
                end_tag(s, p + 1);
            } else {
                p = find_byte(p + 1, end, '>'); /* "</>" or a comment of the bogus sort */
                s->p = p == end ? end : p + 1;
            }
            return;
        }
        if (*p == '!') {
            declaration(s, p + 1);
            return;
        }
        if (*p == '?') {
            p = find_byte(p, end, '>');
            s->p = p == end ? end : p + 1;
            return;
        }
    }
    text(s, s->p, p, false); /* just a "<" */
    s->p = p;
}

void skim(const char *bytes, size_t length, HtmlTree *tree, Digest *digest)
{
    Skim s;
    s.p = bytes;
    s.end = bytes + length;
    s.tree = tree;
    s.digest = digest;
    s.tag.transient = false;
    while (s.p < s.end) {
        const char *next = find_byte(s.p, s.end, '<');
        text(&s, s.p, next, true);
        s.p = next;
        if (next < s.end) {
            markup(&s);
        }
    }
}
