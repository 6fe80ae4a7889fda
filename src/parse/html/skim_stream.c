#include "parse/html/skim_stream.h"

#include "parse/html/skim_step.h"
#include "parse/text/skim_scan.h"

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
    Buffer held;
    size_t starts[HTML_ATTRS];
    bool ok = true;
    buffer_init(&held, BUFFER_NO_LIMIT);
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

/* The attribute at p is longer than the window: what of it is read on with. */
static const char *cut_attribute(SkimStream *s, const char *p, const char *end)
{
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

/* p is behind the name, or at an attribute of a tag that was cut before. Values that are complete
 * and not absurdly long together are kept. */
static const char *cut_tag(SkimStream *s, const char *p, const char *end)
{
    const char *reached = p;
    if (skim_step_attributes(s, p, end, &reached) == NULL && reached == p) {
        return cut_attribute(s, p, end);
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

/* What was read leaves the window, but for what is looked back at. */
static void skim_stream_forget(SkimStream *s, const char *p)
{
    size_t done = (size_t)(p - s->window.data);
    s->behind = !looks_back(s) ? 0 : done < LOOK_BACK ? done : LOOK_BACK;
    done -= s->behind;
    if (done > 0) {
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

static Result skim_stream_feed_piece(SkimStream *s, const char *text, size_t length)
{
    Result rc = buffer_append(&s->window, text, length);
    if (rc == RESULT_OK && s->window.length >= s->need && s->window.length > 0) {
        read_window(s);
    }
    return rc;
}

Result skim_stream_feed(SkimStream *stream, const char *text, size_t length)
{
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && length > 0) {
        size_t n = length < SKIM_STREAM_PIECE ? length : SKIM_STREAM_PIECE;
        rc = skim_stream_feed_piece(stream, text, n);
        text += n;
        length -= n;
    }
    return rc;
}

void skim_stream_end(SkimStream *s)
{
    if (s->window.length > s->behind) {
        read_window(s); /* it may have waited for more */
    }
    const char *p = buffer_string(&s->window) + s->behind;
    const char *end = buffer_string(&s->window) + s->window.length;
    switch (s->place) {
    case SKIM_AT_TOKEN:
        if (p < end) { /* one token at most, which the text ends within */
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
}
