#include "parse/visible/visible_tree.h"

void visible_tree_begin(VisibleTree *tree, VisibleLines *lines, VisibleMarks *marks,
                        VisibleStyles *styles, VisibleData *data, bool is_xml)
{
    tree->is_xml = is_xml;
    tree->body_begun = false;
    tree->is_frameset = false;
    visible_stack_begin(&tree->stack, lines, marks, styles, data);
}

bool visible_tree_is_foreign(const VisibleTree *tree)
{
    const VisibleNode *top = visible_stack_top(&tree->stack);
    return top != NULL && top->space != HTML_SPACE_HTML;
}

bool visible_tree_in_document(const VisibleTree *tree)
{
    return tree->stack.n_open[HTML_TEMPLATE] == 0 && !visible_tree_is_foreign(tree);
}

/* ---- what is in scope ---- */

#define NOT_FOUND ((size_t)-1)

/* What a tag does not reach through. */
typedef enum Reach {
    REACH_SCOPE,
    REACH_BUTTON,
    REACH_LIST,
    REACH_TABLE,
    REACH_ITEM,   /* what begins a list of its own */
    REACH_INLINE, /* anything but inline elements */
} Reach;

SKIM_INLINE bool is_edge(const VisibleNode *node, Reach reach)
{
    if (node->space != HTML_SPACE_HTML) {
        return reach == REACH_ITEM || (reach != REACH_TABLE && node->html_within);
    }
    unsigned kind = html_tag_traits[node->id].flags;
    switch (reach) {
    case REACH_TABLE:
        return node->id == HTML_TABLE || node->id == HTML_TEMPLATE;
    case REACH_ITEM:
        return (kind & HTML_TAG_SPECIAL) != 0 && node->id != HTML_ADDRESS && node->id != HTML_DIV &&
               node->id != HTML_P;
    case REACH_INLINE:
        return (kind & HTML_TAG_SPECIAL) != 0;
    case REACH_SCOPE:
    case REACH_BUTTON:
    case REACH_LIST:
        break;
    }
    return (kind & HTML_TAG_SCOPE) != 0 || (reach == REACH_BUTTON && node->id == HTML_BUTTON) ||
           (reach == REACH_LIST && (node->id == HTML_OL || node->id == HTML_UL));
}

/* The index of the innermost open element of this id within reach, or NOT_FOUND; key: of the name
 * of an unknown one. The end tag of a heading ends any. */
SKIM_INLINE size_t visible_tree_find(const VisibleStack *stack, HtmlTagId id, uint64_t key,
                                     Reach reach)
{
    bool is_heading = (visible_traits[id].flags & VISIBLE_HEADING) != 0;
    if (stack->n_open[id] == 0 && !is_heading) {
        return NOT_FOUND;
    }
    for (size_t i = stack->depth; i > 0; i--) {
        const VisibleNode *node = &stack->nodes[i - 1];
        bool is_one = is_heading ? (visible_traits[node->id].flags & VISIBLE_HEADING) != 0
                                 : node->id == id && (id != HTML_UNKNOWN || node->key == key);
        if (is_one && node->space == HTML_SPACE_HTML) {
            return i - 1;
        }
        if (is_edge(node, reach)) {
            return NOT_FOUND;
        }
    }
    return NOT_FOUND;
}

/* Closes the innermost element of this id within reach, and what is in it. Inline with the walk:
 * where the reach is a constant, an element that is passed costs a third. */
SKIM_INLINE bool close_element(VisibleStack *stack, HtmlTagId id, Reach reach)
{
    size_t at = visible_tree_find(stack, id, 0, reach);
    if (at != NOT_FOUND) {
        visible_stack_pop_to(stack, at);
    }
    return at != NOT_FOUND;
}

static bool is_top(const VisibleStack *stack, HtmlTagId id)
{
    const VisibleNode *top = visible_stack_top(stack);
    return top != NULL && top->id == id && top->space == HTML_SPACE_HTML;
}

/* ---- formatting elements ---- */

