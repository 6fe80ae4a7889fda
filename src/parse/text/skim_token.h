/* Skim token: the tokenizer of HTML text: start tags with the attributes that are wanted, end tags,
 * text, raw text.
 *
 * What: the tokenizer follows the states of the HTML standard (13.2.5) where they matter, and
 * passes over the rest at the speed of memory. In detail:
 *
 *  - An attribute is read with its quotes, so that a ">" in a value does not end the tag. Of two
 *    attributes with one name the first counts. A tag that the text ends within is ignored.
 *  - A comment ends with "-->" or "--!>"; "<!-->" is a complete comment.
 *  - Raw text ends only with its own end tag. In a script the escapes of "<!--" count.
 *  - <![CDATA[ begins a CDATA section where the reader says so, and a comment elsewhere.
 *
 * A reader is a table of functions that is known at compile time, so that skim_tokens becomes one
 * piece of code with them. parse/html/html_parser.c reads links and digests,
 * parse/visible/visible.c reads text. The input is UTF-8 without NUL
 * (parse/charset/charset.h), with any content: nothing fails.
 * Owns: nothing; slices lie in the text.
 * Threads: pure but for the reader; linear in the length of the text. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "parse/text/html_tags.h"
#include "parse/text/skim_scan.h"

typedef struct HtmlSlice {
    const char *bytes;
    size_t length;
} HtmlSlice;

typedef struct HtmlTag {
    uint64_t key; /* html_name_key */
    HtmlTagId id;
    uint32_t present; /* bit set of HtmlAttributeId: which values hold something */
    bool self_closing;
    bool transient; /* the values die with the call: what is kept must be copied */
    HtmlSlice values[HTML_ATTRS];
    const char *attributes; /* behind the name, where skim_find_attribute begins; NULL: none */
} HtmlTag;

static inline bool html_tag_has(const HtmlTag *tag, HtmlAttributeId id)
{
    return (tag->present >> id & 1) != 0;
}

/* How a tokenizer reads on after a start tag. */
typedef enum HtmlTextMode {
    HTML_TEXT_DATA,
    HTML_TEXT_RCDATA,
    HTML_TEXT_RAWTEXT,
    HTML_TEXT_SCRIPT,
    HTML_TEXT_PLAINTEXT
} HtmlTextMode;

/* What tokens are told to. Slices lie in the text. */
typedef struct SkimReader {
    /* The attributes whose values are wanted: a bit for each HtmlAttributeId. */
    uint32_t (*wanted)(void *context, HtmlTagId id);
    /* A start tag; returns how the text behind it is to be read. */
    HtmlTextMode (*start)(void *context, const HtmlTag *tag);
    void (*end)(void *context, HtmlTagId id, uint64_t key);
    /* Text; decode: there may be character references in it. One that begins with "<" is that
     * alone, which begins no tag, unless it is of a CDATA section (decode: false). */
    void (*text)(void *context, const char *from, const char *to, bool decode);
    /* What stands between a start tag and its end tag, when that is no markup; to is the end of the
     * text when the end tag is missing. NULL where `start` never asks for it. */
    void (*raw)(void *context, const HtmlTag *tag, HtmlTextMode mode, const char *from,
                const char *to, bool ended);
    /* Whether <![CDATA[ begins a CDATA section here. */
    bool (*has_cdata)(void *context);
} SkimReader;

/* Whether the text at p begins with a word of that length. */
static inline bool skim_starts(const char *p, const char *end, const char *word, size_t length)
{
    return (size_t)(end - p) >= length && memcmp(p, word, length) == 0;
}

/* Reads the attributes of a tag from p on, and the ">" behind them. The values of the attributes in
 * wanted go to tag. Returns where the tag ends; NULL: the text ends within the tag. */
const char *skim_attributes(const char *p, const char *end, uint32_t wanted, HtmlTag *tag);

/* The same for one attribute, or for the ">", which sets *over. NULL: the text ends within. */
const char *skim_attribute(const char *p, const char *end, uint32_t wanted, HtmlTag *tag,
                           bool *over);

/* The value of the attribute of this name, whatever its case, of a tag whose attributes begin at p.
 * False: it has none. */
bool skim_find_attribute(const char *p, const char *end, HtmlSlice name, HtmlSlice *value);
/* The same by a name that is a string; attributes may be NULL. False: *value is empty, too. */
bool skim_value(const char *attributes, const char *end, const char *name, HtmlSlice *value);

/* The "<" of the end tag of this name, which ends raw text; end when there is none. */
const char *skim_raw_end(const char *p, const char *end, HtmlSlice name);
/* The same for the text of a script: after "<!--" a "<script" hides the next "</script" until
 * "-->".
 */
const char *skim_script_end(const char *p, const char *end);

/* Where a script is that is read in pieces. */
typedef struct SkimScript {
    enum { SKIM_SCRIPT_PLAIN, SKIM_SCRIPT_ESCAPED, SKIM_SCRIPT_DOUBLE } state;
    const char *dashes; /* the earliest byte that may belong to the dashes before a ">" */
} SkimScript;

/* Reads a script on from p: returns the "<" of its end tag, or the place from limit on (or end)
 * where to go on with more text. No end tag is found that begins at limit or later. */
const char *skim_script_scan(SkimScript *script, const char *p, const char *limit, const char *end);

