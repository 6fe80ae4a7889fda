#include "parse/html/html_libxml2.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/HTMLparser.h>
#include <libxml/SAX2.h>

#include "parse/html/html_tree.h"

#define TEXT_LIMIT ((size_t)INT_MAX - 1)

struct HtmlLibxml2 {
    htmlParserCtxtPtr parser;
    HtmlTree *tree;
    Buffer text;  /* the page with its "&" escaped */
    Buffer title; /* of the title or the style that is open */
    Buffer words; /* text with its references, which libxml2 may tell in parts */
    uint64_t raw; /* key of the raw text element that is open, or 0 */
    bool is_title;
    bool is_style;
    HtmlTag tag;
};

static HtmlTextMode html_libxml2_start(HtmlLibxml2 *front, const char *name,
                                       const xmlChar **attributes)
{
    HtmlTag *tag = &front->tag;
    size_t length = strlen(name);
    tag->key = html_name_key(name, length, length);
    tag->id = html_tag_of_key(tag->key);
    tag->present = 0;
    tag->self_closing = false; /* libxml2 reports the end of such an element at once */
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
static void tell_words(HtmlLibxml2 *front)
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
    tell_words(front);
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
    tell_words(front);
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

Result html_libxml2_new(HtmlLibxml2 **front)
{
    HtmlLibxml2 *f = calloc(1, sizeof *f);
    htmlParserCtxtPtr parser = htmlNewParserCtxt();
    if (f == NULL || parser == NULL) {
        free(f);
        htmlFreeParserCtxt(parser);
        return RESULT_MEMORY;
    }
    buffer_init(&f->text, TEXT_LIMIT);
    buffer_init(&f->title, TEXT_LIMIT);
    buffer_init(&f->words, TEXT_LIMIT);
    memset(parser->sax, 0, sizeof *parser->sax);
    parser->sax->startElement = html_libxml2_start_element;
    parser->sax->endElement = html_libxml2_end_element;
    parser->sax->characters = html_libxml2_characters;
    parser->sax->cdataBlock = html_libxml2_characters;
    parser->sax->ignorableWhitespace = html_libxml2_characters;
    parser->userData = f;
    f->parser = parser;
    *front = f;
    return RESULT_OK;
}

void html_libxml2_delete(HtmlLibxml2 *front)
{
    if (front == NULL) {
        return;
    }
    htmlFreeParserCtxt(front->parser);
    buffer_destroy(&front->text);
    buffer_destroy(&front->title);
    buffer_destroy(&front->words);
    free(front);
}

static Result html_libxml2_escape(const char *text, size_t length, Buffer *out)
{
    const char *p = text;
    const char *end = text + length;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && p < end) {
        const char *amp = memchr(p, '&', (size_t)(end - p));
        rc = buffer_append(out, p, (size_t)((amp == NULL ? end : amp) - p));
        if (rc == RESULT_OK && amp != NULL) {
            rc = buffer_append(out, "&amp;", 5);
        }
        p = amp == NULL ? end : amp + 1;
    }
    return rc;
}

Result html_libxml2_read(HtmlLibxml2 *front, const char *text, size_t length, HtmlTree *tree)
{
    front->tree = tree;
    front->raw = 0;
    front->is_title = false;
    front->is_style = false;
    buffer_reset(&front->text);
    Result rc = html_libxml2_escape(text, length, &front->text);
    if (rc != RESULT_OK || front->text.length == 0) {
        return rc;
    }
    htmlDocPtr none =
        htmlCtxtReadMemory(front->parser, front->text.data, (int)front->text.length, NULL, "UTF-8",
                           HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                               HTML_PARSE_NONET | HTML_PARSE_IGNORE_ENC | (int)XML_PARSE_HUGE);
    if (none != NULL) {
        xmlFreeDoc(none);
    }
    tell_words(front);
    buffer_trim(&front->text, 1u << 20);
    return front->parser->errNo == XML_ERR_NO_MEMORY ? RESULT_MEMORY : RESULT_OK;
}
