#include "parse/html/html_tree.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "parse/charset/charset.h"
#include "parse/charset/charset_span.h"
#include "parse/text/entities.h"
#include "parse/html/html_words.h"
#include "parse/html/html.h"
#include "base/memory/array.h"

/* ---- values ---- */

bool html_links_value(HtmlTree *tree, const HtmlTag *tag, HtmlAttributeId id, HtmlSlice *value)
{
    if (!html_tag_has(tag, id)) {
        return false;
    }
    *value = tag->values[id];
    const char *end = value->bytes + value->length;
    bool plain =
        find_byte(value->bytes, end, '&') == end && find_byte(value->bytes, end, '\r') == end;
    if (value->length == 0 || (plain && !tag->transient)) {
        return true;
    }
    char *copy = arena_alloc_bytes(tree->arena, ENTITY_ROOM(value->length));
    if (copy == NULL) {
        tree->failed = true;
        return false;
    }
    value->length = entity_decode(value->bytes, value->length, true, copy);
    value->bytes = copy;
    return true;
}

/* Never http: not worth a place among the links, and often long. */
static bool is_other_scheme(const HtmlSlice *url)
{
    static const char *const schemes[] = {"javascript:", "data:", "mailto:", "tel:"};
    if (url->length == 0 || strchr("jJdDmMtT", url->bytes[0]) == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t n = strlen(schemes[i]);
        if (url->length >= n && strncasecmp(url->bytes, schemes[i], n) == 0) {
            return true;
        }
    }
    return false;
}

static bool html_links_make_room(HtmlTree *tree)
{
    size_t n = tree->n_refs + 1;
    return array_reserve(&tree->refs, &tree->refs_capacity, n, sizeof *tree->refs) == RESULT_OK &&
           (tree->options->link_text == 0 || array_reserve(&tree->spans, &tree->spans_capacity, n,
                                                           sizeof *tree->spans) == RESULT_OK);
}

void html_links_add(HtmlTree *tree, HtmlSlice url, LinkKind kind, unsigned flags)
{
    html_trim(&url);
    if (is_other_scheme(&url)) {
        return;
    }
    if (tree->n_refs == tree->refs_limit || url.length > UINT32_MAX) {
        tree->n_dropped++;
        return;
    }
    if (!html_links_make_room(tree)) {
        tree->failed = true;
        return;
    }
    if (tree->spans != NULL) {
        uint32_t at = link_text_position(&tree->words);
        tree->spans[tree->n_refs] = (HtmlSpan){.from = at, .to = at};
    }
    tree->refs[tree->n_refs++] = (HtmlRef){.bytes = url.bytes,
                                           .length = (uint32_t)url.length,
                                           .kind = (uint8_t)kind,
                                           .flags = (uint8_t)flags};
}

/* ---- what is written on links and around them ---- */

/* An element that stands for itself in the text, as an image does, or within a line. */
static bool is_inline(HtmlTagId id)
{
    return id == HTML_IMG || id == HTML_INPUT ||
           (html_tag_traits[id].flags & HTML_TAG_SPECIAL) == 0;
}

static void end_anchor(HtmlTree *tree)
{
    if (tree->open_anchor < tree->n_refs) {
        tree->spans[tree->open_anchor].to = link_text_position(&tree->words);
    }
    tree->open_anchor = SIZE_MAX;
}

void html_links_begin_tag(HtmlTree *tree, const HtmlTag *tag)
{
    HtmlSlice alt;
    if (tree->options->link_text == 0) {
        return;
    }
    if (!is_inline(tag->id)) {
        link_text_break(&tree->words);
    }
    if (tag->id == HTML_A) {
        end_anchor(tree);
    }
    if (tag->id == HTML_IMG && tree->n_templates == 0 &&
        html_links_value(tree, tag, HTML_ATTR_ALT, &alt)) {
        link_text_add(&tree->words, alt.bytes, alt.length, false);
    }
}

void html_links_begun_tag(HtmlTree *tree, const HtmlTag *tag, size_t n_refs)
{
    if (tag->id == HTML_A && tree->spans != NULL && tree->n_refs > n_refs) {
        tree->open_anchor = n_refs;
    }
}

void html_links_end_tag(HtmlTree *tree, HtmlTagId id)
{
    if (tree->options->link_text == 0) {
        return;
    }
    if (id == HTML_A) {
        end_anchor(tree);
    } else if (!is_inline(id)) {
        link_text_break(&tree->words);
    }
}

void html_links_text(HtmlTree *tree, const char *text, size_t length, bool decode)
{
    if (tree->options->link_text > 0 && tree->n_templates == 0) {
        link_text_add(&tree->words, text, length, decode);
    }
}

