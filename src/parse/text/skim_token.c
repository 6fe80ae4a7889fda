#include "parse/text/skim_token.h"

#include <strings.h>

/* ---- attributes ---- */

static void keep_attribute(HtmlTag *tag, uint32_t wanted, HtmlSlice name, HtmlSlice value,
                           const char *end)
{
    uint64_t key = html_name_key(name.bytes, name.length, (size_t)(end - name.bytes));
    HtmlAttributeId id = html_attribute_of_key(key);
    if (id == HTML_ATTRS || (wanted >> id & 1) == 0 || html_tag_has(tag, id)) {
        return;
    }
    tag->present |= UINT32_C(1) << id;
    tag->values[id] = value;
}

/* Inlined into both of its callers: most tags have attributes. */
SKIM_INLINE const char *skim_token_read_attribute(const char *p, const char *end, HtmlTag *tag,
                                                  HtmlSlice *name, HtmlSlice *value, bool *over)
{
    *over = false;
    name->length = 0;
    p = skip_class(p, end, SCAN_SPACE);
    if (p == end) {
        return NULL;
    }
    if (*p == '>') {
        *over = true;
        return p + 1;
    }
    if (*p == '/') {
        p++;
        tag->self_closing = p < end && *p == '>';
        return p;
    }
    name->bytes = p;
    p = find_class(p + 1, end, SCAN_NAME_END); /* a leading "=" belongs to the name */
    name->length = (size_t)(p - name->bytes);
    p = skip_class(p, end, SCAN_SPACE);
    *value = (HtmlSlice){.bytes = p, .length = 0};
    if (p < end && *p == '=') {
        p = skip_class(p + 1, end, SCAN_SPACE);
        if (p == end) {
            return NULL;
        }
        if (*p == '"' || *p == '\'') {
            value->bytes = p + 1;
            p = find_byte(p + 1, end, *p);
            value->length = (size_t)(p - value->bytes);
            if (p == end) {
                return NULL;
            }
            p++;
        } else {
            value->bytes = p;
            p = find_class(p, end, SCAN_VALUE_END);
            value->length = (size_t)(p - value->bytes);
        }
    }
    return p == end ? NULL : p; /* the text ends within the tag */
}

SKIM_INLINE const char *skim_token_take_attribute(const char *p, const char *end, uint32_t wanted,
                                                  HtmlTag *tag, bool *over)
{
    HtmlSlice name;
    HtmlSlice value;
    p = skim_token_read_attribute(p, end, tag, &name, &value, over);
    if (p != NULL && name.length > 0 && wanted != 0) {
        keep_attribute(tag, wanted, name, value, end);
    }
    return p;
}

const char *skim_attribute(const char *p, const char *end, uint32_t wanted, HtmlTag *tag,
                           bool *over)
{
    return skim_token_take_attribute(p, end, wanted, tag, over);
}

const char *skim_attributes(const char *p, const char *end, uint32_t wanted, HtmlTag *tag)
{
    bool over = false;
    while (p != NULL && !over) {
        p = skim_token_take_attribute(p, end, wanted, tag, &over);
    }
    return p;
}

bool skim_find_attribute(const char *p, const char *end, HtmlSlice name, HtmlSlice *value)
{
    HtmlTag tag;
    HtmlSlice found = {0};
    bool over = false;
    while (p != NULL && !over) {
        p = skim_token_read_attribute(p, end, &tag, &found, value, &over);
        if (p != NULL && found.length == name.length && name.length > 0 &&
            strncasecmp(found.bytes, name.bytes, name.length) == 0) {
            return true;
        }
    }
    return false;
}

bool skim_value(const char *attributes, const char *end, const char *name, HtmlSlice *value)
{
    HtmlSlice wanted = {.bytes = name, .length = strlen(name)};
    if (attributes != NULL && skim_find_attribute(attributes, end, wanted, value)) {
        return true;
    }
    *value = (HtmlSlice){.bytes = ""};
    return false;
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

const char *skim_raw_end(const char *p, const char *end, HtmlSlice name)
{
    for (;; p++) {
        p = find_byte(p, end, '<');
        if (p == end || is_end_tag(p, end, name.bytes, name.length)) {
            return p;
        }
    }
}

const char *skim_script_scan(SkimScript *script, const char *p, const char *limit, const char *end)
{
    while (p < limit) {
        if (script->state == SKIM_SCRIPT_PLAIN) {
            p = find_byte(p, end, '<');
            if (p >= limit || is_end_tag(p, end, "script", 6)) {
                break;
            }
            if (skim_starts(p, end, "<!--", 4)) {
                script->state = SKIM_SCRIPT_ESCAPED;
                script->dashes = p + 2; /* those that opened the escape may also close it */
                p += 3;
            }
        } else if (*p == '>') {
            if (p - script->dashes >= 2 && p[-1] == '-' && p[-2] == '-') {
                script->state = SKIM_SCRIPT_PLAIN;
            }
        } else if (*p == '<') {
            bool is_end = is_end_tag(p, end, "script", 6);
            if (is_end && script->state == SKIM_SCRIPT_ESCAPED) {
                break;
            }
            if (is_end) {
                script->state = SKIM_SCRIPT_ESCAPED;
                script->dashes = p;
            } else if (script->state == SKIM_SCRIPT_ESCAPED && end - p > 7 &&
                       strncasecmp(p + 1, "script", 6) == 0 &&
                       (scan_class(p[7]) & (SCAN_SPACE | SCAN_TAG_NAME_END)) != 0) {
                script->state = SKIM_SCRIPT_DOUBLE;
                script->dashes = p;
            }
        }
        p++;
    }
    return p < end ? p : end;
}

const char *skim_script_end(const char *p, const char *end)
{
    SkimScript script = {.state = SKIM_SCRIPT_PLAIN, .dashes = p};
    return skim_script_scan(&script, p, end, end);
}

/* ---- comments ---- */

const char *skim_comment_end(const char *p, const char *end)
{
    if (skim_starts(p, end, ">", 1)) {
        return p + 1;
    }
    if (skim_starts(p, end, "->", 2)) {
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
