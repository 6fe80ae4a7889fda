#include "parse/html/html_xml.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

#include <libxml/parser.h>
#include <libxml/parserInternals.h>

#include "parse/text/entities.h"
#include "parse/html/html_tree.h"

#define XML_SPACE   "http://www.w3.org/XML/1998/namespace"
#define XHTML_SPACE "http://www.w3.org/1999/xhtml"
#define SVG_SPACE   "http://www.w3.org/2000/svg"
#define XLINK_SPACE "http://www.w3.org/1999/xlink"
#define TEXT_LIMIT  ((size_t)INT_MAX - 1)

typedef struct Reader {
    HtmlTree *tree;
    xmlParserCtxtPtr parser;
    size_t depth;     /* of elements */
    size_t templates; /* depth of the outermost template that is open, or 0 */
    size_t title;     /* depth of the title that is read, or 0 */
    size_t style;     /* the same of a style element */
    bool is_xhtml;    /* the root is */
    Buffer title_text;
    Buffer style_text;
    HtmlTag tag;
} Reader;

bool html_xml_is_type(const char *content_type)
{
    static const char *const types[] = {"application/xhtml+xml", "application/xml", "text/xml"};
    if (content_type == NULL) {
        return false;
    }
    const char *p = content_type + strspn(content_type, " \t");
    size_t n = strcspn(p, "; \t");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strlen(types[i]) == n && strncasecmp(p, types[i], n) == 0) {
            return true;
        }
    }
    return false;
}

/* The key of a name in XML, where <A> is not <a>: 0, which is no name's, when it has capitals. */
static uint64_t html_xml_key_of(const char *name)
{
    size_t length = 0;
    for (; name[length] != '\0'; length++) {
        if (name[length] >= 'A' && name[length] <= 'Z') {
            return 0;
        }
    }
    return html_name_key(name, length, length);
}

/* libxml2 hands over the attributes as five pointers each: name, prefix, namespace, value, end. */
static void read_attributes(HtmlTag *tag, int n, const xmlChar **attributes)
{
    for (int i = 0; i < n; i++, attributes += 5) {
        const char *name = (const char *)attributes[0];
        HtmlAttributeId id = HTML_ATTRS;
        if (attributes[2] == NULL) {
            id = html_attribute_of_key(html_xml_key_of(name));
        } else if (strcmp((const char *)attributes[2], XLINK_SPACE) == 0 &&
                   strcmp(name, "href") == 0) {
            id = HTML_ATTR_XLINK_HREF;
        } else if (strcmp((const char *)attributes[2], XML_SPACE) == 0 &&
                   strcmp(name, "lang") == 0) {
            id = HTML_ATTR_XML_LANG;
        }
        if (id != HTML_ATTRS) {
            tag->present |= UINT32_C(1) << id;
            tag->values[id].bytes = (const char *)attributes[3];
            tag->values[id].length = (size_t)(attributes[4] - attributes[3]);
        }
    }
}

static void html_xml_start_element(void *context, const xmlChar *name, const xmlChar *prefix,
                                   const xmlChar *space, int n_namespaces,
                                   const xmlChar **namespaces, int n_attributes, int n_defaulted,
                                   const xmlChar **attributes)
{
    (void)prefix;
    (void)n_namespaces;
    (void)namespaces;
    (void)n_defaulted;
    Reader *reader = context;
    reader->depth++;
    bool html = space != NULL && strcmp((const char *)space, XHTML_SPACE) == 0;
    bool svg = space != NULL && strcmp((const char *)space, SVG_SPACE) == 0;
    if (reader->depth == 1) {
        reader->is_xhtml = html;
        if (!html) {
            xmlStopParser(reader->parser);
            return;
        }
    }
    if (reader->templates != 0 || (!html && !svg)) {
        return;
    }
    HtmlTag *tag = &reader->tag;
    tag->key = html_xml_key_of((const char *)name);
    tag->id = html_tag_of_key(tag->key);
    tag->present = 0;
    tag->transient = true;
    read_attributes(tag, n_attributes, attributes);
    html_links_begin_tag(reader->tree, tag);
    size_t n_refs = reader->tree->n_refs;
    if (svg) {
        html_links_of_svg(reader->tree, tag);
    } else if (tag->id == HTML_TEMPLATE) {
        reader->templates = reader->depth;
    } else if (tag->id == HTML_TITLE && reader->tree->title == NULL) {
        reader->title = reader->depth;
    } else {
        html_links_of_element(reader->tree, tag);
        if (tag->id == HTML_STYLE && reader->style == 0) {
            reader->style = reader->depth;
            buffer_reset(&reader->style_text);
        }
    }
    html_css_attribute(reader->tree, tag);
    html_links_begun_tag(reader->tree, tag, n_refs);
}

