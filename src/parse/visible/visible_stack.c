#include "parse/visible/visible_stack.h"

#include <string.h>
#include <strings.h>

#include "base/core/ascii.h"
#include "parse/text/skim_scan.h"

/* A style attribute, as far as it says whether and how text is seen.
 *
 * What: display, visibility, white-space, float and position. Style sheets are not read: what only
 * they hide is text (see visible.h). Pure, no locks.
 * Source: CSS Syntax 3 (a list of declarations), CSS Display 3. */

typedef enum VisibleSeen { VISIBLE_SEEN_INHERIT, VISIBLE_SEEN_YES, VISIBLE_SEEN_NO } VisibleSeen;

typedef struct VisibleStyle {
    bool has_box; /* display, float or position say something */
    bool has_white;
    bool is_flex; /* what is in the box is blocks */
    VisibleBox box;
    VisibleWhite white;
    VisibleSeen seen; /* visibility */
} VisibleStyle;

/* ---- Visible box ---- */

/* How an element is seen: the last column of HTML_TAG_LIST. */
/* clang-format off */
#define BLOCK      VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE
#define FORMATTING VISIBLE_BOX_INLINE, VISIBLE_FORMATTING
#define HEADING    VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_HEADING
#define OBJECT     VISIBLE_BOX_OBJECT, 0
#define NONE       VISIBLE_BOX_NONE, 0
#define WIDGET     VISIBLE_BOX_INLINE_BLOCK, VISIBLE_IN_SCOPE
#define CAPTION    VISIBLE_BOX_BLOCK, 0
#define ITEM       VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END
#define DETAILS    VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_CLOSED_DETAILS
#define DIALOG     VISIBLE_BOX_NONE, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE
#define RULE       VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P
#define PRE        VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_KEEPS_WHITE
#define SCOPED     VISIBLE_BOX_INLINE, VISIBLE_IN_SCOPE
#define OPTION     VISIBLE_BOX_BLOCK, VISIBLE_IMPLIED_END
#define PARAGRAPH  VISIBLE_BOX_PARAGRAPH, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END
#define PLAIN      VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_KEEPS_WHITE
#define RUBY       VISIBLE_BOX_INLINE, VISIBLE_IMPLIED_END
#define RUBY_NONE  VISIBLE_BOX_NONE, VISIBLE_IMPLIED_END
#define TABLE      VISIBLE_BOX_TABLE, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE
#define ROWS       VISIBLE_BOX_ROWS, VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END
#define CELL       VISIBLE_BOX_CELL, VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END
#define TEMPLATE   VISIBLE_BOX_NONE, VISIBLE_IN_SCOPE
#define ROW        VISIBLE_BOX_ROW, VISIBLE_IN_SCOPE | VISIBLE_IMPLIED_END
#define INLINE     VISIBLE_BOX_INLINE, 0
/* clang-format on */

#define TRAITS(word, name, slot, attributes, flags, seen) [HTML_##word] = {seen},
const VisibleTraits visible_traits[HTML_TAGS] = {HTML_TAG_LIST(TRAITS)};

typedef struct Word {
    const char *bytes;
    size_t length;
} Word;

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
        if (ascii_is(value.bytes, value.length, known[i].name)) {
            *box = known[i].box;
            return true;
        }
    }
    return false;
}

