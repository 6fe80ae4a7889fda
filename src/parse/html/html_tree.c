#include "parse/html/html_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/ascii.h"

/* ---- Style in a page ---- */

typedef struct CssLinks {
    HtmlTree *tree;
    bool is_transient;
    bool tells; /* hands references on while it reads: nothing else is in the arena */
} CssLinks;

static Result html_css_add_reference(void *context, const char *bytes, size_t length,
                                     bool is_scratch)
{
    const CssLinks *links = context;
    HtmlSlice url = {.bytes = bytes, .length = length};
    if (is_scratch || links->is_transient) {
        url.bytes = arena_copy(links->tree->arena, bytes, length);
        if (url.bytes == NULL) {
            return RESULT_MEMORY;
        }
    }
    html_links_add(links->tree, url, LINK_STYLE, 0);
    if (links->tells) {
        html_tree_tell(links->tree);
    }
    return RESULT_OK;
}

static void read_sheet(CssLinks *links, const char *text, size_t length)
{
    if (css_read(&links->tree->css, text, length, true, html_css_add_reference, links) !=
        RESULT_OK) {
        links->tree->failed = true;
    }
}

void html_css_sheet(HtmlTree *tree, const char *text, size_t length)
{
    CssLinks links = {.tree = tree, .is_transient = false, .tells = true};
    read_sheet(&links, text, length);
}

void html_css_element(HtmlTree *tree, const char *text, size_t length, bool is_transient)
{
    CssLinks links = {.tree = tree, .is_transient = is_transient};
    if (tree->options->styles && tree->n_templates == 0 && tree->mode < HTML_MODE_FRAMESET) {
        read_sheet(&links, text, length);
    }
}

void html_css_attribute(HtmlTree *tree, const HtmlTag *tag)
{
    HtmlSlice style;
    /* Most have no reference, which a look for "(" tells. */
    if (!tree->options->styles || !html_tag_has(tag, HTML_ATTR_STYLE) ||
        memchr(tag->values[HTML_ATTR_STYLE].bytes, '(', tag->values[HTML_ATTR_STYLE].length) ==
            NULL ||
        !html_links_value(tree, tag, HTML_ATTR_STYLE, &style)) {
        return;
    }
    /* What has references has been copied by then; what has none lives as long as the tag. */
    CssLinks links = {.tree = tree, .is_transient = tag->transient};
    if (css_read(&tree->css, style.bytes, style.length, false, html_css_add_reference, &links) !=
        RESULT_OK) {
        tree->failed = true;
    }
}

/* ---- What a browser's tree builder would keep of a page ---- */

#define REFS_SPARE 1024 /* references that are no http links are counted with the links */

void html_tree_init(HtmlTree *tree, const HtmlOptions *options, Arena *arena)
{
    memset(tree, 0, sizeof *tree);
    tree->options = options;
    tree->arena = arena;
    tree->refs_limit = 2 * options->max_links + REFS_SPARE;
    tree->refs_batch = SIZE_MAX;
    tree->arena_batch = SIZE_MAX;
    tree->words_batch = SIZE_MAX;
    link_text_init(&tree->words, options->link_text);
    css_reader_init(&tree->css);
}

void html_tree_destroy(HtmlTree *tree)
{
    css_reader_destroy(&tree->css);
    link_text_destroy(&tree->words);
    free(tree->spans);
    free(tree->refs);
    tree->spans = NULL;
    tree->refs = NULL;
    tree->refs_capacity = 0;
    tree->spans_capacity = 0;
}

void html_tree_set_link_text(HtmlTree *tree, size_t link_text)
{
    tree->words.most = link_text;
    free(tree->spans); /* there are as many of them as references, or none */
    free(tree->refs);
    tree->spans = NULL;
    tree->refs = NULL;
    tree->refs_capacity = 0;
    tree->spans_capacity = 0;
    tree->n_refs = 0;
}

