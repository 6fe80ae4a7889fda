#include "parse/visible/visible_stack.h"

#include <string.h>

#include "base/core/ascii.h"

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
#define ITEM       VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE
#define DETAILS    VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_CLOSED_DETAILS
#define DIALOG     VISIBLE_BOX_NONE, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE
#define RULE       VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P
#define PRE        VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE | VISIBLE_KEEPS_WHITE
#define SCOPED     VISIBLE_BOX_INLINE, VISIBLE_IN_SCOPE
#define OPTION     VISIBLE_BOX_BLOCK, 0
#define PARAGRAPH  VISIBLE_BOX_PARAGRAPH, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE
#define PLAIN      VISIBLE_BOX_BLOCK, VISIBLE_CLOSES_P | VISIBLE_KEEPS_WHITE
#define RUBY       VISIBLE_BOX_INLINE, 0
#define RUBY_NONE  VISIBLE_BOX_NONE, 0
#define TABLE      VISIBLE_BOX_TABLE, VISIBLE_CLOSES_P | VISIBLE_IN_SCOPE
#define ROWS       VISIBLE_BOX_ROWS, VISIBLE_IN_SCOPE
#define CELL       VISIBLE_BOX_CELL, VISIBLE_IN_SCOPE
#define TEMPLATE   VISIBLE_BOX_NONE, VISIBLE_IN_SCOPE
#define ROW        VISIBLE_BOX_ROW, VISIBLE_IN_SCOPE
#define INLINE     VISIBLE_BOX_INLINE, 0
/* clang-format on */

#define TRAITS(word, name, slot, attributes, flags, seen) [HTML_##word] = {seen},
const VisibleTraits visible_traits[HTML_TAGS] = {HTML_TAG_LIST(TRAITS)};

/* ---- The stack of open elements, and what each makes of the text in it ---- */