/* The end tag of <b>, <a> ... closes the element and not the blocks in it. */
static void end_formatting(VisibleStack *stack, HtmlTagId id)
{
    bool block_within = false;
    size_t at = visible_tree_find(stack, id, 0, REACH_SCOPE);
    if (at == NOT_FOUND) {
        return;
    }
    for (size_t i = at + 1; i < stack->depth; i++) {
        const VisibleNode *node = &stack->nodes[i];
        block_within |= node->space != HTML_SPACE_HTML ||
                        (html_tag_traits[node->id].flags & HTML_TAG_SPECIAL) != 0;
    }
    if (block_within) {
        visible_stack_remove(stack, at);
    } else {
        visible_stack_pop_to(stack, at);
    }
}

/* ---- tables ---- */

static bool visible_tree_is_table_part(HtmlTagId id)
{
    VisibleBox box = (VisibleBox)visible_traits[id].box;
    return box == VISIBLE_BOX_ROWS || box == VISIBLE_BOX_ROW || box == VISIBLE_BOX_CELL ||
           id == HTML_CAPTION || id == HTML_COL || id == HTML_COLGROUP;
}

/* Closes what is open in the innermost table, down to the parts of it that may hold a new one. */
static void clear_table(VisibleStack *stack, size_t table, bool keep_rows, bool keep_row)
{
    size_t depth = stack->depth;
    for (size_t i = table + 1; i < depth; i++) {
        VisibleBox box = (VisibleBox)visible_traits[stack->nodes[i].id].box;
        if (stack->nodes[i].space != HTML_SPACE_HTML ||
            !((keep_rows && box == VISIBLE_BOX_ROWS) || (keep_row && box == VISIBLE_BOX_ROW))) {
            depth = i;
        }
    }
    visible_stack_pop_to(stack, depth);
}

/* False: there is no table that it could be a part of. */
static bool begin_table_part(VisibleStack *stack, HtmlTagId id)
{
    size_t table = visible_tree_find(stack, HTML_TABLE, 0, REACH_TABLE);
    if (table == NOT_FOUND) {
        return false;
    }
    VisibleBox box = (VisibleBox)visible_traits[id].box;
    bool is_cell = box == VISIBLE_BOX_CELL;
    clear_table(stack, table, is_cell || box == VISIBLE_BOX_ROW, is_cell);
    if (is_cell && !is_top(stack, HTML_TR)) {
        visible_stack_push_row(stack);
    }
    return true;
}

/* A table within a table, but in none of its cells, ends the outer one. */
static void begin_table(VisibleStack *stack)
{
    const VisibleNode *top = visible_stack_top(stack);
    if (top != NULL && top->space == HTML_SPACE_HTML &&
        (top->id == HTML_TABLE || (visible_tree_is_table_part((HtmlTagId)top->id) &&
                                   visible_traits[top->id].box != VISIBLE_BOX_CELL))) {
        (void)close_element(stack, HTML_TABLE, REACH_TABLE);
    }
}

/* ---- elements of HTML ---- */

/* Closes what a start tag ends. */
static void imply_ends(VisibleStack *stack, HtmlTagId id, unsigned flags)
{
    /* An item ends the one before. */
    if (id == HTML_LI) {
        (void)close_element(stack, HTML_LI, REACH_ITEM);
    } else if ((id == HTML_DD || id == HTML_DT) && !close_element(stack, HTML_DD, REACH_ITEM)) {
        (void)close_element(stack, HTML_DT, REACH_ITEM);
    }
    if ((flags & VISIBLE_CLOSES_P) != 0) {
        (void)close_element(stack, HTML_P, REACH_BUTTON);
    }
    const VisibleNode *top = visible_stack_top(stack);
    if ((flags & VISIBLE_HEADING) != 0 && top != NULL && top->space == HTML_SPACE_HTML &&
        (visible_traits[top->id].flags & VISIBLE_HEADING) != 0) {
        visible_stack_pop_to(stack, stack->depth - 1);
    }
    switch ((int)id) {
    case HTML_A:
    case HTML_NOBR:
        end_formatting(stack, id);
        break;
    case HTML_BUTTON:
        (void)close_element(stack, HTML_BUTTON, REACH_SCOPE);
        break;
    case HTML_OPTGROUP:
    case HTML_OPTION:
        if (is_top(stack, HTML_OPTION)) {
            visible_stack_pop_to(stack, stack->depth - 1);
        }
        if (id == HTML_OPTGROUP && is_top(stack, HTML_OPTGROUP)) {
            visible_stack_pop_to(stack, stack->depth - 1);
        }
        break;
    case HTML_RB:
    case HTML_RP:
    case HTML_RT:
    case HTML_RTC:
        while (is_top(stack, HTML_RB) || is_top(stack, HTML_RP) || is_top(stack, HTML_RT)) {
            visible_stack_pop_to(stack, stack->depth - 1);
        }
        break;
    case HTML_TABLE:
        begin_table(stack);
        break;
    default:
        break;
    }
}