void html_tree_begin(HtmlTree *tree)
{
    link_text_begin(&tree->words);
    tree->open_anchor = SIZE_MAX;
    tree->n_refs = 0;
    tree->n_dropped = 0;
    tree->has_base = false;
    tree->title = NULL;
    tree->language[0] = '\0';
    tree->robots = 0;
    tree->ends_s = 0;
    tree->meta_encoding = NULL;
    tree->mode = HTML_MODE_HEAD;
    tree->wants_text = true;
    tree->form_open = false;
    tree->failed = false;
    tree->framesets = 0;
    tree->body_first_ref = 0;
    tree->depth = 0;
    tree->n_templates = 0;
    tree->n_too_deep = 0;
    memset(tree->n_open, 0, sizeof tree->n_open);
}

/* ---- the stack ---- */

static void html_tree_push(HtmlTree *tree, const HtmlTag *tag, HtmlSpace space)
{
    if (tree->depth == HTML_TREE_DEPTH) {
        tree->n_too_deep++;
        return;
    }
    tree->stack[tree->depth++] = (HtmlNode){.key = tag->key,
                                            .id = tag->id,
                                            .space = (uint8_t)space,
                                            .html_within = false,
                                            .text_within = false};
}

static void pop_to(HtmlTree *tree, size_t depth)
{
    while (tree->depth > depth) {
        tree->depth--;
        const HtmlNode *node = &tree->stack[tree->depth];
        if (node->id == HTML_TEMPLATE && node->space == HTML_SPACE_HTML) {
            tree->n_templates--;
        }
    }
    tree->n_too_deep = 0;
}

static bool foreign_is_open(const HtmlTree *tree)
{
    /* Templates alone stand for no foreign content. */
    return tree->depth > tree->n_templates;
}

static bool is_integration_point(const HtmlNode *node)
{
    return node->html_within || node->text_within;
}

/* ---- HTML elements ---- */

/* A frameset takes the place of a body in which nothing was visible yet. */
static void html_tree_begin_frameset(HtmlTree *tree)
{
    if (tree->mode == HTML_MODE_BODY) {
        tree->n_refs = tree->body_first_ref;
        tree->has_base = tree->has_base && !tree->base_in_body;
        pop_to(tree, 0);
    }
    tree->mode = HTML_MODE_FRAMESET;
    tree->wants_text = false;
    tree->framesets = 1;
}

static HtmlTextMode tag_in_frameset(HtmlTree *tree, const HtmlTag *tag)
{
    if (tag->id == HTML_NOFRAMES) {
        return HTML_TEXT_RAWTEXT;
    }
    if (tree->mode == HTML_MODE_FRAMESET) {
        if (tag->id == HTML_FRAMESET) {
            tree->framesets++;
        } else if (tag->id == HTML_FRAME) {
            html_links_of_element(tree, tag);
        }
    }
    return HTML_TEXT_DATA;
}

static bool is_hidden_input(const HtmlTag *tag)
{
    const HtmlSlice *type = &tag->values[HTML_ATTR_TYPE];
    return tag->id == HTML_INPUT && html_tag_has(tag, HTML_ATTR_TYPE) &&
           ascii_is(type->bytes, type->length, "hidden");
}

static void enter_body(HtmlTree *tree)
{
    tree->mode = HTML_MODE_BODY;
    tree->body_first_ref = tree->n_refs;
}

/* <p> within <p> and <li> within <li> close the one before; that much of the implied end tags is
 * kept, so that the stack does not grow with a list inside an SVG. */
static void close_same(HtmlTree *tree, const HtmlTag *tag)
{
    const HtmlNode *top = &tree->stack[tree->depth - 1];
    if (top->space == HTML_SPACE_HTML && top->id == tag->id &&
        (tag->id == HTML_P || tag->id == HTML_LI || tag->id == HTML_OPTION)) {
        pop_to(tree, tree->depth - 1);
    }
}

