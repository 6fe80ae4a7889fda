#include "parse/visible/visible_facts.h"

#include <string.h>

#include "parse/charset/charset.h"
#include "parse/charset/charset_span.h"
#include "parse/html/html_words.h"
#include "parse/text/entities.h"

void visible_facts_begin(VisibleFacts *facts, Arena *arena)
{
    memset(facts, 0, sizeof *facts);
    facts->arena = arena;
}

/* ---- values ---- */

/* A copy with character references decoded, white space at the ends removed and runs of it one
 * space; NULL: without memory. */
static const char *visible_facts_copy_text(VisibleFacts *facts, const char *bytes, size_t length,
                                           bool attribute)
{
    char raw[ENTITY_ROOM(2 * VISIBLE_FACT_BYTES)];
    char text[VISIBLE_FACT_BYTES];
    size_t n = length < 2 * VISIBLE_FACT_BYTES ? length : 2 * VISIBLE_FACT_BYTES;
    n = entity_decode(bytes, n, attribute, raw);
    size_t used = 0;
    for (size_t i = 0; i < n && used < sizeof text; i++) {
        if (!html_is_space(raw[i])) {
            text[used++] = raw[i];
        } else if (used > 0 && text[used - 1] != ' ') {
            text[used++] = ' ';
        }
    }
    used = charset_utf8_span(text, used); /* a character may have been cut */
    used -= used > 0 && text[used - 1] == ' ' ? 1 : 0;
    const char *copy = arena_copy(facts->arena, text, used);
    facts->failed |= copy == NULL;
    return copy;
}

static bool has_word(const HtmlTag *tag, HtmlAttributeId id, const char *word)
{
    if (!html_tag_has(tag, id)) {
        return false;
    }
    HtmlSlice value = tag->values[id];
    html_trim(&value);
    return html_is_word(&value, word);
}

static const char *copy_value(VisibleFacts *facts, const HtmlTag *tag, HtmlAttributeId id)
{
    return visible_facts_copy_text(facts, tag->values[id].bytes, tag->values[id].length, true);
}

/* ---- elements ---- */

static void read_encoding(VisibleFacts *facts, const HtmlTag *tag)
{
    const HtmlSlice *value = &tag->values[HTML_ATTR_CHARSET];
    if (html_tag_has(tag, HTML_ATTR_CHARSET)) {
        facts->meta_encoding = charset_of_meta_label(value->bytes, value->length);
    } else if (has_word(tag, HTML_ATTR_HTTP_EQUIV, "content-type") &&
               html_tag_has(tag, HTML_ATTR_CONTENT)) {
        size_t n = 0;
        value = &tag->values[HTML_ATTR_CONTENT];
        const char *label = charset_label_in_content(value->bytes, value->length, &n);
        facts->meta_encoding = label == NULL ? NULL : charset_of_meta_label(label, n);
    }
}

static void visible_facts_read_meta(VisibleFacts *facts, const HtmlTag *tag)
{
    if (facts->meta_encoding == NULL) {
        read_encoding(facts, tag);
    }
    if (!html_tag_has(tag, HTML_ATTR_CONTENT)) {
        return;
    }
    if (!facts->has_description && has_word(tag, HTML_ATTR_NAME, "description")) {
        facts->description = copy_value(facts, tag, HTML_ATTR_CONTENT);
        facts->has_description = true;
    } else if (facts->description == NULL && has_word(tag, HTML_ATTR_PROPERTY, "og:description")) {
        facts->description = copy_value(facts, tag, HTML_ATTR_CONTENT);
    }
}

static void visible_facts_read_link(VisibleFacts *facts, const HtmlTag *tag)
{
    if (facts->canonical == NULL && html_tag_has(tag, HTML_ATTR_REL) &&
        html_tag_has(tag, HTML_ATTR_HREF) &&
        (html_rel_flags(&tag->values[HTML_ATTR_REL]) & LINK_CANONICAL) != 0) {
        facts->canonical = copy_value(facts, tag, HTML_ATTR_HREF);
    }
}

void visible_facts_tag(VisibleFacts *facts, const HtmlTag *tag)
{
    switch ((int)tag->id) {
    case HTML_META:
        visible_facts_read_meta(facts, tag);
        break;
    case HTML_LINK:
        visible_facts_read_link(facts, tag);
        break;
    case HTML_BASE:
        if (facts->base == NULL && html_tag_has(tag, HTML_ATTR_HREF)) {
            facts->base = copy_value(facts, tag, HTML_ATTR_HREF);
        }
        break;
    case HTML_HTML: {
        HtmlAttributeId id =
            html_tag_has(tag, HTML_ATTR_LANG) ? HTML_ATTR_LANG : HTML_ATTR_XML_LANG;
        if (facts->language == NULL && html_tag_has(tag, id)) {
            facts->language = copy_value(facts, tag, id);
        }
        break;
    }
    default:
        break;
    }
}

void visible_facts_title(VisibleFacts *facts, const char *text, size_t length)
{
    if (!facts->has_title) {
        facts->title = visible_facts_copy_text(facts, text, length, false);
        facts->has_title = true;
    }
}
