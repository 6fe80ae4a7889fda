#include "parse/visible/visible_style.h"

#include <string.h>
#include <strings.h>

#include "parse/text/skim_scan.h"

typedef struct Word {
    const char *bytes;
    size_t length;
} Word;

static bool visible_style_is(Word word, const char *what)
{
    size_t n = strlen(what);
    return word.length == n && strncasecmp(word.bytes, what, n) == 0;
}

static bool visible_style_ends_with(Word word, const char *what)
{
    size_t n = strlen(what);
    return word.length >= n && strncasecmp(word.bytes + word.length - n, what, n) == 0;
}

static Word visible_style_trim(const char *p, const char *end)
{
    while (p < end && (scan_class(*p) & SCAN_SPACE) != 0) {
        p++;
    }
    while (end > p && (scan_class(end[-1]) & SCAN_SPACE) != 0) {
        end--;
    }
    return (Word){.bytes = p, .length = (size_t)(end - p)};
}

/* The value of a declaration without "!important". */
static Word visible_style_value_of(const char *p, const char *end)
{
    const char *bang = find_byte(p, end, '!');
    return visible_style_trim(p, bang);
}

/* False: the value is none of those that browsers know, and the declaration does not count. */
static bool read_display(Word value, VisibleBox *box)
{
    static const struct {
        const char *name;
        VisibleBox box;
    } known[] = {
        {"none", VISIBLE_BOX_NONE},
        {"block", VISIBLE_BOX_BLOCK},
        {"inline", VISIBLE_BOX_INLINE},
        {"contents", VISIBLE_BOX_INLINE},
        {"inline-block", VISIBLE_BOX_INLINE_BLOCK},
        {"inline-flex", VISIBLE_BOX_INLINE_BLOCK},
        {"inline-grid", VISIBLE_BOX_INLINE_BLOCK},
        {"inline-table", VISIBLE_BOX_INLINE_BLOCK},
        {"table-cell", VISIBLE_BOX_INLINE_BLOCK},
        {"flex", VISIBLE_BOX_BLOCK},
        {"grid", VISIBLE_BOX_BLOCK},
        {"flow-root", VISIBLE_BOX_BLOCK},
        {"list-item", VISIBLE_BOX_BLOCK},
        {"table", VISIBLE_BOX_BLOCK},
        {"table-row", VISIBLE_BOX_BLOCK},
        {"table-caption", VISIBLE_BOX_BLOCK},
        {"-webkit-box", VISIBLE_BOX_BLOCK},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (visible_style_is(value, known[i].name)) {
            *box = known[i].box;
            return true;
        }
    }
    return false;
}

static void declaration(VisibleStyle *style, bool *floats, Word name, Word value)
{
    VisibleBox box = VISIBLE_BOX_INLINE;
    if (visible_style_is(name, "display")) {
        if (read_display(value, &box)) {
            style->has_box = true;
            style->box = box;
            style->is_flex =
                visible_style_ends_with(value, "flex") || visible_style_ends_with(value, "grid");
        }
    } else if (visible_style_is(name, "visibility")) {
        style->seen = visible_style_is(value, "visible") ? VISIBLE_SEEN_YES
                      : visible_style_is(value, "hidden") || visible_style_is(value, "collapse")
                          ? VISIBLE_SEEN_NO
                          : style->seen;
    } else if (visible_style_is(name, "float")) {
        *floats = visible_style_is(value, "left") || visible_style_is(value, "right");
    } else if (visible_style_is(name, "position")) {
        *floats =
            *floats || visible_style_is(value, "absolute") || visible_style_is(value, "fixed");
    } else if (visible_style_is(name, "white-space")) {
        bool keeps = visible_style_is(value, "pre") || visible_style_is(value, "pre-wrap") ||
                     visible_style_is(value, "break-spaces");
        bool lines = visible_style_is(value, "pre-line");
        if (keeps || lines || visible_style_is(value, "normal") ||
            visible_style_is(value, "nowrap")) {
            style->has_white = true;
            style->white = keeps   ? VISIBLE_WHITE_PRE
                           : lines ? VISIBLE_WHITE_PRE_LINE
                                   : VISIBLE_WHITE_NORMAL;
        }
    }
}

/* The ";" that ends a declaration, or end: not one in quotes or parentheses. */
static const char *declaration_end(const char *p, const char *end)
{
    unsigned depth = 0;
    while (p < end) {
        if (*p == '"' || *p == '\'') {
            const char *close = find_byte(p + 1, end, *p);
            p = close == end ? end : close + 1;
            continue;
        }
        if (*p == ';' && depth == 0) {
            return p;
        }
        depth += *p == '(' ? 1u : 0u;
        depth -= *p == ')' && depth > 0 ? 1u : 0u;
        p++;
    }
    return end;
}

VisibleStyle visible_style_read(const char *value, size_t length)
{
    VisibleStyle style = {.has_box = false};
    bool floats = false;
    const char *p = value;
    const char *end = value + length;
    while (p < end) {
        const char *stop = declaration_end(p, end);
        const char *colon = find_byte(p, stop, ':');
        if (colon < stop) {
            Word name = visible_style_trim(p, colon);
            /* One look tells most declarations from those that count. */
            if (name.length > 0 && strchr("dvfpwDVFPW", name.bytes[0]) != NULL) {
                declaration(&style, &floats, name, visible_style_value_of(colon + 1, stop));
            }
        }
        p = stop < end ? stop + 1 : end;
    }
    if (floats && (!style.has_box || style.box != VISIBLE_BOX_NONE)) {
        style.has_box = true;
        style.box = VISIBLE_BOX_BLOCK;
    }
    return style;
}