static void begin_foreign(HtmlTree *tree, const HtmlTag *tag)
{
    if (!tag->self_closing) {
        html_tree_push(tree, tag, tag->id == HTML_SVG ? HTML_SPACE_SVG : HTML_SPACE_MATH);
    }
}

/* Parts of a table outside of one are dropped. */
static bool is_stray_cell(const HtmlTree *tree, HtmlTagId id)
{
    return (id == HTML_TD || id == HTML_TH || id == HTML_TR || id == HTML_TBODY ||
            id == HTML_THEAD || id == HTML_TFOOT || id == HTML_CAPTION || id == HTML_COL ||
            id == HTML_COLGROUP) &&
           tree->n_open[HTML_TABLE] == 0 && tree->n_templates == 0;
}

static HtmlTextMode html_tree_html_element(HtmlTree *tree, const HtmlTag *tag)
{
    unsigned flags = html_tag_traits[tag->id].flags;
    if (tree->mode >= HTML_MODE_FRAMESET) {
        return tag_in_frameset(tree, tag);
    }
    if (tree->n_templates == 0) {
        if (tag->id == HTML_FRAMESET) {
            if (tree->mode == HTML_MODE_HEAD || tree->wants_text) {
                html_tree_begin_frameset(tree);
            }
            return HTML_TEXT_DATA;
        }
        if (tree->mode == HTML_MODE_HEAD && (flags & HTML_TAG_HEAD) == 0) {
            enter_body(tree);
        }
        if ((flags & HTML_TAG_NO_FRAMESET) != 0 && !is_hidden_input(tag)) {
            tree->wants_text = false;
        }
    }
    if (tag->id == HTML_FRAME || tag->id == HTML_FRAMESET || is_stray_cell(tree, tag->id)) {
        return HTML_TEXT_DATA; /* in a body it is dropped */
    }
    if (tag->id == HTML_SVG || tag->id == HTML_MATH) {
        begin_foreign(tree, tag);
        return HTML_TEXT_DATA;
    }
    if (tag->id == HTML_TEMPLATE) {
        html_tree_push(tree, tag, HTML_SPACE_HTML);
        if (tree->n_too_deep == 0) {
            tree->n_templates++;
        }
        return HTML_TEXT_DATA;
    }
    if (tag->id == HTML_FORM && tree->n_templates == 0) {
        if (tree->form_open) {
            return HTML_TEXT_DATA; /* a form within a form is dropped */
        }
        tree->form_open = true;
    }
    if (tree->n_templates == 0 && html_tag_traits[tag->id].attributes != 0) {
        html_links_of_element(tree, tag);
    }
    if (tree->options->styles && tree->n_templates == 0) {
        html_css_attribute(tree, tag);
    }
    tree->n_open[tag->id]++;
    HtmlTextMode mode = html_text_mode_of(tag->id);
    if (mode == HTML_TEXT_DATA && (flags & HTML_TAG_VOID) == 0 && foreign_is_open(tree)) {
        close_same(tree, tag);
        html_tree_push(tree, tag, HTML_SPACE_HTML);
    }
    return mode;
}

/* ---- foreign elements ---- */

bool html_tag_breaks_out(const HtmlTag *tag)
{
    const uint32_t font = 1u << HTML_ATTR_COLOR | 1u << HTML_ATTR_FACE | 1u << HTML_ATTR_SIZE;
    return (html_tag_traits[tag->id].flags & HTML_TAG_BREAKOUT) != 0 ||
           (tag->id == HTML_FONT && (tag->present & font) != 0);
}

/* Closes foreign elements up to the nearest place where HTML is HTML. */
static void html_tree_leave_foreign(HtmlTree *tree)
{
    size_t depth = tree->depth;
    while (depth > 0 && tree->stack[depth - 1].space != HTML_SPACE_HTML &&
           !is_integration_point(&tree->stack[depth - 1])) {
        depth--;
    }
    pop_to(tree, depth);
}

