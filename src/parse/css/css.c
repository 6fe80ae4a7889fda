#include "parse/css/css.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

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

static bool css_is_space(char c)
{
    return c == ' ' || c == '\t' || is_newline(c);
}

static bool begins_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
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

static void skip_newline(Css *css)
{
    css->p += *css->p == '\r' && css->p + 1 < css->end && css->p[1] == '\n' ? 2 : 1;
}

/* Reads an escape; p is at its backslash. */
static Result take_escape(Css *css, Buffer *out)
{
    uint32_t c = 0;
    int digits = 0;
    css->p++;
    while (digits < 6 && css->p < css->end && hex_value(*css->p) >= 0) {
        c = c << 4 | (uint32_t)hex_value(*css->p++);
        digits++;
    }
    if (digits == 0) {
        return buffer_append_char(out, *css->p++);
    }
    if (css->p < css->end && is_newline(*css->p)) {
        skip_newline(css);
    } else if (css->p < css->end && css_is_space(*css->p)) {
        css->p++;
    }
    bool is_none = c == 0 || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF);
    return buffer_append_code_point(out, is_none ? 0xFFFD : c);
}

/* ---- text that is a reference ---- */

/* A run of text: in place as long as it has no escape. */
typedef struct CssText {
    const char *start;
    bool is_scratch; /* it is in the reader's buffer, from there on */
} CssText;

static Result move_to_scratch(Css *css, CssText *text)
{
    if (text->is_scratch) {
        return RESULT_OK;
    }
    text->is_scratch = true;
    buffer_reset(&css->reader->word);
    return buffer_append(&css->reader->word, text->start, (size_t)(css->p - text->start));
}

static Result take_text_escape(Css *css, CssText *text)
{
    Result rc = move_to_scratch(css, text);
    Result one = take_escape(css, &css->reader->word);
    return rc == RESULT_OK ? one : rc;
}

static Result take_text_char(Css *css, const CssText *text)
{
    char c = *css->p++;
    return text->is_scratch ? buffer_append_char(&css->reader->word, c) : RESULT_OK;
}

/* Hands a reference over that ends at `end` when it is in place. What is too long for the buffer
 * was no URL. */
static Result css_give(Css *css, const CssText *text, const char *end)
{
    const char *bytes = text->is_scratch ? buffer_string(&css->reader->word) : text->start;
    size_t length = text->is_scratch ? css->reader->word.length : (size_t)(end - text->start);
    if (css->rule == RULE_NOTHING || length == 0 || bytes[0] == '#') {
        return RESULT_OK;
    }
    css->rule = RULE_NONE;
    return css->sink(css->context, bytes, length, text->is_scratch);
}

/* Whether a string at this place refers to something. */
static bool refers(const Css *css)
{
    return css->rule == RULE_IMPORT ||
           (css->too_deep == 0 && css->depth > 0 && css->stack[css->depth - 1] != PLACE_PLAIN);
}

/* p is behind the quote. */
static Result take_string(Css *css, char quote)
{
    CssText text = {.start = css->p};
    Result rc = RESULT_OK;
    while (css->p < css->end && *css->p != quote) {
        Result one = RESULT_OK;
        if (is_newline(*css->p)) {
            css->rule = RULE_NONE; /* a bad string: it is none */
            return rc == RESULT_MEMORY ? rc : RESULT_OK;
        }
        if (css_is_escape(css, css->p)) {
            one = take_text_escape(css, &text);
        } else if (*css->p == '\\') {
            /* before a newline both go; at the end the backslash goes */
            one = move_to_scratch(css, &text);
            css->p++;
            if (css->p < css->end) {
                skip_newline(css);
            }
        } else {
            one = take_text_char(css, &text);
        }
        rc = rc == RESULT_OK ? one : rc;
    }
    const char *end = css->p;
    css->p += css->p < css->end ? 1 : 0;
    if (rc != RESULT_OK || !refers(css)) {
        return rc == RESULT_MEMORY ? rc : RESULT_OK;
    }
    if (css->depth > 0 && css->too_deep == 0 && css->stack[css->depth - 1] == PLACE_URL) {
        css->stack[css->depth - 1] = PLACE_PLAIN; /* what follows it are modifiers */
    }
    return css_give(css, &text, end);
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
    while (css->p < css->end && css_is_space(*css->p)) {
        css->p++;
    }
}

