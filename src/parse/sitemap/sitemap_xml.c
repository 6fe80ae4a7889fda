#include "parse/sitemap/sitemap_xml.h"

#include <string.h>
#include <strings.h>
#include <math.h>
#include <time.h>

#include "base/core/bounds.h"
#include "parse/http/http_header.h"
#include "parse/sitemap/sitemap_types.h"

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
    static const struct {
        const char *opening;
        const char *closing;
    } marks[] = {{"<?", "?>"}, {"<!--", "-->"}, {"<!DOCTYPE", ">"}};
    while (p != NULL && p < end) {
        if (sitemap_is_blank(*p)) {
            p++;
            continue;
        }
        const char *closing = NULL;
        for (size_t i = 0; i < sizeof marks / sizeof *marks && closing == NULL; i++) {
            size_t n = strlen(marks[i].opening);
            bool opens = (size_t)(end - p) > n && memcmp(p, marks[i].opening, n) == 0;
            closing = opens ? marks[i].closing : NULL;
        }
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

/* ---- Sitemap entry ---- */

/* Dates in sitemaps and feeds: parse/sitemap/sitemap.h. */

typedef struct Scan {
    const char *p;
    const char *end;
} Scan;

/* Exactly n digits; -1 otherwise. */
static int read_digits(Scan *scan, int n)
{
    int value = 0;
    for (int i = 0; i < n; i++) {
        if (scan->p >= scan->end || *scan->p < '0' || *scan->p > '9') {
            return -1;
        }
        value = value * 10 + (*scan->p++ - '0');
    }
    return value;
}

static bool sitemap_date_take(Scan *scan, const char *any_of)
{
    for (; scan->p < scan->end && *any_of != '\0'; any_of++) {
        if (*scan->p == *any_of) {
            scan->p++;
            return true;
        }
    }
    return false;
}

/* "10:00", "10:00:00", "10:00:00.5" and a zone; seconds since midnight UTC. */
static bool read_time(Scan *scan, int64_t *seconds)
{
    int hour = read_digits(scan, 2);
    int minute = sitemap_date_take(scan, ":") ? read_digits(scan, 2) : -1;
    int second = 0;
    if (sitemap_date_take(scan, ":")) {
        second = read_digits(scan, 2);
        if (sitemap_date_take(scan, ".,")) {
            while (sitemap_date_take(scan, "0123456789")) {
            }
        }
    }
    if (hour < 0 || hour > 24 || minute < 0 || minute > 59 || second < 0 || second > 60) {
        return false;
    }
    *seconds = (int64_t)hour * 3600 + minute * 60 + second;
    (void)sitemap_date_take(scan, " ");
    bool is_west = scan->p < scan->end && *scan->p == '-';
    if (sitemap_date_take(scan, "+-")) {
        int zone_hour = read_digits(scan, 2);
        (void)sitemap_date_take(scan, ":");
        int zone_minute = scan->p < scan->end ? read_digits(scan, 2) : 0;
        if (zone_hour < 0 || zone_hour > 23 || zone_minute < 0 || zone_minute > 59) {
            return false;
        }
        int64_t zone = (int64_t)zone_hour * 3600 + zone_minute * 60;
        *seconds += is_west ? zone : -zone;
    }
    return true;
}

static bool read_w3c(Scan scan, int64_t *unix_s)
{
    struct tm parts = {.tm_mday = 1};
    int year = read_digits(&scan, 4);
    int month = 1;
    int day = 1;
    int64_t seconds = 0;
    if (year < 1000) {
        return false;
    }
    if (sitemap_date_take(&scan, "-")) {
        month = read_digits(&scan, 2);
        if (sitemap_date_take(&scan, "-")) {
            day = read_digits(&scan, 2);
            if (sitemap_date_take(&scan, "Tt ") && !read_time(&scan, &seconds)) {
                return false;
            }
        }
    } else if (scan.p < scan.end) {
        return false;
    }
    if (month < 1 || month > 12 || day < 1 || day > 31) {
        return false;
    }
    parts.tm_year = year - 1900;
    parts.tm_mon = month - 1;
    parts.tm_mday = day;
    *unix_s = (int64_t)timegm(&parts) + seconds;
    return true;
}

bool sitemap_date(const char *text, size_t length, int64_t *unix_s)
{
    if (length == 0) {
        return false;
    }
    return read_w3c((Scan){text, text + length}, unix_s) || http_header_date(text, length, unix_s);
}

/* ---- One entry of a sitemap or feed while its fields are collected, and what becomes of it */

#define DAY_S INT64_C(86400)

static const char *const frequency_names[] = {"",       "always",  "hourly", "daily",
                                              "weekly", "monthly", "yearly", "never"};

const char *sitemap_frequency_name(SitemapFrequency frequency)
{
    return frequency_names[frequency];
}

void sitemap_entry_reset(SitemapParser *parser)
{
    for (size_t i = 0; i < sizeof parser->fields / sizeof *parser->fields; i++) {
        buffer_reset(&parser->fields[i]);
        parser->is_overlong[i] = false;
    }
    parser->is_refused = false;
}

void sitemap_field_append(SitemapParser *parser, SitemapField field, const char *bytes,
                          size_t length)
{
    Buffer *buffer = &parser->fields[field];
    if (buffer->length == 0) {
        while (length > 0 && sitemap_is_blank(*bytes)) {
            bytes++;
            length--;
        }
    }
    Result rc = buffer_append(buffer, bytes, length);
    parser->is_overlong[field] |= rc == RESULT_LIMIT;
    parser->result = rc == RESULT_MEMORY ? RESULT_MEMORY : parser->result;
}

/* White space of Unicode in UTF-8, with the byte order mark that once was some. */
static const char white_space[][4] = {
    "\t",           "\n",           "\v",           "\f",           "\r",           " ",
    "\x1C",         "\x1D",         "\x1E",         "\x1F",         "\xC2\x85",     "\xC2\xA0",
    "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84",
    "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A",
    "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80", "\xEF\xBB\xBF",
};

/* Bytes of the white space at the end (or the start) of text; 0 when there is none. */
static size_t white_space_of(const char *text, size_t length, bool at_end)
{
    for (size_t i = 0; i < sizeof white_space / sizeof *white_space; i++) {
        size_t n = strlen(white_space[i]);
        if (n <= length && memcmp(at_end ? text + length - n : text, white_space[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

/* What readers in Java and Python strip, too. */
static void sitemap_entry_trim(Buffer *buffer)
{
    if (buffer->length == 0) {
        return; /* it may have no memory yet */
    }
    size_t n = 0;
    while ((n = white_space_of(buffer->data, buffer->length, true)) > 0) {
        buffer->length -= n;
        buffer->data[buffer->length] = '\0';
    }
    size_t start = 0;
    while ((n = white_space_of(buffer->data + start, buffer->length - start, false)) > 0) {
        start += n;
    }
    if (start > 0) {
        buffer->length -= start;
        memmove(buffer->data, buffer->data + start, buffer->length + 1);
    }
}

static bool is_absolute(const char *loc, size_t length)
{
    return (length > 7 && strncasecmp(loc, "http://", 7) == 0) ||
           (length > 8 && strncasecmp(loc, "https://", 8) == 0);
}

static bool is_in_location(const SitemapParser *parser)
{
    const Url *base = &parser->base;
    const Url *url = &parser->url;
    if (parser->options.location == SITEMAP_ANYWHERE) {
        return true;
    }
    size_t host_length = base->host_end - base->host_start;
    bool is_same =
        base->https == url->https && base->port == url->port &&
        host_length == url->host_end - url->host_start &&
        memcmp(base->href + base->host_start, url->href + url->host_start, host_length) == 0;
    if (!is_same || parser->options.location == SITEMAP_SAME_HOST) {
        return is_same;
    }
    const char *path = base->href + base->path_start;
    const char *slash = memrchr(path, '/', base->query_start - base->path_start);
    size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    return url->length - url->path_start >= folder &&
           memcmp(url->href + url->path_start, path, folder) == 0;
}

static SitemapFrequency frequency_of(const Buffer *field)
{
    for (size_t i = 1; i < sizeof frequency_names / sizeof *frequency_names; i++) {
        if (strcasecmp(buffer_string(field), frequency_names[i]) == 0) {
            return (SitemapFrequency)i;
        }
    }
    return SITEMAP_FREQUENCY_NONE;
}

static double priority_of(const Buffer *field)
{
    const char *p = buffer_string(field);
    double value = 0.0;
    double unit = 1.0;
    bool any = false;
    for (; *p >= '0' && *p <= '9'; p++) {
        value = value * 10.0 + (*p - '0');
        any = true;
    }
    if (*p == '.' || *p == ',') {
        for (p++; *p >= '0' && *p <= '9'; p++) {
            unit /= 10.0;
            value += unit * (*p - '0');
            any = true;
        }
    }
    if (!any || *p != '\0') {
        return -1.0;
    }
    return value > 1.0 ? 1.0 : value;
}

uint32_t sitemap_frequency_s(SitemapFrequency frequency)
{
    static const uint32_t hours[] = {
        [SITEMAP_ALWAYS] = 1,       [SITEMAP_HOURLY] = 1,        [SITEMAP_DAILY] = 24,
        [SITEMAP_WEEKLY] = 7 * 24,  [SITEMAP_MONTHLY] = 30 * 24, [SITEMAP_YEARLY] = 365 * 24,
        [SITEMAP_NEVER] = 3650 * 24};
    return 3600 * hours[frequency];
}

double sitemap_hint_factor(const SitemapEntry *entry, int64_t now_s)
{
    static const double of_frequency[] = {[SITEMAP_ALWAYS] = 0.25,
                                          [SITEMAP_HOURLY] = 0.25,
                                          [SITEMAP_DAILY] = 0.125,
                                          [SITEMAP_YEARLY] = -0.125,
                                          [SITEMAP_NEVER] = -0.25};
    double shift = of_frequency[entry->changefreq];
    if (entry->priority >= 0.0) {
        shift += 2.0 * (entry->priority - 0.5);
    }
    if (entry->lastmod_s != SITEMAP_NO_DATE && entry->lastmod_s <= now_s + DAY_S) {
        bool is_recent = entry->lastmod_s >= now_s - 7 * DAY_S;
        bool is_old = entry->lastmod_s < now_s - 365 * DAY_S;
        shift += 0.25 * (is_recent - is_old);
    }
    return exp2(bounds_double(shift, -1.0, 1.0));
}

static void sitemap_entry_give(SitemapParser *parser, const Buffer *loc)
{
    SitemapReport *report = parser->report;
    const Buffer *lastmod = &parser->fields[FIELD_LASTMOD];
    SitemapEntry entry = {
        .url = &parser->url,
        .loc = buffer_string(loc),
        .loc_length = loc->length,
        .is_sitemap = report->kind == SITEMAP_INDEX,
        .lastmod_s = SITEMAP_NO_DATE,
        .lastmod = parser->is_overlong[FIELD_LASTMOD] ? "" : buffer_string(lastmod),
        .changefreq = frequency_of(&parser->fields[FIELD_FREQUENCY]),
        .priority = priority_of(&parser->fields[FIELD_PRIORITY]),
    };
    if (!sitemap_date(entry.lastmod, strlen(entry.lastmod), &entry.lastmod_s)) {
        entry.lastmod_s = SITEMAP_NO_DATE;
    }
    report->n_entries++;
    if (!parser->sink(parser->context, &entry)) {
        parser->is_stopped = true;
    }
}

void sitemap_entry_emit(SitemapParser *parser)
{
    SitemapReport *report = parser->report;
    bool is_feed = report->kind == SITEMAP_RSS || report->kind == SITEMAP_ATOM;
    for (size_t i = 0; i < sizeof parser->fields / sizeof *parser->fields; i++) {
        sitemap_entry_trim(&parser->fields[i]);
    }
    SitemapField field = FIELD_LOC;
    if (parser->fields[FIELD_LOC].length == 0 && !parser->is_overlong[FIELD_LOC]) {
        field = FIELD_GUID;
    }
    const Buffer *loc = &parser->fields[field];
    bool is_empty = loc->length == 0;
    if (!parser->is_stopped && (!is_empty || parser->is_refused || parser->is_overlong[field])) {
        bool is_valid = !is_empty && !parser->is_refused && !parser->is_overlong[field] &&
                        loc->length <= parser->options.max_url_bytes &&
                        ((is_feed && field == FIELD_LOC) || is_absolute(loc->data, loc->length));
        Result rc = RESULT_INVALID;
        if (is_valid) {
            rc = url_parse(&parser->url, is_feed ? parser->based[SITEMAP_BASE_LINK] : NULL,
                           loc->data, loc->length);
            parser->result = rc == RESULT_MEMORY ? RESULT_MEMORY : parser->result;
        }
        if (rc != RESULT_OK || !is_in_location(parser)) {
            report->n_rejected++;
        } else if (report->n_entries >= parser->options.max_entries) {
            parser->result = RESULT_LIMIT;
            parser->is_stopped = true;
        } else {
            sitemap_entry_give(parser, loc);
        }
    }
    sitemap_entry_reset(parser);
}

void sitemap_entry_end_line(SitemapParser *parser)
{
    Buffer *line = &parser->fields[FIELD_LOC];
    sitemap_entry_trim(line);
    if (parser->is_overlong[FIELD_LOC] || is_absolute(buffer_string(line), line->length)) {
        parser->report->kind = SITEMAP_TEXT;
        sitemap_entry_emit(parser);
    } else {
        parser->report->n_rejected += line->length > 0 ? 1 : 0;
    }
    sitemap_entry_reset(parser);
}
