#include "parse/sitemap/sitemap_xml.h"

#include <string.h>
#include <strings.h>

#include "parse/http/http_header.h"
#include "parse/sitemap/sitemap_entry.h"

/* Distinct names in one file. libxml2 keeps all of them in a table that stops growing, so that
 * millions of names cost quadratic time; real sitemaps have a few dozen. */
#define MAX_NAMES 2000

/* Each error costs libxml2 a formatted message. */
#define MAX_ERRORS 100000u

static const char *chars(const xmlChar *string)
{
    return (const char *)string;
}

static bool sitemap_xml_is(const xmlChar *name, const char *expected)
{
    return strcasecmp(chars(name), expected) == 0;
}

static SitemapKind kind_of_root(const char *name, size_t length)
{
    static const struct {
        const char *name;
        SitemapKind kind;
    } roots[] = {{"urlset", SITEMAP_URLSET},
                 {"sitemapindex", SITEMAP_INDEX},
                 {"rss", SITEMAP_RSS},
                 {"rdf", SITEMAP_RSS},
                 {"feed", SITEMAP_ATOM}};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        if (strlen(roots[i].name) == length && strncasecmp(name, roots[i].name, length) == 0) {
            return roots[i].kind;
        }
    }
    return SITEMAP_UNKNOWN;
}

static const char *sitemap_xml_find(const char *p, const char *end, const char *what)
{
    return memmem(p, (size_t)(end - p), what, strlen(what));
}

/* Behind what stands before the root element: declaration, comments, a document type without
 * declarations of its own, blanks. NULL: something else, or the end. */
static const char *skip_prolog(const char *p, const char *end)
{
    while (p != NULL && p < end) {
        if (sitemap_is_blank(*p)) {
            p++;
            continue;
        }
        size_t left = (size_t)(end - p);
        const char *closing = left > 2 && memcmp(p, "<?", 2) == 0          ? "?>"
                              : left > 4 && memcmp(p, "<!--", 4) == 0      ? "-->"
                              : left > 9 && memcmp(p, "<!DOCTYPE", 9) == 0 ? ">"
                                                                           : NULL;
        if (closing == NULL) {
            return *p == '<' ? p : NULL;
        }
        const char *stop = sitemap_xml_find(p + 2, end, closing);
        if (stop == NULL || memchr(p, '[', *closing == '>' ? (size_t)(stop - p) : 0) != NULL) {
            return NULL;
        }
        p = stop + strlen(closing);
    }
    return NULL;
}

bool sitemap_xml_may_be(const char *bytes, size_t length)
{
    const char *end = bytes + length;
    const char *name = skip_prolog(bytes, end);
    if (name == NULL || ++name == end) {
        return true;
    }
    const char *stop = name;
    for (; stop < end && strchr(" \t\r\n/>", *stop) == NULL; stop++) {
        name = *stop == ':' ? stop + 1 : name; /* a prefix */
    }
    return stop == end || kind_of_root(name, (size_t)(stop - name)) != SITEMAP_UNKNOWN;
}

static bool is_entry(SitemapKind kind, const xmlChar *name)
{
    switch (kind) {
    case SITEMAP_URLSET:
        return sitemap_xml_is(name, "url");
    case SITEMAP_INDEX:
        return sitemap_xml_is(name, "sitemap");
    case SITEMAP_RSS:
        return sitemap_xml_is(name, "item");
    case SITEMAP_ATOM:
        return sitemap_xml_is(name, "entry");
    case SITEMAP_UNKNOWN:
    case SITEMAP_TEXT:
        break;
    }
    return false;
}

typedef struct FieldName {
    SitemapKind kind;
    const char *name;
    SitemapField field;
} FieldName;

static const FieldName field_names[] = {
    {SITEMAP_URLSET, "loc", FIELD_LOC},
    {SITEMAP_URLSET, "lastmod", FIELD_LASTMOD},
    {SITEMAP_URLSET, "changefreq", FIELD_FREQUENCY},
    {SITEMAP_URLSET, "priority", FIELD_PRIORITY},
    {SITEMAP_INDEX, "loc", FIELD_LOC},
    {SITEMAP_INDEX, "lastmod", FIELD_LASTMOD},
    {SITEMAP_RSS, "link", FIELD_LOC},
    {SITEMAP_RSS, "pubDate", FIELD_LASTMOD},
    {SITEMAP_RSS, "guid", FIELD_GUID},
    {SITEMAP_ATOM, "updated", FIELD_LASTMOD},
    {SITEMAP_ATOM, "modified", FIELD_LASTMOD},
};

