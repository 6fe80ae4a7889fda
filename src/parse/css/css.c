#include "parse/css/css.h"

#include <string.h>

#include "base/core/ascii.h"
#include "base/memory/base64.h"

#define WORD_LIMIT  65536u /* bytes of a reference with escapes */
#define STACK_DEPTH 32u    /* functions and brackets within each other; deeper ones are plain */

typedef enum CssPlace {
    PLACE_PLAIN,  /* no string here is a reference */
    PLACE_URL,    /* url(" or src(": the first string is */
    PLACE_STRINGS /* image-set(": every string is */
} CssPlace;

typedef enum CssRule {
    RULE_NONE,
    RULE_IMPORT, /* @import: a string or url( comes next */
    RULE_NOTHING /* @namespace, an import too late: up to its end nothing is a reference */
} CssRule;

typedef struct Css {
    const char *p;
    const char *end;
    CssReader *reader;
    CssSink sink;
    void *context;
    bool imports; /* still allowed */
    CssRule rule;
    size_t depth;    /* of stack */
    size_t too_deep; /* brackets beyond it */
    uint8_t stack[STACK_DEPTH];
    Result result; /* of the sink */
} Css;

void css_reader_init(CssReader *reader)
{
    buffer_init(&reader->word, WORD_LIMIT);
}

void css_reader_destroy(CssReader *reader)
{
    buffer_destroy(&reader->word);
}

/* ---- characters ---- */

static bool is_newline(char c)
{
    return c == '\n' || c == '\r' || c == '\f';
}

