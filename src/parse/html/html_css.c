#include "parse/html/html_css.h"

#include <string.h>

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
    if (css_read_sheet(&links->tree->css, text, length, html_css_add_reference, links) !=
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
    if (css_read_declarations(&tree->css, style.bytes, style.length, html_css_add_reference,
                              &links) != RESULT_OK) {
        tree->failed = true;
    }
}
