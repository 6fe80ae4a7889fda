#include "parse/html/skim_step.h"

#include "parse/text/skim_scan.h"

/* ---- tags ---- */

/* Each step below reads a token at p: where the next one begins, or NULL when the window ends
 * within the token. */

static const char *begin_raw(SkimStream *s, const char *p, HtmlTextMode mode, HtmlSlice name)
{
    bool is_empty = s->is_xml && s->tag.self_closing;
    if (mode != HTML_TEXT_DATA && !is_empty) {
        s->place = SKIM_AT_RAW;
        s->mode = mode;
        s->name_length = name.length < sizeof s->name ? name.length : sizeof s->name;
        memcpy(s->name, name.bytes, s->name_length);
        s->is_cut = false;
    }
    return p;
}

/* The tag is complete; its name has no more than s->name holds when raw text may follow. */
static const char *tell_tag(SkimStream *s, const char *p, HtmlSlice name)
{
    s->place = SKIM_AT_TOKEN;
    if (s->is_end_tag) {
        s->reader->end(s->context, s->tag.id, s->tag.key);
        return p;
    }
    HtmlTextMode mode = s->reader->start(s->context, &s->tag);
    return begin_raw(s, p, mode, name);
}

/* Reads attributes as far as they are complete. NULL: the window ends before the tag; *reached is
 * where the attribute begins that is not complete. */
const char *skim_step_attributes(SkimStream *s, const char *p, const char *end,
                                 const char **reached)
{
    uint32_t wanted = s->is_end_tag ? 0 : s->reader->wanted(s->context, s->tag.id);
    bool over = false;
    while (!over) {
        *reached = p;
        p = skim_attribute(p, end, wanted, &s->tag, &over);
        if (p == NULL || (p == end && !over)) {
            return NULL; /* at the end a "/" may have a ">" behind it */
        }
    }
    return p;
}

void skim_step_name(SkimStream *s, HtmlSlice name, const char *end, bool is_end_tag)
{
    s->tag.key = html_name_key(name.bytes, name.length, (size_t)(end - name.bytes));
    s->tag.id = html_tag_of_key(s->tag.key);
    s->tag.present = 0;
    s->tag.self_closing = false;
    s->is_end_tag = is_end_tag;
}

/* p is at the name. */
static const char *read_tag(SkimStream *s, const char *p, const char *end, bool is_end_tag)
{
    HtmlSlice name = {.bytes = p, .length = 0};
    p = find_class(p + 1, end, SCAN_SPACE | SCAN_TAG_NAME_END);
    if (p == end) {
        return NULL;
    }
    name.length = (size_t)(p - name.bytes);
    skim_step_name(s, name, end, is_end_tag);
    const char *reached = p;
    p = skim_step_attributes(s, p, end, &reached);
    return p == NULL ? NULL : tell_tag(s, p, name);
}

/* ---- other markup ---- */

static const char *past(const char *p, const char *end, char c)
{
    p = find_byte(p, end, c);
    return p == end ? NULL : p + 1;
}

/* p is behind "<!". */
static const char *read_declaration(SkimStream *s, const char *p, const char *end)
{
    static const char cdata[] = "[CDATA[";
    size_t left = (size_t)(end - p);
    size_t n = left < sizeof cdata - 1 ? left : sizeof cdata - 1;
    if (left < 2 || (n < sizeof cdata - 1 && memcmp(p, cdata, n) == 0)) {
        return NULL;
    }
    if (memcmp(p, "--", 2) == 0) {
        const char *to = skim_comment_end(p + 2, end);
        return to == end ? NULL : to; /* at the end it may be none yet */
    }
    if (n == sizeof cdata - 1 && memcmp(p, cdata, n) == 0 && s->reader->has_cdata(s->context)) {
        const char *close = memmem(p + n, left - n, "]]>", 3);
        if (close == NULL) {
            return NULL;
        }
        s->reader->text(s->context, p + n, close, false);
        return close + 3;
    }
    return past(p, end, '>');
}

/* At a "<". */
static const char *read_markup(SkimStream *s, const char *p, const char *end)
{
    if (end - p < 3) {
        return NULL;
    }
    if ((scan_class(p[1]) & SCAN_LETTER) != 0) {
        return read_tag(s, p + 1, end, false);
    }
    if (p[1] == '/') {
        return (scan_class(p[2]) & SCAN_LETTER) != 0 ? read_tag(s, p + 2, end, true)
                                                     : past(p + 2, end, '>');
    }
    if (p[1] == '!') {
        return read_declaration(s, p + 2, end);
    }
    if (p[1] == '?') {
        return past(p + 1, end, '>');
    }
    s->reader->text(s->context, p, p + 1, false);
    return p + 1;
}

