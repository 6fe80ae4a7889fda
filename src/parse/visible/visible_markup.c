#include "parse/visible/visible_markup.h"

#include "parse/html/skim_token.h"

typedef struct Markup {
    VisibleTree *tree;
    VisibleFacts *facts;
    bool skips_feed; /* a line feed that comes next is none: it stands right behind <pre> */
} Markup;

static uint32_t visible_markup_wanted_attributes(void *context, HtmlTagId id)
{
    (void)context;
    return html_tag_traits[id].attributes | VISIBLE_ATTRIBUTES;
}

static HtmlTextMode visible_markup_read_start(void *context, const HtmlTag *tag)
{
    Markup *m = context;
    if ((tag->id == HTML_META || tag->id == HTML_LINK || tag->id == HTML_BASE ||
         tag->id == HTML_HTML) &&
        visible_tree_in_document(m->tree)) {
        visible_facts_tag(m->facts, tag);
    }
    m->skips_feed = tag->id == HTML_PRE || tag->id == HTML_LISTING;
    return visible_tree_start_tag(m->tree, tag);
}

static void visible_markup_read_end(void *context, HtmlTagId id, uint64_t key)
{
    Markup *m = context;
    m->skips_feed = false;
    visible_tree_end_tag(m->tree, id, key);
}

static void visible_markup_read_text(void *context, const char *from, const char *to, bool decode)
{
    Markup *m = context;
    if (m->skips_feed) {
        from += from < to && *from == '\r' ? 1 : 0;
        from += from < to && *from == '\n' ? 1 : 0;
        m->skips_feed = false;
    }
    if (from < to) {
        visible_tree_text(m->tree, from, to, decode);
    }
}

static void visible_markup_read_raw(void *context, const HtmlTag *tag, HtmlTextMode mode,
                                    const char *from, const char *to, bool ended)
{
    Markup *m = context;
    (void)mode;
    (void)ended;
    if (tag->id == HTML_TITLE) {
        if (visible_tree_in_document(m->tree)) {
            visible_facts_title(m->facts, from, (size_t)(to - from));
        }
    } else {
        visible_tree_raw(m->tree, tag, from, to);
    }
}

static bool visible_markup_has_cdata(void *context)
{
    const Markup *m = context;
    return m->tree->is_xml || visible_tree_is_foreign(m->tree);
}

void visible_markup_read(const char *text, size_t length, VisibleTree *tree, VisibleFacts *facts)
{
    static const SkimReader reader = {.wanted = visible_markup_wanted_attributes,
                                      .start = visible_markup_read_start,
                                      .end = visible_markup_read_end,
                                      .text = visible_markup_read_text,
                                      .raw = visible_markup_read_raw,
                                      .has_cdata = visible_markup_has_cdata};
    Markup m = {.tree = tree, .facts = facts};
    skim_tokens(text, length, &reader, &m);
    visible_tree_end(tree);
}