bool html_tag_encodes_html(const HtmlTag *tag)
{
    const HtmlSlice *v = &tag->values[HTML_ATTR_ENCODING];
    return html_tag_has(tag, HTML_ATTR_ENCODING) &&
           (ascii_is(v->bytes, v->length, "text/html") ||
            ascii_is(v->bytes, v->length, "application/xhtml+xml"));
}

static void foreign_element(HtmlTree *tree, const HtmlTag *tag)
{
    HtmlSpace space = (HtmlSpace)tree->stack[tree->depth - 1].space;
    if (space == HTML_SPACE_SVG && tree->n_templates == 0) {
        html_links_of_svg(tree, tag);
    }
    if (tree->n_templates == 0) {
        html_css_attribute(tree, tag);
    }
    if (tag->self_closing) {
        return;
    }
    size_t before = tree->depth;
    html_tree_push(tree, tag, space);
    if (tree->depth == before) {
        return;
    }
    HtmlNode *node = &tree->stack[before];
    if (space == HTML_SPACE_SVG) {
        node->html_within =
            tag->id == HTML_FOREIGNOBJECT || tag->id == HTML_DESC || tag->id == HTML_TITLE;
    } else {
        node->text_within = tag->id == HTML_MI || tag->id == HTML_MO || tag->id == HTML_MN ||
                            tag->id == HTML_MS || tag->id == HTML_MTEXT;
        node->html_within = tag->id == HTML_ANNOTATION_XML && html_tag_encodes_html(tag);
    }
}

static HtmlTextMode start_tag(HtmlTree *tree, const HtmlTag *tag)
{
    if (!html_tree_is_foreign(tree)) {
        return html_tree_html_element(tree, tag);
    }
    const HtmlNode *top = &tree->stack[tree->depth - 1];
    bool html =
        top->html_within ||
        (top->text_within && tag->id != HTML_MGLYPH && tag->id != HTML_MALIGNMARK) ||
        (top->id == HTML_ANNOTATION_XML && top->space == HTML_SPACE_MATH && tag->id == HTML_SVG);
    if (!html && html_tag_breaks_out(tag)) {
        html_tree_leave_foreign(tree);
        html = true;
    }
    if (html) {
        return html_tree_html_element(tree, tag);
    }
    foreign_element(tree, tag);
    return HTML_TEXT_DATA;
}

HtmlTextMode html_tree_start_tag(HtmlTree *tree, const HtmlTag *tag)
{
    if (tree->options->link_text == 0) {
        return start_tag(tree, tag);
    }
    html_links_begin_tag(tree, tag);
    size_t n_refs = tree->n_refs;
    HtmlTextMode mode = start_tag(tree, tag);
    html_links_begun_tag(tree, tag, n_refs);
    return mode;
}

/* ---- end tags ---- */

/* Foreign elements that the end tag of an element around them does not close. */
static bool is_foreign_boundary(const HtmlNode *node)
{
    switch ((int)node->id) {
    case HTML_MI:
    case HTML_MO:
    case HTML_MN:
    case HTML_MS:
    case HTML_MTEXT:
    case HTML_ANNOTATION_XML:
        return node->space == HTML_SPACE_MATH;
    case HTML_FOREIGNOBJECT:
    case HTML_DESC:
    case HTML_TITLE:
        return node->space == HTML_SPACE_SVG;
    default:
        return false;
    }
}

/* The parts of a table close whatever is in them. */
static bool html_tree_is_table_part(HtmlTagId id)
{
    return id == HTML_TABLE || id == HTML_TBODY || id == HTML_THEAD || id == HTML_TFOOT ||
           id == HTML_TR || id == HTML_TD || id == HTML_TH || id == HTML_CAPTION;
}

/* An end tag while an HTML element within foreign content, or within a template, is the current
 * one. */