/* With scripts: what is in noscript is not seen. */
static HtmlTextMode visible_tree_text_mode_of(HtmlTagId id)
{
    return id == HTML_NOSCRIPT ? HTML_TEXT_RAWTEXT : html_text_mode_of(id);
}

/* A frameset takes the place of a body in which nothing was seen yet. */
static void visible_tree_begin_frameset(VisibleTree *tree)
{
    if (!tree->body_begun && tree->stack.n_open[HTML_TEMPLATE] == 0) {
        tree->is_frameset = true;
    }
}

static HtmlTextMode visible_tree_html_element(VisibleTree *tree, const HtmlTag *tag)
{
    VisibleStack *stack = &tree->stack;
    HtmlTagId id = tag->id;
    unsigned kind = html_tag_traits[id].flags;
    tree->body_begun |= (kind & HTML_TAG_NO_FRAMESET) != 0 && stack->n_open[HTML_TEMPLATE] == 0;
    switch ((int)id) {
    case HTML_HTML:
    case HTML_HEAD:
    case HTML_BODY:
        visible_stack_root(stack, tag);
        return HTML_TEXT_DATA;
    case HTML_FRAME:
        return HTML_TEXT_DATA;
    case HTML_FRAMESET:
        visible_tree_begin_frameset(tree);
        return HTML_TEXT_DATA;
    case HTML_BR:
        visible_stack_feed(stack, tag);
        return HTML_TEXT_DATA;
    case HTML_SVG:
    case HTML_MATH:
        if (!tag->self_closing) {
            visible_stack_push_foreign(stack, tag,
                                       id == HTML_SVG ? HTML_SPACE_SVG : HTML_SPACE_MATH);
        }
        return HTML_TEXT_DATA;
    default:
        break;
    }
    imply_ends(stack, id, visible_traits[id].flags);
    if (visible_tree_is_table_part(id) && !begin_table_part(stack, id)) {
        return HTML_TEXT_DATA;
    }
    HtmlTextMode mode =
        tree->is_xml && tag->self_closing ? HTML_TEXT_DATA : visible_tree_text_mode_of(id);
    if ((kind & HTML_TAG_VOID) != 0 || (tree->is_xml && tag->self_closing) ||
        (mode != HTML_TEXT_DATA && id != HTML_XMP && id != HTML_PLAINTEXT)) {
        visible_stack_void(stack, tag);
    } else if (mode == HTML_TEXT_DATA) {
        visible_stack_push(stack, tag);
    }
    return mode;
}

/* ---- foreign elements ---- */

/* Closes foreign elements up to the nearest place where HTML is HTML. */
static void visible_tree_leave_foreign(VisibleStack *stack)
{
    size_t depth = stack->depth;
    while (depth > 0 && stack->nodes[depth - 1].space != HTML_SPACE_HTML &&
           !stack->nodes[depth - 1].html_within) {
        depth--;
    }
    visible_stack_pop_to(stack, depth);
}

HtmlTextMode visible_tree_start_tag(VisibleTree *tree, const HtmlTag *tag)
{
    VisibleStack *stack = &tree->stack;
    const VisibleNode *top = visible_stack_top(stack);
    if (top == NULL || top->space == HTML_SPACE_HTML) {
        return visible_tree_html_element(tree, tag);
    }
    bool is_html =
        (top->html_within && tag->id != HTML_MGLYPH && tag->id != HTML_MALIGNMARK) ||
        (top->id == HTML_ANNOTATION_XML && top->space == HTML_SPACE_MATH && tag->id == HTML_SVG);
    if (!is_html && html_tag_breaks_out(tag)) {
        visible_tree_leave_foreign(stack);
        is_html = true;
    }
    if (is_html) {
        return visible_tree_html_element(tree, tag);
    }
    if (!tag->self_closing) {
        visible_stack_push_foreign(stack, tag, (HtmlSpace)top->space);
    }
    return HTML_TEXT_DATA;
}