static void declaration(VisibleStyle *style, bool *floats, Word name, Word value)
{
    VisibleBox box = VISIBLE_BOX_INLINE;
    if (ascii_is(name.bytes, name.length, "display")) {
        if (read_display(value, &box)) {
            style->has_box = true;
            style->box = box;
            style->is_flex =
                visible_style_ends_with(value, "flex") || visible_style_ends_with(value, "grid");
        }
    } else if (ascii_is(name.bytes, name.length, "visibility")) {
        style->seen = ascii_is(value.bytes, value.length, "visible") ? VISIBLE_SEEN_YES
                      : ascii_is(value.bytes, value.length, "hidden") ||
                              ascii_is(value.bytes, value.length, "collapse")
                          ? VISIBLE_SEEN_NO
                          : style->seen;
    } else if (ascii_is(name.bytes, name.length, "float")) {
        *floats = ascii_is(value.bytes, value.length, "left") ||
                  ascii_is(value.bytes, value.length, "right");
    } else if (ascii_is(name.bytes, name.length, "position")) {
        *floats = *floats || ascii_is(value.bytes, value.length, "absolute") ||
                  ascii_is(value.bytes, value.length, "fixed");
    } else if (ascii_is(name.bytes, name.length, "white-space")) {
        bool keeps = ascii_is(value.bytes, value.length, "pre") ||
                     ascii_is(value.bytes, value.length, "pre-wrap") ||
                     ascii_is(value.bytes, value.length, "break-spaces");
        bool lines = ascii_is(value.bytes, value.length, "pre-line");
        if (keeps || lines || ascii_is(value.bytes, value.length, "normal") ||
            ascii_is(value.bytes, value.length, "nowrap")) {
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

/* Reads the value of a style attribute, whose character references may still be there (what we look
 * for holds none). */
static VisibleStyle visible_style_read(const char *value, size_t length)
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

/* ---- The stack of open elements, and what each makes of the text in it ---- */

void visible_stack_begin(VisibleStack *stack, VisibleLines *lines, VisibleMarks *marks)
{
    stack->lines = lines;
    stack->marks = marks;
    stack->depth = 0;
    stack->n_too_deep = 0;
    memset(stack->n_open, 0, sizeof stack->n_open);
}

/* ---- boxes ---- */

static uint32_t area_now(const VisibleStack *stack)
{
    return stack->depth == 0 ? VISIBLE_NO_MARK : stack->nodes[stack->depth - 1].area;
}

static void block_edge(VisibleStack *stack, unsigned breaks)
{
    visible_marks_block(stack->marks, stack->lines->length, area_now(stack));
    visible_lines_break(stack->lines, breaks);
}

/* The innermost open row or table, not beyond a table. */
static VisibleNode *find_part(VisibleStack *stack, VisibleBox box)
{
    for (size_t i = stack->depth; i > 0; i--) {
        VisibleNode *node = &stack->nodes[i - 1];
        if (node->box == box) {
            return node;
        }
        if (node->box == VISIBLE_BOX_TABLE) {
            return NULL;
        }
    }
    return NULL;
}

/* Between two rows there is a line feed, between two cells a tab. */
static void begin_part(VisibleStack *stack, VisibleBox box)
{
    bool is_row = box == VISIBLE_BOX_ROW;
    VisibleNode *around = find_part(stack, is_row ? VISIBLE_BOX_TABLE : VISIBLE_BOX_ROW);
    visible_marks_block(stack->marks, stack->lines->length, area_now(stack));
    if (around == NULL) {
        visible_lines_break(stack->lines, 1);
        return;
    }
    bool *has_one = is_row ? &around->has_row : &around->has_cell;
    if (*has_one) {
        visible_lines_feed(stack->lines, is_row ? '\n' : '\t');
    } else if (is_row) {
        visible_lines_break(stack->lines, 1); /* after text in the table that is in no cell */
    }
    *has_one = true;
}

static void begin_box(VisibleStack *stack, VisibleBox box)
{
    switch (box) {
    case VISIBLE_BOX_BLOCK:
    case VISIBLE_BOX_TABLE:
        block_edge(stack, 1);
        break;
    case VISIBLE_BOX_PARAGRAPH:
        block_edge(stack, 2);
        break;
    case VISIBLE_BOX_INLINE_BLOCK:
        visible_lines_enter(stack->lines);
        break;
    case VISIBLE_BOX_OBJECT:
        visible_lines_object(stack->lines);
        break;
    case VISIBLE_BOX_ROW:
    case VISIBLE_BOX_CELL:
        begin_part(stack, box);
        break;
    case VISIBLE_BOX_INLINE:
    case VISIBLE_BOX_ROWS:
    case VISIBLE_BOX_NONE:
        break;
    }
}

static void end_box(VisibleStack *stack, VisibleBox box)
{
    switch (box) {
    case VISIBLE_BOX_BLOCK:
    case VISIBLE_BOX_TABLE:
        block_edge(stack, 1);
        break;
    case VISIBLE_BOX_PARAGRAPH:
        block_edge(stack, 2);
        break;
    case VISIBLE_BOX_INLINE_BLOCK:
        visible_lines_leave(stack->lines);
        break;
    case VISIBLE_BOX_ROW:
    case VISIBLE_BOX_CELL:
        block_edge(stack, 0); /* white space between cells is none */
        break;
    case VISIBLE_BOX_INLINE:
    case VISIBLE_BOX_OBJECT:
    case VISIBLE_BOX_ROWS:
    case VISIBLE_BOX_NONE:
        break;
    }
}

/* ---- what an element says of itself ---- */

static VisibleRole role_of(const HtmlTag *tag)
{
    static const char *const asides[] = {"navigation", "banner", "contentinfo", "complementary",
                                         "search"};
    if (html_tag_has(tag, HTML_ATTR_ROLE)) {
        const HtmlSlice *role = &tag->values[HTML_ATTR_ROLE];
        for (size_t i = 0; i < sizeof asides / sizeof *asides; i++) {
            if (ascii_is(role->bytes, role->length, asides[i])) {
                return VISIBLE_ROLE_ASIDE;
            }
        }
        if (ascii_is(role->bytes, role->length, "main")) {
            return VISIBLE_ROLE_MAIN;
        }
    }
    switch ((int)tag->id) {
    case HTML_MAIN:
        return VISIBLE_ROLE_MAIN;
    case HTML_ARTICLE:
        return VISIBLE_ROLE_ARTICLE;
    case HTML_NAV:
    case HTML_ASIDE:
    case HTML_HEADER:
    case HTML_FOOTER:
    case HTML_SEARCH:
        return VISIBLE_ROLE_ASIDE;
    default:
        return VISIBLE_ROLE_NONE;
    }
}

/* Applies the attributes hidden, popover, open and style to a node that has the values of its
 * element and of what is around it. */
static void apply_attributes(VisibleNode *node, const HtmlTag *tag)
{
    if (node->id == HTML_DIALOG && html_tag_has(tag, HTML_ATTR_OPEN)) {
        node->box = VISIBLE_BOX_BLOCK;
    }
    if (html_tag_has(tag, HTML_ATTR_HIDDEN) || html_tag_has(tag, HTML_ATTR_POPOVER) ||
        (node->id == HTML_INPUT && html_tag_has(tag, HTML_ATTR_TYPE) &&
         ascii_is(tag->values[HTML_ATTR_TYPE].bytes, tag->values[HTML_ATTR_TYPE].length,
                  "hidden"))) {
        node->box = VISIBLE_BOX_NONE;
    }
    if (!html_tag_has(tag, HTML_ATTR_STYLE)) {
        return;
    }
    const HtmlSlice *value = &tag->values[HTML_ATTR_STYLE];
    VisibleStyle style = visible_style_read(value->bytes, value->length);
    bool is_part = node->box == VISIBLE_BOX_TABLE || node->box == VISIBLE_BOX_ROWS ||
                   node->box == VISIBLE_BOX_ROW || node->box == VISIBLE_BOX_CELL;
    /* What never has a box gets none by a style; the parts of a table keep theirs. */
    bool never = (visible_traits[node->id].box == VISIBLE_BOX_NONE && node->id != HTML_DIALOG) ||
                 visible_traits[node->id].box == VISIBLE_BOX_OBJECT;
    if (style.has_box && (style.box == VISIBLE_BOX_NONE || (!never && !is_part))) {
        bool keeps = node->box == VISIBLE_BOX_PARAGRAPH && style.box != VISIBLE_BOX_NONE;
        node->box = keeps ? node->box : (uint8_t)style.box;
    }
    node->is_flex = style.is_flex;
    if (style.has_white) {
        node->white = (uint8_t)style.white;
    }
    if (style.seen == VISIBLE_SEEN_YES) {
        node->state &= (uint8_t)~VISIBLE_INVISIBLE;
    } else if (style.seen == VISIBLE_SEEN_NO) {
        node->state |= VISIBLE_INVISIBLE;
    }
}

/* Of all that is in a closed details element, its first summary is seen. */
static void apply_details(VisibleStack *stack, VisibleNode *node)
{
    VisibleNode *parent = stack->depth == 0 ? NULL : &stack->nodes[stack->depth - 1];
    if (parent != NULL && parent->is_closed && node->id == HTML_SUMMARY) {
        parent->is_closed = false;
        unsigned around = stack->depth < 2 ? 0u : stack->nodes[stack->depth - 2].state;
        node->state = (uint8_t)((node->state & ~(unsigned)VISIBLE_IN_CLOSED_DETAILS) |
                                (around & (unsigned)VISIBLE_IN_CLOSED_DETAILS));
    }
}

/* ---- elements ---- */

static bool is_in_line(unsigned box)
{
    return box == VISIBLE_BOX_INLINE || box == VISIBLE_BOX_INLINE_BLOCK;
}

/* An element begins of which the text around it knows nothing yet. */
static VisibleNode node_of(VisibleStack *stack, const HtmlTag *tag)
{
    const VisibleNode *parent = visible_stack_top(stack);
    VisibleTraits traits = visible_traits[tag->id];
    VisibleNode node = {.key = tag->key,
                        .id = (uint8_t)tag->id,
                        .space = HTML_SPACE_HTML,
                        .box = traits.box,
                        .state = parent == NULL ? 0 : parent->state,
                        .white = parent == NULL ? VISIBLE_WHITE_NORMAL : parent->white,
                        .mark = VISIBLE_NO_MARK,
                        .area = parent == NULL ? VISIBLE_NO_MARK : parent->area};
    if ((traits.flags & VISIBLE_KEEPS_WHITE) != 0) {
        node.white = VISIBLE_WHITE_PRE;
    } else if (tag->id == HTML_TABLE || tag->id == HTML_SELECT) {
        node.white = VISIBLE_WHITE_NORMAL;
    }
    if (tag->id == HTML_SELECT) {
        node.state |= VISIBLE_OUTSIDE_TEXT;
    } else if (tag->id == HTML_OPTION) {
        node.state &= (uint8_t)~VISIBLE_OUTSIDE_TEXT;
    }
    if (parent != NULL && parent->is_flex && is_in_line(node.box)) {
        node.box = VISIBLE_BOX_BLOCK;
    }
    apply_details(stack, &node);
    const uint32_t telling = 1u << HTML_ATTR_HIDDEN | 1u << HTML_ATTR_POPOVER |
                             1u << HTML_ATTR_STYLE | 1u << HTML_ATTR_OPEN | 1u << HTML_ATTR_TYPE;
    if ((tag->present & telling) != 0) {
        apply_attributes(&node, tag);
    }
    if (node.box == VISIBLE_BOX_NONE) {
        node.state |= VISIBLE_NOT_RENDERED;
    }
    if ((node.state & (VISIBLE_NOT_RENDERED | VISIBLE_IN_CLOSED_DETAILS)) != 0) {
        node.box = VISIBLE_BOX_NONE; /* nor is there one around it */
    } else if ((node.state & VISIBLE_INVISIBLE) != 0 && node.box != VISIBLE_BOX_TABLE) {
        node.box = VISIBLE_BOX_INLINE; /* its place in the layout is no line of the text */
    }
    return node;
}

static void open_node(VisibleStack *stack, VisibleNode *node, const HtmlTag *tag)
{
    VisibleMarks *marks = stack->marks;
    size_t at = stack->lines->length;
    unsigned flags = visible_traits[tag->id].flags;
    if (node->box != VISIBLE_BOX_INLINE && node->box != VISIBLE_BOX_INLINE_BLOCK &&
        node->box != VISIBLE_BOX_NONE) {
        node->area = visible_marks_area(marks, node->area, tag->id, role_of(tag));
    }
    if ((flags & VISIBLE_HEADING) != 0) {
        node->mark = visible_marks_heading(marks, at, (unsigned)(tag->id - HTML_H1) + 1);
    } else if (tag->id == HTML_A && html_tag_has(tag, HTML_ATTR_HREF)) {
        node->is_link = true;
        node->mark = visible_marks_link(marks, at, tag->values[HTML_ATTR_HREF].bytes);
    }
    if ((flags & VISIBLE_CLOSED_DETAILS) != 0 && !html_tag_has(tag, HTML_ATTR_OPEN)) {
        node->is_closed = true;
        node->state |= VISIBLE_IN_CLOSED_DETAILS;
    }
    stack->n_open[tag->id]++;
    stack->nodes[stack->depth++] = *node;
}

void visible_stack_push(VisibleStack *stack, const HtmlTag *tag)
{
    VisibleNode node = node_of(stack, tag);
    begin_box(stack, (VisibleBox)node.box);
    if (stack->depth == VISIBLE_DEPTH) {
        stack->n_too_deep++;
        return;
    }
    open_node(stack, &node, tag);
}

void visible_stack_push_row(VisibleStack *stack)
{
    const HtmlTag tag = {.key = html_tag_keys[HTML_TR], .id = HTML_TR};
    visible_stack_push(stack, &tag);
}

void visible_stack_void(VisibleStack *stack, const HtmlTag *tag)
{
    VisibleNode node = node_of(stack, tag);
    begin_box(stack, (VisibleBox)node.box);
    end_box(stack, (VisibleBox)node.box);
}

void visible_stack_pop_to(VisibleStack *stack, size_t depth)
{
    stack->n_too_deep = 0;
    while (stack->depth > depth) {
        const VisibleNode *node = &stack->nodes[stack->depth - 1];
        end_box(stack, (VisibleBox)node->box);
        size_t at = stack->lines->length;
        if (node->space == HTML_SPACE_HTML) {
            stack->n_open[node->id]--;
            if ((visible_traits[node->id].flags & VISIBLE_HEADING) != 0) {
                visible_marks_heading_end(stack->marks, node->mark, at);
            } else if (node->is_link) {
                visible_marks_link_end(stack->marks, node->mark, at);
            }
        }
        visible_marks_area_end(stack->marks, node->area);
        stack->depth--;
    }
}

void visible_stack_remove(VisibleStack *stack, size_t index)
{
    VisibleNode *node = &stack->nodes[index];
    if (node->is_link) {
        visible_marks_link_end(stack->marks, node->mark, stack->lines->length);
    }
    if (node->box == VISIBLE_BOX_INLINE_BLOCK || node->box == VISIBLE_BOX_BLOCK) {
        end_box(stack, (VisibleBox)node->box);
    }
    stack->n_open[node->id]--;
    stack->depth--;
    memmove(node, node + 1, (stack->depth - index) * sizeof *node);
}

/* ---- foreign elements ---- */

/* What of a drawing holds no text that is shown where it stands. */
static bool is_not_drawn(uint64_t key, HtmlTagId id)
{
    static const char *const names[] = {"defs",   "symbol",        "metadata", "clippath",
                                        "mask",   "marker",        "pattern",  "lineargradient",
                                        "filter", "radialgradient"};
    if (id == HTML_TITLE || id == HTML_DESC || id == HTML_STYLE || id == HTML_SCRIPT) {
        return true;
    }
    for (size_t i = 0; id == HTML_UNKNOWN && i < sizeof names / sizeof *names; i++) {
        if (key == html_name_key_of(names[i], strlen(names[i]))) {
            return true;
        }
    }
    return false;
}

static void set_svg(VisibleNode *node, const HtmlTag *tag)
{
    static const char text[16] = "text";
    if (tag->id == HTML_SVG) {
        node->state |= VISIBLE_OUTSIDE_TEXT;
    } else if (tag->key == html_name_key_16(text, 4)) {
        node->state &= (uint8_t)~VISIBLE_OUTSIDE_TEXT;
        node->box = VISIBLE_BOX_BLOCK;
    } else if (tag->id == HTML_FOREIGNOBJECT) {
        node->state &= (uint8_t)~VISIBLE_OUTSIDE_TEXT;
        node->box = VISIBLE_BOX_BLOCK;
        node->html_within = true;
    } else if (tag->id == HTML_DESC || tag->id == HTML_TITLE) {
        node->html_within = true;
    }
    if (is_not_drawn(tag->key, tag->id)) {
        node->state |= VISIBLE_NOT_RENDERED;
    }
}

static void set_math(VisibleNode *node, const HtmlTag *tag)
{
    static const char annotation[16] = "annotation";
    const HtmlSlice *encoding = &tag->values[HTML_ATTR_ENCODING];
    switch ((int)tag->id) {
    case HTML_MATH:
        node->state |= VISIBLE_OUTSIDE_TEXT;
        break;
    case HTML_MI:
    case HTML_MO:
    case HTML_MN:
    case HTML_MS:
    case HTML_MTEXT:
        node->box = VISIBLE_BOX_BLOCK;
        node->state &= (uint8_t)~VISIBLE_OUTSIDE_TEXT;
        node->html_within = true;
        break;
    case HTML_ANNOTATION_XML:
        node->state |= VISIBLE_NOT_RENDERED;
        node->html_within = html_tag_has(tag, HTML_ATTR_ENCODING) &&
                            (ascii_is(encoding->bytes, encoding->length, "text/html") ||
                             ascii_is(encoding->bytes, encoding->length, "application/xhtml+xml"));
        break;
    default:
        if (tag->key == html_name_key_16(annotation, 10)) {
            node->state |= VISIBLE_NOT_RENDERED;
        }
        break;
    }
}

void visible_stack_push_foreign(VisibleStack *stack, const HtmlTag *tag, HtmlSpace space)
{
    if (stack->depth == VISIBLE_DEPTH) {
        stack->n_too_deep++;
        return;
    }
    const VisibleNode *parent = visible_stack_top(stack);
    VisibleNode node = {.key = tag->key,
                        .id = (uint8_t)tag->id,
                        .space = (uint8_t)space,
                        .box = VISIBLE_BOX_INLINE,
                        .state = parent == NULL ? 0 : parent->state,
                        .white = VISIBLE_WHITE_NORMAL,
                        .mark = VISIBLE_NO_MARK,
                        .area = parent == NULL ? VISIBLE_NO_MARK : parent->area};
    if (space == HTML_SPACE_SVG) {
        set_svg(&node, tag);
    } else {
        set_math(&node, tag);
    }
    const uint32_t telling = 1u << HTML_ATTR_HIDDEN | 1u << HTML_ATTR_STYLE;
    if ((tag->present & telling) != 0) {
        VisibleNode styled = node;
        styled.id = HTML_UNKNOWN; /* the rules of HTML elements do not hold here */
        apply_attributes(&styled, tag);
        styled.id = node.id;
        node = styled;
    }
    if (node.box == VISIBLE_BOX_NONE) {
        node.state |= VISIBLE_NOT_RENDERED;
    }
    if ((node.state & (VISIBLE_NOT_RENDERED | VISIBLE_IN_CLOSED_DETAILS)) != 0) {
        node.box = VISIBLE_BOX_NONE;
    }
    begin_box(stack, (VisibleBox)node.box);
    stack->nodes[stack->depth++] = node;
}