static void html_tree_html_end_tag(HtmlTree *tree, HtmlTagId id, uint64_t key)
{
    if (id == HTML_TEMPLATE) {
        if (tree->n_templates > 0) {
            size_t depth = tree->depth;
            while (tree->stack[depth - 1].id != HTML_TEMPLATE ||
                   tree->stack[depth - 1].space != HTML_SPACE_HTML) {
                depth--;
            }
            pop_to(tree, depth - 1);
        }
        return;
    }
    bool ordinary = (html_tag_traits[id].flags & HTML_TAG_SPECIAL) == 0;
    for (size_t depth = tree->depth; depth > 0; depth--) {
        const HtmlNode *node = &tree->stack[depth - 1];
        if (node->space == HTML_SPACE_HTML && node->id != HTML_TEMPLATE && node->key == key) {
            pop_to(tree, depth - 1);
            return;
        }
        unsigned flags = node->space == HTML_SPACE_HTML ? html_tag_traits[node->id].flags : 0u;
        bool is_edge = is_foreign_boundary(node) || (flags & HTML_TAG_SCOPE) != 0 ||
                       (ordinary && (flags & HTML_TAG_SPECIAL) != 0);
        if (html_tree_is_table_part(id)) {
            is_edge = node->space == HTML_SPACE_HTML &&
                      (node->id == HTML_TABLE || node->id == HTML_TEMPLATE);
        }
        if (is_edge) {
            return;
        }
    }
}

/* Whether the end tag of an open element closes the foreign content in it. */
static bool closes_what_is_within(HtmlTagId id)
{
    return id != HTML_UNKNOWN && id != HTML_FORM && id != HTML_BODY && id != HTML_HTML &&
           id != HTML_HEAD && (html_tag_traits[id].flags & HTML_TAG_VOID) == 0;
}

static void html_tree_foreign_end_tag(HtmlTree *tree, HtmlTagId id, uint64_t key)
{
    if (id == HTML_P || id == HTML_BR) {
        html_tree_leave_foreign(tree);
        return;
    }
    size_t depth = tree->depth;
    bool is_held = false;
    while (depth > 0 && tree->stack[depth - 1].space != HTML_SPACE_HTML) {
        if (tree->stack[depth - 1].key == key) {
            pop_to(tree, depth - 1);
            return;
        }
        is_held |= is_foreign_boundary(&tree->stack[depth - 1]);
        depth--;
    }
    if (depth > 0 || id == HTML_TEMPLATE) {
        html_tree_html_end_tag(tree, id, key);
    } else if (tree->n_open[id] > 0 && closes_what_is_within(id) &&
               (!is_held || html_tree_is_table_part(id))) {
        pop_to(tree, 0); /* an element around the outermost foreign one */
    }
}

void html_tree_end_tag(HtmlTree *tree, HtmlTagId id, uint64_t key)
{
    html_links_end_tag(tree, id);
    if (tree->mode == HTML_MODE_FRAMESET) {
        if (id == HTML_FRAMESET && --tree->framesets == 0) {
            tree->mode = HTML_MODE_AFTER_FRAMESET;
        }
        return;
    }
    if (id == HTML_BR && tree->n_templates == 0) {
        tree->wants_text = false; /* it stands for <br> */
    }
    if (tree->depth == 0) {
        tree->n_open[id] -= tree->n_open[id] > 0 ? 1 : 0;
        if (id == HTML_FORM) {
            tree->form_open = false;
        }
        return;
    }
    if (tree->n_too_deep > 0) {
        tree->n_too_deep--;
        return;
    }
    if (id == HTML_FORM && tree->n_templates == 0) {
        tree->form_open = false;
    }
    if (html_tree_is_foreign(tree)) {
        html_tree_foreign_end_tag(tree, id, key);
    } else {
        html_tree_html_end_tag(tree, id, key);
    }
}

void html_tree_text(HtmlTree *tree, const char *text, size_t length)
{
    if (tree->n_templates > 0) {
        return;
    }
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\f') {
            if (tree->mode == HTML_MODE_HEAD) {
                enter_body(tree);
            }
            tree->wants_text = false;
            return;
        }
    }
}