static SitemapField field_of(SitemapKind kind, const xmlChar *name)
{
    for (size_t i = 0; i < sizeof field_names / sizeof *field_names; i++) {
        if (field_names[i].kind == kind && sitemap_xml_is(name, field_names[i].name)) {
            return field_names[i].field;
        }
    }
    return FIELD_NONE;
}

/* An entry's own elements have its prefix or none; image:loc and its like have another. */
static bool sitemap_xml_is_own(const SitemapParser *parser, const xmlChar *prefix)
{
    return prefix == NULL || strcmp(chars(prefix), buffer_string(&parser->xml.prefix)) == 0;
}

/* ---- attributes: (name, prefix, URI, value, end of value) each ---- */

static bool find_attribute(int n, const xmlChar **attributes, const char *name, const char **value,
                           size_t *length)
{
    for (int i = 0; i < n; i++, attributes += 5) {
        if (attributes[1] == NULL && sitemap_xml_is(attributes[0], name)) {
            *value = chars(attributes[3]);
            *length = (size_t)(attributes[4] - attributes[3]);
            return true;
        }
    }
    return false;
}

/* xml:base of an element, or that of the element around it. */
static void take_base(SitemapParser *parser, size_t element, int n, const xmlChar **attributes)
{
    const Url *outer = element == 0 ? &parser->base : parser->based[element - 1];
    parser->based[element] = outer;
    for (int i = 0; i < n; i++, attributes += 5) {
        if (attributes[1] != NULL && strcmp(chars(attributes[1]), "xml") == 0 &&
            sitemap_xml_is(attributes[0], "base") &&
            url_parse(&parser->bases[element], outer, chars(attributes[3]),
                      (size_t)(attributes[4] - attributes[3])) == RESULT_OK) {
            parser->based[element] = &parser->bases[element];
        }
    }
    if (element + 1 < SITEMAP_BASES) {
        parser->based[element + 1] = parser->based[element];
        parser->based[SITEMAP_BASE_LINK] = parser->based[element];
    }
}

/* The SAX interface hands over attribute values with "&" still written as "&#38;" now and then. */
static void append_attribute(SitemapParser *parser, const char *value, size_t length)
{
    static const char written[] = "&#38;";
    const size_t n = sizeof written - 1;
    const char *end = value + length;
    while (value < end) {
        const char *amp = memmem(value, (size_t)(end - value), written, n);
        const char *stop = amp == NULL ? end : amp + 1;
        sitemap_field_append(parser, FIELD_LOC, value, (size_t)(stop - value));
        value = amp == NULL ? end : amp + n;
    }
}

/* <link href>: the first that is the entry itself, not its editor or its enclosure. */
static void take_atom_link(SitemapParser *parser, int n, const xmlChar **attributes)
{
    const char *rel = NULL;
    const char *href = NULL;
    size_t rel_length = 0;
    size_t href_length = 0;
    bool has_rel = find_attribute(n, attributes, "rel", &rel, &rel_length);
    bool is_alternate = !has_rel || (rel_length == 9 && strncasecmp(rel, "alternate", 9) == 0);
    if (!parser->xml.has_link && is_alternate &&
        find_attribute(n, attributes, "href", &href, &href_length) && href_length > 0) {
        take_base(parser, SITEMAP_BASE_LINK, n, attributes);
        append_attribute(parser, href, href_length);
        parser->xml.has_link = true;
    }
}

/* ---- SAX events ---- */

static void begin_field(SitemapParser *parser, SitemapField field, int n_attributes,
                        const xmlChar **attributes)
{
    SitemapXml *xml = &parser->xml;
    const char *value = NULL;
    size_t length = 0;
    if (field == FIELD_LOC && xml->has_link) {
        if (parser->report->kind == SITEMAP_RSS) {
            return; /* the first one counts */
        }
        sitemap_entry_emit(parser); /* tags between two entries are missing */
        xml->has_link = false;
    }
    if (field == FIELD_GUID &&
        find_attribute(n_attributes, attributes, "isPermaLink", &value, &length) && length == 5 &&
        strncasecmp(value, "false", 5) == 0) {
        return;
    }
    buffer_reset(&parser->fields[field]);
    parser->is_overlong[field] = false;
    xml->field = field;
    xml->field_depth = xml->depth;
}