/* Where text may be cut: not within a character reference. */
static const char *cut_of_text(const char *p, const char *end)
{
    const char *amp = memrchr(p, '&', (size_t)(end - p));
    if (amp == NULL) {
        return end;
    }
    for (const char *q = amp + 1; q < end; q++) {
        bool is_part = (scan_class(*q) & SCAN_LETTER) != 0 || (*q >= '0' && *q <= '9') || *q == '#';
        if (!is_part) {
            return end;
        }
    }
    return amp;
}

static const char *skim_step_read_token(SkimStream *s, const char *p, const char *end)
{
    if (*p == '<') {
        return read_markup(s, p, end);
    }
    const char *next = find_byte(p, end, '<');
    next = next == end ? cut_of_text(p, end) : next;
    if (next == p) {
        return NULL;
    }
    s->reader->text(s->context, p, next, true);
    return next;
}

/* ---- raw text ---- */

/* Whether the rest of raw text says something although a part of it is gone. */
static bool is_told_in_parts(const SkimStream *s)
{
    return s->mode != HTML_TEXT_SCRIPT && s->tag.id != HTML_STYLE;
}

void skim_step_tell_raw(SkimStream *s, const char *from, const char *to, bool ended)
{
    if (!s->is_cut || is_told_in_parts(s)) {
        s->reader->raw(s->context, &s->tag, s->mode, from, to, ended);
    }
}

static const char *skim_step_read_raw(SkimStream *s, const char *p, const char *end)
{
    const char *to = end;
    if (s->mode == HTML_TEXT_PLAINTEXT) {
        skim_step_tell_raw(s, p, end, false);
        return end;
    }
    if (s->mode == HTML_TEXT_SCRIPT && s->is_cut) {
        SkimScript script = {.state = s->script.state, .dashes = p - s->behind};
        to = skim_script_scan(&script, p, end, end);
    } else if (s->mode == HTML_TEXT_SCRIPT) {
        to = skim_script_end(p, end);
    } else {
        to = skim_raw_end(p, end, (HtmlSlice){.bytes = s->name, .length = s->name_length});
    }
    if (to == end) {
        return NULL;
    }
    skim_step_tell_raw(s, p, to, true);
    s->place = SKIM_AT_TOKEN;
    return to;
}

/* ---- long tokens ---- */

static const char *skim_step_read_value(SkimStream *s, const char *p, const char *end)
{
    p = s->quote != 0 ? find_byte(p, end, s->quote) : find_class(p, end, SCAN_VALUE_END);
    if (p == end) {
        return NULL;
    }
    s->place = SKIM_AT_ATTRIBUTES;
    return s->quote != 0 ? p + 1 : p;
}

/* The window begins within the tag; what its present values were is held. */
static const char *read_long_tag(SkimStream *s, const char *p, const char *end)
{
    HtmlTag before = s->tag;
    const char *reached = p;
    p = skim_step_attributes(s, p, end, &reached);
    if (p == NULL) {
        s->tag = before;
        return NULL;
    }
    return tell_tag(s, p, (HtmlSlice){.bytes = s->name, .length = s->name_length});
}

static const char *read_cdata(SkimStream *s, const char *p, const char *end)
{
    const char *close = memmem(p, (size_t)(end - p), "]]>", 3);
    if (close == NULL) {
        return NULL;
    }
    s->reader->text(s->context, p, close, false);
    s->place = SKIM_AT_TOKEN;
    return close + 3;
}

static const char *end_of_comment(SkimStream *s, const char *p, const char *end)
{
    /* Those bytes belong to the comment; so "<!-->" cannot begin here. */
    const char *from = p - s->behind;
    const char *to = p;
    do {
        to = find_byte(to, end, '>');
        if (to == end) {
            return NULL;
        }
        to++;
    } while (!((to - from >= 3 && memcmp(to - 3, "-->", 3) == 0) ||
               (to - from >= 4 && memcmp(to - 4, "--!>", 4) == 0)));
    s->place = SKIM_AT_TOKEN;
    return to;
}

const char *skim_step(SkimStream *s, const char *p, const char *end)
{
    switch (s->place) {
    case SKIM_AT_TOKEN:
        return skim_step_read_token(s, p, end);
    case SKIM_AT_RAW:
        return skim_step_read_raw(s, p, end);
    case SKIM_AT_ATTRIBUTES:
        return read_long_tag(s, p, end);
    case SKIM_AT_NAME:
        p = find_class(p, end, SCAN_NAME_END);
        s->place = p == end ? SKIM_AT_NAME : SKIM_AT_ATTRIBUTES;
        return p == end ? NULL : p;
    case SKIM_AT_VALUE:
        return skim_step_read_value(s, p, end);
    case SKIM_AT_COMMENT:
        return end_of_comment(s, p, end);
    case SKIM_AT_DECLARATION:
        p = past(p, end, '>');
        s->place = p == NULL ? SKIM_AT_DECLARATION : SKIM_AT_TOKEN;
        return p;
    case SKIM_AT_CDATA:
        return read_cdata(s, p, end);
    }
    return NULL;
}