void visible_stack_begin(VisibleStack *stack, VisibleLines *lines, VisibleMarks *marks,
                         VisibleStyles *styles, VisibleData *data)
{
    stack->lines = lines;
    stack->marks = marks;
    stack->styles = styles;
    stack->data = data;
    stack->head = 0;
    stack->white = VISIBLE_WHITE_NORMAL;
    stack->letters = VISIBLE_CASE_KEPT;
    stack->in_body = false;
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
        if (node->box == VISIBLE_BOX_TABLE || node->box == VISIBLE_BOX_CELL) {
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
    if (around == NULL && !is_row && stack->depth > 0) {
        around = &stack->nodes[stack->depth - 1]; /* there is a row that has no element */
    }
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

/* What a box does to the text both where it begins and where it ends. */
static void edge_box(VisibleStack *stack, VisibleBox box)
{
    if (box == VISIBLE_BOX_BLOCK || box == VISIBLE_BOX_TABLE) {
        block_edge(stack, 1);
    } else if (box == VISIBLE_BOX_PARAGRAPH) {
        block_edge(stack, 2);
    }
}

static void begin_box(VisibleStack *stack, VisibleBox box)
{
    edge_box(stack, box);
    if (box == VISIBLE_BOX_INLINE_BLOCK) {
        visible_lines_enter(stack->lines);
    } else if (box == VISIBLE_BOX_OBJECT) {
        visible_lines_object(stack->lines);
    } else if (box == VISIBLE_BOX_ROW || box == VISIBLE_BOX_CELL) {
        begin_part(stack, box);
    }
}

static void end_box(VisibleStack *stack, VisibleBox box)
{
    edge_box(stack, box);
    if (box == VISIBLE_BOX_INLINE_BLOCK) {
        visible_lines_leave(stack->lines);
    } else if (box == VISIBLE_BOX_ROW || box == VISIBLE_BOX_CELL) {
        block_edge(stack, 0); /* white space between cells is none */
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

/* The attributes that the sheets of HTML itself know. */
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
}

static bool is_in_line(unsigned box)
{
    return box == VISIBLE_BOX_INLINE || box == VISIBLE_BOX_INLINE_BLOCK;
}

static void apply_display(VisibleNode *node, uint8_t value)
{
    unsigned box = value & ~VISIBLE_FLEX;
    unsigned own = visible_traits[node->id].box;
    /* What never has a box gets none by a style; a table and its groups keep theirs. */
    bool never = own == VISIBLE_BOX_NONE && node->id != HTML_DIALOG;
    bool is_part = own == VISIBLE_BOX_TABLE || own == VISIBLE_BOX_ROWS;
    bool is_object = own == VISIBLE_BOX_OBJECT && is_in_line(box);
    if (box == VISIBLE_BOX_NONE || (!never && !is_part && !is_object)) {
        bool keeps = node->id == HTML_P && box != VISIBLE_BOX_NONE;
        node->box = keeps ? (uint8_t)VISIBLE_BOX_PARAGRAPH : (uint8_t)box;
        node->is_flex = (value & VISIBLE_FLEX) != 0;
    }
}

/* Applies to a node that has the values of its element what sheets and attribute say. */
static void apply_style(VisibleStack *stack, VisibleNode *node, const HtmlTag *tag)
{
    const VisibleNode *parent = visible_stack_top(stack);
    VisibleStyle style;
    visible_styles_of(stack->styles, node->element, tag, &style);
    if (visible_style_has(&style, VISIBLE_DISPLAY)) {
        apply_display(node, style.value[VISIBLE_DISPLAY]);
    }
    bool floats = style.value[VISIBLE_FLOAT] != 0 || style.value[VISIBLE_AWAY] != 0;
    if ((is_in_line(node->box) || node->box == VISIBLE_BOX_OBJECT) &&
        (floats || (parent != NULL && parent->is_flex))) {
        node->box = VISIBLE_BOX_BLOCK;
    }
    if (visible_style_has(&style, VISIBLE_WHITE)) {
        bool inherits = style.value[VISIBLE_WHITE] == VISIBLE_INHERIT;
        node->white = inherits ? (uint8_t)visible_stack_white(stack) : style.value[VISIBLE_WHITE];
    }
    if (visible_style_has(&style, VISIBLE_CASE) && style.value[VISIBLE_CASE] != VISIBLE_INHERIT) {
        node->letters = style.value[VISIBLE_CASE];
    }
    if (visible_style_has(&style, VISIBLE_HIDDEN) &&
        style.value[VISIBLE_HIDDEN] != VISIBLE_INHERIT) {
        node->state &= (uint8_t)~VISIBLE_INVISIBLE;
        node->state |= style.value[VISIBLE_HIDDEN] != 0 ? (uint8_t)VISIBLE_INVISIBLE : 0;
    }
}

/* Elements of a template are none of the document. */
static bool visible_stack_has_data(const VisibleStack *stack)
{
    return stack->data != NULL && stack->n_open[HTML_TEMPLATE] == 0;
}

static void visible_stack_close_data(VisibleStack *stack, uint32_t datum)
{
    if (datum != 0) {
        visible_data_close(stack->data, datum);
    }
}

static void visible_stack_begin_body(VisibleStack *stack)
{
    if (!stack->in_body) {
        stack->in_body = true;
        visible_styles_close(stack->styles, 1); /* what is in the head are no siblings */
        visible_stack_close_data(stack, stack->head);
    }
}

void visible_stack_root(VisibleStack *stack, const HtmlTag *tag)
{
    uint32_t element = tag->id == HTML_BODY ? 1 : 0;
    VisibleStyle style;
    if (element == 1) {
        visible_stack_begin_body(stack);
    }
    uint32_t datum = visible_stack_has_data(stack) ? visible_data_open(stack->data, tag) : 0;
    if (tag->id == HTML_HEAD) {
        stack->head = datum;
        return;
    }
    visible_styles_root(stack->styles, element, tag);
    visible_styles_of(stack->styles, element, tag, &style);
    if (visible_style_has(&style, VISIBLE_WHITE)) {
        stack->white = style.value[VISIBLE_WHITE] & (uint8_t)~VISIBLE_INHERIT;
    }
    if (visible_style_has(&style, VISIBLE_CASE)) {
        stack->letters = style.value[VISIBLE_CASE] & (uint8_t)~VISIBLE_INHERIT;
    }
}

/* The number of an element that begins. */
static uint32_t visible_stack_element(VisibleStack *stack, const HtmlTag *tag)
{
    const VisibleNode *parent = visible_stack_top(stack);
    if (parent == NULL && (html_tag_traits[tag->id].flags & HTML_TAG_HEAD) == 0) {
        visible_stack_begin_body(stack);
    }
    return visible_styles_open(stack->styles, parent == NULL ? 1 : parent->element, tag);
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

/* An element begins of which the text around it knows nothing yet. */
SKIM_INLINE VisibleNode node_begun(VisibleStack *stack, const HtmlTag *tag, HtmlSpace space,
                                   unsigned box, VisibleWhite white)
{
    const VisibleNode *parent = visible_stack_top(stack);
    return (VisibleNode){.key = tag->key,
                         .id = (uint8_t)tag->id,
                         .space = (uint8_t)space,
                         .box = (uint8_t)box,
                         .state = parent == NULL ? 0 : parent->state,
                         .white = (uint8_t)white,
                         .letters = (uint8_t)visible_stack_letters(stack),
                         .element = visible_stack_element(stack, tag),
                         .mark = VISIBLE_NO_MARK,
                         .area = parent == NULL ? VISIBLE_NO_MARK : parent->area};
}

static VisibleNode node_of(VisibleStack *stack, const HtmlTag *tag)
{
    VisibleTraits traits = visible_traits[tag->id];
    VisibleNode node =
        node_begun(stack, tag, HTML_SPACE_HTML, traits.box, visible_stack_white(stack));
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
    apply_details(stack, &node);
    apply_attributes(&node, tag);
    if ((node.state & VISIBLE_NOT_RENDERED) == 0) {
        apply_style(stack, &node, tag);
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

/* Tells where an element that is seen begins or ends; attributes: of the one that begins. */
static void tell_edge(VisibleStack *stack, const VisibleNode *node, const char *attributes,
                      bool is_end)
{
    VisibleEdge edge = {.attributes = attributes,
                        .at = (uint32_t)stack->lines->length,
                        .id = node->space == HTML_SPACE_HTML ? node->id : (uint8_t)HTML_UNKNOWN,
                        .is_end = is_end,
                        .is_block = !is_in_line(node->box)};
    if (node->state == 0 && node->box != VISIBLE_BOX_NONE) {
        visible_marks_edge(stack->marks, &edge);
    }
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
        visible_marks_link(marks, at);
    }
    if ((flags & VISIBLE_CLOSED_DETAILS) != 0 && !html_tag_has(tag, HTML_ATTR_OPEN)) {
        node->is_closed = true;
        node->state |= VISIBLE_IN_CLOSED_DETAILS;
    }
    tell_edge(stack, node, tag->attributes, false);
    if (visible_stack_has_data(stack)) {
        node->datum = visible_data_open(stack->data, tag);
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
    if (tag->id == HTML_HR) {
        tell_edge(stack, &node, NULL, false);
    }
    if (visible_stack_has_data(stack)) {
        visible_data_void(stack->data, tag);
    }
}

void visible_stack_feed(VisibleStack *stack, const HtmlTag *tag)
{
    bool is_none = tag != NULL && node_of(stack, tag).box == VISIBLE_BOX_NONE;
    if (visible_stack_state(stack) == 0 && !is_none) {
        visible_lines_feed(stack->lines, '\n');
    }
}

void visible_stack_pop_to(VisibleStack *stack, size_t depth)
{
    stack->n_too_deep = 0;
    while (stack->depth > depth) {
        const VisibleNode *node = &stack->nodes[stack->depth - 1];
        end_box(stack, (VisibleBox)node->box);
        size_t at = stack->lines->length;
        tell_edge(stack, node, NULL, true);
        if (node->space == HTML_SPACE_HTML) {
            stack->n_open[node->id]--;
            if ((visible_traits[node->id].flags & VISIBLE_HEADING) != 0) {
                visible_marks_heading_end(stack->marks, node->mark, at);
            } else if (node->is_link) {
                visible_marks_link_end(stack->marks, at);
            }
        }
        visible_marks_area_end(stack->marks, node->area);
        visible_styles_close(stack->styles, node->element);
        visible_stack_close_data(stack, node->datum);
        stack->depth--;
    }
}

void visible_stack_remove(VisibleStack *stack, size_t index)
{
    VisibleNode *node = &stack->nodes[index];
    tell_edge(stack, node, NULL, true);
    visible_stack_close_data(stack, node->datum);
    if (node->is_link) {
        visible_marks_link_end(stack->marks, stack->lines->length);
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
        node->html_within = html_tag_encodes_html(tag);
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
    VisibleNode node = node_begun(stack, tag, space, VISIBLE_BOX_INLINE, VISIBLE_WHITE_NORMAL);
    if (space == HTML_SPACE_SVG) {
        set_svg(&node, tag);
    } else {
        set_math(&node, tag);
    }
    VisibleNode styled = node;
    styled.id = HTML_UNKNOWN; /* the rules of HTML elements do not hold here */
    apply_attributes(&styled, tag);
    apply_style(stack, &styled, tag);
    styled.id = node.id;
    node = styled;
    if (node.box == VISIBLE_BOX_NONE) {
        node.state |= VISIBLE_NOT_RENDERED;
    }
    if ((node.state & (VISIBLE_NOT_RENDERED | VISIBLE_IN_CLOSED_DETAILS)) != 0) {
        node.box = VISIBLE_BOX_NONE;
    }
    begin_box(stack, (VisibleBox)node.box);
    tell_edge(stack, &node, NULL, false);
    stack->nodes[stack->depth++] = node;
}