static void begin_entry(SitemapParser *parser, const xmlChar *prefix)
{
    SitemapXml *xml = &parser->xml;
    if (xml->entry_depth > 0) {
        sitemap_entry_emit(parser); /* the one before was not closed */
    }
    sitemap_entry_reset(parser);
    buffer_reset(&xml->prefix);
    (void)buffer_append_string(&xml->prefix, prefix == NULL ? "" : chars(prefix));
    xml->has_link = false;
    xml->entry_depth = xml->depth;
}

static void on_start(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                     int n_namespaces, const xmlChar **namespaces, int n_attributes,
                     int n_defaulted, const xmlChar **attributes)
{
    SitemapParser *parser = user;
    SitemapXml *xml = &parser->xml;
    (void)uri;
    (void)n_namespaces;
    (void)namespaces;
    (void)n_defaulted;
    xml->depth++;
    if (xml->depth == 1) {
        parser->report->kind = kind_of_root(chars(name), strlen(chars(name)));
        take_base(parser, SITEMAP_BASE_FEED, n_attributes, attributes);
        return;
    }
    SitemapKind kind = parser->report->kind;
    if (kind == SITEMAP_UNKNOWN || xml->field != FIELD_NONE) {
        return;
    }
    bool is_child = xml->entry_depth > 0 && xml->depth == xml->entry_depth + 1;
    if (is_entry(kind, name) &&
        (xml->entry_depth == 0 || (is_child && sitemap_xml_is_own(parser, prefix)))) {
        begin_entry(parser, prefix);
        take_base(parser, SITEMAP_BASE_ENTRY, n_attributes, attributes);
        return;
    }
    if (!is_child || !sitemap_xml_is_own(parser, prefix)) {
        return;
    }
    SitemapField field = field_of(kind, name);
    if (field != FIELD_NONE) {
        begin_field(parser, field, n_attributes, attributes);
    } else if (kind == SITEMAP_ATOM && sitemap_xml_is(name, "link")) {
        take_atom_link(parser, n_attributes, attributes);
    }
}

static void end_field(SitemapParser *parser)
{
    SitemapXml *xml = &parser->xml;
    if (xml->field == FIELD_LOC) {
        xml->has_link = parser->fields[FIELD_LOC].length > 0;
    }
    xml->field = FIELD_NONE;
}

static void on_end(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    SitemapParser *parser = user;
    SitemapXml *xml = &parser->xml;
    (void)name;
    (void)prefix;
    (void)uri;
    if (xml->field != FIELD_NONE && xml->depth <= xml->field_depth) {
        end_field(parser);
    }
    if (xml->entry_depth > 0 && xml->depth <= xml->entry_depth) {
        sitemap_entry_emit(parser);
        xml->entry_depth = 0;
    }
    xml->depth -= xml->depth > 0 ? 1 : 0;
}

static void on_text(void *user, const xmlChar *text, int length)
{
    SitemapParser *parser = user;
    if (parser->xml.field != FIELD_NONE && length > 0) {
        sitemap_field_append(parser, parser->xml.field, chars(text), (size_t)length);
    }
}

/* Any entity but the five of XML: never declared, never expanded; the address it is in is refused.
 */
static xmlEntityPtr on_entity(void *user, const xmlChar *name)
{
    SitemapParser *parser = user;
    (void)name;
    parser->is_refused |= parser->xml.field == FIELD_LOC || parser->xml.field == FIELD_GUID ||
                          parser->report->kind == SITEMAP_ATOM;
    return NULL;
}

