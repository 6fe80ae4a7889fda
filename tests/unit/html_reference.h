/* The reference for the skimmer: libxml2's HTML parser by its SAX interface, no tree.
 *
 * What: it shares no code with the skimmer but the tree rules; where a page is not damaged both
 * find the same links. It gets UTF-8 (HTML_PARSE_IGNORE_ENC) in which every "&" is written "&amp;":
 * libxml2 2.9 knows 253 of the 2 231 named references, so all of them are left to entities.h. The
 * contents of title, textarea and other raw text elements, which it takes for markup, are passed
 * over. HtmlOptions.reference = html_reference has it read the links.
 * Threads: one. */
#pragma once

#include <libxml/HTMLparser.h>
#include <limits.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "parse/html/html_tree.h"

#define REFERENCE_TEXT_LIMIT ((size_t)INT_MAX - 1)

typedef struct HtmlLibxml2 {
    htmlParserCtxtPtr parser;
    HtmlTree *tree;
    Buffer text;  /* the page with its "&" escaped */
    Buffer title; /* of the title or the style that is open */
    Buffer words; /* text with its references, which libxml2 may tell in parts */
    uint64_t raw; /* key of the raw text element that is open, or 0 */
    bool is_title;
    bool is_style;
    HtmlTag tag;
} HtmlLibxml2;

static HtmlTextMode html_libxml2_start(HtmlLibxml2 *front, const char *name,
                                       const xmlChar **attributes)
{
    HtmlTag *tag = &front->tag;
    size_t length = strlen(name);
    tag->key = html_name_key(name, length, length);
    tag->id = html_tag_of_key(tag->key);
    tag->present = 0;
    tag->self_closing = false; /* libxml2 reports its end at once */
    tag->transient = true;
    for (size_t i = 0; attributes != NULL && attributes[i] != NULL; i += 2) {
        const char *key = (const char *)attributes[i];
        const char *value = (const char *)attributes[i + 1];
        size_t n = strlen(key);
        HtmlAttributeId id = html_attribute_of_key(html_name_key(key, n, n));
        if (id != HTML_ATTRS && !html_tag_has(tag, id)) {
            tag->present |= UINT32_C(1) << id;
            tag->values[id].bytes = value == NULL ? "" : value;
            tag->values[id].length = value == NULL ? 0 : strlen(value);
        }
    }
    return html_tree_start_tag(front->tree, tag);
}

/* What was told since the last tag. */
static void html_libxml2_tell_words(HtmlLibxml2 *front)
{
    if (front->words.length > 0) {
        html_links_text(front->tree, front->words.data, front->words.length, true);
        buffer_reset(&front->words);
    }
}

static void html_libxml2_start_element(void *context, const xmlChar *name,
                                       const xmlChar **attributes)
{
    HtmlLibxml2 *front = context;
    if (front->raw != 0) {
        return;
    }
    html_libxml2_tell_words(front);
    HtmlTextMode mode = html_libxml2_start(front, (const char *)name, attributes);
    html_tree_tell(front->tree);
    if (mode != HTML_TEXT_DATA) {
        front->raw = front->tag.key;
        front->is_title = front->tag.id == HTML_TITLE && front->tree->title == NULL &&
                          front->tree->n_templates == 0;
        front->is_style = front->tag.id == HTML_STYLE && front->tree->options->styles;
        buffer_reset(&front->title);
    }
}

static void html_libxml2_end_element(void *context, const xmlChar *name)
{
    HtmlLibxml2 *front = context;
    size_t length = strlen((const char *)name);
    uint64_t key = html_name_key((const char *)name, length, length);
    html_libxml2_tell_words(front);
    if (front->raw != 0) {
        if (key != front->raw) {
            return;
        }
        front->raw = 0;
        if (front->is_title) {
            html_links_set_title(front->tree, buffer_string(&front->title), front->title.length);
        }
        if (front->is_style) {
            html_css_element(front->tree, buffer_string(&front->title), front->title.length, true);
        }
    }
    html_tree_end_tag(front->tree, html_tag_of_key(key), key);
}

static void html_libxml2_characters(void *context, const xmlChar *text, int length)
{
    HtmlLibxml2 *front = context;
    if (front->raw != 0) {
        if (front->is_style || (front->is_title && front->title.length < 4 * HTML_TITLE_BYTES)) {
            (void)buffer_append(&front->title, text, (size_t)length);
        }
        return;
    }
    if (front->tree->wants_text) {
        html_tree_text(front->tree, (const char *)text, (size_t)length);
    }
    if (front->tree->options->link_text > 0) {
        (void)buffer_append(&front->words, text, (size_t)length);
    }
}

/* An HtmlReader. RESULT_MEMORY; RESULT_LIMIT: longer than libxml2 can count. */
static Result html_reference(const char *text, size_t length, HtmlTree *tree)
{
    HtmlLibxml2 front = {.tree = tree, .parser = htmlNewParserCtxt()};
    htmlParserCtxtPtr parser = front.parser;
    if (parser == NULL) {
        return RESULT_MEMORY;
    }
    buffer_init(&front.text, REFERENCE_TEXT_LIMIT);
    buffer_init(&front.title, REFERENCE_TEXT_LIMIT);
    buffer_init(&front.words, REFERENCE_TEXT_LIMIT);
    memset(parser->sax, 0, sizeof *parser->sax);
    parser->sax->startElement = html_libxml2_start_element;
    parser->sax->endElement = html_libxml2_end_element;
    parser->sax->characters = html_libxml2_characters;
    parser->sax->cdataBlock = html_libxml2_characters;
    parser->sax->ignorableWhitespace = html_libxml2_characters;
    parser->userData = &front;
    const char *p = text;
    const char *end = text + length;
    while (p < end) {
        const char *amp = memchr(p, '&', (size_t)(end - p));
        (void)buffer_append(&front.text, p, (size_t)((amp == NULL ? end : amp) - p));
        (void)buffer_append_string(&front.text, amp == NULL ? "" : "&amp;");
        p = amp == NULL ? end : amp + 1;
    }
    Result rc = front.text.failed;
    if (rc == RESULT_OK && front.text.length > 0) {
        xmlFreeDoc(
            htmlCtxtReadMemory(parser, front.text.data, (int)front.text.length, NULL, "UTF-8",
                               HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                                   HTML_PARSE_NONET | HTML_PARSE_IGNORE_ENC | (int)XML_PARSE_HUGE));
        html_libxml2_tell_words(&front);
        rc = parser->errNo == XML_ERR_NO_MEMORY ? RESULT_MEMORY : RESULT_OK;
    }
    htmlFreeParserCtxt(parser);
    buffer_destroy(&front.text);
    buffer_destroy(&front.title);
    buffer_destroy(&front.words);
    return rc;
}
