#include "parse/html/skim_stream.h"

#include <assert.h>

#include "base/core/bounds.h"

/* A stream is always in one place (SkimPlace), which says what the front of its window belongs to.
 * Short tokens know two of them: skim_step reads a token in AT_TOKEN, and tell_tag goes to AT_RAW
 * behind a start tag whose text is no markup, from where skim_step_read_raw comes back.
 *
 * The other places are of tokens that a full window does not end. cut_markup tells which it is:
 * a comment, a declaration and a CDATA section stay where they are until skim_step finds their end;
 * a tag goes to AT_NAME, then through AT_ATTRIBUTES and, for an attribute that is too long itself,
 * AT_VALUE, until tell_tag is called for it as for any other. cut_raw leaves the place alone and
 * notes that a part is gone (is_cut).
 *
 * A step either tells one token or nothing: where it returns NULL the window is as it was, so that
 * the same bytes are read again, once there are twice as many (need). That is why the time is
 * linear although a token may be looked at more than once. */

/* ---- tags ---- */

/* Each step below reads a token at p: where the next one begins, or NULL when the window ends
 * within the token. */

/* The tag is complete; its name has no more than s->name holds when raw text may follow. */
static const char *tell_tag(SkimStream *s, const char *p, HtmlSlice name)
{
    s->place = SKIM_AT_TOKEN;
    if (s->is_end_tag) {
        s->reader->end(s->context, s->tag.id, s->tag.key);
        return p;
    }
    s->tag_name = name;
    HtmlTextMode mode = s->reader->start(s->context, &s->tag);
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

/* Reads attributes of that tag as far as they are complete. Returns the end of the tag; NULL: the
 * window ends before it, and *reached is where the attribute begins that is not complete. */
static const char *skim_step_attributes(SkimStream *s, const char *p, const char *end,
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

/* The tag that the stream is at gets its name. */
static void skim_step_name(SkimStream *s, HtmlSlice name, const char *end, bool is_end_tag)
{
    s->tag.key = html_name_key(name.bytes, name.length, (size_t)(end - name.bytes));
    s->tag.id = html_tag_of_key(s->tag.key);
    s->tag.present = 0;
    s->tag.self_closing = false;
    s->tag.attributes = NULL;
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
    s->tag.attributes = p;
    const char *reached = p;
    p = skim_step_attributes(s, p, end, &reached);
    return p == NULL ? NULL : tell_tag(s, p, name);
}

/* ---- other markup ---- */

/* At a "<". */
static const char *read_markup(SkimStream *s, const char *p, const char *end)
{
    if (end - p < 3) {
        return NULL;
    }
    if ((scan_class(p[1]) & SCAN_LETTER) != 0) {
        return read_tag(s, p + 1, end, false);
    }
    if (p[1] == '/' && (scan_class(p[2]) & SCAN_LETTER) != 0) {
        return read_tag(s, p + 2, end, true);
    }
    return skim_no_tag(p, end, s->reader, s->context, true);
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

/* Tells raw text or a part of it; not of scripts and style sheets of which a part is gone. */
static void skim_step_tell_raw(SkimStream *s, const char *from, const char *to, bool ended)
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

/* Reads what is at p, which depends on the stream's place. Returns where the next token begins, or
 * NULL when the window ends within this one: then nothing was told. */
static const char *skim_step(SkimStream *s, const char *p, const char *end)
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
        p = skim_past_bracket(p, end, true);
        s->place = p == NULL ? SKIM_AT_DECLARATION : SKIM_AT_TOKEN;
        return p;
    case SKIM_AT_CDATA:
        return read_cdata(s, p, end);
    }
    return NULL;
}

/* ---- The tokenizer of HTML text that comes in pieces ---- */

#define LOOK_BACK  ((size_t)3)  /* bytes before a place that tell whether a ">" ends a comment */
#define LOOK_AHEAD ((size_t)16) /* an end tag of raw text, with what must follow its name */

void skim_stream_init(SkimStream *stream, const SkimReader *reader, void *context)
{
    memset(stream, 0, sizeof *stream);
    stream->reader = reader;
    stream->context = context;
    buffer_init(&stream->window, BUFFER_NO_LIMIT);
    buffer_init(&stream->held, BUFFER_NO_LIMIT);
}

void skim_stream_destroy(SkimStream *stream)
{
    buffer_destroy(&stream->window);
    buffer_destroy(&stream->held);
}

void skim_stream_begin(SkimStream *stream, size_t longest, bool is_xml)
{
    stream->longest = longest == 0 ? SKIM_STREAM_LONGEST : longest;
    stream->is_xml = is_xml;
    stream->need = 0;
    stream->place = SKIM_AT_TOKEN;
    stream->behind = 0;
    stream->is_cut = false;
    buffer_reset(&stream->window);
    buffer_reset(&stream->held);
    memset(&stream->tag, 0, sizeof stream->tag);
    stream->tag.transient = true;
}

/* ---- long tokens ---- */

/* Values that lie in the window are copied out of it. False: without memory, they are gone. */
static bool hold_values(SkimStream *s)
{
    Buffer held = {.limit = BUFFER_NO_LIMIT};
    size_t starts[HTML_ATTRS];
    bool ok = true;
    for (size_t i = 0; i < HTML_ATTRS; i++) {
        if (html_tag_has(&s->tag, (HtmlAttributeId)i)) {
            starts[i] = held.length;
            ok = ok &&
                 buffer_append(&held, s->tag.values[i].bytes, s->tag.values[i].length) == RESULT_OK;
        }
    }
    for (size_t i = 0; i < HTML_ATTRS && ok; i++) {
        if (html_tag_has(&s->tag, (HtmlAttributeId)i)) {
            s->tag.values[i].bytes = buffer_string(&held) + starts[i];
        }
    }
    s->tag.present = ok ? s->tag.present : 0;
    buffer_destroy(&s->held);
    s->held = held;
    return ok;
}

/* p is behind the name, or at an attribute of a tag that was cut before. Values that are complete
 * and not absurdly long together are kept. */
static const char *cut_tag(SkimStream *s, const char *p, const char *end)
{
    const char *reached = p;
    if (skim_step_attributes(s, p, end, &reached) == NULL && reached == p) {
        /* The attribute at p is longer than the window: what of it is read on with. */
        p = skip_class(p, end, SCAN_SPACE);
        p = p < end ? find_class(p + 1, end, SCAN_NAME_END) : end;
        s->place = p == end ? SKIM_AT_NAME : SKIM_AT_ATTRIBUTES;
        p = skip_class(p, end, SCAN_SPACE);
        if (p < end && *p == '=') {
            p = skip_class(p + 1, end, SCAN_SPACE);
            s->place = SKIM_AT_VALUE;
            s->quote = '\0';
            if (p < end && (*p == '"' || *p == '\'')) {
                s->quote = *p;
            }
        }
        return end;
    }
    if (s->held.length > 4 * s->longest) {
        s->tag.present = 0; /* an attack: it has no values */
    }
    (void)hold_values(s);
    s->place = SKIM_AT_ATTRIBUTES;
    return reached;
}

/* A token at "<" that is longer than may wait. */
static const char *cut_markup(SkimStream *s, const char *p, const char *end)
{
    bool is_end_tag = p[1] == '/' && (scan_class(p[2]) & SCAN_LETTER) != 0;
    if (is_end_tag || (scan_class(p[1]) & SCAN_LETTER) != 0) {
        HtmlSlice name = {.bytes = p + (is_end_tag ? 2 : 1), .length = 0};
        p = find_class(name.bytes, end, SCAN_SPACE | SCAN_TAG_NAME_END);
        name.length = (size_t)(p - name.bytes);
        skim_step_name(s, name, end, is_end_tag);
        s->name_length = name.length < sizeof s->name ? name.length : sizeof s->name;
        memcpy(s->name, name.bytes, s->name_length);
        buffer_reset(&s->held);
        s->place = SKIM_AT_NAME;
        return p == end ? end : cut_tag(s, p, end);
    }
    if (skim_starts(p, end, "<!--", 4)) {
        s->place = SKIM_AT_COMMENT;
        return end;
    }
    if (skim_starts(p, end, "<![CDATA[", 9) && s->reader->has_cdata(s->context)) {
        s->reader->text(s->context, p + 9, end - 2, false);
        s->place = SKIM_AT_CDATA;
        return end - 2;
    }
    s->place = SKIM_AT_DECLARATION;
    return end;
}

static const char *cut_raw(SkimStream *s, const char *p, const char *end)
{
    const char *limit = end - LOOK_AHEAD;
    if (s->mode == HTML_TEXT_SCRIPT) {
        if (!s->is_cut) {
            s->script = (SkimScript){.state = SKIM_SCRIPT_PLAIN, .dashes = p};
        } else {
            s->script.dashes = p - s->behind;
        }
        limit = skim_script_scan(&s->script, p, limit, end);
    }
    s->is_cut = true;
    if (s->mode != HTML_TEXT_SCRIPT) {
        skim_step_tell_raw(s, p, limit, true);
    }
    return limit;
}

/* The window is full, and what is at p has no end in it. Returns where to go on; always beyond p.
 */
static const char *cut_token(SkimStream *s, const char *p, const char *end)
{
    assert(p != NULL); /* a full window is not empty */
    switch (s->place) {
    case SKIM_AT_TOKEN:
        if (*p == '<') {
            return cut_markup(s, p, end);
        }
        s->reader->text(s->context, p, end, true);
        return end;
    case SKIM_AT_RAW:
        return cut_raw(s, p, end);
    case SKIM_AT_ATTRIBUTES:
        return cut_tag(s, p, end);
    case SKIM_AT_CDATA:
        s->reader->text(s->context, p, end - 2, false);
        return end - 2;
    case SKIM_AT_NAME:
    case SKIM_AT_VALUE:
    case SKIM_AT_COMMENT:
    case SKIM_AT_DECLARATION:
        break;
    }
    return end;
}

static bool looks_back(const SkimStream *s)
{
    return s->place == SKIM_AT_COMMENT ||
           (s->place == SKIM_AT_RAW && s->is_cut && s->mode == HTML_TEXT_SCRIPT);
}

/* Whether a place has nothing to remember of the bytes that it passes over. */
static bool is_passing(SkimPlace place)
{
    return place == SKIM_AT_NAME || place == SKIM_AT_VALUE || place == SKIM_AT_COMMENT ||
           place == SKIM_AT_DECLARATION;
}

/* What was read leaves the window, but for what is looked back at: a ">" ends a comment, and may
 * end the escape of a script, by what stands before it, which may have come with another piece. */
static void skim_stream_forget(SkimStream *s, const char *p)
{
    size_t done = (size_t)(p - s->window.data);
    s->behind = bounds_size(done, 0, looks_back(s) ? LOOK_BACK : 0);
    done -= s->behind;
    if (done > 0) {
        assert(s->window.data != NULL);
        memmove(s->window.data, s->window.data + done, s->window.length - done);
        s->window.length -= done;
        s->window.data[s->window.length] = '\0';
    }
}

/* Reads the window as far as tokens are complete. */
static void read_window(SkimStream *s)
{
    const char *p = s->window.data + s->behind;
    const char *end = s->window.data + s->window.length;
    while (p < end) {
        const char *next = skim_step(s, p, end);
        if (next == NULL && ((size_t)(end - p) >= s->longest || is_passing(s->place))) {
            next = cut_token(s, p, end);
        }
        if (next == NULL) {
            break;
        }
        s->behind = looks_back(s) && (size_t)(next - s->window.data) >= LOOK_BACK ? LOOK_BACK : 0;
        p = next;
    }
    /* So that a long token is not read again with each piece, but each time it is twice as long. */
    s->need = 2 * (size_t)(end - p);
    s->need = s->need < s->longest ? s->need : s->longest;
    skim_stream_forget(s, p);
    s->need += s->behind;
}

Result skim_stream_feed(SkimStream *stream, const char *text, size_t length)
{
    while (length > 0) {
        size_t n = length < SKIM_STREAM_PIECE ? length : SKIM_STREAM_PIECE;
        Result rc = buffer_append(&stream->window, text, n);
        if (rc != RESULT_OK) {
            return rc;
        }
        if (stream->window.length >= stream->need) {
            read_window(stream);
        }
        text += n;
        length -= n;
    }
    return RESULT_OK;
}

bool skim_stream_end(SkimStream *s)
{
    bool is_in_tag = false;
    if (s->window.length > s->behind) {
        read_window(s); /* it may have waited for more */
    }
    const char *p = buffer_string(&s->window) + s->behind;
    const char *end = buffer_string(&s->window) + s->window.length;
    switch (s->place) {
    case SKIM_AT_TOKEN:
        if (p < end) { /* one token at most, which the text ends within */
            is_in_tag =
                *p == '<' && (end - p == 1 || p[1] == '/' || (scan_class(p[1]) & SCAN_LETTER) != 0);
            skim_tokens(p, (size_t)(end - p), s->reader, s->context);
        }
        break;
    case SKIM_AT_RAW:
        skim_step_tell_raw(s, p, end, false);
        break;
    case SKIM_AT_CDATA:
        s->reader->text(s->context, p, end, false);
        break;
    case SKIM_AT_ATTRIBUTES:
    case SKIM_AT_NAME:
    case SKIM_AT_VALUE:
    case SKIM_AT_COMMENT:
    case SKIM_AT_DECLARATION:
        break;
    }
    skim_stream_begin(s, s->longest, s->is_xml);
    return is_in_tag;
}