static void html_xml_end_element(void *context, const xmlChar *name, const xmlChar *prefix,
                                 const xmlChar *space)
{
    (void)prefix;
    (void)space;
    Reader *reader = context;
    html_links_end_tag(reader->tree, html_tag_of_key(html_xml_key_of((const char *)name)));
    if (reader->templates == reader->depth) {
        reader->templates = 0;
    }
    if (reader->title == reader->depth) {
        html_links_set_title(reader->tree, buffer_string(&reader->title_text),
                             reader->title_text.length);
        reader->title = 0;
    }
    if (reader->style == reader->depth) {
        html_css_element(reader->tree, buffer_string(&reader->style_text),
                         reader->style_text.length, true);
        reader->style = 0;
    }
    reader->depth--;
}

static void html_xml_characters(void *context, const xmlChar *text, int length)
{
    Reader *reader = context;
    if (reader->style != 0 && reader->tree->options->styles) {
        (void)buffer_append(&reader->style_text, text, (size_t)length);
    }
    if (reader->title == 0 && reader->style == 0 && reader->templates == 0) {
        html_links_text(reader->tree, (const char *)text, (size_t)length, false);
    }
    if (reader->title == 0 || reader->title_text.length >= 4 * HTML_TITLE_BYTES) {
        return;
    }
    for (size_t i = 0; i < (size_t)length && i < HTML_TITLE_BYTES; i++) {
        bool amp = text[i] == '&'; /* decoded already, and the title will be decoded again */
        (void)buffer_append(&reader->title_text, amp ? "&amp;" : (const char *)text + i,
                            amp ? 5 : 1);
    }
}

/* Copies the text with the references decoded that XML does not know, those that it knows left as
 * they are. In CDATA sections this is wrong and changes nothing, because no links are there. */
static Result decode_references(const char *text, size_t length, Buffer *out)
{
    const char *p = text;
    const char *end = text + length;
    while (p < end) {
        const char *amp = find_byte(p, end, '&');
        (void)buffer_append(out, p, (size_t)(amp - p)); /* its error sticks */
        if (amp == end) {
            break;
        }
        char value[ENTITY_MAX_BYTES];
        size_t n = 0;
        size_t used = entity_read(amp, (size_t)(end - amp), false, value, &n);
        bool own = used == 0 || amp[1] == '#' || amp[used - 1] != ';' ||
                   (n == 1 && strchr("&<>\"'", value[0]) != NULL);
        (void)buffer_append(out, own ? "&" : value, own ? 1 : n);
        p = amp + (own ? 1 : used);
    }
    return out->failed;
}

static Result html_xml_parse(Reader *reader, const Buffer *text)
{
    xmlSAXHandler sax;
    memset(&sax, 0, sizeof sax);
    sax.initialized = XML_SAX2_MAGIC;
    sax.startElementNs = html_xml_start_element;
    sax.endElementNs = html_xml_end_element;
    sax.characters = html_xml_characters;
    sax.cdataBlock = html_xml_characters;
    xmlParserCtxtPtr parser = xmlCreatePushParserCtxt(&sax, reader, NULL, 0, NULL);
    if (parser == NULL) {
        return RESULT_MEMORY;
    }
    reader->parser = parser;
    (void)xmlCtxtUseOptions(parser, XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NONET |
                                        XML_PARSE_IGNORE_ENC);
    (void)xmlSwitchEncoding(parser, XML_CHAR_ENCODING_UTF8);
    (void)xmlParseChunk(parser, text->data, (int)text->length, 1);
    Result rc = parser->wellFormed && reader->is_xhtml ? RESULT_OK : RESULT_INVALID;
    if (parser->errNo == XML_ERR_NO_MEMORY) {
        rc = RESULT_MEMORY;
    }
    xmlFreeDoc(parser->myDoc);
    xmlFreeParserCtxt(parser);
    return rc;
}

Result html_xml_read(const char *text, size_t length, HtmlTree *tree)
{
    Reader reader;
    memset(&reader, 0, sizeof reader);
    reader.tree = tree;
    buffer_init(&reader.title_text, BUFFER_NO_LIMIT);
    buffer_init(&reader.style_text, BUFFER_NO_LIMIT);
    Buffer decoded = {.limit = TEXT_LIMIT};
    Result rc = decode_references(text, length, &decoded);
    if (rc == RESULT_OK) {
        rc = decoded.length == 0 ? RESULT_INVALID : html_xml_parse(&reader, &decoded);
    } else if (rc == RESULT_LIMIT) {
        rc = RESULT_INVALID;
    }
    buffer_destroy(&decoded);
    buffer_destroy(&reader.title_text);
    buffer_destroy(&reader.style_text);
    return rc;
}