/* ---- end tags ---- */

static void visible_tree_html_end_tag(VisibleTree *tree, HtmlTagId id, uint64_t key)
{
    VisibleStack *stack = &tree->stack;
    unsigned flags = visible_traits[id].flags;
    switch ((int)id) {
    case HTML_HTML:
    case HTML_HEAD:
    case HTML_BODY:
        return;
    case HTML_BR:
        visible_stack_feed(stack, NULL);
        return;
    case HTML_P:
        if (!close_element(stack, HTML_P, REACH_BUTTON) && visible_stack_state(stack) == 0) {
            visible_lines_break(stack->lines, 2); /* it stands for an empty paragraph */
        }
        return;
    case HTML_LI:
        (void)close_element(stack, HTML_LI, REACH_LIST);
        return;
    case HTML_TEMPLATE:
        (void)close_element(stack, HTML_TEMPLATE, REACH_TABLE);
        return;
    default:
        break;
    }
    if ((flags & VISIBLE_FORMATTING) != 0) {
        end_formatting(stack, id);
    } else if (id == HTML_TABLE || visible_tree_is_table_part(id)) {
        (void)close_element(stack, id, REACH_TABLE);
    } else if ((flags & VISIBLE_IN_SCOPE) != 0) {
        (void)close_element(stack, id, REACH_SCOPE);
    } else {
        size_t at = visible_tree_find(stack, id, key, REACH_INLINE);
        visible_stack_pop_to(stack, at == NOT_FOUND ? stack->depth : at);
    }
}

/* The end tag of an element around the outermost foreign one closes that, too. */
static void visible_tree_foreign_end_tag(VisibleTree *tree, HtmlTagId id, uint64_t key)
{
    VisibleStack *stack = &tree->stack;
    if (id == HTML_P || id == HTML_BR) {
        visible_tree_leave_foreign(stack);
        visible_tree_html_end_tag(tree, id, key);
        return;
    }
    for (size_t i = stack->depth; i > 0; i--) {
        const VisibleNode *node = &stack->nodes[i - 1];
        if (node->space == HTML_SPACE_HTML) {
            visible_tree_html_end_tag(tree, id, key);
            return;
        }
        if (node->key == key) {
            visible_stack_pop_to(stack, i - 1);
            return;
        }
    }
}

void visible_tree_end_tag(VisibleTree *tree, HtmlTagId id, uint64_t key)
{
    if (tree->stack.n_too_deep > 0) {
        tree->stack.n_too_deep--;
    } else if (visible_tree_is_foreign(tree)) {
        visible_tree_foreign_end_tag(tree, id, key);
    } else {
        visible_tree_html_end_tag(tree, id, key);
    }
}

/* ---- text ---- */

void visible_tree_text(VisibleTree *tree, const char *p, const char *end, bool decode)
{
    VisibleStack *stack = &tree->stack;
    if (visible_stack_state(stack) == VISIBLE_INVISIBLE && skip_class(p, end, SCAN_SPACE) < end) {
        visible_lines_object(stack->lines); /* it has its place in the line */
    }
    if (visible_stack_state(stack) != 0 || tree->is_frameset) {
        return;
    }
    if (!tree->body_begun) {
        tree->body_begun = skip_class(p, end, SCAN_SPACE) < end;
    }
    size_t before = stack->lines->length;
    visible_lines_text(stack->lines, p, end, visible_stack_white(stack), decode);
    if (visible_stack_letters(stack) != VISIBLE_CASE_KEPT) {
        visible_lines_set_case(stack->lines, before, visible_stack_letters(stack));
    }
}

void visible_tree_raw(VisibleTree *tree, const HtmlTag *tag, const char *p, const char *end)
{
    if (tag->id != HTML_XMP && tag->id != HTML_PLAINTEXT) {
        return;
    }
    size_t depth = tree->stack.depth;
    visible_stack_push(&tree->stack, tag);
    visible_tree_text(tree, p, end, false);
    if (tree->stack.depth > depth) {
        visible_stack_pop_to(&tree->stack, depth);
    }
}

void visible_tree_end(VisibleTree *tree)
{
    VisibleStack *stack = &tree->stack;
    visible_stack_pop_to(stack, 0);
    visible_marks_block(stack->marks, stack->lines->length, VISIBLE_NO_MARK);
}