/* p is behind "<!--". Returns where the comment ends. */
const char *skim_comment_end(const char *p, const char *end);

#define SKIM_INLINE static inline __attribute__((always_inline))

/* Each of these reads one token at p and returns where the next one begins. */

SKIM_INLINE const char *skim_start_tag(const char *p, const char *end, const SkimReader *reader,
                                       void *context, HtmlTag *tag)
{
    HtmlSlice name = {.bytes = p, .length = 0};
    p = find_class(p + 1, end, SCAN_SPACE | SCAN_TAG_NAME_END);
    name.length = (size_t)(p - name.bytes);
    tag->key = html_name_key(name.bytes, name.length, (size_t)(end - name.bytes));
    tag->id = html_tag_of_key(tag->key);
    tag->present = 0;
    tag->self_closing = false;
    tag->attributes = p;
    if (p < end && *p == '>') {
        p++;
    } else {
        p = skim_attributes(p, end, reader->wanted(context, tag->id), tag);
        if (p == NULL) {
            return end; /* the text ends within the tag: it is none */
        }
    }
    HtmlTextMode mode = reader->start(context, tag);
    if (mode == HTML_TEXT_DATA) {
        return p;
    }
    const char *to = end;
    if (mode != HTML_TEXT_PLAINTEXT) {
        to = mode == HTML_TEXT_SCRIPT ? skim_script_end(p, end) : skim_raw_end(p, end, name);
    }
    reader->raw(context, tag, mode, p, to, to < end);
    return to;
}

SKIM_INLINE const char *skim_end_tag(const char *p, const char *end, const SkimReader *reader,
                                     void *context, HtmlTag *tag)
{
    const char *name = p;
    p = find_class(p + 1, end, SCAN_SPACE | SCAN_TAG_NAME_END);
    uint64_t key = html_name_key(name, (size_t)(p - name), (size_t)(end - name));
    if (p < end && *p == '>') {
        p++;
    } else {
        p = skim_attributes(p, end, 0, tag);
        if (p == NULL) {
            return end;
        }
    }
    reader->end(context, html_tag_of_key(key), key);
    return p;
}

/* The byte behind the next ">"; without one the end, or NULL when more text may come. */
static inline const char *skim_past_bracket(const char *p, const char *end, bool more)
{
    const char *none = more ? NULL : end;
    p = find_byte(p, end, '>');
    return p == end ? none : p + 1;
}

/* p is behind "<!": a comment, a CDATA section or something to be passed over. NULL: more text may
 * come, and this ends within it. */
SKIM_INLINE const char *skim_declaration(const char *p, const char *end, const SkimReader *reader,
                                         void *context, bool more)
{
    static const char cdata[] = "[CDATA[";
    const size_t n = sizeof cdata - 1;
    size_t left = (size_t)(end - p);
    if (more && (left < 2 || (left < n && memcmp(p, cdata, left) == 0))) {
        return NULL;
    }
    if (skim_starts(p, end, "--", 2)) {
        const char *to = skim_comment_end(p + 2, end);
        return more && to == end ? NULL : to; /* at the end it may be none yet */
    }
    if (skim_starts(p, end, cdata, n) && reader->has_cdata(context)) {
        const char *from = p + n;
        const char *close = memmem(from, (size_t)(end - from), "]]>", 3);
        if (close == NULL && more) {
            return NULL;
        }
        reader->text(context, from, close == NULL ? end : close, false);
        return close == NULL ? end : close + 3;
    }
    return skim_past_bracket(p, end, more);
}

/* At a "<" that begins no tag of a name. NULL as above. */
SKIM_INLINE const char *skim_no_tag(const char *p, const char *end, const SkimReader *reader,
                                    void *context, bool more)
{
    char next = end - p > 1 ? p[1] : ' ';
    if (next == '!') {
        return skim_declaration(p + 2, end, reader, context, more);
    }
    /* "</>" is nothing, and "</1>" a comment of the bogus sort. */
    if (next == '?' || (next == '/' && end - p > 2)) {
        return skim_past_bracket(next == '?' ? p + 1 : p + 2, end, more);
    }
    reader->text(context, p, p + 1, true); /* just a "<" */
    return p + 1;
}

/* At a "<". */
SKIM_INLINE const char *skim_markup(const char *p, const char *end, const SkimReader *reader,
                                    void *context, HtmlTag *tag)
{
    if (end - p > 1 && (scan_class(p[1]) & SCAN_LETTER) != 0) {
        return skim_start_tag(p + 1, end, reader, context, tag);
    }
    if (end - p > 2 && p[1] == '/' && (scan_class(p[2]) & SCAN_LETTER) != 0) {
        return skim_end_tag(p + 2, end, reader, context, tag);
    }
    return skim_no_tag(p, end, reader, context, false);
}

/* Reads a whole text. */
SKIM_INLINE void skim_tokens(const char *text, size_t length, const SkimReader *reader,
                             void *context)
{
    HtmlTag tag;
    tag.transient = false;
    const char *p = text;
    const char *end = text + length;
    while (p < end) {
        const char *next = find_byte(p, end, '<');
        if (next > p) {
            reader->text(context, p, next, true);
        }
        p = next < end ? skim_markup(next, end, reader, context, &tag) : end;
    }
}