/* No DTD is read and no default attribute or entity is taken over. */
static void sitemap_xml_on_error(void *user, xmlErrorPtr error)
{
    SitemapParser *parser = user;
    bool is_real = error->level >= XML_ERR_ERROR && error->domain == XML_FROM_PARSER;
    if (!is_real) {
        return;
    }
    parser->xml.n_errors++;
    if (error->code == XML_ERR_NO_MEMORY) {
        parser->result = RESULT_MEMORY;
    }
    /* Text was lost inside an address: half an address is another address. */
    bool is_in_address = parser->xml.field == FIELD_LOC || parser->xml.field == FIELD_GUID;
    if (is_in_address && !parser->xml.is_finishing && error->code != XML_ERR_TAG_NAME_MISMATCH) {
        parser->is_refused = true;
    }
}

Result sitemap_xml_begin(SitemapParser *parser)
{
    xmlSAXHandler handler = {
        .initialized = XML_SAX2_MAGIC,
        .getEntity = on_entity,
        .startElementNs = on_start,
        .endElementNs = on_end,
        .characters = on_text,
        .cdataBlock = on_text,
        .serror = sitemap_xml_on_error,
    };
    SitemapXml *xml = &parser->xml;
    xml->depth = 0;
    xml->entry_depth = 0;
    xml->field_depth = 0;
    xml->field = FIELD_NONE;
    xml->has_link = false;
    xml->is_finishing = false;
    xml->is_halted = false;
    xml->n_errors = 0;
    xml->tail_length = 0;
    xml->context = xmlCreatePushParserCtxt(&handler, parser, NULL, 0, NULL);
    if (xml->context == NULL) {
        return RESULT_MEMORY;
    }
    /* It is UTF-8 by now, whatever it declares. */
    (void)xmlCtxtUseOptions(xml->context, XML_PARSE_RECOVER | XML_PARSE_NONET | XML_PARSE_COMPACT |
                                              XML_PARSE_IGNORE_ENC);
    return RESULT_OK;
}

static void keep_tail(SitemapXml *xml, const char *bytes, size_t length)
{
    if (length >= sizeof xml->tail) {
        memcpy(xml->tail, bytes + length - sizeof xml->tail, sizeof xml->tail);
        xml->tail_length = sizeof xml->tail;
        return;
    }
    size_t keep = sizeof xml->tail - length;
    keep = keep < xml->tail_length ? keep : xml->tail_length;
    memmove(xml->tail, xml->tail + xml->tail_length - keep, keep);
    memcpy(xml->tail + keep, bytes, length);
    xml->tail_length = keep + length;
}

void sitemap_xml_push(SitemapParser *parser, const char *bytes, size_t length)
{
    SitemapXml *xml = &parser->xml;
    if (length > 0 && !xml->is_halted && !parser->is_stopped && parser->result == RESULT_OK) {
        keep_tail(xml, bytes, length);
        int code = xmlParseChunk(xml->context, bytes, (int)length, 0);
        if (code == XML_ERR_NO_MEMORY || code == XML_PARSER_EOF) { /* the latter: no input buffer */
            parser->result = RESULT_MEMORY;
        } else if (xmlDictSize(xml->context->dict) > MAX_NAMES || xml->n_errors > MAX_ERRORS) {
            parser->result = RESULT_LIMIT;
        }
        xml->is_halted = xml->context->instate == XML_PARSER_EOF;
    }
}

/* Whether the file was cut inside a tag, so that the text before it is whole. */
static bool ends_in_tag(const SitemapXml *xml)
{
    for (size_t i = xml->tail_length; i > 0; i--) {
        if (xml->tail[i - 1] == '<') {
            return true;
        }
        if (xml->tail[i - 1] == '>') {
            return false;
        }
    }
    return false;
}

void sitemap_xml_end(SitemapParser *parser)
{
    SitemapXml *xml = &parser->xml;
    if (!parser->is_stopped) {
        xml->is_finishing = true;
        (void)xmlParseChunk(xml->context, NULL, 0, 1);
        if (xml->field != FIELD_NONE && !ends_in_tag(xml)) {
            parser->is_refused |= xml->field == FIELD_LOC;
            buffer_reset(&parser->fields[xml->field]);
        }
        if (xml->entry_depth > 0) {
            sitemap_entry_emit(parser);
        }
        parser->report->is_broken |= xml->n_errors > 0 || xml->depth > 0;
    }
    if (xml->context->myDoc != NULL) {
        xmlFreeDoc(xml->context->myDoc);
    }
    xmlFreeParserCtxt(xml->context);
    xml->context = NULL;
}