/* An attribute that is a URL; an empty one counts on hyperlinks only. */
static bool add_attribute(HtmlTree *tree, const HtmlTag *tag, HtmlAttributeId id, LinkKind kind,
                          unsigned flags)
{
    HtmlSlice url;
    if (!html_links_value(tree, tag, id, &url)) {
        return false;
    }
    HtmlSlice inner = url;
    html_trim(&inner);
    if (inner.length == 0 && kind != LINK_A && kind != LINK_AREA) {
        return false;
    }
    html_links_add(tree, inner, kind, flags);
    return true;
}

/* The URLs of a srcset: each up to white space, commas behind it ended it; else its descriptors go
 * on to the next comma outside of parentheses. */
static void add_srcset(HtmlTree *tree, const HtmlTag *tag, HtmlAttributeId id, LinkKind kind)
{
    HtmlSlice set;
    if (!html_links_value(tree, tag, id, &set)) {
        return;
    }
    const char *p = set.bytes;
    const char *end = p + set.length;
    while (p < end) {
        while (p < end && (ascii_is_space(*p) || *p == ',')) {
            p++;
        }
        const char *start = p;
        while (p < end && !ascii_is_space(*p)) {
            p++;
        }
        const char *stop = p;
        while (stop > start && stop[-1] == ',') {
            stop--;
        }
        if (stop > start) {
            html_links_add(tree, (HtmlSlice){.bytes = start, .length = (size_t)(stop - start)},
                           kind, 0);
        }
        if (stop == p) {
            bool open = false;
            while (p < end && (open || *p != ',')) {
                open = *p == '(' || (open && *p != ')');
                p++;
            }
        }
    }
}

/* ---- rel ---- */

static unsigned rel_flags(HtmlTree *tree, const HtmlTag *tag)
{
    HtmlSlice rel;
    return html_links_value(tree, tag, HTML_ATTR_REL, &rel) ? html_rel_flags(&rel) : 0;
}

static unsigned link_flags(HtmlTree *tree, const HtmlTag *tag)
{
    HtmlSlice rel = {.bytes = "", .length = 0};
    HtmlSlice type = rel;
    (void)html_links_value(tree, tag, HTML_ATTR_REL, &rel);
    (void)html_links_value(tree, tag, HTML_ATTR_TYPE, &type);
    return html_link_flags(rel.bytes, rel.length, type.bytes, type.length);
}

/* ---- meta ---- */

static void html_links_read_meta(HtmlTree *tree, const HtmlTag *tag)
{
    HtmlSlice content = {.bytes = "", .length = 0};
    HtmlSlice equiv = content;
    HtmlSlice name = content;
    (void)html_links_value(tree, tag, HTML_ATTR_CONTENT, &content);
    (void)html_links_value(tree, tag, HTML_ATTR_HTTP_EQUIV, &equiv);
    (void)html_links_value(tree, tag, HTML_ATTR_NAME, &name);
    if (tree->meta_encoding == NULL) {
        HtmlSlice label;
        bool has_label = html_links_value(tree, tag, HTML_ATTR_CHARSET, &label);
        tree->meta_encoding = charset_of_meta(has_label ? &label : NULL, &equiv, &content);
    }
    if (html_is_word(&equiv, "refresh")) {
        HtmlSlice url;
        if (html_refresh_url(&content, &url)) {
            html_links_add(tree, url, LINK_META, 0);
        }
    }
    if (robots_meta_names(name.bytes, name.length, tree->options->robots_agent)) {
        int64_t ends_s = robots_meta_end(content.bytes, content.length);
        tree->robots |= robots_meta_content(content.bytes, content.length);
        tree->ends_s = tree->ends_s == 0 ? ends_s : tree->ends_s;
    }
}

/* ---- elements ---- */

void html_links_set_title(HtmlTree *tree, const char *text, size_t length)
{
    char raw[ENTITY_ROOM(2 * HTML_TITLE_BYTES)];
    size_t n = length < 2 * HTML_TITLE_BYTES ? length : 2 * HTML_TITLE_BYTES;
    n = entity_decode(text, n, false, raw);
    char title[HTML_TITLE_BYTES + 1];
    size_t used = 0;
    for (size_t i = 0; i < n && used < HTML_TITLE_BYTES; i++) {
        if (!ascii_is_space(raw[i])) {
            title[used++] = raw[i];
        } else if (used > 0 && title[used - 1] != ' ') {
            title[used++] = ' ';
        }
    }
    size_t good = charset_utf8_span(title, used); /* a character may have been cut */
    if (good > 0 && title[good - 1] == ' ') {
        good--;
    }
    tree->title = arena_copy(tree->arena, title, good);
}

static void read_base(HtmlTree *tree, const HtmlTag *tag)
{
    if (!tree->has_base) {
        tree->has_base = html_links_value(tree, tag, HTML_ATTR_HREF, &tree->base);
        tree->base_in_body = tree->mode == HTML_MODE_BODY;
    }
}

