#include "parse/html/skim.h"

#include "parse/html/html_tree.h"

static void skim_read_text(void *context, const char *from, const char *to, bool decode)
{
    const Skim *s = context;
    size_t n = (size_t)(to - from);
    if (n == 0) {
        return;
    }
    if (s->tree->wants_text) {
        html_tree_text(s->tree, from, n);
    }
    if (s->tree->options->link_text > 0) {
        html_links_text(s->tree, from, n, decode);
    }
    if (s->digest != NULL) {
        digest_text(s->digest, from, n, decode);
    }
}

static void skim_read_raw(void *context, const HtmlTag *tag, HtmlTextMode mode, const char *from,
                          const char *to, bool ended)
{
    const Skim *s = context;
    if (tag->id == HTML_TITLE && s->tree->title == NULL && s->tree->n_templates == 0) {
        html_links_set_title(s->tree, from, (size_t)(to - from));
    }
    if (tag->id == HTML_STYLE) {
        html_css_element(s->tree, from, (size_t)(to - from), tag->transient);
    }
    /* A script that never ends is a page cut short: its text tells such pages apart. */
    bool is_text = (tag->id != HTML_SCRIPT && tag->id != HTML_STYLE) || !ended;
    if (is_text && s->digest != NULL && to > from) {
        digest_text(s->digest, from, (size_t)(to - from), mode == HTML_TEXT_RCDATA);
    }
}

/* The attributes to be kept; all of them while foreign content is open. */
static uint32_t skim_wanted_attributes(void *context, HtmlTagId id)
{
    const Skim *s = context;
    uint32_t more = s->tree->options->styles ? UINT32_C(1) << HTML_ATTR_STYLE : 0;
    more |= s->tree->options->link_text > 0 ? UINT32_C(1) << HTML_ATTR_ALT : 0;
    return s->tree->depth > 0 ? ~UINT32_C(0) : html_tag_traits[id].attributes | more;
}

static HtmlTextMode skim_read_start(void *context, const HtmlTag *tag)
{
    const Skim *s = context;
    if (s->digest != NULL) {
        digest_tag(s->digest, tag->id, false);
        if ((tag->id == HTML_FRAME || tag->id == HTML_IFRAME) && html_tag_has(tag, HTML_ATTR_SRC)) {
            digest_frame(s->digest, tag->values[HTML_ATTR_SRC].bytes,
                         tag->values[HTML_ATTR_SRC].length);
        }
    }
    HtmlTextMode mode = html_tree_start_tag(s->tree, tag);
    html_tree_tell(s->tree);
    return mode;
}

static void skim_read_end(void *context, HtmlTagId id, uint64_t key)
{
    const Skim *s = context;
    if (s->digest != NULL) {
        digest_tag(s->digest, id, true);
    }
    html_tree_end_tag(s->tree, id, key);
}

static bool skim_has_cdata(void *context)
{
    const Skim *s = context;
    return html_tree_is_foreign(s->tree);
}

static const SkimReader reader = {.wanted = skim_wanted_attributes,
                                  .start = skim_read_start,
                                  .end = skim_read_end,
                                  .text = skim_read_text,
                                  .raw = skim_read_raw,
                                  .has_cdata = skim_has_cdata};

const SkimReader *skim_reader(void)
{
    return &reader;
}

void skim(const char *text, size_t length, HtmlTree *tree, Digest *digest)
{
    Skim s = {.tree = tree, .digest = digest};
    skim_tokens(text, length, &reader, &s);
}