/* The rest of url(x) without quotes; p is at x. */
static Result take_bare_url(Css *css)
{
    CssText text = {.start = css->p};
    Result rc = RESULT_OK;
    while (css->p < css->end && *css->p != ')' && !css_is_space(*css->p)) {
        unsigned char c = (unsigned char)*css->p;
        Result one = RESULT_OK;
        if (c == '"' || c == '\'' || c == '(' || c < ' ' || c == 0x7f ||
            (c == '\\' && !css_is_escape(css, css->p))) {
            skip_bad_url(css);
            return rc == RESULT_MEMORY ? rc : RESULT_OK;
        }
        one = c == '\\' ? take_text_escape(css, &text) : take_text_char(css, &text);
        rc = rc == RESULT_OK ? one : rc;
    }
    const char *end = css->p;
    skip_spaces(css);
    if (css->p < css->end && *css->p != ')') {
        skip_bad_url(css);
        return rc == RESULT_MEMORY ? rc : RESULT_OK;
    }
    css->p += css->p < css->end ? 1 : 0;
    return rc == RESULT_OK ? css_give(css, &text, end) : rc == RESULT_MEMORY ? rc : RESULT_OK;
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
static Result take_name(Css *css)
{
    Buffer *word = &css->reader->word;
    Result rc = RESULT_OK;
    buffer_reset(word);
    while (css->p < css->end && (is_name(*css->p) || css_is_escape(css, css->p))) {
        if (word->length >= 64) {
            buffer_reset(word); /* no name that is asked for is so long */
            rc = buffer_append_char(word, '?');
        }
        Result one = *css->p == '\\' ? take_escape(css, word) : buffer_append_char(word, *css->p++);
        rc = rc == RESULT_OK ? one : rc;
    }
    return rc;
}

static bool name_is(const Css *css, const char *name)
{
    const Buffer *word = &css->reader->word;
    return word->length == strlen(name) &&
           strncasecmp(buffer_string(word), name, word->length) == 0;
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

static Result take_at_word(Css *css)
{
    Result rc = take_name(css);
    bool is_import = name_is(css, "import");
    css->rule = is_import && css->imports                ? RULE_IMPORT
                : is_import || name_is(css, "namespace") ? RULE_NOTHING
                                                         : RULE_NONE;
    return rc;
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

static Result take_token(Css *css)
{
    char c = *css->p;
    bool more = css->p + 1 < css->end;
    if (css_is_space(c)) {
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
        return take_string(css, c);
    } else if (c == '@' && more && is_name_start(css, css->p + 1)) {
        css->p++;
        return take_at_word(css);
    } else if (ascii_is_digit(c) || c == '#') {
        skip_name(css);
    } else if (is_name_start(css, css->p)) {
        /* A name, and what it begins when "(" follows. */
        Result rc = take_name(css);
        if (rc != RESULT_OK || css->p == css->end || *css->p != '(') {
            css->rule = css->rule == RULE_IMPORT ? RULE_NONE : css->rule;
            return rc;
        }
        css->p++;
        if (name_is(css, "url")) {
            skip_spaces(css);
            if (css->p < css->end && *css->p != '"' && *css->p != '\'') {
                return take_bare_url(css);
            }
            open_bracket(css, PLACE_URL);
        } else {
            bool set = name_is(css, "image-set") || name_is(css, "-webkit-image-set");
            open_bracket(css, name_is(css, "src") ? PLACE_URL : set ? PLACE_STRINGS : PLACE_PLAIN);
        }
        return RESULT_OK;
    } else {
        take_mark(css);
    }
    return RESULT_OK;
}

static Result read(CssReader *reader, const char *text, size_t length, bool imports, CssSink sink,
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
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && css.p < css.end) {
        rc = take_token(&css);
    }
    return rc;
}

Result css_read_sheet(CssReader *reader, const char *text, size_t length, CssSink sink,
                      void *context)
{
    return read(reader, text, length, true, sink, context);
}

Result css_read_declarations(CssReader *reader, const char *text, size_t length, CssSink sink,
                             void *context)
{
    return read(reader, text, length, false, sink, context);
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