static void read_language(HtmlTree *tree, const HtmlTag *tag)
{
    HtmlAttributeId id = html_tag_has(tag, HTML_ATTR_LANG) ? HTML_ATTR_LANG : HTML_ATTR_XML_LANG;
    HtmlSlice value;
    if (tree->language[0] == '\0' && html_links_value(tree, tag, id, &value)) {
        (void)language_tag_read(value.bytes, value.length, tree->language);
    }
}

static void add_forms(HtmlTree *tree, const HtmlTag *tag)
{
    if (tree->options->forms) {
        (void)add_attribute(tree, tag,
                            tag->id == HTML_FORM ? HTML_ATTR_ACTION : HTML_ATTR_FORMACTION,
                            LINK_FORM, 0);
    }
}

static void add_input(HtmlTree *tree, const HtmlTag *tag)
{
    HtmlSlice type;
    if (html_links_value(tree, tag, HTML_ATTR_TYPE, &type) && html_is_word(&type, "image")) {
        (void)add_attribute(tree, tag, HTML_ATTR_SRC, LINK_INPUT, 0);
    }
    add_forms(tree, tag);
}

void html_links_of_element(HtmlTree *tree, const HtmlTag *tag)
{
    switch ((int)tag->id) {
    case HTML_A:
    case HTML_AREA:
        (void)add_attribute(tree, tag, HTML_ATTR_HREF, tag->id == HTML_A ? LINK_A : LINK_AREA,
                            rel_flags(tree, tag));
        break;
    case HTML_LINK:
        (void)add_attribute(tree, tag, HTML_ATTR_HREF, LINK_LINK, link_flags(tree, tag));
        add_srcset(tree, tag, HTML_ATTR_IMAGESRCSET, LINK_LINK);
        break;
    case HTML_HTML:
        read_language(tree, tag);
        break;
    case HTML_BASE:
        read_base(tree, tag);
        break;
    case HTML_META:
        html_links_read_meta(tree, tag);
        break;
    case HTML_IMG:
    case HTML_IMAGE:
        (void)add_attribute(tree, tag, HTML_ATTR_SRC, LINK_IMG, 0);
        add_srcset(tree, tag, HTML_ATTR_SRCSET, LINK_IMG);
        break;
    case HTML_SCRIPT:
        (void)add_attribute(tree, tag, HTML_ATTR_SRC, LINK_SCRIPT, 0);
        break;
    case HTML_IFRAME:
        (void)add_attribute(tree, tag, HTML_ATTR_SRC, LINK_IFRAME, 0);
        break;
    case HTML_FRAME:
        (void)add_attribute(tree, tag, HTML_ATTR_SRC, LINK_FRAME, 0);
        break;
    case HTML_VIDEO:
    case HTML_AUDIO:
    case HTML_SOURCE:
    case HTML_TRACK:
        (void)add_attribute(tree, tag, HTML_ATTR_SRC, LINK_MEDIA, 0);
        (void)add_attribute(tree, tag, HTML_ATTR_POSTER, LINK_MEDIA, 0);
        add_srcset(tree, tag, HTML_ATTR_SRCSET, LINK_MEDIA);
        break;
    case HTML_EMBED:
        (void)add_attribute(tree, tag, HTML_ATTR_SRC, LINK_EMBED, 0);
        break;
    case HTML_OBJECT:
        (void)add_attribute(tree, tag, HTML_ATTR_DATA, LINK_OBJECT, 0);
        break;
    case HTML_INPUT:
        add_input(tree, tag);
        break;
    case HTML_FORM:
    case HTML_BUTTON:
        add_forms(tree, tag);
        break;
    case HTML_BODY:
        (void)add_attribute(tree, tag, HTML_ATTR_BACKGROUND, LINK_BODY, 0);
        break;
    default:
        break;
    }
}

void html_links_of_svg(HtmlTree *tree, const HtmlTag *tag)
{
    LinkKind kind = LINK_A;
    switch ((int)tag->id) {
    case HTML_A:
        break;
    case HTML_IMAGE:
    case HTML_USE:
        kind = LINK_IMG;
        break;
    case HTML_SCRIPT:
        kind = LINK_SCRIPT;
        break;
    default:
        return;
    }
    HtmlAttributeId id = html_tag_has(tag, HTML_ATTR_HREF) ? HTML_ATTR_HREF : HTML_ATTR_XLINK_HREF;
    /* <use href="#x"> is a part of the same drawing and no link. */
    if (!html_tag_has(tag, id)) {
        return;
    }
    if (kind == LINK_A) {
        (void)add_attribute(tree, tag, id, kind, rel_flags(tree, tag));
    } else if (tag->values[id].length > 0 && tag->values[id].bytes[0] != '#') {
        (void)add_attribute(tree, tag, id, kind, 0);
    }
}