static bool begins_name(char c)
{
    return ascii_is_letter(c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_name(char c)
{
    return begins_name(c) || ascii_is_digit(c) || c == '-';
}

/* A backslash that is an escape: not at the end, and not before a newline. */
static bool css_is_escape(const Css *css, const char *p)
{
    return *p == '\\' && p + 1 < css->end && !is_newline(p[1]);
}

static const char *behind_newline(const char *p, const char *end)
{
    return p + (*p == '\r' && p + 1 < end && p[1] == '\n' ? 2 : 1);
}

const char *css_unescape(const char *p, const char *end, Buffer *out)
{
    uint32_t c = 0;
    int digits = 0;
    p++;
    while (digits < 6 && p < end && hex_value(*p) >= 0) {
        c = c << 4 | (uint32_t)hex_value(*p++);
        digits++;
    }
    if (digits == 0) {
        (void)buffer_append_char(out, *p);
        return p + 1;
    }
    bool is_none = c == 0 || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF);
    (void)buffer_append_code_point(out, is_none ? 0xFFFD : c);
    return p < end && ascii_is_space(*p) ? behind_newline(p, end) : p;
}

/* ---- text that is a reference ---- */

/* A run of text: in place as long as it has no escape. */
typedef struct CssText {
    const char *start;
    bool is_scratch; /* it is in the reader's buffer, from there on */
} CssText;

static void move_to_scratch(const Css *css, CssText *text)
{
    Buffer *word = &css->reader->word;
    if (!text->is_scratch) {
        text->is_scratch = true;
        buffer_reset(word);
        (void)buffer_append(word, text->start, (size_t)(css->p - text->start));
    }
}

/* A character, or an escape. */
static void take_text_char(Css *css, CssText *text)
{
    if (css_is_escape(css, css->p)) {
        move_to_scratch(css, text);
        css->p = css_unescape(css->p, css->end, &css->reader->word);
        return;
    }
    char c = *css->p++;
    if (text->is_scratch) {
        (void)buffer_append_char(&css->reader->word, c);
    }
}

/* Hands a reference over that ends at `end` when it is in place. What is too long for the buffer
 * was no URL. */
static void css_give(Css *css, const CssText *text, const char *end)
{
    const Buffer *word = &css->reader->word;
    const char *bytes = text->is_scratch ? buffer_string(word) : text->start;
    size_t length = text->is_scratch ? word->length : (size_t)(end - text->start);
    bool is_whole = !text->is_scratch || word->failed == RESULT_OK;
    if (is_whole && css->rule != RULE_NOTHING && length > 0 && bytes[0] != '#') {
        css->rule = RULE_NONE;
        css->result = css->sink(css->context, bytes, length, text->is_scratch);
    }
}

/* Whether a string at this place refers to something. */
static bool refers(const Css *css)
{
    return css->rule == RULE_IMPORT ||
           (css->too_deep == 0 && css->depth > 0 && css->stack[css->depth - 1] != PLACE_PLAIN);
}

/* p is behind the quote. */
static void take_string(Css *css, char quote)
{
    CssText text = {.start = css->p};
    while (css->p < css->end && *css->p != quote) {
        if (is_newline(*css->p)) {
            css->rule = RULE_NONE; /* a bad string: it is none */
            return;
        }
        if (*css->p == '\\' && !css_is_escape(css, css->p)) {
            /* before a newline both go; at the end the backslash goes */
            move_to_scratch(css, &text);
            css->p++;
            css->p = css->p < css->end ? behind_newline(css->p, css->end) : css->p;
        } else {
            take_text_char(css, &text);
        }
    }
    const char *end = css->p;
    css->p += css->p < css->end ? 1 : 0;
    if (!refers(css)) {
        return;
    }
    if (css->depth > 0 && css->too_deep == 0 && css->stack[css->depth - 1] == PLACE_URL) {
        css->stack[css->depth - 1] = PLACE_PLAIN; /* what follows it are modifiers */
    }
    css_give(css, &text, end);
}

/* Passes a bad url( up to its bracket. */
static void skip_bad_url(Css *css)
{
    while (css->p < css->end && *css->p != ')') {
        css->p += *css->p == '\\' && css->p + 1 < css->end ? 2 : 1;
    }
    css->p += css->p < css->end ? 1 : 0;
}

static void skip_spaces(Css *css)
{
    while (css->p < css->end && ascii_is_space(*css->p)) {
        css->p++;
    }
}

/* The rest of url(x) without quotes; p is at x. */
static void take_bare_url(Css *css)
{
    CssText text = {.start = css->p};
    while (css->p < css->end && *css->p != ')' && !ascii_is_space(*css->p)) {
        unsigned char c = (unsigned char)*css->p;
        if (c == '"' || c == '\'' || c == '(' || c < ' ' || c == 0x7f ||
            (c == '\\' && !css_is_escape(css, css->p))) {
            skip_bad_url(css);
            return;
        }
        take_text_char(css, &text);
    }
    const char *end = css->p;
    skip_spaces(css);
    if (css->p < css->end && *css->p != ')') {
        skip_bad_url(css);
        return;
    }
    css->p += css->p < css->end ? 1 : 0;
    css_give(css, &text, end);
}

/* ---- names ---- */

/* Whether a name begins at p: a letter, an escape, or a "-" before one of them or before "-". */
static bool is_name_start(const Css *css, const char *p)
{
    if (*p == '-' && p + 1 < css->end) {
        return p[1] == '-' || begins_name(p[1]) || css_is_escape(css, p + 1);
    }
    return begins_name(*p) || css_is_escape(css, p);
}

/* Reads a name into the buffer, as far as it may be one of ours. */
static void take_name(Css *css)
{
    Buffer *word = &css->reader->word;
    buffer_reset(word);
    while (css->p < css->end && (is_name(*css->p) || css_is_escape(css, css->p))) {
        if (word->length >= 64) {
            buffer_reset(word); /* no name that is asked for is so long */
            (void)buffer_append_char(word, '?');
        }
        if (*css->p == '\\') {
            css->p = css_unescape(css->p, css->end, word);
        } else {
            (void)buffer_append_char(word, *css->p++);
        }
    }
}

static bool name_is(const Css *css, const char *name)
{
    const Buffer *word = &css->reader->word;
    return ascii_is(buffer_string(word), word->length, name);
}

static void open_bracket(Css *css, CssPlace place)
{
    if (css->depth == STACK_DEPTH) {
        css->too_deep++;
    } else {
        css->stack[css->depth++] = (uint8_t)place;
    }
}

static void close_bracket(Css *css)
{
    if (css->too_deep > 0) {
        css->too_deep--;
    } else if (css->depth > 0) {
        css->depth--;
    }
}

static void take_at_word(Css *css)
{
    take_name(css);
    if (name_is(css, "import")) {
        css->rule = css->imports ? RULE_IMPORT : RULE_NOTHING;
    } else {
        css->rule = name_is(css, "namespace") ? RULE_NOTHING : RULE_NONE;
    }
}

/* ---- the whole ---- */

/* A number with its unit, or the name behind "#": no function begins within it. */
static void skip_name(Css *css)
{
    css->p++;
    while (css->p < css->end &&
           (is_name(*css->p) || *css->p == '.' || css_is_escape(css, css->p))) {
        css->p += *css->p == '\\' ? 2 : 1;
    }
}

static void take_mark(Css *css)
{
    char c = *css->p++;
    switch (c) {
    case '(':
        open_bracket(css, PLACE_PLAIN);
        break;
    case ')':
        close_bracket(css);
        break;
    case '{':
        css->imports = false;
        css->depth = 0; /* what was open stays open in the standard; here it ends */
        css->too_deep = 0;
        css->rule = RULE_NONE;
        break;
    case '}':
    case ';':
        css->depth = 0;
        css->too_deep = 0;
        css->rule = RULE_NONE;
        break;
    default:
        css->rule = css->rule == RULE_IMPORT ? RULE_NONE : css->rule;
        break;
    }
}

static void take_token(Css *css)
{
    char c = *css->p;
    bool more = css->p + 1 < css->end;
    if (ascii_is_space(c)) {
        skip_spaces(css);
    } else if (c == '/' && more && css->p[1] == '*') {
        const char *p = css->p + 2;
        while (p < css->end && (*p != '*' || p + 1 == css->end || p[1] != '/')) {
            const char *star = memchr(p + 1, '*', (size_t)(css->end - p - 1));
            p = star == NULL ? css->end : star;
        }
        css->p = css->end - p < 2 ? css->end : p + 2;
    } else if (c == '"' || c == '\'') {
        css->p++;
        take_string(css, c);
    } else if (c == '@' && more && is_name_start(css, css->p + 1)) {
        css->p++;
        take_at_word(css);
    } else if (ascii_is_digit(c) || c == '#') {
        skip_name(css);
    } else if (is_name_start(css, css->p)) {
        /* A name, and what it begins when "(" follows. */
        take_name(css);
        if (css->p == css->end || *css->p != '(') {
            css->rule = css->rule == RULE_IMPORT ? RULE_NONE : css->rule;
            return;
        }
        css->p++;
        if (name_is(css, "url")) {
            skip_spaces(css);
            if (css->p < css->end && *css->p != '"' && *css->p != '\'') {
                take_bare_url(css);
                return;
            }
            open_bracket(css, PLACE_URL);
        } else {
            bool set = name_is(css, "image-set") || name_is(css, "-webkit-image-set");
            CssPlace inside = set ? PLACE_STRINGS : PLACE_PLAIN;
            open_bracket(css, name_is(css, "src") ? PLACE_URL : inside);
        }
    } else {
        take_mark(css);
    }
}

Result css_read(CssReader *reader, const char *text, size_t length, bool imports, CssSink sink,
                void *context)
{
    if (length == 0) {
        return RESULT_OK;
    }
    Css css = {.p = text,
               .end = text + length,
               .reader = reader,
               .sink = sink,
               .context = context,
               .imports = imports};
    buffer_reset(&reader->word);
    while (css.result == RESULT_OK && css.p < css.end) {
        take_token(&css);
        css.result = reader->word.failed == RESULT_MEMORY ? RESULT_MEMORY : css.result;
    }
    return css.result;
}

const char *css_charset_label(const char *text, size_t length, size_t *label_length)
{
    static const char begin[] = "@charset \"";
    const size_t n = sizeof begin - 1;
    if (length <= n || memcmp(text, begin, n) != 0) {
        return NULL;
    }
    const char *end = memchr(text + n, '"', length - n);
    if (end == NULL || end + 1 == text + length || end[1] != ';') {
        return NULL;
    }
    *label_length = (size_t)(end - text) - n;
    return text + n;
}
